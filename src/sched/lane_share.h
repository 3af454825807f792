/* lane_share: divides the time of each bucket among its members, so that each comm has a share that does not
 * depend on the bucket.
 *
 *     1.75 MiB: 2.4 ms   0.5 MiB: 0.8 ms      at most 2.4 ms, the time of a bucket below 2 MiB, for 1.75 MiB and
 *                                             nothing else, or for three of 0.5 MiB
 *
 * The sum of the shares of comms is never more than the time of a bucket of them. So the shares of all comms
 * are a lower bound of the lane's time, and know that a comm cannot be cut where the table has a step. They
 * are a solution of the dual of the cutting stock problem (P. C. Gilmore and R. E. Gomory, A linear
 * programming approach to the cutting-stock problem, Operations Research 9, 1961). */
#ifndef HIRC_SCHED_LANE_SHARE_H
#define HIRC_SCHED_LANE_SHARE_H
#include "sched/problem.h"

/* most: by family, most bytes of a bucket. alone: by node, the comm is in no bucket. share: receives ns by
 * comm that may be in a bucket, with its part of the launch. */
void sched_lane_shares(const struct sched_problem *p, const int64_t *most, const bool *alone, double *share);

#endif
