/* share: makes the times and families of shared events the same in all problems.
 *
 *     problem 0    a and b are of one family, c of another
 *     problem 1    a is of one family, b and c of another     →     a, b and c are in a family each */
#ifndef HIRC_SCHED_SHARE_H
#define HIRC_SCHED_SHARE_H
#include "sched/together.h"

/* Gives each event the shortest time that one of its members states: the others may contain a wait. */
void sched_share_times(const struct sched_team *t);
/* Leaves events in one family if they are in one family in each member that has them. An event that is in no family in
 * one member is in none. */
void sched_share_families(const struct sched_team *t, struct arena *a);

#endif
