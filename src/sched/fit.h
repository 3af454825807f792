/* fit: changes an order as little as needed, so that it fits in memory. */
#ifndef HIRC_SCHED_FIT_H
#define HIRC_SCHED_FIT_H
#include "sched/problem.h"

/* order: a schedule of p that may exceed the limit. Nodes for which memory has no room go behind later ones. Returns
 * false, and changes nothing, if that does not help. */
bool sched_fit(const struct sched_problem *p, int64_t limit, uint32_t *order);

#endif
