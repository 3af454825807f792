/* place_local: tests if every rank can compute its part of an operation from the parts that it holds.
 *
 *     Y: f32[8@x, 4] = relu(A)      A: f32[8@x, 4]  local
 *                                   A: f32[8, 4]    not local: a rank holds more than it needs
 *     Y: f32[8@x, 4]; Y <- relu(A)  A: f32[8, 4]    lacks nothing: a rank reads its rows
 *                                   A: f32[8, 4@x]  lacks: a rank needs columns that it does not hold */
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include "pass/place.h"
#include "pass/reshard_meshes.h"

/* Returns the mesh axes over which a dim is spread in the first operand that has it. */
static unsigned reduced_axes(struct module *m, const struct op_layout *l, unsigned dim)
{
	for (unsigned k = 0; k < l->x.operand_n; k++) {
		int a = op_layout_axis(l, k, dim);
		if (a >= 0)
			return layout_mesh_axes(m, m->value.at[l->operand[k]].type, (unsigned)a);
	}
	return 0;
}

/* Returns true if a value's axis in a dim is spread. */
static bool spread_in(struct module *m, value_id v, const uint8_t *dim_of, unsigned dim)
{
	unsigned rank = value_domain(m, v)->rank;
	for (unsigned a = 0; a < rank; a++)
		if (dim_of[a] == dim && layout_mesh_axes(m, m->value.at[v].type, a))
			return true;
	return false;
}

/* Checks that all axes of a dim have one footprint, and that a whole dim, which may be several axes, is
 * not spread. */
static const char *dim_not_local(struct module *m, const struct op_layout *l, unsigned dim)
{
	int first_k = -1, first_a = op_layout_result_axis(l, dim);
	bool have = first_a >= 0;
	if (l->x.kind[dim] == DIM_WHOLE && spread_in(m, l->result, l->x.result, dim))
		return "an axis that it needs whole is spread";
	for (unsigned k = 0; k < l->x.operand_n; k++) {
		int a = op_layout_axis(l, k, dim);
		if (a < 0)
			continue;
		if (l->x.kind[dim] == DIM_WHOLE) {
			if (spread_in(m, l->operand[k], l->x.operand[k], dim))
				return "an axis that it needs whole is spread";
		} else if (!have) {
			have = true, first_k = (int)k, first_a = a;
		} else if (!op_layout_same(m, l, first_k, (unsigned)first_a, (int)k, (unsigned)a)) {
			return "its operands and results are spread differently";
		}
	}
	return NULL;
}

const char *op_layout_not_local(struct module *m, const struct op_layout *l)
{
	unsigned kind = m->op.at[l->op].kind, pending = 0;
	mesh_id mesh = value_type(m, l->result)->mesh;
	if (kind == OP_SET || op_info[kind].traits & TRAIT_COLLECTIVE)
		return NULL;
	for (unsigned k = 0; k < l->x.operand_n; k++) {
		mesh_id other = value_type(m, l->operand[k])->mesh;
		if (other && mesh && other != mesh)
			return "its operands and results are on different meshes";
		unsigned partial = place_partial(&l->o[k]);
		if (partial && !infer_keeps_partial(m, l->op, k))
			return "an operand is a pending reduction";
		if (partial && place_partial(&l->r) && place_partial_op(&l->o[k]) != place_partial_op(&l->r))
			return "its pending reductions are different ones";
		pending |= partial;
		for (unsigned a = 0; a < l->o[k].rank && other; a++)
			if (l->x.operand[k][a] == INFER_NONE && place_mesh_axes(&l->o[k].axis[a]))
				return "one rank holds an operand's axis of extent 1";
	}
	for (unsigned a = 0; a < l->r.rank && mesh; a++)
		if (l->x.result[a] == INFER_NONE && place_mesh_axes(&l->r.axis[a]))
			return "one rank holds an axis of extent 1 of the result";
	for (unsigned k = 0; k < l->x.operand_n && (kind == OP_ADD || kind == OP_SUB); k++)
		if (place_partial(&l->o[k]) != pending)
			return "its operands are different pending reductions";
	for (unsigned d = 0; d < l->x.dim_n; d++) {
		const char *reason = dim_not_local(m, l, d);
		if (reason)
			return reason;
		unsigned reduced = l->x.kind[d] == DIM_REDUCED ? reduced_axes(m, l, d) : 0;
		if (reduced && place_partial(&l->r) &&
		    place_partial_op(&l->r) != reduce_op_of((enum op_kind)kind))
			return "its pending reductions are different ones";
		pending |= reduced;
	}
	if (pending != place_partial(&l->r))
		return "it leaves a reduction pending";
	if (pending && kind == OP_LINEAR && l->x.operand_n == 3)
		return "its bias would be added once a rank";
	return NULL;
}

/* ---- writes */

