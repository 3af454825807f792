/* scatter: puts small sink comms of a family into one bucket, if they are made within a span of host
 * time and fit in memory. */
#ifndef HIRC_SCHED_SCATTER_H
#define HIRC_SCHED_SCATTER_H
#include "sched/problem.h"

struct sched_sink {
	uint32_t comm;
	int64_t when; /* host time before it in the original order */
	int64_t room; /* bytes that fit in memory beside the rest at that time */
};

struct sched_sinks { /* those that may share a bucket, in the original order */
	struct sched_sink *at;
	uint32_t n;
};

struct sched_scatter_options {
	int64_t threshold; /* bytes of an operand */
	int64_t span;      /* ns in the original order */
	double share;      /* part of the free memory that a bucket may take */
};

/* bucket: receives the buckets of comms, numbered from *bucket_n on; *bucket_n grows. */
void sched_scatter(const struct sched_problem *p, const struct sched_sinks *sink,
                   const struct sched_scatter_options *o, uint32_t *bucket, uint32_t *bucket_n);

#endif
