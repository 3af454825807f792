/* scatter: puts small sink comms of a family into one bucket, if they are made within a span of host
 * time and fit in memory. */
#ifndef HIRC_SCHED_SCATTER_H
#define HIRC_SCHED_SCATTER_H
#include "sched/problem.h"

struct sched_scatter_options {
	int64_t threshold;   /* bytes of an operand */
	int64_t span;        /* ns in the original order */
	double share;        /* part of the free memory that a bucket may take */
	const int64_t *room; /* by node: bytes that fit in memory beside the rest when it runs */
};

/* role: from sched_roles. bucket: receives the buckets of comms, numbered from *bucket_n on; *bucket_n
 * grows. */
void sched_scatter(const struct sched_problem *p, const uint8_t *role, const struct sched_scatter_options *o,
                   uint32_t *bucket, uint32_t *bucket_n);

#endif
