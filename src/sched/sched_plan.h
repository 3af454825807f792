/* sched_plan: which comms share which buckets, how far work moves, and the list schedule of that.
 *
 * A plan is not listed if one before was the same, or if its buckets alone make it take longer than the best
 * of those before. */
#ifndef HIRC_SCHED_SCHED_PLAN_H
#define HIRC_SCHED_SCHED_PLAN_H
#include "base/vec.h"
#include "sched/inner.h"
#include "sched/list.h"
#include "sched/sched_source.h"
#include "sched/schedule.h"

struct plan {
	int64_t gather; /* bytes up to which sources share a bucket; 0: none do */
	double inflate;
	int64_t scatter; /* the same for sinks */
	int64_t inner;   /* the same for inner comms of one family and way */
	int64_t span, window, prefetch, urgent;
	bool deep;
};

struct trial { /* a plan and its result */
	struct plan plan;
	struct sched_schedule schedule;
	uint32_t bucket_n;
};

struct sizes { /* distinct, ascending */
	int64_t *at;
	uint32_t n, cap;
};

struct gathered { /* buckets of sources, by the choices of a plan */
	int64_t gather;
	double inflate;
	uint32_t *bucket, bucket_n; /* by index of scheduler.comm */
};

struct scheduler {
	const struct sched_problem *p;
	const struct sched_options *o;
	struct arena *arena;
	const uint8_t *role;
	struct sched_sources source;  /* by when they are needed if no source or sink takes time */
	int64_t work;                 /* host time of all nodes */
	int64_t timed;                /* of those that take time, without comms and waits */
	int64_t inner;                /* ns of the longest inner comm */
	int64_t bound;                /* ns that no schedule takes less than */
	double inflate;               /* of sources, where the sinks of a lane take their time of all work */
	struct sched_inners inners;   /* inner comms that may share buckets */
	struct sizes gather, scatter; /* of the operands of sources and sinks */
	struct sizes join;            /* of those of inners */
	VEC(uint32_t) comm;           /* nodes */
	VEC(struct gathered) gathered;
	VEC(uint64_t) tried; /* tried plans, hashed */
	struct trial best;
	unsigned plans; /* that were listed */
};

/* A list of p within the limit. False: given up, it would not be below. */
bool plan_list(const struct scheduler *s, const struct sched_problem *p, const uint8_t *role,
               const struct plan *plan, int64_t below, uint32_t *order);
/* With memory for its buckets. */
struct trial plan_trial(const struct scheduler *s, const struct plan *plan);
/* The buckets of t, whatever the plan says of buckets; frees t, or the best before if t is better. */
bool plan_try_buckets(struct scheduler *s, const struct plan *plan, struct trial *t, uint32_t bucket_n);
/* Tries a plan. Returns true if it is the best so far. */
bool plan_try(struct scheduler *s, const struct plan *plan);

#endif
