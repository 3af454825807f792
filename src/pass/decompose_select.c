/* decompose_select: decomposes selects, which are views.
 *
 *     Y: f32[4, 2@x] = select(X, axis=1, index=i)            X: f32[4@x, 3, 2]
 *  →
 *     T2 = select(X, axis=1, index=i)
 *     Y: f32[4, 2@x] = set(T2)
 *
 *     T2: f32[8] partial(x) = sum(X, axis=0)                 X: f32[2@x, 8] on two ranks
 *  →
 *     T2: f32[8] partial(x) = select(X, axis=0, index=0)
 *
 *     for i in 0..8 { V = select(X, axis=0, index=i) … }     X: f32[8@x, 3]
 *  →
 *     T3 = set(X)                                            T3: f32[8, 3]
 *     for i in 0..8 { V = select(T3, axis=0, index=i) … }
 *
 * In the second example, each rank has one element of the axis: its part of the reduction. In the third,
 * all ranks take the same element, but not all of them have it. */
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include "pass/decompose.h"
#include "pass/order.h"
#include "pass/place.h"
#include "pass/rewrite.h"

/* Returns the type of a view with a pending reduction, stored like another type, which has none. */
static type_id pending_view(struct module *m, type_id pending, type_id stored)
{
	type_id t = order_like(m, infer_without_reduce(m, pending), stored);
	struct type x = m->type.at[t];
	return type_make(m, x.dtype, MEMORY_LOCAL, x.mesh, x.domain);
}

static bool is_in_branch(const struct module *m, op_id op)
{
	while ((op = m->region.at[m->op.at[op].parent].owner))
		if (m->op.at[op].kind != OP_FOR)
			return true;
	return false;
}

/* Returns the statement that is or contains this one, in the block in which a value is made. */
static op_id beside(const struct module *m, value_id v, op_id op)
{
	op_id def = m->value.at[v].def;
	region_id block = def ? m->op.at[def].parent : m->body;
	while (m->op.at[op].parent != block)
		op = m->region.at[m->op.at[op].parent].owner;
	return op;
}

/* Returns true if an axis is spread over several ranks. */
static bool is_spread(const struct mesh *mesh, const struct sugar_axis *a)
{
	for (unsigned k = 0; k < a->place_n; k++)
		if (a->place[k].kind == SUGAR_MESH && mesh->size[a->place[k].mesh_axis] > 1)
			return true;
	return false;
}

/* Gathers the operand if all ranks take the same element of a spread axis. Leaves buffers to the host
 * level, and also work that only some ranks do. */
static void gather_operand(struct module *m, struct pass_context *cx, op_id op)
{
	value_id v = op_read(m, op, 0);
	unsigned axis = (unsigned)op_attr_int(m, op, "axis", 0);
	struct type t = *value_type(m, v);
	struct sugar s;
	const char *reason;
	if (!t.mesh || axis >= value_domain(m, v)->rank ||
	    value_domain(m, v)->axis[axis].place == PLACE_MESH ||
	    m->expr.at[op_scalar_expr(m, op, 0)].flags & EXPR_HAS_RANK ||
	    rewrite_is_written(m, ir_root(m, v)) || is_in_branch(m, op) ||
	    !sugar_from_domain(m, t.domain, t.mesh, &s) || place_partial(&s) ||
	    !is_spread(ir_mesh(m, t.mesh), &s.axis[axis]))
		return;
	sugar_drop(&s, AXIS_REDUCE);
	s.axis[axis].place_n = 0;
	type_id type = place_type(m, m->value.at[v].type, t.mesh, &s, false, &reason);
	if (!type)
		return;
	op_id where = beside(m, v, op);
	value_id whole = rewrite_find_set(m, where, v, type);
	if (!whole)
		whole = rewrite_set_before(m, where, v, type);
	rewrite_read(m, op, 0, whole);
	struct buf name = {0};
	pass_put_name(m, v, &name);
	pass_remark(cx, m, m->op.at[op].at,
	            "%s gathered, as all ranks select the same element of an axis that they share", name.at);
	buf_free(&name);
}

/* Returns the mesh axes over which a value of a type is pending, as a bit set. */
static unsigned pending_axes(const struct module *m, type_id t)
{
	const struct domain *d = &m->domain.at[m->type.at[t].domain];
	unsigned mask = 0;
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_PARTIAL)
			mask |= 1u << d->axis[a].mesh_axis;
	return mask;
}

/* Returns true if a select's result is pending as its view is, or over the selected axis, too: then each rank has one
 * element of it. */
static bool is_pending_alike(const struct module *m, op_id op, type_id view)
{
	unsigned axis = (unsigned)op_attr_int(m, op, "axis", 0), pending = pending_axes(m, view),
	         spread = layout_mesh_axes(m, m->value.at[op_read(m, op, 0)].type, axis),
	         own = pending_axes(m, m->value.at[op_result(m, op, 0)].type);
	return own == pending || own == (pending | spread);
}

