/* combine: tries buckets of sources and of sinks together. */
#ifndef HIRC_SCHED_COMBINE_H
#define HIRC_SCHED_COMBINE_H
#include "sched/sched_plan.h"

/* Tries the plans whose buckets promise most, all else as in the best plan. all: more of them. */
void sched_combine(struct scheduler *s, bool all);

#endif
