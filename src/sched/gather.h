/* gather: which source comms share a bucket.
 *
 * Comms of a lane stand in the order in which they are needed. The lane works without pause. A bucket of many
 * takes less of the lane than its members, but the first of them arrives later, and its pack and unpack take
 * time of the host. Comms with an operand of at most `threshold` bytes are put together with the next such
 * ones, over the larger ones between, which stay alone. */
#ifndef HIRC_SCHED_GATHER_H
#define HIRC_SCHED_GATHER_H
#include "sched/sched_source.h"

struct sched_gather_options {
	int64_t threshold;
	double inflate; /* at least 1: time of the lane for a ns of these comms, where others use it too */
};

/* source: of one lane, by time. bucket: of comms their bucket, from *bucket_n on, which grows. */
void sched_gather(const struct sched_problem *p, const struct sched_source *source, uint32_t n,
                  const struct sched_gather_options *o, uint32_t *bucket, uint32_t *bucket_n);

#endif
