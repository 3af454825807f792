/* segment: makes schedules that cut the work into segments. The sources that a segment uses share a bucket, and so do
 * the sinks that it makes.
 *
 *     host   segment 1      | segment 2      | segment 3
 *     lane   gather 2 | scatter 1 | gather 3 | scatter 2 | …
 *
 * Where a lane takes longer than the host, the sizes of buckets decide. Both kinds of buckets need the same memory: all
 * that a segment gathers or makes is live in its middle, beside the largest work. So the cuts are chosen for both
 * kinds at once, by dynamic programming over pairs of neighbouring cuts. */
#ifndef HIRC_SCHED_SEGMENT_H
#define HIRC_SCHED_SEGMENT_H
#include "sched/sched_plan.h"

/* Offers schedules of the lane that takes longest. */
void sched_segments(struct scheduler *s);

#endif