/* Returns the mesh axes of a set that have more than one rank. */
static unsigned axes_that_spread(const struct module *m, mesh_id mesh, unsigned axes)
{
	for (unsigned k = 0; mesh && k < ir_mesh(m, mesh)->rank; k++)
		if (ir_mesh(m, mesh)->size[k] == 1)
			axes &= ~(1u << k);
	return axes;
}

static bool axis_is_spread(struct module *m, value_id v, unsigned axis)
{
	return axes_that_spread(m, value_type(m, v)->mesh, layout_mesh_axes(m, m->value.at[v].type, axis)) !=
	       0;
}

static bool is_spread(struct module *m, value_id v)
{
	for (unsigned a = 0; a < value_domain(m, v)->rank; a++)
		if (axis_is_spread(m, v, a))
			return true;
	return false;
}

/* Returns true if all devices of a mesh are in another mesh. */
static bool mesh_is_within(const struct mesh *inner, const struct mesh *outer)
{
	uint32_t position;
	for (uint32_t k = 0; k < inner->device_count; k++)
		if (!mesh_position(outer, inner->device[k], &position))
			return false;
	return true;
}

/* Returns true if two meshes have the same devices at the same positions. */
static bool meshes_match(const struct mesh *a, const struct mesh *b)
{
	if (!mesh_same_shape(a, b))
		return false;
	for (uint32_t k = 0; k < a->device_count; k++)
		if (a->device[k] != b->device[k])
			return false;
	return true;
}

/* Returns true if a rank's part of one axis contains its part of the other, which is cut further. */
static bool part_holds(struct module *m, const struct op_layout *l, unsigned k, unsigned a, unsigned b)
{
	const struct sugar_axis *x = &l->o[k].axis[a], *y = &l->r.axis[b];
	if (!axis_is_spread(m, l->operand[k], a) || op_layout_same(m, l, -1, b, (int)k, a))
		return true;
	if (!l->o_known[k] || !l->r_known)
		return layout_same_footprint(m, m->value.at[l->operand[k]].type, a,
		                             m->value.at[l->result].type, b);
	unsigned n = place_footprint(x);
	if (n > place_footprint(y))
		return false;
	for (unsigned i = 0; i < n; i++)
		if (!place_equal(&x->place[i], &y->place[i]))
			return false;
	return true;
}

/* Returns true if an operation needs the whole axis of its result on a rank, not only the axes of its
 * operands. */
static bool makes_whole(enum op_kind kind)
{
	return kind == OP_SCAN || kind == OP_PUT || kind == OP_SOFTMAX || kind == OP_TOPK ||
	       kind == OP_LAYERNORM || kind == OP_RMSNORM || kind == OP_SDPA || kind == OP_SDPA_BACKWARD;
}

/* Returns true if the begin or end of a slice differs between ranks or iterations. Then the needed part
 * of the operand is not known here. */
static bool slice_varies(const struct module *m, op_id op)
{
	static const char *const keys[] = {"start", "stop"};
	for (unsigned k = 0; k < 2; k++) {
		const struct attr *a = op_attr(m, op, keys[k]);
		if (a && a->kind == ATTR_EXPR &&
		    m->expr.at[a->u.expr].flags & (EXPR_HAS_INDEX | EXPR_HAS_RANK))
			return true;
	}
	return false;
}

/* Returns true if ranks hold the parts of operand k that they need along its axis a. */
static bool axis_suffices(struct module *m, const struct op_layout *l, unsigned k, unsigned a)
{
	uint8_t dim = l->x.operand[k][a];
	if (dim == INFER_NONE)
		return !axis_is_spread(m, l->operand[k], a);
	int b = op_layout_result_axis(l, dim);
	switch ((enum infer_dim_kind)l->x.kind[dim]) {
	case DIM_PARALLEL:
		return b < 0 || part_holds(m, l, k, a, (unsigned)b);
	case DIM_WHOLE:
		return !axis_is_spread(m, l->operand[k], a) ||
		       (m->op.at[l->op].kind == OP_SLICE && slice_varies(m, l->op));
	default:
		break;
	}
	/* a reduced axis: all operands that spread it must do so in the same way */
	for (unsigned q = 0; q < k; q++) {
		int c = op_layout_axis(l, q, dim);
		if (c >= 0 && axis_is_spread(m, l->operand[k], a) &&
		    axis_is_spread(m, l->operand[q], (unsigned)c) &&
		    !op_layout_same(m, l, (int)k, a, (int)q, (unsigned)c))
			return false;
	}
	return true;
}

/* Returns true if a rank's part of an axis of the result may be several intervals. */
static bool has_intervals(struct module *m, const struct op_layout *l, unsigned b)
{
	const struct sugar_axis *y = &l->r.axis[b];
	bool several = !l->r_known;
	for (unsigned i = 0; i < place_footprint(y); i++)
		several |= y->place[i].kind != SUGAR_MESH;
	return several && axis_is_spread(m, l->result, b);
}

