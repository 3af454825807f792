/* optimum: finds the best schedule of a small problem, by a search over all buckets and orders.
 *
 * The search is exact under the model of sched/simulate.h. It takes each choice of buckets and each set
 * of issued nodes, and keeps the states of that set that no other state is better than in every clock. */
#ifndef HIRC_TESTS_OPTIMUM_H
#define HIRC_TESTS_OPTIMUM_H
#include "sched/problem.h"

enum {
	OPTIMUM_NODES = 64, /* most nodes, with those of buckets */
	OPTIMUM_COMMS = 12, /* most comms */
	OPTIMUM_LANES = 4   /* most lanes */
};

/* Returns true if the problem is small enough for the search. */
bool optimum_is_possible(const struct sched_problem *p);
/* Returns the least runtime in ns of all orders within the limit of bytes and, with `bucket`, of all
 * choices of buckets; `most` if none takes less than that. */
int64_t optimum_runtime(const struct sched_problem *p, bool bucket, int64_t limit, int64_t most);
/* Returns the least peak in bytes of all orders. Buckets need more memory, never less. */
int64_t optimum_peak(const struct sched_problem *p);

#endif
