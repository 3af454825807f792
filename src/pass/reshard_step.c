/* reshard_step: finds the loop of which a reshard is a step.
 *
 *     for i in 0..4 parallel(stream) {
 *       G: f32[t@stream(4), k] = set(X)               X: f32[t@x, k]; index i
 *       Y <- linear(shard_by_stream(G, ...), W)
 *     }
 *
 * The cut tensor is the result of the step, or its operand if it reduces. The views that make it bind
 * its loops from the innermost outwards. The other loops go with enclosing loops of the same length. */
#include "ir/edit.h"
#include "ir/expr.h"
#include "pass/place.h"
#include "pass/reshard.h"

expr_id reshard_loop_index(struct module *m, op_id op, const struct domain *d, unsigned n)
{
	op_id loops[IR_MAX_NESTING];
	unsigned count = ir_enclosing_loops(m, op, loops, IR_MAX_NESTING), next = 0;
	for (unsigned k = 0; k < count; k++)
		if (op_scalar_expr(m, loops[k], 1) == d->axis[d->loop[next]].extent && next++ == n)
			return expr_index(m, m->region.at[m->op.at[loops[k]].region].index);
	return 0;
}

expr_id reshard_step_index(struct module *m, op_id op, const struct reshard *r)
{
	value_id cut = r->kind == RESHARD_STEP_REDUCE ? op_read(m, op, 0) : op_result(m, op, 0);
	const struct domain *d = value_domain(m, cut);
	unsigned loops = place_loop_count(d), step = 0;
	while (step < loops && d->loop[step] != r->step)
		step++;
	/* views bind the innermost loops; the last view binds the innermost one */
	for (op_id def = m->value.at[cut].def; loops && def && m->op.at[def].kind == OP_SHARD_BY_STREAM;
	     def = m->value.at[op_read(m, def, 0)].def)
		if (--loops == step)
			return op_scalar_expr(m, def, 0);
	return step < loops ? reshard_loop_index(m, op, d, step) : 0;
}
