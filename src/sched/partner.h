/* partner: finds the comms that can share a bucket with no other.
 *
 * Comms of a bucket start together, so none of them needs another. In a chain of comms, as those between the
 * layers of a tensor-parallel model, each needs the one before it, and none has a partner. */
#ifndef HIRC_SCHED_PARTNER_H
#define HIRC_SCHED_PARTNER_H
#include "sched/problem.h"

/* Sets alone[x] for each node x: it is a comm that needs, or is needed by, all other comms of its family, or
 * has no family. Comms of very large families count as if they had a partner. */
void sched_partners(const struct sched_problem *p, bool *alone);

#endif
