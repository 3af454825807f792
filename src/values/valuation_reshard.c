/* valuation_reshard: a set that stands for Communications, before lower-collectives.
 *
 *     G: f32[8@swizzle1d(x), 4] = set(X)     X: f32[8@x, 4]: in each step, a rank takes the block of another one
 *     Y: f32[4, 4] = set(P)                  P: partial(x): the ranks along x each give a part of the sum
 *
 * Ranks that differ only along mesh axes that cut a changed axis, or along those of an ended sum, meet. Branches of one
 * condition may each have such a set: the next ones of all members are one meeting. Between two meshes all ranks of both
 * meet. */
#include "ir/expr.h"
#include "values/valuation.h"

static unsigned pending_axes(const struct module *m, type_id t)
{
	const struct domain *d = ir_domain(m, ir_type(m, t)->domain);
	unsigned mask = 0;
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_PARTIAL && d->axis[a].place == PLACE_MESH)
			mask |= 1u << d->axis[a].mesh_axis;
	return mask;
}

enum { ALL_RANKS = 1 << IR_MAX_MESH_AXES }; /* in place of mesh axes */

/* Finds the tensor axes (bit set) of which some rank needs elements that it does not have, in any step of any loop. */
static unsigned moving_axes(const struct module *m, type_id from, type_id to, uint32_t rank_n)
{
	unsigned moving = 0;
	for (uint32_t rank = 0; rank < rank_n; rank++) {
		struct part has, needs;
		if (!part_of(m, from, rank, NULL, &has) || !part_of(m, to, rank, NULL, &needs))
			return 0;
		const bool exact = has.exact && needs.exact;
		for (unsigned a = 0; a < needs.n && !needs.absent; a++)
			if (exact ? !part_contains(&has.axis[a], &needs.axis[a])
			          : !part_axis_same(&has.axis[a], &needs.axis[a]))
				moving |= 1u << a;
	}
	return moving;
}

/* Finds the mesh axes along which ranks have different elements of some tensor axes (bit set). */
static unsigned axes_that_cut(const struct module *m, type_id t, unsigned tensor_axes)
{
	const struct mesh *mesh = &m->mesh.at[m->type.at[t].mesh];
	unsigned cut = 0, stride = mesh->device_count;
	for (unsigned x = 0; x < mesh->rank; x++) {
		stride /= mesh->size[x];
		for (uint32_t k = 0; k < mesh->device_count; k++) {
			struct part here, first;
			const uint32_t index = k / stride % mesh->size[x];
			if (!index || !part_of(m, t, mesh->device[k], NULL, &here) ||
			    !part_of(m, t, mesh->device[k - index * stride], NULL, &first))
				continue;
			for (unsigned a = 0; a < here.n; a++)
				if (tensor_axes >> a & 1 && !part_axis_same(&here.axis[a], &first.axis[a]))
					cut |= 1u << x;
		}
	}
	return cut;
}

/* Finds the mesh axes along which ranks exchange elements; 0: no rank needs any. */
static unsigned meeting_axes(const struct valuation *v, type_id from, type_id to)
{
	const struct module *m = v->m;
	const unsigned ended = pending_axes(m, from) & ~pending_axes(m, to),
	               begun = pending_axes(m, to) & ~pending_axes(m, from),
	               moving = moving_axes(m, from, to, v->rank_n);
	if (m->type.at[from].mesh != m->type.at[to].mesh)
		return ALL_RANKS;
	if (!moving && !ended && !begun)
		return 0;
	const unsigned axes = axes_that_cut(m, from, moving) | axes_that_cut(m, to, moving) | ended | begun;
	return axes ? axes : ALL_RANKS; /* the layout of loops changes */
}

bool value_is_reshard(struct valuation *v, op_id op)
{
	const struct module *m = v->m;
	if (!v->half_lowered || v->is_logical || m->op.at[op].kind != OP_SET)
		return false;
	if (!v->meets[op])
		v->meets[op] = (uint16_t)(1 + meeting_axes(v, m->value.at[op_read(m, op, 0)].type,
		                                           m->value.at[op_result(m, op, 0)].type));
	return v->meets[op] > 1;
}

