/* sched_plan: a plan says which comms share a bucket and how far work moves. This file makes the list
 * schedule of a plan.
 *
 * A plan is skipped if its list schedule is that of an earlier one, or if its buckets alone take longer than the
 * best schedule so far. */
#ifndef HIRC_SCHED_SCHED_PLAN_H
#define HIRC_SCHED_SCHED_PLAN_H
#include "base/vec.h"
#include "sched/inner.h"
#include "sched/list.h"
#include "sched/scatter.h"
#include "sched/sched_source.h"
#include "sched/schedule.h"

struct plan {
	int64_t gather; /* sources of up to so many bytes share buckets; 0: none */
	double inflate;
	double share;    /* see struct sched_gather_options */
	int64_t scatter; /* likewise for sinks */
	int64_t inner;   /* likewise for inner comms of one family and way */
	uint32_t parts;  /* see sched_inner_buckets */
	double pack;     /* see struct sched_scatter_options, share */
	int64_t span, window, prefetch, urgent;
	bool deep;
};

struct trial { /* a plan and its result */
	struct plan plan;
	struct sched_schedule schedule;
	uint32_t bucket_n;
	uint64_t hash;                /* of its buckets */
	struct sched_list_base *base; /* of schedule.b, in its arena; NULL: no list schedule was made yet */
	bool listed;                  /* a plan or paced.c made it */
	bool open;                    /* schedule.b is there */
};

enum { SCHED_STARTS = 6 }; /* most schedules from which the search starts, beside the best */

struct sizes { /* distinct sizes, ascending */
	int64_t *at;
	uint32_t n, cap;
};

struct gathered { /* buckets of the sources for the choices of a plan */
	int64_t gather;
	double inflate, share;
	uint32_t *bucket, bucket_n; /* by transfer */
	int64_t late;               /* delay of the host, summed over lanes */
};

struct listed {        /* plans that were tried, and whose list schedule is the same */
	uint64_t hash; /* of the buckets */
	bool deep;
	struct sched_list_same same;
	int64_t below;   /* see struct sched_list_options */
	uint32_t *order; /* NULL: the runtime is not below, or the order is not kept */
	bool made;       /* the runtime is below */
};

struct scheduler {
	const struct sched_problem *p;
	const struct sched_options *o;
	bool bucket; /* comms may share buckets */
	bool solved; /* no schedule is shorter than the best */
	struct arena *arena;
	const uint8_t *role;
	struct sched_sources source; /* by the time when they are needed if sources and sinks take no time */
	struct sched_sinks sink;
	uint32_t *planned; /* by transfer: the buckets of the plan that is looked at */
	int64_t work;      /* host time of all nodes */
	int64_t timed;     /* nodes that take time, without comms and waits */
	int64_t inner;     /* ns of the longest inner comm */
	int64_t bound;     /* ns: lower bound */
	/* By lane, for a ns of its comms beside work: ns by which the work takes longer, and ns that the comms take.
	 * NULL: they slow nothing. */
	double *slows, *slowed;
	double inflate; /* see struct sched_gather_options, if the sinks of a lane are spread over all work */
	struct sched_inners inners;   /* inner comms that may share buckets */
	struct sizes gather, scatter; /* sizes of the operands of sources and of sinks */
	struct sizes join;            /* sizes of the operands of inners */
	VEC(uint32_t) comm;           /* nodes that are comms */
	VEC(struct gathered) gathered;
	VEC(struct listed) listed;
	const struct scheduler
	    *former; /* NULL, or one of the same problem that lists plans without buckets, too */
	struct trial best;
	struct trial start[SCHED_STARTS]; /* the next best ones with other buckets, the shortest first */
	uint32_t start_n, start_most;
	unsigned plans; /* number of plans that were list-scheduled */
};

struct bucket_sum {      /* sums over the members of a bucket */
	int64_t in, out; /* bytes */
	uint32_t family;
};

struct bucket_time {
	int64_t time, host; /* ns of its lane, and of the host for packing */
	uint32_t lane;
};

/* Sets s->planned to the buckets of a plan. Returns their number. */
uint32_t plan_buckets(struct scheduler *s, const struct plan *plan);
/* Frees the buckets of sources that are kept for further plans. */
void plan_forget(struct scheduler *s);
/* Returns the sums by bucket; the caller frees them. */
struct bucket_sum *plan_bucket_sums(const struct scheduler *s, const uint32_t *bucket, uint32_t bucket_n);
struct bucket_time plan_bucket_time(const struct sched_problem *p, const struct bucket_sum *sum);
/* Makes a list schedule within the limit. Returns false if it gave up, since the runtime would not be below. */
bool plan_list(const struct scheduler *s, const struct sched_list_base *base, const struct plan *plan,
               int64_t below, uint32_t *order, struct sched_list_same *same);
/* Returns a number for the buckets, by transfer, by which trials with the same ones are found. */
uint64_t plan_hash(const struct scheduler *s, const uint32_t *bucket);
/* Returns a trial of the plan, with memory for its buckets. */
struct trial plan_trial(const struct scheduler *s, const struct plan *plan);
/* Makes schedule.b, the problem with the buckets of a trial, unless it is there. Returns false if the buckets
 * would wait for each other. */
bool plan_open(const struct sched_problem *p, struct trial *t);
/* Copies the buckets and the order of an open trial, without schedule.b: a kept trial of a large problem takes
 * little memory. */
struct trial plan_copy(const struct sched_problem *p, const struct trial *t);
/* Frees all but the buckets and the order of a trial of a large problem. */
void plan_close(const struct sched_problem *p, struct trial *t);
/* Takes an open trial with its order. Frees it, unless it is the best or one of the starts; then it is closed. */
bool plan_offer(struct scheduler *s, struct trial *t);
/* Returns true if the problem is not too large for one more plan. */
bool plan_may_try(const struct scheduler *s);
/* Tries a plan. Returns true if it is the best so far. */
bool plan_try(struct scheduler *s, const struct plan *plan);

#endif
