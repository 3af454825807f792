/* devices: the simulation of programs as devices, streams and communicators carry them out. */
#ifndef HIRC_SIM_DEVICES_H
#define HIRC_SIM_DEVICES_H
#include "sim/events.h"
#include "sim/timeline.h"

/* Fills the timeline of a simulation; timeline_close it. The events, and the program, outlive the call
 * only. */
void sim_devices_timeline(struct sim_events *e, const struct sim_classes *c, bool each, struct timeline *t);

#endif