/* Returns the position of a rank along the mesh axes of a mask; -1: it is not in the mesh. */
static int32_t position_along(const struct mesh *mesh, uint32_t rank, unsigned mask)
{
	int32_t at = 0;
	for (unsigned a = 0; a < mesh->rank; a++) {
		uint32_t k;
		if (!mesh_axis_index(mesh, rank, a, &k))
			return -1;
		if (mask >> a & 1)
			at = at * (int32_t)mesh->size[a] + (int32_t)k;
	}
	return at;
}

void value_reshard_sides(const struct module *m, op_id op, uint32_t rank, struct reshard_sides *out)
{
	const type_id from = m->value.at[op_read(m, op, 0)].type, to = m->value.at[op_result(m, op, 0)].type;
	const struct mesh *of = &m->mesh.at[m->type.at[from].mesh], *in = &m->mesh.at[m->type.at[to].mesh];
	const unsigned ended = pending_axes(m, from) & ~pending_axes(m, to),
	               kept = pending_axes(m, from) & pending_axes(m, to);
	*out = (struct reshard_sides){
	    .gives = m->type.at[from].mesh ? position_along(of, rank, ended) : 0,
	    .gives_to = m->type.at[from].mesh ? position_along(of, rank, kept) : 0,
	    .takes_from = m->type.at[to].mesh ? position_along(in, rank, kept) : 0,
	    .parts = 1,
	    .begins = pending_axes(m, to) & ~pending_axes(m, from),
	};
	for (unsigned a = 0; m->type.at[from].mesh && a < of->rank; a++)
		if (ended >> a & 1)
			out->parts *= (uint32_t)of->size[a];
}

/* Finds the rank among those of two meshes. Returns false if it is none of them. */
static bool find_in_meshes(const struct valuation *v, mesh_id from, mesh_id to, uint32_t rank,
                           uint32_t *member, uint32_t *n)
{
	const struct module *m = v->m;
	bool is_one = false;
	*member = *n = 0;
	for (uint32_t k = 0; k < v->rank_n; k++) {
		uint32_t position;
		if (from && to && !mesh_position(&m->mesh.at[from], k, &position) &&
		    !mesh_position(&m->mesh.at[to], k, &position))
			continue;
		is_one |= k == rank;
		*member += k < rank;
		++*n;
	}
	return is_one;
}

/* Finds the rank among those that differ along some mesh axes; *first: the position of the first one. */
static bool find_along(const struct mesh *mesh, unsigned axes, uint32_t rank, uint32_t *member, uint32_t *n,
                       uint32_t *first)
{
	uint32_t stride = mesh->device_count;
	if (!mesh_position(mesh, rank, first))
		return false;
	*member = 0, *n = 1;
	for (unsigned x = 0; x < mesh->rank; x++) {
		stride /= mesh->size[x];
		const uint32_t index = *first / stride % mesh->size[x];
		if (!(axes >> x & 1))
			continue;
		*member = *member * mesh->size[x] + index;
		*n *= mesh->size[x];
		*first -= index * stride;
	}
	return true;
}

void value_meet_reshard(struct value_rank *r, op_id op)
{
	const struct module *m = r->v->m;
	const mesh_id from = m->type.at[m->value.at[op_read(m, op, 0)].type].mesh,
	              to = m->type.at[m->value.at[op_result(m, op, 0)].type].mesh;
	const unsigned axes = r->v->meets[op] - 1u;
	struct value_party p = {.op = op, .rank = r->rank, .root = -1, .peer = -1};
	struct value_channel key = {.ends = {from, to}, .tag = VALUE_RESHARD + axes};
	uint32_t member;
	if (m->op.at[op].def_n)
		value_view_make(r, op_result(m, op, 0));
	if (axes == ALL_RANKS ? !find_in_meshes(r->v, from, to, r->rank, &member, &key.n)
	                      : !find_along(&m->mesh.at[from], axes, r->rank, &member, &key.n, &key.slice))
		return;
	value_view_bind_by_operands(r, op, op_result(m, op, 0));
	p.in = *value_view_get(r, op_read(m, op, 0));
	p.out = *value_view_get(r, op_result(m, op, 0));
	value_meet_and_wait(r, &key, member, &p);
}
