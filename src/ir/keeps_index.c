/* keeps_index: see keeps_index.h.
 *
 *     A: f32[8@x], x = 2       B: f32[8@x]       C: f32[4]
 *     send(A, peer) on rank 0, recv(B, peer) on rank 1                    by index: an error, B has [4, 8)
 *     send(A, peer) on rank 0, recv(B, peer, by_place=true) on rank 1     [0, 4) of A becomes [4, 8) of B
 *     send(A, peer) on rank 0, recv(C, peer) on rank 1                    by place, since the extents differ */
#include "ir/keeps_index.h"
#include "ir/domain.h"
#include "ir/expr.h"

static bool extents_are_equal(const struct module *m, type_id a, type_id b)
{
	const struct domain *x = ir_domain(m, ir_type(m, a)->domain),
	                    *y = ir_domain(m, ir_type(m, b)->domain);
	const struct expr_env env = {.rank = -1};
	if (x->rank != y->rank)
		return false;
	for (unsigned k = 0; k < x->rank; k++) {
		int64_t i, j;
		if (x->axis[k].extent == y->axis[k].extent)
			continue;
		if (expr_eval(m, x->axis[k].extent, &env, &i, NULL) != EXPR_OK ||
		    expr_eval(m, y->axis[k].extent, &env, &j, NULL) != EXPR_OK || i != j)
			return false;
	}
	return true;
}

bool ir_keeps_index(const struct module *m, op_id from, op_id to)
{
	const value_id in = op_read(m, from, 0), out = op_result(m, to, 0);
	return extents_are_equal(m, m->value.at[in].type, m->value.at[out].type) &&
	       !op_attr_is_true(m, to, "by_place");
}

bool ir_is_printed_by_place(const struct module *m, op_id op)
{
	const enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	if (kind != OP_RECV && kind != OP_COLLECTIVE_PERMUTE)
		return false;
	const value_id in = op_read(m, op, 0), out = op_result(m, op, 0);
	return domain_is_spread(value_domain(m, out)) ||
	       (kind == OP_COLLECTIVE_PERMUTE && domain_is_spread(value_domain(m, in)) &&
	        !extents_are_equal(m, m->value.at[in].type, m->value.at[out].type));
}
