/* coalesce: groups of Communications that start together.
 *
 *     start_coalescing()
 *     A1 = allgather(A, axis=x) as a         members: of one team and backend, of any kinds
 *     B1 = allreduce(B, axis=x) as b
 *     end_coalescing() as e
 *     wait(e)                                all members are done
 *
 * A group of collectives is in one block, and contains only members, views and buffers. The rules for
 * groups of sends and receives are weaker; they are not checked here. */
#ifndef HIRC_IR_COALESCE_H
#define HIRC_IR_COALESCE_H
#include "ir/ir.h"

struct ir_coalesce_fault {
	op_id op;             /* the statement that breaks a rule */
	op_id other;          /* a statement that conflicts with it; 0: none */
	const char *rule;     /* the rule that `op` breaks */
	const char *other_is; /* the role of `other`, in words */
};

/* Sets the flags OP_GROUPED and OP_ASYNC of Communications in groups. Returns false if a group breaks a
 * rule. */
bool ir_coalesce_mark(struct module *m, struct ir_coalesce_fault *out);
/* Checks groups as ir_coalesce_mark does, but changes nothing: a wrong flag is a fault. */
bool ir_coalesce_check(struct module *m, struct ir_coalesce_fault *out);

/* Return the end_coalescing of a member, and the start_coalescing of an end. */
op_id ir_coalesce_end(const struct module *m, op_id member);
op_id ir_coalesce_start(const struct module *m, op_id end);
/* Returns the first Communication in the group of an end_coalescing; 0 if it is a group of messages. */
op_id ir_coalesce_first(const struct module *m, op_id end);

/* for-loop over all Communications in the group of an end_coalescing. */
#define coalesce_each(m, x, end)                                                                             \
	for (op_id x = ir_coalesce_start(m, end); x && x != (end); x = (m)->op.at[x].next)                   \
		if ((m)->op.at[x].flags & OP_GROUPED)

#endif
