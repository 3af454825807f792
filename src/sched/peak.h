/* peak: finds orders that need little memory, for a limit that the original order exceeds. */
#ifndef HIRC_SCHED_PEAK_H
#define HIRC_SCHED_PEAK_H
#include "sched/problem.h"

/* Looks for a schedule of p with a small peak, until one is within the limit. Returns the least peak
 * found and its order. The peak is at most that of the original order. */
int64_t sched_lower_peak(const struct sched_problem *p, int64_t limit, uint32_t *order);

/* Makes the problem whose original order is `order`, a schedule of p. Storages and families keep their
 * numbers. */
void sched_reorder(const struct sched_problem *p, const uint32_t *order, struct arena *a,
                   struct sched_problem *out);

#endif
