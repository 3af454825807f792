/* fuse-pointwise: runs consecutive pointwise operations as one kernel.
 *
 *     A: f32[64@x, 32] = add(X, B)             Y: f32[64@x, 32] = allocate()
 *     G: f32[64@x, 32] = gelu(A)               unit {
 *     Y: f32[64@x, 32] = mul(G, M)        →      A: f32[64@x, 32] = add(X, B)
 *                                                G: f32[64@x, 32] = gelu(A)
 *                                                Y <- mul(G, M)
 *                                              }
 *
 * A group is the longest run of statements in a block that may be in a unit and that iterate over the
 * same shape and layout. Its reductions are over the same axes, and nothing in the group reads their
 * results. It becomes a unit if that saves at least one buffer, of a result that nothing else uses.
 * Other results are allocated before the unit. A group with fewer elements than the option `min` is left
 * alone: small data is in the cache, and separate kernels are faster.
 *
 * requires     sharded, lowered
 * establishes  -
 * keeps        everything else */
#include "base/checked.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/layout.h"
#include "ir/unit.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

struct fused {
	VEC(op_id) op;
	const char *ends; /* reason why the next statement is not in it; NULL: it is no such operation */
};

static bool is_pointwise(const struct module *m, op_id op)
{
	return ir_unit_takes(m, op) && !(m->op.at[op].flags & OP_ASYNC);
}

/* Returns true if ranks hold the same elements of both values, in the same order of iteration. */
static bool same_layout(const struct module *m, value_id a, value_id b)
{
	const struct type *x = value_type(m, a), *y = value_type(m, b);
	if (x->mesh != y->mesh)
		return false;
	for (unsigned i = 0; i < value_domain(m, a)->rank; i++)
		if (!layout_same_axis(m, m->value.at[a].type, i, m->value.at[b].type, i))
			return false;
	return true;
}

static unsigned reduced_axes(const struct module *m, op_id op)
{
	return infer_reduced_axes(m, m->op.at[op].attrs, value_domain(m, op_read(m, op, 0))->rank);
}

/* Returns true if an operand or result of one statement shares storage with the result of another,
 * without being the same value. */
static bool overlaps(const struct module *m, op_id writer, op_id other)
{
	value_id to = op_result(m, writer, 0);
	for (unsigned k = 0; k < m->op.at[other].operand_n; k++) {
		const struct operand *o = &m->operand.at[m->op.at[other].operand + k];
		if (o->role <= ROLE_WRITE && o->id != to && ir_root(m, o->id) == ir_root(m, to))
			return true;
	}
	return false;
}

/* Returns the reason why a statement cannot join the group; NULL: it can. */
static const char *obstacle(const struct module *m, const struct fused *g, op_id op)
{
	value_id first = ir_unit_space(m, g->op.at[0]), space = ir_unit_space(m, op);
	if (!ir_unit_same_shape(m, first, space))
		return "it has another shape";
	if (!same_layout(m, first, space))
		return "it has another layout";
	for (uint32_t i = 0; i < g->op.n; i++) {
		op_id before = g->op.at[i];
		bool sum = op_traits(m, before) & TRAIT_REDUCTION;
		for (unsigned k = 0; sum && k < op_role_count(m, op, ROLE_READ); k++)
			if (ir_root(m, op_read(m, op, k)) == ir_root(m, op_result(m, before, 0)))
				return "it reads the result of their reduction";
		if (sum && op_traits(m, op) & TRAIT_REDUCTION &&
		    reduced_axes(m, before) != reduced_axes(m, op))
			return "it reduces other axes";
		if (overlaps(m, before, op) || overlaps(m, op, before))
			return "its memory overlaps the memory that they read or write";
	}
	return NULL;
}

/* Finds the group that begins with a statement. */
static void find_group(const struct module *m, op_id op, struct fused *g)
{
	g->op.n = 0;
	g->ends = NULL;
	for (; op && is_pointwise(m, op) && g->op.n < UNIT_MAX_FUSED; op = m->op.at[op].next) {
		g->ends = g->op.n ? obstacle(m, g, op) : NULL;
		if (g->ends)
			return;
		vec_push(&g->op, op);
	}
}

static bool has_operation(const struct fused *g, op_id op)
{
	for (uint32_t i = 0; i < g->op.n; i++)
		if (g->op.at[i] == op)
			return true;
	return false;
}

