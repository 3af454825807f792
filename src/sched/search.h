/* search: makes a schedule better, by steps that each move one node with the nodes it needs or that need it.
 *
 * A step begins at a wait that holds the host, drawn by how long. It accepts a schedule that takes no longer
 * than before, and now and then a little longer; the best is kept. The same options give the same schedule on
 * every machine. */
#ifndef HIRC_SCHED_SEARCH_H
#define HIRC_SCHED_SEARCH_H
#include "sched/problem.h"

struct sched_search_options {
	int64_t limit;  /* bytes */
	uint64_t steps; /* drawn moves */
	uint64_t seed;
	int64_t enough; /* ns; the search ends with a schedule that takes no longer */
};

/* order: a schedule of p within the limit. */
void sched_search(const struct sched_problem *p, const struct sched_search_options *o, uint32_t *order);

#endif
