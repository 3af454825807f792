/* coalesce: groups of Communications that start together.
 *
 *     start_coalescing()
 *     A1 = allgather(A, axis=x) as a         members: of one team and backend, of any kinds
 *     B1 = allreduce(B, axis=x) as b
 *     end_coalescing() as e
 *     wait(e)                                all of them are done
 *
 * Such a group stands in one block, and between its ends nothing but members, views and buffers. Groups of
 * sends and receives are freer; they are left alone here. */
#ifndef HIRC_IR_COALESCE_H
#define HIRC_IR_COALESCE_H
#include "ir/ir.h"

struct ir_coalesce_fault {
	op_id op;             /* the statement that breaks a rule */
	op_id other;          /* one that it does not go with; 0: none */
	const char *rule;     /* the rule that op breaks */
	const char *other_is; /* the role of other */
};

/* Gives the Communications of groups the flags OP_GROUPED and OP_ASYNC. False: a group breaks a rule. */
bool ir_coalesce_mark(struct module *m, struct ir_coalesce_fault *out);
/* Checks groups as ir_coalesce_mark does, but changes no flag: a wrong flag is a fault. */
bool ir_coalesce_check(struct module *m, struct ir_coalesce_fault *out);

/* The end_coalescing of a member; the start_coalescing of an end. */
op_id ir_coalesce_end(const struct module *m, op_id member);
op_id ir_coalesce_start(const struct module *m, op_id end);
/* The first Communication of the group of an end_coalescing; 0: it is of messages. */
op_id ir_coalesce_first(const struct module *m, op_id end);

/* All Communications of the group of an end_coalescing. */
#define coalesce_each(m, x, end)                                                                             \
	for (op_id x = ir_coalesce_start(m, end); x && x != (end); x = (m)->op.at[x].next)                   \
		if ((m)->op.at[x].flags & OP_GROUPED)

#endif
