/* bound: what no schedule can be faster than. */
#ifndef HIRC_SCHED_BOUND_H
#define HIRC_SCHED_BOUND_H
#include "sched/problem.h"

enum sched_resource { SCHED_BOUND_HOST, SCHED_BOUND_PATH, SCHED_BOUND_LANE, SCHED_BOUND_PACKING };

struct sched_bound {
	int64_t runtime; /* ns, as sched_simulate counts it */
	enum sched_resource resource;
	uint32_t lane; /* of SCHED_BOUND_LANE and SCHED_BOUND_PACKING */
};

/* Of the problem as it is, or, with `bucket`, of any buckets as well. Memory is not looked at. */
struct sched_bound sched_bound(const struct sched_problem *p, bool bucket);

#endif
