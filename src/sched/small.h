/* small: finds the best schedule of a small problem, with any buckets. */
#ifndef HIRC_SCHED_SMALL_H
#define HIRC_SCHED_SMALL_H
#include "sched/sched_plan.h"

/* Improves s->best. states: the number of states that may be visited. Returns true if no schedule is shorter. */
bool sched_small(struct scheduler *s, uint32_t states);

#endif