bool decompose_select(struct module *m, struct pass_context *cx, op_id op)
{
	if (m->op.at[op].kind != OP_SELECT)
		return true;
	gather_operand(m, cx, op);
	value_id result = op_result(m, op, 0);
	type_id t = m->value.at[result].type, view = infer_select(m, m->value.at[op_read(m, op, 0)].type,
	                                                          (unsigned)op_attr_int(m, op, "axis", 0));
	bool fits = !view || m->type.at[view].mesh == m->type.at[t].mesh,
	     written = rewrite_is_written(m, ir_root(m, result));
	fits = fits && (!view || is_pending_alike(m, op, view));
	for (unsigned a = 0; fits && view && a < value_domain(m, result)->rank; a++)
		fits = layout_same_footprint(m, t, a, view, a);
	if (fits && (!view || written || order_same(m, view, t)))
		return true;
	if (written) {
		decompose_report(m, cx, E_DECOMPOSE, op,
		                 "a view that is written has the layout of its buffer");
		diag_note(cx->d, m->op.at[op].at, "a copy of the view, made by 'set', may have another");
		return false;
	}
	struct type own = m->type.at[t];
	if (own.mesh == m->type.at[view].mesh &&
	    value_domain(m, result)->logical_n > value_domain(m, result)->rank)
		view = pending_view(m, t, view);
	m->value.at[result].type = type_make(m, own.dtype, MEMORY_GLOBAL, own.mesh, own.domain);
	op_id set = rewrite_set_after(m, op, view);
	struct sugar x;
	if (!sugar_from_domain(m, m->type.at[view].domain, m->type.at[view].mesh, &x) ||
	    !sugar_from_domain(m, own.domain, own.mesh,
	                       &x)) { /* elements are exchanged between whole buffers */
		struct type whole = m->type.at[view];
		value_id made = op_result(m, op, 0);
		type_id global = type_make(m, whole.dtype, MEMORY_GLOBAL, whole.mesh, whole.domain);
		rewrite_reads(m, set, made, rewrite_set_before(m, set, made, global));
	}
	decompose_remark(m, cx, op, result, view);
	return true;
}

/* Returns the axis that a reduction removes and of which each rank has one element; -1: none. */
static int one_a_rank(struct module *m, op_id op)
{
	value_id x = op_read(m, op, 0);
	const struct domain *d = value_domain(m, x);
	mesh_id mesh = value_type(m, x)->mesh;
	unsigned mask = infer_reduced_axes(m, m->op.at[op].attrs, d->rank);
	for (unsigned a = 0; a < d->rank; a++)
		if (mask == 1u << a && mesh && !domain_consumer(d, a) && d->axis[a].place == PLACE_MESH)
			return (int)a;
	return -1;
}

/* Returns true if ranks have several intervals of an axis. The planner cannot copy a view of such a
 * value to a buffer without gaps. */
static bool has_blocks(struct module *m, value_id v)
{
	struct sugar s;
	const struct type *t = value_type(m, v);
	if (!sugar_from_domain(m, t->domain, t->mesh, &s))
		return true;
	for (unsigned a = 0; a < s.rank; a++)
		if (place_has_block(&s.axis[a]))
			return true;
	return false;
}

void decompose_reduced(struct module *m, op_id op)
{
	enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	if ((kind != OP_SUM && kind != OP_MAX && kind != OP_MIN && kind != OP_PROD) ||
	    op_attr_is_true(m, op, "keepdims") || !m->op.at[op].def_n ||
	    value_type(m, op_read(m, op, 0))->dtype != value_type(m, op_def(m, op, 0))->dtype)
		return;
	int axis = one_a_rank(m, op);
	value_id x = op_read(m, op, 0), result = op_def(m, op, 0);
	type_id t = m->value.at[result].type,
	        view = axis < 0 ? 0 : infer_select(m, m->value.at[x].type, (unsigned)axis);
	const struct domain *d = value_domain(m, result);
	if (!view || layout_partial(d, value_domain(m, x)->axis[axis].mesh_axis) < 0 ||
	    layout_loop_axis(d, 0) >= 0 || layout_loop_axis(value_domain(m, x), 0) >= 0 ||
	    has_blocks(m, result) || rewrite_is_written(m, ir_root(m, x)) ||
	    m->value.at[result].flags & VALUE_OUTPUT)
		return;
	t = pending_view(m, t, view);
	m->value.at[result].type = t;
	struct attr index = {.key = names_intern_z(m->names, "axis"), .kind = ATTR_INT, .u.i = axis};
	struct ir_use use[] = {
	    {ROLE_DEF, result}, {ROLE_READ, x}, {ROLE_SCALAR, ir_scalar_expr(m, expr_const(m, 0))}};
	m->op.at[op].kind = OP_SELECT;
	m->op.at[op].attrs = ir_attrs_with(m, 0, &index);
	ir_op_set_operands(m, op, use, 3);
}
