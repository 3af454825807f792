/* ref_level: decides if a program is evaluated on logical tensors or rank by rank.
 *
 *     for i in 0..4                       on logical tensors: loops, buffers, slices, writes, layouts
 *       a = slice(X, start=2*i, …)        that are still to be inferred
 *       Y <- set(a)
 *
 *     Z <- allgather(Y) as c              rank by rank: streams, events, messages, values that
 *     wait(c)                             depend on a rank, buffers whose parts are pending
 *
 * One statement that needs ranks decides for the whole program, since all statements see the buffers that
 * ranks exchange. */
#include "ir/edit.h"
#include "ir/expr.h"
#include "ref/ref_logical.h"

unsigned ref_attrs_flags(const struct module *m, op_id op)
{
	const struct attrs *list = &m->attrs.at[m->op.at[op].attrs];
	unsigned flags = 0;
	for (unsigned k = 0; k < list->n; k++)
		flags |= list->at[k].kind == ATTR_EXPR ? m->expr.at[list->at[k].u.expr].flags : 0;
	return flags;
}

static bool depends_on_rank(const struct module *m, op_id op)
{
	unsigned flags = ref_attrs_flags(m, op);
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_SCALAR); k++)
		if (op_scalar_expr(m, op, k))
			flags |= m->expr.at[op_scalar_expr(m, op, k)].flags;
	return flags & EXPR_HAS_RANK;
}

/* Returns true if a statement writes parts of a sum to a buffer. Each rank then has its own buffer. */
static bool writes_parts(const struct module *m, op_id op)
{
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_WRITE); k++)
		if (ref_partial_axes(value_domain(m, op_write(m, op, k)), NULL))
			return true;
	return false;
}

/* Returns true if a select is along a mesh axis. Each rank then takes its own index, or a gather must come
 * first. */
static bool selects_mesh_axis(const struct module *m, op_id op)
{
	const struct domain *d = value_domain(m, op_read(m, op, 0));
	unsigned axis = (unsigned)op_attr_int(m, op, "axis", 0);
	return axis >= d->rank || d->axis[axis].place == PLACE_MESH;
}

/* Returns true if step r of an axis is another block on each rank. */
static bool is_swizzled(const struct domain *d)
{
	for (unsigned x = 0; x < d->xform_n; x++)
		if (d->xform[x].kind == XFORM_SWIZZLE1D)
			return true;
	return false;
}

static bool has_logical_meaning(struct module *m, op_id op)
{
	const struct op *o = &m->op.at[op];
	if (o->flags & OP_ASYNC || writes_parts(m, op))
		return false;
	if (op_traits(m, op) & TRAIT_COLLECTIVE)
		return o->kind != OP_COLLECTIVE_PERMUTE &&
		       (!op_role_count(m, op, ROLE_WRITE) || !(op_traits(m, op) & TRAIT_REDUCES) ||
		        ref_reduced_copies(m, op));
	if (depends_on_rank(m, op))
		return false;
	switch ((enum op_kind)o->kind) {
	case OP_FOR:
	case OP_IF:
	case OP_ALLOCATE:
	case OP_DEALLOCATE:
		return true;
	case OP_SELECT:
		return !selects_mesh_axis(m, op);
	case OP_SHARD_BY_STREAM:
		return !is_swizzled(value_domain(m, op_read(m, op, 0)));
	case OP_PACK:
	case OP_UNPACK:
		return false;
	default:
		switch (op_info[o->kind].form) {
		case FORM_HOST:
		case FORM_VIEW:
		case FORM_CONTROL:
		case FORM_P2P:
			return false;
		default:
			return true;
		}
	}
}

bool ref_is_host_level(struct module *m)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		if (!has_logical_meaning(m, op))
			return true;
	return false;
}

bool ref_is_straight(const struct module *m)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		enum op_kind kind = (enum op_kind)m->op.at[op].kind;
		uint8_t form = op_info[kind].form;
		if (op_role_count(m, op, ROLE_WRITE) || (form == FORM_VIEW && kind != OP_SELECT) ||
		    form == FORM_ALLOC || form == FORM_CONTROL || form == FORM_HOST)
			return false;
	}
	return true;
}
