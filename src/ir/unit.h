/* unit: blocks of operations that run as one kernel. */
#ifndef HIRC_IR_UNIT_H
#define HIRC_IR_UNIT_H
#include "ir/ir.h"

enum { UNIT_MAX_FUSED = 64 }; /* most operations in a unit that a pass makes */

static inline bool op_is_unit(const struct module *m, op_id op)
{
	return m->op.at[op].kind == OP_UNIT || m->op.at[op].kind == OP_LAUNCH_KERNEL;
}
/* Returns the unit that contains a statement; 0 if there is none. */
op_id ir_unit_of(const struct module *m, op_id op);
/* Returns true if a value is made and used only in a unit, so that it has no storage. */
bool ir_is_unit_local(const struct module *m, value_id v);
/* Returns true if a statement may be in a unit: it has one result and is pointwise, a set or a
 * reduction. */
bool ir_unit_takes(const struct module *m, op_id op);
/* Returns the value with the shape over which a statement of a unit iterates. */
value_id ir_unit_space(const struct module *m, op_id op);
bool ir_unit_same_shape(const struct module *m, value_id a, value_id b);
/* The values that the statements of a unit read from outside, and those that they write, each once, in
 * the order of first use. The caller frees the lists. */
struct ir_unit_operands {
	VEC(value_id) in;
	VEC(value_id) out;
};
void ir_unit_operands_find(const struct module *m, op_id unit, struct ir_unit_operands *out);
/* Sets the layout of values made in a unit without a stated layout: that of a value of the same shape
 * that the unit uses. */
void ir_unit_settle(struct module *m, op_id unit);
/* Returns true if the listing does not show the text of a unit: it holds one extern. */
bool ir_unit_is_unknown(const struct module *m, op_id unit);
/* Returns the first statement that breaks a rule of units, with the rule; 0 if there is none. */
op_id ir_unit_fault(const struct module *m, op_id unit, const char **rule);

#endif
