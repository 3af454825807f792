/* vary: other plans than the best, one coordinate after the other. */
#ifndef HIRC_SCHED_VARY_H
#define HIRC_SCHED_VARY_H
#include "sched/sched_plan.h"

/* all: every value of every coordinate, else few. False: nothing became better. */
bool sched_vary(struct scheduler *s, bool all);

#endif
