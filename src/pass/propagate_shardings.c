/* propagate-shardings: chooses the layouts that the source does not state.
 *
 *     input  X: bf16[t@stream(2), k]          input  X: bf16[t@stream(2), k]
 *     input  W: bf16[n@x, k]            →     input  W: bf16[n@x, k]
 *     H = gelu(linear(X, W))                  T2: bf16[t@stream(2), n@x] = linear(X, W)
 *                                             H: bf16[t@stream(2), n@x] = gelu(T2)
 *
 * It goes forward from operands to results, then backward from results to operands, until nothing
 * changes. A tensor axis takes the placements of a corresponding axis (infer_axes) until one needs a
 * mesh axis that the tensor already uses. Stream or serial placements come from one neighbour only, and
 * not if a loop of the program would make one block of them. Operands are tried in an order of
 * preference. linear: the weight, the bias, then the input. matmul: the second, then the first. Other
 * operations: the most spread first. A pure collective without a type gets its operand's, without the
 * axes that it gathers or reduces. Axes with placements are never changed, and layouts stated in the
 * source neither, but for the order of loop axes (loop_axes_order). Axes that are summed or needed whole
 * pass no placements on.
 *
 * requires nothing establishes sharded: no value has an open layout keeps statements and stated types,
 * and so the meaning */
#include "ir/bound.h"
#include "ir/build.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include "ir/pack.h"
#include "pass/loop_axes.h"
#include "pass/pass.h"
#include "pass/place.h"
#include "pass/rewrite.h"
#include <string.h>

static bool is_open(const struct module *m, value_id v)
{
	return m->value.at[v].flags & VALUE_OPEN;
}

static bool has_loops(const struct sugar *s)
{
	for (unsigned a = 0; a < s->rank; a++)
		if (place_has_loop(&s->axis[a]))
			return true;
	return false;
}

/* Gives an axis without placements those of another, up to the first that this tensor cannot have.
 * *used: mesh axes of the tensor. Returns true if it got any. */
static bool take_axis(struct sugar_axis *to, const struct sugar_axis *from, unsigned *used, bool loops)
{
	unsigned n = 0;
	if (to->place_n)
		return false;
	for (; n < from->place_n; n++) {
		const struct sugar_place *p = &from->place[n];
		if (place_is_loop(p) ? !loops : p->kind == SUGAR_MESH && (*used >> p->mesh_axis & 1))
			break;
	}
	while (n && from->place[n - 1].kind == SUGAR_BLOCK)
		n--;
	place_copy(to, from);
	to->place_n = (uint8_t)n;
	*used |= place_mesh_axes(to);
	return n != 0;
}

/* Writes changed placements back into a value's type. */
static bool store_placements(struct module *m, value_id v, struct sugar *s)
{
	const char *reason;
	sugar_drop(s, AXIS_REDUCE); /* they follow from the operands, and may use the same mesh axis */
	type_id old = m->value.at[v].type;
	bool unstreamed = m->value.at[v].flags & (VALUE_INPUT | VALUE_OUTPUT | VALUE_INOUT);
	type_id t = place_type(m, old, m->type.at[old].mesh, s, unstreamed, &reason);
	if (!t || t == old)
		return false;
	m->value.at[v].type = t;
	return true;
}

/* ---- from one operand to the result, or back */

/* Returns true if the result of a statement may have the loops of another value: the loops of the
 * program must bind either both or none. */
static bool takes_loops(const struct module *m, op_id made, value_id from)
{
	return bound_of(m, from) || !bound_beside(m, m->value.at[from].type, made);
}

static bool forward_from(struct module *m, struct op_layout *l, unsigned k, unsigned *used)
{
	bool loops = !has_loops(&l->r) && takes_loops(m, l->op, l->operand[k]), changed = false;
	if (!l->o_known[k] || value_type(m, l->operand[k])->mesh != value_type(m, l->result)->mesh)
		return false;
	for (unsigned a = 0; a < l->r.rank; a++) {
		int from = l->x.result[a] == INFER_NONE ? -1 : op_layout_axis(l, k, l->x.result[a]);
		if (from >= 0 && l->x.kind[l->x.result[a]] == DIM_PARALLEL)
			changed |= take_axis(&l->r.axis[a], &l->o[k].axis[from], used, loops);
	}
	return changed;
}

static bool backward_to(struct module *m, struct op_layout *l, unsigned k)
{
	struct sugar *s = &l->o[k];
	unsigned used = place_used(s) | place_partial(s);
	op_id def = m->value.at[l->operand[k]].def;
	bool loops = !has_loops(s) && def && takes_loops(m, def, l->result), changed = false;
	if (!l->o_known[k] || !l->r_known ||
	    value_type(m, l->operand[k])->mesh != value_type(m, l->result)->mesh)
		return false;
	for (unsigned a = 0; a < s->rank; a++) {
		uint8_t dim = l->x.operand[k][a];
		int from = dim == INFER_NONE ? -1 : op_layout_result_axis(l, dim);
		if (from >= 0 && l->x.kind[dim] == DIM_PARALLEL)
			changed |= take_axis(&s->axis[a], &l->r.axis[from], &used, loops);
	}
	return changed && store_placements(m, l->operand[k], s);
}

static unsigned placements(const struct sugar *s)
{
	unsigned n = 0;
	for (unsigned a = 0; a < s->rank; a++)
		n += s->axis[a].place_n;
	return n;
}

