/* sched_bound: finds a lower bound for the runtime of all schedules. */
#ifndef HIRC_SCHED_SCHED_BOUND_H
#define HIRC_SCHED_SCHED_BOUND_H
#include "sched/problem.h"

enum sched_resource {
	SCHED_BOUND_HOST,
	SCHED_BOUND_PATH,
	SCHED_BOUND_LANE,
	SCHED_BOUND_PACKING,
	SCHED_BOUND_LAST,       /* the nodes that must follow a late comm (last.h) */
	SCHED_BOUND_CONTENTION, /* work beside the comms of a lane that slow it (contended_bound.h) */
	SCHED_BOUND_CRESTS,     /* the comms of a lane, and work that needs their memory (crest_bound.h) */
};

struct sched_bound {
	int64_t runtime; /* ns, as sched_simulate counts it */
	enum sched_resource resource;
	uint32_t lane; /* for all resources that are of a lane */
	uint32_t comm; /* for SCHED_BOUND_LAST */
};

/* Returns a lower bound of the problem as it is or, with `bucket`, for any choice of buckets. Ignores
 * memory. */
struct sched_bound sched_bound(const struct sched_problem *p, bool bucket);
/* Returns a lower bound for the schedules within a limit of bytes. */
struct sched_bound sched_bound_within(const struct sched_problem *p, bool bucket, int64_t limit);

#endif
