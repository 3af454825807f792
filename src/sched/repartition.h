/* repartition: draws some comms of a family that follow each other on the busiest lane, and fills buckets with
 * their members again, so that the lane takes less time for them.
 *
 *     [a b c] [d e] [f g h]   →   [a b d] [c e f h] [g]
 *
 * Buckets just below a step of the table are the best, and small members fill the gaps that large ones leave.
 * Small changes would first have to make the lane slower. */
#ifndef HIRC_SCHED_REPARTITION_H
#define HIRC_SCHED_REPARTITION_H
#include "sched/random.h"
#include "sched/regroup.h"

/* Changes the buckets, by node of p, as sched_regroup does. member: receives one of the members. Returns false
 * if nothing changes. */
bool sched_repartition(const struct sched_problem *p, const struct sched_row *row, struct sched_random *r,
                       uint32_t *bucket, uint32_t *bucket_n, uint32_t *member);

#endif