/* Lists the operands in the order of preference. */
static void preference(const struct module *m, const struct op_layout *l, unsigned *order)
{
	static const uint8_t linear[] = {1, 2, 0}, matmul[] = {1, 0};
	unsigned kind = m->op.at[l->op].kind, n = l->x.operand_n, at = 0;
	if (kind == OP_LINEAR || kind == OP_MATMUL) {
		for (unsigned i = 0; i < (kind == OP_LINEAR ? 3u : 2u); i++)
			if ((kind == OP_LINEAR ? linear : matmul)[i] < n)
				order[at++] = (kind == OP_LINEAR ? linear : matmul)[i];
		return;
	}
	for (unsigned k = 0; k < n; k++) {
		unsigned i = at++;
		for (; i && placements(&l->o[order[i - 1]]) < placements(&l->o[k]); i--)
			order[i] = order[i - 1];
		order[i] = k;
	}
}

/* ---- all statements */

/* Returns true if the value is made by a pure collective and its type was left out, so that it follows
 * the operand. */
static bool is_following(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	return def && is_open(m, v) && op_traits(m, def) & TRAIT_COLLECTIVE;
}

static bool follow_operand(struct module *m, op_id op, value_id result)
{
	type_id t = infer_collective(m, (enum op_kind)m->op.at[op].kind, m->op.at[op].team,
	                             m->value.at[op_read(m, op, 0)].type);
	if (!t || t == infer_without_reduce(m, m->value.at[result].type))
		return false;
	m->value.at[result].type = t;
	return true;
}

static bool forward_placements(struct module *m, op_id op, unsigned k)
{
	struct op_layout l;
	unsigned order[PLACE_MAX_OPERANDS];
	value_id result = op_result(m, op, k);
	if (is_following(m, result))
		return follow_operand(m, op, result);
	if (!is_open(m, result) || !op_layout_read_result(m, op, k, &l) || !l.r_known)
		return false;
	unsigned used = place_used(&l.r) | place_partial(&l.r);
	bool changed = false;
	preference(m, &l, order);
	for (unsigned i = 0; i < l.x.operand_n; i++)
		changed |= forward_from(m, &l, order[i], &used);
	return changed && store_placements(m, result, &l.r);
}

static bool backward(struct module *m, op_id op, unsigned result)
{
	struct op_layout l;
	bool changed = false, any = false;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++)
		any |= is_open(m, op_read(m, op, k));
	if (!any || op_traits(m, op) & TRAIT_COLLECTIVE || !op_layout_read_result(m, op, result, &l))
		return false;
	for (unsigned k = 0; k < l.x.operand_n; k++)
		if (is_open(m, l.operand[k]) && !is_following(m, l.operand[k]))
			changed |= backward_to(m, &l, k);
	return changed;
}

/* Returns the default type of a view. */
static type_id view_type(struct module *m, op_id op, type_id operand)
{
	if (m->op.at[op].kind == OP_SELECT)
		return infer_select(m, operand, (unsigned)op_attr_int(m, op, "axis", 0));
	return infer_shard(m, operand);
}

/* Updates the types of views of values that got a layout, unless the source states them. */
static void follow_views(struct module *m, const op_id *op, uint32_t n, const type_id *before)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!(op_traits(m, op[i]) & TRAIT_VIEW))
			continue;
		value_id view = op_def(m, op[i], 0), of = op_read(m, op[i], 0);
		if (m->value.at[of].type == before[of] ||
		    m->value.at[view].type != view_type(m, op[i], before[of]))
			continue;
		type_id t = view_type(m, op[i], m->value.at[of].type);
		if (t)
			m->value.at[view].type = t;
	}
}

/* Checks packs: chosen layouts do not consider them and may not fit. */
static bool packs_fit(const struct module *m, struct diag *d, op_id op)
{
	struct buf text = {0};
	bool packs = m->op.at[op].kind == OP_PACK || m->op.at[op].kind == OP_UNPACK;
	bool fault = packs && ir_pack_fault(m, op, &text);
	if (fault)
		diag_error(d, E_PACK, m->op.at[op].at, "%s", text.at);
	buf_free(&text);
	return !fault;
}

bool pass_propagate_shardings(struct module *m, struct pass_context *cx)
{
	struct rewrite_reduce reduce;
	VEC(op_id) all = {0};
	bool open = false, changed = true, ok = true;
	loop_axes_order(m);
	for (value_id v = 1; v < m->value.n; v++)
		open |= is_open(m, v);
	if (!open)
		return true;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		vec_push(&all, op);
	type_id *before = mem_alloc(sizeof *before * m->value.n);
	for (value_id v = 0; v < m->value.n; v++)
		before[v] = m->value.at[v].type;
	rewrite_reduce_begin(m, &reduce);
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < all.n; i++)
			for (unsigned k = 0; k < op_result_count(m, all.at[i]); k++)
				changed |= forward_placements(m, all.at[i], k);
		for (uint32_t i = all.n; i-- > 0;)
			for (unsigned k = 0; k < op_result_count(m, all.at[i]); k++)
				changed |= backward(m, all.at[i], k);
	}
	follow_views(m, all.at, all.n, before);
	free(before);
	for (value_id v = 1; v < m->value.n; v++)
		m->value.at[v].flags &= ~(uint32_t)VALUE_OPEN;
	rewrite_reduce_end(m, &reduce);
	for (uint32_t i = 0; i < all.n; i++)
		op_layout_assume(m, all.at[i]);
	for (uint32_t i = 0; i < all.n; i++)
		ok &= packs_fit(m, cx->d, all.at[i]);
	vec_free(&all);
	return ok;
}
