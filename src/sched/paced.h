/* paced: makes schedules of the lane that takes longest, with the buckets that pace.h chooses.
 *
 * Where a lane takes longer than the host, the sizes of buckets decide, and both kinds of buckets need the same memory,
 * beside the work that runs meanwhile. Plans choose each kind on its own. */
#ifndef HIRC_SCHED_PACED_H
#define HIRC_SCHED_PACED_H
#include "sched/sched_plan.h"

/* Offers the schedules that are shorter than the best. */
void sched_paced_try(struct scheduler *s);

#endif
