/* gather: decides which source comms share a bucket.
 *
 * Comms of a lane are in the order in which they are needed. The lane works without pause. A bucket
 * takes less time of the lane than its members one by one, but its first member arrives later, and the
 * pack and unpack take time of the host. A comm with an operand of at most `threshold` bytes may share a
 * bucket with the next small ones. Larger comms between them stay alone. A comm starts when memory has
 * room for its results, beside those that were gathered before and are not yet used. */
#ifndef HIRC_SCHED_GATHER_H
#define HIRC_SCHED_GATHER_H
#include "sched/sched_source.h"

struct sched_gather_options {
	int64_t threshold;
	double inflate; /* at least 1: ns of the lane for 1 ns of these comms, if other comms use it too */
	double share;   /* part of the free memory that gathered tensors may take; 0: memory does not count */
};

/* source: comms of one lane, by time. bucket: receives the buckets of comms, numbered from *bucket_n on;
 * *bucket_n grows. Returns the delay of the host in ns. */
int64_t sched_gather(const struct sched_problem *p, const struct sched_source *source, uint32_t n,
                     const struct sched_gather_options *o, uint32_t *bucket, uint32_t *bucket_n);
/* Returns the delay of the host with these buckets, which sched_gather made with another threshold or share;
 * INT64_MAX if the options do not admit them. */
int64_t sched_gather_delay(const struct sched_problem *p, const struct sched_source *source, uint32_t n,
                           const struct sched_gather_options *o, const uint32_t *bucket);

#endif
