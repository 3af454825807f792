/* valuation_reshard: a set that stands for Communications, before lower-collectives.
 *
 *     G: f32[8@swizzle1d(x), 4] = set(X)     X: f32[8@x, 4]: in each step, a rank takes the block of another one
 *     Y: f32[4, 4] = set(P)                  P: partial(x): the ranks along x each give a part of the sum
 *
 * It is a meeting of all ranks of both meshes. */
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

/* Returns true if some rank needs elements that it does not have, in any step of any loop. */
static bool moves_elements(const struct module *m, type_id from, type_id to, uint32_t rank_n)
{
	for (uint32_t rank = 0; rank < rank_n; rank++) {
		struct part has, needs;
		if (!part_of(m, from, rank, NULL, &has) || !part_of(m, to, rank, NULL, &needs))
			return false;
		if (needs.absent)
			continue;
		if (has.absent || !part_same(&has, &needs))
			return true;
	}
	return false;
}

bool value_is_reshard(struct valuation *v, op_id op)
{
	const struct module *m = v->m;
	enum { UNKNOWN, NO, YES };
	if (!v->half_lowered || v->is_logical || m->op.at[op].kind != OP_SET)
		return false;
	if (v->reshards[op] == UNKNOWN) {
		const type_id from = m->value.at[op_read(m, op, 0)].type,
		              to = m->value.at[op_result(m, op, 0)].type;
		const bool is = pending_axes(m, from) != pending_axes(m, to) ||
		                m->type.at[from].mesh != m->type.at[to].mesh ||
		                moves_elements(m, from, to, v->rank_n);
		v->reshards[op] = is ? YES : NO;
	}
	return v->reshards[op] == YES;
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

/* Finds the rank among the members of the meeting, those of both meshes. Returns false if it is none. */
static bool find_member(const struct valuation *v, op_id op, uint32_t rank, uint32_t *member, uint32_t *n)
{
	const struct module *m = v->m;
	const mesh_id from = m->type.at[m->value.at[op_read(m, op, 0)].type].mesh,
	              to = m->type.at[m->value.at[op_result(m, op, 0)].type].mesh;
	bool is_one = false;
	if (from && from == to) {
		*n = m->mesh.at[from].device_count;
		return mesh_position(&m->mesh.at[from], rank, member);
	}
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

void value_meet_reshard(struct value_rank *r, op_id op)
{
	const struct module *m = r->v->m;
	struct value_party p = {.op = op, .rank = r->rank, .root = -1, .peer = -1};
	struct value_channel key = {.tag = op};
	uint32_t member;
	if (m->op.at[op].def_n)
		value_view_make(r, op_result(m, op, 0));
	if (!find_member(r->v, op, r->rank, &member, &key.n))
		return;
	value_view_bind_by_operands(r, op, op_result(m, op, 0));
	p.in = *value_view_get(r, op_read(m, op, 0));
	p.out = *value_view_get(r, op_result(m, op, 0));
	value_meet_and_wait(r, &key, member, &p);
}