/* Returns true if an operation that copies boxes makes the result of boxes that its operands do not have. */
static bool boxes_differ(struct module *m, const struct op_layout *l)
{
	enum op_kind kind = (enum op_kind)m->op.at[l->op].kind;
	if (kind != OP_SLICE && kind != OP_SPLIT && kind != OP_PAD && kind != OP_CAT)
		return false;
	for (unsigned b = 0; b < value_domain(m, l->result)->rank; b++) {
		if (!has_intervals(m, l, b))
			continue;
		uint8_t dim = l->x.result[b];
		if (dim == INFER_NONE || l->x.kind[dim] == DIM_WHOLE)
			return true;
		for (unsigned k = 0; k < l->x.operand_n; k++) {
			int a = op_layout_axis(l, k, dim);
			if (a >= 0 && !op_layout_same(m, l, -1, b, (int)k, (unsigned)a))
				return true;
		}
	}
	return false;
}

/* Returns the mesh axes over which an operation leaves a reduction pending. */
static unsigned leaves_pending(struct module *m, const struct op_layout *l)
{
	unsigned pending = 0;
	for (unsigned k = 0; k < l->x.operand_n; k++)
		for (unsigned a = 0; a < value_domain(m, l->operand[k])->rank; a++)
			if (l->x.operand[k][a] != INFER_NONE && l->x.kind[l->x.operand[k][a]] == DIM_REDUCED)
				pending |=
				    axes_that_spread(m, value_type(m, l->operand[k])->mesh,
				                     layout_mesh_axes(m, m->value.at[l->operand[k]].type, a));
	return pending;
}

/* Returns true for `full(0)`, the start of sums that are added up in a pending tensor. */
static bool fills_with_zero(const struct module *m, op_id op)
{
	int64_t value;
	if (m->op.at[op].kind != OP_FULL)
		return false;
	const struct scalar *s = &m->scalar.at[op_operand_id(m, op, ROLE_SCALAR, 0)];
	return s->expr ? expr_is_const(m, s->expr, &value) && value == 0 : s->literal == 0;
}

const char *op_layout_lacks(struct module *m, const struct op_layout *l, bool sums_end)
{
	enum op_kind kind = (enum op_kind)m->op.at[l->op].kind;
	mesh_id mesh = value_type(m, l->result)->mesh;
	unsigned pending = leaves_pending(m, l), kept = 0;
	if (kind == OP_SET || op_info[kind].traits & TRAIT_COLLECTIVE)
		return NULL;
	for (unsigned k = 0; k < l->x.operand_n; k++) {
		value_id v = l->operand[k];
		mesh_id other = value_type(m, v)->mesh;
		unsigned partial = axes_that_spread(m, other, place_partial(&l->o[k]));
		if (sums_end && partial &&
		    (!infer_keeps_partial(m, l->op, k) || partial & ~place_partial(&l->r)))
			return "an operand is a pending reduction";
		if (sums_end && partial && place_partial_op(&l->o[k]) != place_partial_op(&l->r))
			return "its pending reductions are different ones";
		kept |= partial;
		if (other && mesh && other != mesh && !meshes_match(ir_mesh(m, other), ir_mesh(m, mesh)) &&
		    (is_spread(m, v) || !mesh_is_within(ir_mesh(m, mesh), ir_mesh(m, other))))
			return "its operands and results are on different meshes";
		for (unsigned a = 0; a < value_domain(m, v)->rank && other; a++)
			if (!axis_suffices(m, l, k, a))
				return "its operands and results are spread differently";
	}
	if (boxes_differ(m, l))
		return "its operands and results are spread differently";
	for (unsigned a = 0; a < value_domain(m, l->result)->rank && makes_whole(kind); a++)
		if (l->x.result[a] != INFER_NONE && l->x.kind[l->x.result[a]] == DIM_WHOLE &&
		    axis_is_spread(m, l->result, a))
			return "an axis that it needs whole is spread";
	if (sums_end && !fills_with_zero(m, l->op)) {
		unsigned stated = axes_that_spread(m, mesh, place_partial(&l->r));
		if (stated & ~(pending | kept))
			return "the result is stated partial, but no sum is left pending";
		if (stated & pending && place_partial_op(&l->r) != reduce_op_of(kind))
			return "its pending reductions are different ones";
	}
	/* in memory that ranks share, they add up their parts in place */
	bool shared = op_attr(m, l->op, "accumulate") &&
	              value_type(m, ir_root(m, l->result))->memory == MEMORY_SYMMETRIC;
	return !shared && pending & ~place_partial(&l->r) ? "it leaves a reduction pending" : NULL;
}
