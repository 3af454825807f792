/* remark: synchronize statements that reduce overlap. */
#ifndef HIRC_SIM_REMARK_H
#define HIRC_SIM_REMARK_H
#include "sim/events.h"
#include "sim/timeline.h"

/* Adds a remark for each synchronize that makes work wait for unrelated communication, if the step is shorter
 * without it. Simulates the program without it to find out. */
void sim_remarks(struct sim_program *p, const struct sim_events *e, bool each, struct timeline *t);

#endif
