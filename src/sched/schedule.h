/* schedule: finds the order and the buckets of a problem together.
 *
 * Order and buckets depend on each other, so whole plans are tried: which comms share a bucket, and how
 * far work moves. Each plan is list-scheduled and simulated; one coordinate is varied at a time. The
 * search then improves the best schedule. All limits are counts, not times, so that every machine finds
 * the same schedule. */
#ifndef HIRC_SCHED_SCHEDULE_H
#define HIRC_SCHED_SCHEDULE_H
#include "sched/bucket.h"
#include "sched/problem.h"
#include "sched/simulate.h"

enum { SCHED_MAX_EFFORT = 3 };

struct sched_options {
	int64_t limit; /* bytes */
	int effort;    /* 0: one pass, no buckets; 1: a few plans; 2: more and a search; 3: a longer search */
	bool bucket;
};

struct sched_schedule {
	struct arena *arena;     /* owns the fields below */
	struct arena *reordered; /* likewise, of a problem whose memory b.p shares; NULL: none */
	struct sched_bucketed b; /* the problem with buckets */
	uint32_t *bucket;        /* by transfer: its bucket, or SCHED_NONE */
	uint32_t *order;         /* nodes of b.p */
	struct sched_result result;
	unsigned plans; /* number of plans tried */
};

/* p must live as long as the schedule. Returns false if no schedule within the limit was found. out is then the one with the smallest peak,
 * without buckets. */
bool sched_schedule(const struct sched_problem *p, const struct sched_options *o, struct sched_schedule *out);
void sched_schedule_free(struct sched_schedule *s);

#endif
