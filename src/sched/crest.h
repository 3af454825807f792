/* crest: finds nodes during which much memory is live, in whatever order the host works.
 *
 *     x = mul(a, b); y = sub(c, x); z = mul(y, d)       while `z` is made, y, d and z are live
 *
 * Nodes that a crest needs are before it, those that need it after it. The others are where they keep least alive, which
 * is a closed set of largest worth (closure.h); those far from the crest in the original order count nothing. */
#ifndef HIRC_SCHED_CREST_H
#define HIRC_SCHED_CREST_H
#include "sched/problem.h"

struct sched_crests {
	uint32_t n;
	uint32_t *node;   /* each needs the one before it */
	int64_t *live;    /* least bytes while it runs, without the results of comms and their waits */
	uint32_t *after;  /* by node: the number of crests that it is or needs */
	uint32_t *before; /* by node: the first crest that it is or that needs it; n: none */
};

/* Finds crests that run between comms of the lane: each waits for one, and one needs it. The chain with the longest
 * time is taken, of the nodes with most live bytes in the original order. */
struct sched_crests sched_crests(const struct sched_problem *p, uint32_t lane, struct arena *a);

#endif
