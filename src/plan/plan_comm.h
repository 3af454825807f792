/* plan_comm: a collective that is planned; for plan_comm.c and plan_pack.c. */
#ifndef HIRC_PLAN_PLAN_COMM_H
#define HIRC_PLAN_PLAN_COMM_H
#include "plan/planner.h"

struct comm {
	struct planner *b;
	op_id op;
	struct view *in, *out; /* NULL: not on this rank */
	const struct plan_team *team;
	uint32_t own;
	struct plan_collective c;
	bool uncertain; /* the root, which alone reads or writes, is not known */
	bool packed;    /* both buffers are copies, box by box */
	int gathered;   /* the axis along which blocks are put together; -1: none */
	sx_id in_n[IR_MAX_LOGICAL], out_n[IR_MAX_LOGICAL]; /* elements moved of each axis */
	sx_id in_count, out_count;
};

/* Returns true if the blocks that ranks hold of a value are not all full along an axis, other than the
 * gathered one, that is not outermost in memory: some rank's buffer has gaps then. The same on all ranks. */
bool plan_comm_has_gaps(const struct comm *s, const struct view *v);
/* Decides which elements move, and makes runs of memory of both buffers: fills c.in, c.out, in_n, … Buffers
 * with gaps become copies without (s->in, s->out). x, y: operand and result, absent or not. False: reported.
 */
bool plan_comm_runs(struct comm *s, const struct view *x, const struct view *y);

#endif
