/* machine: does jobs one at a time, each from its head on, after which its tail must pass. */
#ifndef HIRC_SCHED_MACHINE_H
#define HIRC_SCHED_MACHINE_H
#include <stdint.h>

/* Before all tails of n jobs have passed at the earliest: by the preemptive schedule that does of those that
 * can begin the one with the longest tail. head, tail, time: by node, of which there are node_n. */
int64_t sched_machine_end(const int64_t *head, const int64_t *tail, const int64_t *time, uint32_t node_n,
                          const uint32_t *job, uint32_t n);

#endif
