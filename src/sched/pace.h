/* pace: chooses the buckets of a lane, one after the other, and the place of the host's work where each is issued.
 *
 *     host   block 1 | block 2 | block 3 |  (stall)  | block 4 …
 *     lane   gather 3, 4    | scatter 1, 2           | gather 5 …
 *
 * Blocks are nodes in the original order. A gather has the sources that the next blocks use, a scatter the sinks that
 * the blocks before it made. While a bucket is under way the host does the next blocks, if their sources are there and
 * memory has room: for the block in the original order, the bucket, gathered tensors still to be used, and operands of
 * sinks made so far. Blocks end where little is live, before uses of sources, and where the next node would leave no room
 * for the rest of its block. */
#ifndef HIRC_SCHED_PACE_H
#define HIRC_SCHED_PACE_H
#include "base/arena.h"
#include "sched/problem.h"

struct sched_pace_comm { /* a source or a sink */
	uint32_t comm;
	uint32_t first, last; /* source: the first and the last node that use it; sink: the comm itself */
	int64_t bytes;        /* of its result, or of its operand before the cast that the sink alone needs */
	int64_t copied;       /* source: bytes that its wait makes besides */
};

struct sched_pace_options {
	int64_t limit;       /* bytes */
	const int64_t *live; /* by node: bytes while it runs, without sources' results and sinks' operands */
	const struct sched_pace_comm *source, *sink; /* ascending by `first` */
	uint32_t source_n, sink_n;
};

struct sched_paced {
	bool gather;
	uint32_t from, end; /* its comms: those whose `first` is at least `from` and below `end` */
	uint32_t issue;     /* the node before which it is issued */
};

/* Returns the number of buckets, in the order of the lane; 0: memory admits none. bucket: receives them. most: receives
 * the most bytes that a choice of blocks or buckets was found to need within the limit. */
uint32_t sched_pace(const struct sched_problem *p, const struct sched_pace_options *o, struct arena *a,
                    struct sched_paced **bucket, int64_t *most);

#endif