/* Returns true if the program returns a result, or if a statement outside of the group uses it. */
static bool leaves(const struct module *m, const struct fused *g, value_id v)
{
	if (m->value.at[v].flags & VALUE_OUTPUT)
		return true;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		if (!has_operation(g, m->operand.at[u].op))
			return true;
	return false;
}

/* Counts the results that only the group uses. */
static unsigned count_spared(const struct module *m, const struct fused *g)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < g->op.n; i++) {
		value_id v = op_def(m, g->op.at[i], 0);
		n += v && !leaves(m, g, v);
	}
	return n;
}

/* Returns the elements that a rank has of a block of these; 0: not known. */
static int64_t count_block_elements(const struct module *m, const struct fused *g)
{
	const struct domain *d = value_domain(m, ir_unit_space(m, g->op.at[0]));
	const struct expr_env env = {.rank = -1};
	int64_t count = 1, n;
	for (unsigned k = 0; k < d->loop_n; k++) {
		const struct axis *a = &d->axis[d->loop[k]];
		if (a->kind != AXIS_ITER || a->place != PLACE_NONE)
			continue;
		if (expr_eval(m, a->extent, &env, &n, NULL) != EXPR_OK || !checked_mul(count, n, &count))
			return 0;
	}
	return count;
}

static void make_unit(struct module *m, struct pass_context *cx, const struct fused *g)
{
	op_id first = g->op.at[0];
	op_id unit = ir_op_new(m, OP_UNIT, m->op.at[first].at, NULL, 0);
	ir_insert_before(m, first, unit);
	region_id body = ir_region_new(m, unit);
	for (uint32_t i = 0; i < g->op.n; i++) {
		value_id v = op_def(m, g->op.at[i], 0);
		if (v && leaves(m, g, v)) {
			rewrite_allocate(m, unit, v);
			vec_push(&cx->allocated, v);
		}
	}
	for (uint32_t i = 0; i < g->op.n; i++)
		ir_move_to_end(m, body, g->op.at[i]);
}

static void remark_unit(struct module *m, struct pass_context *cx, const struct fused *g, unsigned spared)
{
	struct buf name = {0};
	op_id first = g->op.at[0], last = g->op.at[g->op.n - 1], next = m->op.at[last].next;
	uint32_t at = m->op.at[first].at;
	pass_put_name(m, op_result(m, last, 0), &name);
	if (spared)
		pass_remark(cx, m, at, "%u operations up to %s are a unit; %u of its results need no buffer",
		            g->op.n, name.at, spared);
	else if (g->op.n > 1)
		pass_remark(cx, m, at, "%u operations up to %s not fused: each result is used elsewhere",
		            g->op.n, name.at);
	if (g->ends && next) {
		buf_free(&name);
		pass_put_name(m, op_result(m, next, 0), &name);
		pass_remark(cx, m, m->op.at[next].at, "%s not fused with the statements before it: %s",
		            name.at, g->ends);
	}
	buf_free(&name);
}

static void fuse_block(struct module *m, struct pass_context *cx, region_id r, struct fused *g)
{
	for (op_id op = m->region.at[r].first, next; op; op = next) {
		next = m->op.at[op].next;
		if (op_is_unit(m, op))
			continue;
		for (region_id inner = m->op.at[op].region; inner; inner = m->region.at[inner].sibling)
			fuse_block(m, cx, inner, g);
		find_group(m, op, g);
		if (!g->op.n)
			continue;
		int64_t least = cx->option[PASS_FUSE_POINTWISE_MIN];
		if (least && count_block_elements(m, g) < least) {
			next = m->op.at[g->op.at[g->op.n - 1]].next;
			continue;
		}
		unsigned spared = count_spared(m, g);
		next = m->op.at[g->op.at[g->op.n - 1]].next;
		if (spared &&
		    !pass_may_change(cx, m, m->op.at[g->op.at[0]].at, "a unit of %u operations", g->op.n))
			continue;
		remark_unit(m, cx, g, spared);
		if (spared)
			make_unit(m, cx, g);
	}
}

bool pass_fuse_pointwise(struct module *m, struct pass_context *cx)
{
	struct fused g = {0};
	fuse_block(m, cx, m->body, &g);
	vec_free(&g.op);
	return true;
}
