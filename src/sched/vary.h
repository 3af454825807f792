/* vary: tries plans that differ from the best in one coordinate, one coordinate after the other. */
#ifndef HIRC_SCHED_VARY_H
#define HIRC_SCHED_VARY_H
#include "sched/sched_plan.h"

/* all: try every value of every coordinate, not only a few. Returns false if nothing became better. */
bool sched_vary(struct scheduler *s, bool all);
/* Tries the best plan with buckets of inner comms that are cut in two and more parts. */
void sched_vary_parts(struct scheduler *s);

#endif
