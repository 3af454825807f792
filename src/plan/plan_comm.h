/* plan_comm: the collective that is being planned; for plan_comm.c and plan_pack.c. */
#ifndef HIRC_PLAN_PLAN_COMM_H
#define HIRC_PLAN_PLAN_COMM_H
#include "plan/planner.h"

struct comm {
	struct planner *b;
	op_id op;
	struct view *in, *out; /* NULL: this rank does not have it */
	const struct plan_team *team;
	uint32_t own;
	struct plan_collective c;
	bool uncertain; /* only the root reads or writes the buffer, and the root is not known */
	bool packed;    /* both buffers are copies, made box by box */
	bool dense;     /* both buffers are copies without gaps, in one order */
	int gathered;   /* the axis along which blocks are put together; -1: none */
	sx_id in_n[IR_MAX_LOGICAL], out_n[IR_MAX_LOGICAL]; /* by axis: number of elements moved */
	sx_id in_count, out_count;
};

/* Returns true if some rank's buffer has gaps: the blocks are not all full along an axis that is neither
 * the gathered one nor outermost in memory. The same on all ranks. */
bool plan_comm_has_gaps(const struct comm *s, const struct view *v);
/* Decides which elements move, and makes runs of memory of both buffers: sets c.in, c.out, in_n, … A
 * buffer with gaps is replaced by a copy without gaps (s->in, s->out). x, y: operand and result, or
 * NULL. Returns false after reporting. */
bool plan_comm_runs(struct comm *s, const struct view *x, const struct view *y);

#endif
