/* last: bounds the runtime by the nodes that must follow a comm, however work is moved behind it.
 *
 * Let comm c begin at time t on its lane. U is the set of nodes that the host has not done at t, and of
 * comms that need one of them. The host has done all other nodes except comms, so t is at least their
 * work. After c, its lane still runs the comms of U. So
 *
 *     runtime >= work of all - work of U + time of c + times of the comms of its lane in U
 *
 * With each node, U contains all nodes that need it; it contains nothing that c needs. The U with the
 * least right side is a closed set of largest worth (closure.h). The storages that other nodes have made
 * and U still uses must fit in the limit, at t and while any node runs that c needs: of these, the node that
 * uses most memory counts (fullest.h). The storages have a price for each of the two moments (a Lagrange multiplier):
 * the bound holds for every price, and the best of several is taken.
 *
 * The bound also holds with buckets: c takes no less time, the comms in a bucket with c need nothing of
 * U, and the comms of U take at least the least time for a byte, times their bytes. */
#ifndef HIRC_SCHED_LAST_H
#define HIRC_SCHED_LAST_H
#include "sched/problem.h"

/* Returns a time in ns that every schedule of p within the limit takes at least; with `bucket`, for any
 * choice of buckets. Tries a few comms that come late. comm: receives the comm of the bound, or
 * SCHED_NONE. */
int64_t sched_bound_last(const struct sched_problem *p, bool bucket, int64_t limit, uint32_t *comm);

#endif
