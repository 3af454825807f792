/* exposure: finds the time of each comm that a schedule hides behind work, and why the rest is exposed. */
#ifndef HIRC_SCHED_EXPOSURE_H
#define HIRC_SCHED_EXPOSURE_H
#include "sched/simulate.h"

enum sched_reason {
	SCHED_HIDDEN, /* its waits never hold the host */
	SCHED_LANE,   /* most of the stall is spent on earlier comms of its lane */
	SCHED_CHAIN,  /* all work that is independent of it takes less time than it does */
	SCHED_MEMORY, /* later work could go before the wait, but memory does not admit it */
	SCHED_WORK,   /* no such work is left, or it hides other comms already */
	SCHED_SLOWED, /* work beside it would slow both so much that they take longer together */
};
enum { SCHED_REASONS = SCHED_SLOWED + 1 };

struct sched_exposure {
	uint32_t comm, wait; /* nodes; wait: the one with the longest stall, or the first; SCHED_NONE: none */
	int64_t issue;       /* time when the host issues the comm */
	int64_t begin, end;  /* times on its lane */
	/* ns of its own time for which its waits hold the host, and the rest of its time. */
	int64_t exposed, hidden;
	/* ns for which its waits hold the host because of earlier comms on its lane. The sum of
	 * `exposed` and `behind` over all comms is the time that the host waits. */
	int64_t behind;
	uint32_t front;     /* the comm before it on its lane; SCHED_NONE: none */
	bool behind_others; /* `front` began when the host was already waiting */
	enum sched_reason reason;
};

struct sched_exposures {
	struct sched_exposure *at; /* by comm, in the order of issue */
	uint32_t n;
	uint32_t hidden; /* number of comms that are hidden */
};

/* order: a schedule of p within the limit. */
void sched_exposures(const struct sched_problem *p, const uint32_t *order, int64_t limit, struct arena *a,
                     struct sched_exposures *out);

/* Counts the comms that could be hidden if each was alone: `percent` of the work that is independent of
 * the comm takes at least as long as the comm. percent 0: there is some independent work. e: comms that are
 * hidden there count, too, since launches and other waits may hide them; NULL: none. */
uint32_t sched_hideable(const struct sched_problem *p, const struct sched_exposures *e, unsigned percent);

#endif
