/* edit: changes a program in place. */
#ifndef HIRC_IR_EDIT_H
#define HIRC_IR_EDIT_H
#include "ir/build.h"

/* Takes a statement out of its region. Its operands no longer count as uses. */
void ir_remove(struct module *m, op_id op);
/* Moves a linked statement. */
void ir_move_before(struct module *m, op_id where, op_id op);
void ir_move_to_end(struct module *m, region_id r, op_id op);
/* Makes operand `index` (into m->operand) use another value. */
void ir_operand_set(struct module *m, uint32_t index, value_id v);
/* Replaces all operands of a statement, which stays at its place. */
void ir_op_set_operands(struct module *m, op_id op, const struct ir_use *use, unsigned n);

/* ---- questions */

/* Returns the operand that result k of a statement is a view of, either by the operation or by the view=
 * of an extern; 0 if it is no view. */
value_id ir_view_of(const struct module *m, op_id op, unsigned k);
/* Returns the value that owns the storage: the value itself, or the viewed one. */
value_id ir_root(const struct module *m, value_id v);
/* Returns true if a value is a view of a part of a buffer, which is never deallocated by itself. */
bool ir_is_part(const struct module *m, value_id v);
/* Returns the value of which a value is a shard by stream, or else the value. */
value_id ir_unsharded(const struct module *m, value_id v);
/* Returns true if the storage of the value is bound by an input, ALLOCATE or view. */
bool ir_is_bound(const struct module *m, value_id v);
/* Returns true if the results of a statement get no buffers: of an extern, and of the pack and unpack of a
 * collective that is one. */
bool ir_is_opaque(const struct module *m, op_id op);
/* Counts the loops that enclose a statement. out: NULL, or receives their ops, outermost first. */
unsigned ir_enclosing_loops(const struct module *m, op_id op, op_id *out, unsigned max);
/* Returns true if statement a is before b in program order. */
bool ir_before(const struct module *m, op_id a, op_id b);
/* A loop over all uses of v: for (uint32_t u = ir_value(m, v)->first_use; u; u =
 * m->operand.at[u].next_use). The chain includes the DEF, but no removed statements.
 *
 * ir_walk returns the next statement in program order, entering regions; 0 at the end. */
op_id ir_walk(const struct module *m, op_id op);
op_id ir_walk_first(const struct module *m);
/* Returns true if a statement of a block, of the ones after it of one condition, or of the blocks in them sets the
 * stream. */
bool ir_sets_streams(const struct module *m, region_id r);

#endif
