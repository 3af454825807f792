/* keyed: puts the nodes of a problem in an order that comes near to a wanted one. */
#ifndef HIRC_SCHED_KEYED_H
#define HIRC_SCHED_KEYED_H
#include "sched/problem.h"

/* Makes a schedule of p: nodes by ascending key, but each after all nodes that it needs. key: by node, below
 * `keys`. late: by node; such a node goes where another node needs it, whatever its key, or at
 * the end. */
void sched_keyed(const struct sched_problem *p, const uint32_t *key, uint32_t keys, const bool *late,
                 uint32_t *out);
/* Makes a schedule of p: the nodes as wanted, but each after all nodes that it needs. The first `from` nodes of
 * `wanted` are a schedule already. late: likewise; NULL: none is late. Returns false if a node needs itself. */
bool sched_settle(const struct sched_problem *p, const uint32_t *wanted, uint32_t from, const bool *late,
                  uint32_t *out);
/* Marks the nodes that only some comms need, with all that only they need. comm, late: by node. order: a schedule of
 * p. */
void sched_mark_late(const struct sched_problem *p, const uint32_t *order, const bool *comm, bool *late);

#endif
