/* contended_bound: a lower bound from the work beside the comms of a lane, which slow each other. */
#ifndef HIRC_SCHED_CONTENDED_BOUND_H
#define HIRC_SCHED_CONTENDED_BOUND_H
#include "sched/problem.h"

/* Returns a lower bound for the runtime, for any choice of buckets with `bucket`. tail: by node: negative if
 * neither the node nor any that needs it takes time. */
int64_t sched_bound_contended(const struct sched_problem *p, uint32_t lane, bool bucket, const int64_t *tail);

#endif
