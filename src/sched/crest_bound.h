/* crest_bound: bounds the runtime by a lane whose buckets share memory with the host's work.
 *
 *     host   … | crest |          6 GiB are free, and 4 of them are live while the crest runs (crest.h)
 *     lane     | bucket |         so a bucket beside it has 2 GiB at most
 *
 * While a crest runs, the lane is idle, or has a bucket that fits beside it. If the lane has one bucket beside several
 * crests, then all that it gathered for them was there before, and what a later one needs is live at the first. So a
 * bucket of so many bytes runs beside crests of a certain time at most: its cover. For every price from 0 to 1
 *
 *     runtime >= price * time of all crests + sum over buckets of (time - price * least of time and cover)
 *
 * since the lane is idle while a crest runs that no bucket covers. Small buckets cover more, and take longer for a
 * byte: the best size of each family is taken for each price, and the best price of all (a Lagrange multiplier). */
#ifndef HIRC_SCHED_CREST_BOUND_H
#define HIRC_SCHED_CREST_BOUND_H
#include "sched/batch.h"

/* Returns a time that every schedule within the limit takes at least; 0: none is known. */
int64_t sched_bound_crests(const struct sched_batches *b, uint32_t lane, int64_t limit);

#endif
