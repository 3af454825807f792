/* improve: changes buckets and order of the best schedule in turn. */
#ifndef HIRC_SCHED_IMPROVE_H
#define HIRC_SCHED_IMPROVE_H
#include "sched/sched_plan.h"

struct sched_improve_options {
	uint32_t changes; /* number of changes of buckets */
	uint64_t steps;   /* number of moves of nodes after each change */
	uint64_t seed;
	bool refill;  /* every change fills the buckets of some comms again (repartition.h) */
	double lanes; /* ns of the runtime that a saved ns of a lane is worth */
};

/* Improves s->best. Returns true if it became better. */
bool sched_improve(struct scheduler *s, const struct sched_improve_options *o);

#endif
