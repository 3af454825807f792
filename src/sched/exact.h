/* exact: finds the best order of a small problem. */
#ifndef HIRC_SCHED_EXACT_H
#define HIRC_SCHED_EXACT_H
#include "sched/problem.h"

enum { SCHED_EXACT_NODES = 64 };

struct sched_exact_options {
	int64_t limit; /* bytes */
	int64_t below; /* ns: only shorter schedules are wanted */
};

/* Finds the shortest schedule of p within the limit. *states: the number of states that may be visited; it falls.
 * order: set if a schedule is found. *found: whether it is. Returns false if it gave up. */
bool sched_exact(const struct sched_problem *p, const struct sched_exact_options *o, uint32_t *states,
                 uint32_t *order, bool *found);
/* Finds the schedule of p with the smallest peak. Returns false if it gave up. */
bool sched_exact_peak(const struct sched_problem *p, uint32_t *states, uint32_t *order);

#endif
