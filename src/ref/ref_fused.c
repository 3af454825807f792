/* ref_fused: statements whose rounding a run may leave out, since they follow a product on a GPU.
 *
 *     T = linear(X, W)            cublasLtMatmul computes gelu(sum + R) and rounds once,
 *     U = T + R                   so an element of U may differ by its rounding, also where
 *     Y = gelu_tanh(U)            T and U have no error otherwise
 *
 * src/plan/plan_products.c decides what is joined. This marks a value more rather than one less: values that a product,
 * or an addition, scale or cast of a marked value makes, and views of them. */
#include "base/arena.h"
#include "ir/edit.h"
#include "ref/ref_internal.h"

static bool reads_marked(const struct module *m, op_id op, const bool *marked)
{
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++)
		if (marked[op_read(m, op, k)])
			return true;
	return false;
}

static bool may_join(enum op_kind kind)
{
	return kind == OP_ADD || kind == OP_MUL || kind == OP_CAST;
}

/* Marks the results of a statement. Returns true if one was not marked. */
static bool mark_results(const struct module *m, op_id op, bool *marked)
{
	const unsigned traits = op_traits(m, op);
	bool any = false;
	if (!(traits & TRAIT_CONTRACTION) &&
	    !((traits & (TRAIT_VIEW | TRAIT_VIEWLIKE) || may_join((enum op_kind)m->op.at[op].kind)) &&
	      reads_marked(m, op, marked)))
		return false;
	for (unsigned k = 0; k < op_result_count(m, op); k++) {
		value_id v = op_result(m, op, k);
		any |= !marked[v];
		marked[v] = true;
	}
	return any;
}

bool *ref_fused_find(const struct module *m)
{
	bool *marked = mem_zalloc(m->value.n), again = true;
	while (again) {
		again = false;
		for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
			again |= mark_results(m, op, marked);
	}
	return marked;
}

bool ref_fused_may_skip(const struct ref_context *c, op_id op)
{
	return c->fused && may_join((enum op_kind)c->m->op.at[op].kind) && reads_marked(c->m, op, c->fused);
}
