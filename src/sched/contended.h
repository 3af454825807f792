/* contended: the clocks of a partial schedule in which work and communication slow each other.
 *
 * As in simulate.c the host issues nodes one after the other, but the end of a comm depends on the work
 * beside it. So each lane has a queue of issued comms, and the clock advances from one begin or end to the
 * next, with the rates of contention.h. The host slows comms while it runs a node, not while it launches. */
#ifndef HIRC_SCHED_CONTENDED_H
#define HIRC_SCHED_CONTENDED_H
#include "sched/simulate.h"

struct contended_entry {
	int64_t issued; /* when the host issued it */
	uint32_t comm;
};

struct contended_lane {
	uint32_t n;        /* number of its comms that are issued */
	uint32_t first;    /* number of those that are over, and so the place of the next in the queue */
	bool begun;        /* comm `first` runs */
	int64_t free;      /* when the comm before `first` let the lane go */
	sched_amount left; /* of comm `first`, if it runs; see struct sched_progress */
};

struct contended {
	const struct sched_problem *p;
	int64_t now;                    /* the host's clock */
	struct contended_lane *lane;    /* by lane */
	struct contended_entry **queue; /* by lane: its comms in the order of issue */
	uint32_t *number;               /* by comm: its place in the queue */
	int64_t *begin, *end;           /* by comm, once it is over */
};

void contended_open(struct contended *c, const struct sched_problem *p);
void contended_close(struct contended *c);
/* Returns to the empty schedule. */
void contended_reset(struct contended *c);
/* Issues a node. The moment's begin and end are not set for comms; `live` is never set. */
struct sched_moment contended_issue(struct contended *c, uint32_t node);
/* Returns the end of the last node of the host and of all lanes. Ends all comms; the host is not to issue
 * anything after it. */
int64_t contended_finish(struct contended *c);

#endif
