/* simulate: finds the time and memory of a schedule. */
#ifndef HIRC_SCHED_SIMULATE_H
#define HIRC_SCHED_SIMULATE_H
#include "sched/problem.h"

struct sched_result {
	int64_t runtime; /* end of the last node that takes time */
	int64_t exposed; /* ns that the host waits */
	int64_t host;    /* ns that the host works */
	int64_t peak;    /* bytes */
};

/* The times of one place of a schedule. */
struct sched_moment {
	int64_t start;      /* the host reaches it */
	int64_t stall;      /* ns for which the wait holds the host */
	int64_t begin, end; /* on the node's lane */
	int64_t live;       /* bytes, with the node's results, before it frees anything */
};

/* order: a schedule of p. trace: NULL, or room for p->n moments. */
struct sched_result sched_simulate(const struct sched_problem *p, const uint32_t *order,
                                   struct sched_moment *trace);
/* Returns true if each node occurs once, after those that it needs. */
bool sched_is_schedule(const struct sched_problem *p, const uint32_t *order);

#endif
