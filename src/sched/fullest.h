/* fullest: the memory when the node runs that uses most memory, among those that a comm needs.
 *
 *     zeros; table = scatter(zeros, g); reduce(table)      zeros and table are live while `scatter` runs
 *
 * Live are the storages that the node itself, or nodes before and after it, make and use. Live is also
 * something for each result that is kept to the end: the result, an operand on the way to it, or the storage
 * from which they are made. The rest of the limit is for storages that are made before the node, and that
 * work behind the comm keeps alive. */
#ifndef HIRC_SCHED_FULLEST_H
#define HIRC_SCHED_FULLEST_H
#include "sched/problem.h"

/* needed: by node, the comm and the nodes that it needs. there: by storage, it exists as soon as its maker is
 * done. early: receives by storage the bytes that it takes of the room if a node that is not needed uses it.
 * Returns the room, in bytes; negative if the rest exceeds the limit. */
int64_t sched_fullest(const struct sched_problem *p, uint32_t comm, const bool *needed, const bool *there,
                      int64_t limit, int64_t *early);

#endif
