/* discount: a problem in which only a part of the time that work takes hides comms.
 *
 *     work 100, comm 60, at 50 percent: 100 hide 50 of it   →   work 100, comm 120: 100 hide 100 of it
 *
 * The same with comms that take as much longer. Schedules of one are schedules of the other. */
#ifndef HIRC_SCHED_DISCOUNT_H
#define HIRC_SCHED_DISCOUNT_H
#include "sched/schedule.h"

/* percent: at least 1; more than 100: work hides more than its own time. */
void sched_discount(const struct sched_problem *p, unsigned percent, struct arena *a,
                    struct sched_problem *out);
/* Puts the times of p into a schedule of the discounted problem. */
void sched_discount_undo(const struct sched_problem *p, struct sched_schedule *s);

#endif
