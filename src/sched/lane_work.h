/* lane_work: finds when lanes have done the comms on one side of a node: those that it waits for, directly or not, or
 * backwards those that need it.
 *
 *     wait a ─ work ┐
 *     wait b ───────┴ x      x begins when the lane has done a and b, one after the other
 *
 * A lane does one comm at a time, none before its key. Any order takes at least as long as the order of keys. */
#ifndef HIRC_SCHED_LANE_WORK_H
#define HIRC_SCHED_LANE_WORK_H
#include "sched/problem.h"

struct lane_side {
	const struct sched_problem *p;
	bool ahead;         /* the comms that the node waits for, or those that need it */
	const int64_t *key; /* by comm: ns before it begins, or after it ends; negative: it does not count */
	const int64_t *length; /* by comm: least ns of its lane, in a bucket or alone */
	uint32_t most;         /* nodes that are asked for */
};

struct lane_work;

struct lane_work *lane_work_new(const struct lane_side *side);
void lane_work_free(struct lane_work *w);
/* Returns ns that pass before the node begins, or after it ends. Nodes are asked for in order, or backwards. It returns
 * 0 for nodes that differ too little from the ones before, and for most nodes of a large problem. */
int64_t lane_work_of(struct lane_work *w, uint32_t node);

#endif
