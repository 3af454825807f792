/* devices: the timeline of a program simulated with devices, streams and communicators. */
#ifndef HIRC_SIM_DEVICES_H
#define HIRC_SIM_DEVICES_H
#include "sim/events.h"
#include "sim/timeline.h"

/* Fills the timeline of a simulation. End it with timeline_close. The events and the program must outlive
 * this call only. */
void sim_devices_timeline(struct sim_events *e, const struct sim_classes *c, bool each, struct timeline *t);

#endif
