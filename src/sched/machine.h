/* machine: one machine does jobs one at a time. Each job begins at its head or later; after it, its tail
 * passes. */
#ifndef HIRC_SCHED_MACHINE_H
#define HIRC_SCHED_MACHINE_H
#include <stdint.h>

/* Returns the earliest time when the tails of all n jobs have passed. Uses the preemptive schedule that
 * always runs the available job with the longest tail. head, tail, time: by node; there are node_n
 * nodes. */
int64_t sched_machine_end(const int64_t *head, const int64_t *tail, const int64_t *time, uint32_t node_n,
                          const uint32_t *job, uint32_t n);

#endif
