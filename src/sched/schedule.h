/* schedule: the order and the buckets of a problem, found together.
 *
 * Both decide each other, so whole plans are tried: what is put together in which buckets, and how far work
 * moves. Each is list-scheduled and simulated; a coordinate of the plan is varied at a time. The best then
 * goes through the search. All limits are counts, so that every machine finds the same schedule. */
#ifndef HIRC_SCHED_SCHEDULE_H
#define HIRC_SCHED_SCHEDULE_H
#include "sched/bucket.h"
#include "sched/pace.h"
#include "sched/simulate.h"

enum { SCHED_MAX_EFFORT = 3 };

struct sched_options {
	int64_t limit; /* bytes */
	int effort;    /* 0: one pass, no buckets; 1: a few plans; 2: more, and a search; 3: a long search */
	bool bucket;
	bool exposed_first; /* what is exposed without buckets is put into buckets before all else is */
	unsigned overlap;   /* percent of the time of work that hides comms; 0: all of it, 100 */
	/* If all schedules are beyond it, the one that is least beyond it, in bytes before ns, is taken. */
	struct sched_pace pace;
};

struct sched_schedule {
	struct arena *arena;     /* of the rest */
	struct sched_bucketed b; /* the problem with buckets */
	uint32_t *bucket;        /* by node of the original problem: its bucket, or SCHED_NONE */
	uint32_t *order;         /* of b.p */
	struct sched_result result;
	struct sched_pace pace; /* what it needs; 0 where there is no limit */
	unsigned plans;         /* tried */
};

/* False: no schedule within the limit was found; out is then, without buckets, the one that needs least of
 * those looked at. */
bool sched_schedule(const struct sched_problem *p, const struct sched_options *o, struct sched_schedule *out);
void sched_schedule_free(struct sched_schedule *s);

#endif
