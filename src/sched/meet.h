/* meet: simulates several problems whose comms wait for each other.
 *
 * Each problem is the work of other ranks. Comms that meet begin together, so one that is ready earlier holds its lane
 * until the last one is ready:
 *
 *     problem 0    lane   ░░░░████     ready, waits for problem 1, transfers
 *     problem 1    lane       ████
 *
 * The waits are added to the times of the nodes, and all problems are simulated again, until no wait changes. Each
 * round settles at least one more meeting. Comms and work do not slow each other here, since the waits would slow
 * work, too. */
#ifndef HIRC_SCHED_MEET_H
#define HIRC_SCHED_MEET_H
#include "sched/simulate.h"

struct sched_part { /* a problem with its order */
	struct sched_problem p;
	const uint32_t *order;
	struct sched_moment *moment; /* by place in the order */
	struct sched_result result;
};

struct sched_meeting { /* a node that waits for nodes of other parts */
	uint32_t part, node;
	uint32_t first; /* the first of the meetings that begin together; its own number: it is this one */
	uint32_t from;  /* a message: the meeting that sends it; SCHED_NONE: none, or not known */
	uint32_t place; /* of the node in the order; set by sched_meet */
	int64_t time;   /* ns, without waits */
	int64_t wait;   /* ns; set by sched_meet */
};

/* Sets the moments and results of all parts. The nodes of meetings then have times with their waits. */
void sched_meet(struct sched_part *part, uint32_t part_n, struct sched_meeting *meeting, uint32_t meeting_n);

#endif
