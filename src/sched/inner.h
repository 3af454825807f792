/* inner: buckets of comms that need work, and that work needs.
 *
 *     comm a; comm b; wait a; wait b; work; comm c; comm d; …   →   a and b are together, c and d are
 *
 * Two comms with as many comms on the longest way to each do not need one another. */
#ifndef HIRC_SCHED_INNER_H
#define HIRC_SCHED_INNER_H
#include "base/vec.h"
#include "sched/problem.h"

struct sched_inner {
	uint32_t comm, way; /* way: comms on the longest way to it */
};

struct sched_inners { /* those that stand together are of one family and way, in the original order */
	struct sched_inner *at;
	uint32_t n, cap;
};

/* The inner comms that share family and way with another one. role: of sched_roles. */
void sched_inners(const struct sched_problem *p, const uint8_t *role, struct sched_inners *out);
/* Puts those of at most so many bytes into buckets. bucket_n: receives how many there are, and counts on. */
void sched_inner_buckets(const struct sched_problem *p, const struct sched_inners *inner, int64_t most,
                         uint32_t *bucket, uint32_t *bucket_n);

#endif
