/* exposure: the time of each comm that a schedule hides behind work, and the causes of the rest. */
#ifndef HIRC_SCHED_EXPOSURE_H
#define HIRC_SCHED_EXPOSURE_H
#include "sched/simulate.h"

enum sched_reason {
	SCHED_HIDDEN, /* its waits never hold the host */
	SCHED_LANE,   /* most of the wait is for comms before it on its lane */
	SCHED_CHAIN,  /* all work that neither needs it nor is needed by it takes less time than it does */
	SCHED_MEMORY, /* there is work for later that could go before the wait, but for the limit */
	SCHED_WORK,   /* such work is behind other comms already, or there is none left */
};
enum { SCHED_REASONS = SCHED_WORK + 1 };

struct sched_exposure {
	uint32_t comm, wait; /* nodes; wait: the one that holds the host longest, else the first; SCHED_NONE:
	                        none */
	int64_t issue;       /* the host issues the comm */
	int64_t begin, end;  /* on its lane */
	/* ns that its waits hold the host for its own time, and the rest of that */
	int64_t exposed, hidden;
	/* ns that its waits hold the host beyond that, for those before it on its lane; the exposed and
	 * behind of all comms are the host's waiting time */
	int64_t behind;
	uint32_t front;     /* the comm before it on its lane; SCHED_NONE: it is the first */
	bool behind_others; /* than front, too: front began when the host was waiting already */
	enum sched_reason reason;
};

struct sched_exposures {
	struct sched_exposure *at; /* of the comms in the order of their issue */
	uint32_t n;
	uint32_t hidden; /* comms */
};

/* order: a schedule of p within the limit. */
void sched_exposures(const struct sched_problem *p, const uint32_t *order, int64_t limit, struct arena *a,
                     struct sched_exposures *out);

/* Counts the comms that could be hidden if each was alone: `percent` of the work that neither needs a comm
 * nor is needed by it takes at least as long as the comm; 0: there is any such work. */
uint32_t sched_hideable(const struct sched_problem *p, unsigned percent);

#endif
