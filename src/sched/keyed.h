/* keyed: puts the nodes of a problem in an order by keys. */
#ifndef HIRC_SCHED_KEYED_H
#define HIRC_SCHED_KEYED_H
#include "sched/problem.h"

/* Makes a schedule of p: nodes by ascending key, but each after all nodes that it needs. key: by node, below
 * `keys`. late: by node; such a node goes where another node needs it, whatever its key, or at
 * the end. */
void sched_keyed(const struct sched_problem *p, const uint32_t *key, uint32_t keys, const bool *late,
                 uint32_t *out);
/* Marks the nodes that only some comms need, with all that only they need. comm, late: by node. */
void sched_mark_late(const struct sched_problem *p, const bool *comm, bool *late);

#endif
