/* inner: finds buckets for comms that need work and that work needs.
 *
 *     comm a; comm b; wait a; wait b; work; comm c; comm d; …   →   buckets {a, b} and {c, d}
 *
 * Two comms do not need each other if the longest paths to both contain the same number of comms. */
#ifndef HIRC_SCHED_INNER_H
#define HIRC_SCHED_INNER_H
#include "base/vec.h"
#include "sched/problem.h"

struct sched_inner {
	uint32_t comm, way; /* way: the most comms on a path to it */
};

struct sched_inners { /* sorted by family, way, and original order */
	struct sched_inner *at;
	uint32_t n, cap;
	uint32_t most; /* comms of a family and way */
};

/* Finds the inner comms that share family and way with another one. role: from sched_roles. */
void sched_inners(const struct sched_problem *p, const uint8_t *role, struct sched_inners *out);
/* Puts inner comms of at most so many bytes into buckets: those of a family and way into so many parts, so that work
 * that needs one part runs beside the comm of the next one. Numbers buckets from *bucket_n on, which grows. */
void sched_inner_buckets(const struct sched_problem *p, const struct sched_inners *inner, int64_t most,
                         uint32_t parts, uint32_t *bucket, uint32_t *bucket_n);

#endif
