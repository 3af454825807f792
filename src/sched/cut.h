/* cut: chooses the cuts between segments (segment.h).
 *
 * A segment takes the lane max(its work, the gather of the next segment) and then its scatter, if the next gather
 * runs beside it; else the sum of the three. The next gather may run beside it if memory has room for its results at
 * all nodes of the segment: beside the original order, the gathered tensors still to be used, and the operands of
 * sinks made so far. */
#ifndef HIRC_SCHED_CUT_H
#define HIRC_SCHED_CUT_H
#include "base/arena.h"
#include "sched/problem.h"

struct sched_cut_comm { /* a source or a sink */
	uint32_t comm;
	uint32_t first, last; /* source: the first and the last node that use it; sink: the comm itself */
	int64_t bytes;        /* live in a segment: of its result, or of its operand before the sink's cast */
};

struct sched_cut_options {
	int64_t limit;       /* bytes */
	const int64_t *live; /* by node: bytes while it runs, without sources' results and sinks' operands */
	const struct sched_cut_comm *source, *sink; /* ascending by `first` */
	uint32_t source_n, sink_n;
};

struct sched_cuts {
	uint32_t *at, n; /* segment k has the nodes at[k] … at[k + 1] - 1; n segments */
	bool *early;     /* by segment: its gather is issued before the segment before it */
};

/* Returns false if memory admits no cuts. */
bool sched_cut(const struct sched_problem *p, const struct sched_cut_options *o, struct arena *a,
               struct sched_cuts *out);

#endif
