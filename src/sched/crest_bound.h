/* crest_bound: bounds the runtime by a lane whose buckets share memory with the host's work.
 *
 *     host   … | crest |          6 GiB are free, and 4 of them are live while the crest runs (crest.h)
 *     lane     | bucket |         so a bucket and results gathered ahead have 2 GiB at most
 *
 * Each family has a least time for a byte, that of its best size. All other buckets take longer. While the host does the
 * crests and the work between them, the lane is idle, or has a bucket that fits beside the work. So
 *
 *     runtime >= sum over comms of (least time for a byte * bytes)
 *                + sum over buckets of (time above this) + time of the work beside which the lane is idle
 *
 * The best buckets for the last two sums are found by dynamic programming (crest_path.h): large ones take less time,
 * small ones run beside the work. Gradients that are not yet sent count nothing. */
#ifndef HIRC_SCHED_CREST_BOUND_H
#define HIRC_SCHED_CREST_BOUND_H
#include "sched/batch.h"

/* Returns a time that every schedule within the limit takes at least; 0: none is known. */
int64_t sched_bound_crests(const struct sched_batches *b, uint32_t lane, int64_t limit);

#endif
