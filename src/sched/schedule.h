/* schedule: the order and the buckets of a problem, found together.
 *
 * Both decide each other, so whole plans are tried: which comms share which buckets, and how far work
 * moves. Each is list-scheduled and simulated; a coordinate of the plan is varied at a time. The best then
 * goes through the search. All limits are counts, so that every machine finds the same schedule. */
#ifndef HIRC_SCHED_SCHEDULE_H
#define HIRC_SCHED_SCHEDULE_H
#include "sched/bucket.h"
#include "sched/problem.h"
#include "sched/simulate.h"

enum { SCHED_MAX_EFFORT = 3 };

struct sched_options {
	int64_t limit; /* bytes */
	int effort;    /* 0: one pass, no buckets; 1: a few plans; 2: more, and a search; 3: a long search */
	bool bucket;
};

struct sched_schedule {
	struct arena *arena;     /* of the rest */
	struct sched_bucketed b; /* the problem with buckets */
	uint32_t *bucket;        /* by node of the original problem: its bucket, or SCHED_NONE */
	uint32_t *order;         /* of b.p */
	struct sched_result result;
	unsigned plans; /* tried */
};

/* False: no schedule within the limit was found; out is then, without buckets, the one that needs least of
 * those looked at. */
bool sched_schedule(const struct sched_problem *p, const struct sched_options *o, struct sched_schedule *out);
void sched_schedule_free(struct sched_schedule *s);

#endif
