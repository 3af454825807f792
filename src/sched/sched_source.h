/* sched_source: lists the source comms of each lane in the order in which they are needed. */
#ifndef HIRC_SCHED_SCHED_SOURCE_H
#define HIRC_SCHED_SCHED_SOURCE_H
#include "sched/problem.h"

struct sched_source {
	uint32_t comm;
	int64_t needed; /* time of the first work that uses it */
	int64_t room;   /* bytes that fit in memory beside the rest at that time; set by the caller */
};

struct sched_sources { /* lane l: at[first[l]] … at[first[l + 1] - 1] */
	struct sched_source *at;
	uint32_t first[SCHED_MAX_LANES + 1];
};

/* role: from sched_roles. time: by node, for instance the time when the host reaches it. */
void sched_sources(const struct sched_problem *p, const uint8_t *role, const int64_t *time, struct arena *a,
                   struct sched_sources *out);

#endif
