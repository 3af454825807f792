/* simulate: the time and memory of a schedule. */
#ifndef HIRC_SCHED_SIMULATE_H
#define HIRC_SCHED_SIMULATE_H
#include "sched/problem.h"

struct sched_result {
	int64_t runtime; /* until the last node that takes time is over */
	int64_t exposed; /* of the host, in waits */
	int64_t host;    /* of the host, at work */
	int64_t peak;    /* bytes */
};

/* One place of a schedule. */
struct sched_moment {
	int64_t start;      /* the host comes to it */
	int64_t stall;      /* the wait held the host for so long */
	int64_t begin, end; /* on the node's lane */
	int64_t live;       /* bytes, with the node's own results and before it frees anything */
};

/* order: a schedule of p. trace: NULL, or room for p->n moments. */
struct sched_result sched_simulate(const struct sched_problem *p, const uint32_t *order,
                                   struct sched_moment *trace);
/* Returns true if each node stands once, after those that it needs. */
bool sched_is_schedule(const struct sched_problem *p, const uint32_t *order);

#endif
