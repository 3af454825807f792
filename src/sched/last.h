/* last: the nodes that must follow a comm, however work is moved behind it.
 *
 * Let comm c begin at time t on its lane. U are the nodes that the host has not done by then, and of comms
 * those that need one of these. The host has done all others but comms: t is at least their work. Behind c
 * its lane still runs the comms of U. So
 *
 *     runtime >= work of all - work of U + time of c + times of the comms of its lane in U
 *
 * and U has with a node all that needs it, but nothing that c needs. The U for which this is least is a
 * closed set of largest worth (closure.h). The storages that U keeps alive, results that others have made for
 * it, are within the limit as well; that is priced (Lagrange): the bound holds for each price, and the best
 * of several is taken.
 *
 * With buckets c takes no less, the comms that share a bucket with c need nothing of U, and those of U take
 * at least their part of the least time for a byte. */
#ifndef HIRC_SCHED_LAST_H
#define HIRC_SCHED_LAST_H
#include "sched/problem.h"

/* ns that no schedule of p within the limit takes less than; with `bucket` none of any buckets. Looks at a
 * few comms that come late. comm: receives the one, SCHED_NONE: none. */
int64_t sched_bound_last(const struct sched_problem *p, bool bucket, int64_t limit, uint32_t *comm);

#endif
