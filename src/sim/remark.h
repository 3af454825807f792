/* remark: synchronize statements that take overlap away. */
#ifndef HIRC_SIM_REMARK_H
#define HIRC_SIM_REMARK_H
#include "sim/events.h"
#include "sim/timeline.h"

/* Adds to the timeline's remarks each synchronize through which work waited for communication that it has
 * nothing to do with, and without which the step is shorter: by simulating that. */
void sim_remarks(struct sim_program *p, const struct sim_events *e, bool each, struct timeline *t);

#endif
