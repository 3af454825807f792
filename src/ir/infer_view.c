/* infer_view: finds types that follow from an operand's type: the types of views, and the hidden
 * reduction axes of results. */
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/layout.h"
#include <string.h>

/* Returns a domain without one logical axis and all axes derived from it; 0 if the axis is merged with
 * another. */
static domain_id without_axis(struct module *m, domain_id id, unsigned logical)
{
	const struct domain d = m->domain.at[id];
	struct domain_builder b;
	uint8_t to[IR_MAX_AXES];
	domain_begin(&b);
	for (unsigned a = 0; a < d.axis_n; a++) {
		int from = layout_logical_of(&d, a);
		to[a] = INFER_NONE;
		if (from < 0)
			return 0;
		if ((unsigned)from == logical)
			continue;
		to[a] = b.axis_n;
		b.axis[b.axis_n++] = d.axis[a];
		if (a < d.logical_n)
			b.logical_n++, b.rank = (uint8_t)(b.rank + (a < d.rank));
	}
	for (unsigned x = 0; x < d.xform_n; x++) {
		struct xform f = d.xform[x];
		if (to[f.in[0]] == INFER_NONE)
			continue;
		f.in[0] = to[f.in[0]];
		f.out[0] = to[f.out[0]];
		if (f.kind == XFORM_SPLIT_OUTER || f.kind == XFORM_SPLIT_INNER)
			f.out[1] = to[f.out[1]];
		b.xform[b.xform_n++] = f;
	}
	for (unsigned i = 0; i < d.loop_n; i++)
		if (to[d.loop[i]] != INFER_NONE)
			b.loop[b.loop_n++] = to[d.loop[i]];
	for (unsigned i = 0; i < d.alloc_n; i++)
		if (to[d.alloc[i]] != INFER_NONE) {
			b.contiguous[b.alloc_n] = d.contiguous[i];
			b.alloc[b.alloc_n++] = to[d.alloc[i]];
		}
	return domain_finish(m, &b);
}

type_id infer_select(struct module *m, type_id operand, unsigned axis)
{
	struct type t = m->type.at[operand];
	domain_id d = without_axis(m, t.domain, axis);
	return d ? type_make(m, t.dtype, MEMORY_LOCAL, t.mesh, d) : 0;
}

type_id infer_symmetric(struct module *m, type_id operand, int mesh_axis)
{
	const struct type t = m->type.at[operand];
	struct domain_builder b;
	domain_edit(&b, &m->domain.at[t.domain]);
	for (unsigned k = 0; k < b.alloc_n; k++) {
		struct axis *a = &b.axis[b.alloc[k]];
		if (a->kind != AXIS_ITER || a->place != PLACE_MESH ||
		    (mesh_axis >= 0 && a->mesh_axis != mesh_axis))
			continue;
		a->place = PLACE_NONE;
		a->mesh_axis = 0;
		return type_make(m, t.dtype, MEMORY_LOCAL, t.mesh, domain_finish(m, &b));
	}
	return 0;
}

unsigned infer_symmetric_axes(struct module *m, type_id operand, type_id view, uint8_t *axes)
{
	const struct domain d = m->domain.at[m->type.at[operand].domain],
	                    e = m->domain.at[m->type.at[view].domain];
	unsigned n = 0;
	for (unsigned k = 0; k < d.alloc_n && d.axis_n == e.axis_n && n < IR_MAX_MESH_AXES; k++) {
		const struct axis *a = &d.axis[d.alloc[k]];
		if (a->kind == AXIS_ITER && a->place == PLACE_MESH && e.axis[d.alloc[k]].place != PLACE_MESH)
			axes[n++] = a->mesh_axis;
	}
	for (unsigned k = 0; k < n && operand; k++)
		operand = infer_symmetric(m, operand, axes[k]);
	bool is = operand && m->type.at[operand].domain == m->type.at[view].domain &&
	          m->type.at[operand].dtype == m->type.at[view].dtype &&
	          m->type.at[operand].mesh == m->type.at[view].mesh;
	return is ? n : 0;
}

team_id infer_symmetric_team(struct module *m, op_id op)
{
	type_id from = m->value.at[op_read(m, op, 0)].type, to = m->value.at[op_result(m, op, 0)].type;
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n = infer_symmetric_axes(m, from, to, axes);
	return n ? ir_team_of_mesh(m, m->type.at[from].mesh, axes, n) : 0;
}

/* Inserts axis 0: outermost in memory, but after axes that are spread over devices or streams. */
static uint8_t insert_axis(const struct domain *d, const uint8_t *list, unsigned n, uint8_t *out)
{
	unsigned at = 0;
	while (at < n && d->axis[list[at]].place != PLACE_NONE)
		at++;
	for (unsigned i = 0; i <= n; i++)
		out[i] = i == at ? 0 : (uint8_t)(list[i < at ? i : i - 1] + 1);
	return (uint8_t)at;
}

type_id infer_stack(struct module *m, type_id t, expr_id extent)
{
	const struct type type = m->type.at[t];
	const struct domain d = m->domain.at[type.domain];
	struct domain_builder b;
	domain_begin(&b);
	if (d.axis_n == IR_MAX_AXES || d.logical_n == IR_MAX_LOGICAL || d.loop_n == IR_MAX_AXES ||
	    domain_add_axis(&b, AXIS_ITER, extent) < 0)
		return 0;
	for (unsigned a = 0; a < d.axis_n; a++)
		b.axis[a + 1] = d.axis[a];
	b.axis_n = (uint8_t)(d.axis_n + 1), b.logical_n = (uint8_t)(d.logical_n + 1),
	b.rank = (uint8_t)(d.rank + 1);
	for (unsigned x = 0; x < d.xform_n; x++) {
		struct xform f = d.xform[x];
		f.in[0]++, f.out[0]++;
		f.in[1] = (uint8_t)(f.in[1] + (f.kind == XFORM_MERGE));
		f.out[1] = (uint8_t)(f.out[1] + (f.kind == XFORM_SPLIT_OUTER || f.kind == XFORM_SPLIT_INNER));
		b.xform[b.xform_n++] = f;
	}
	insert_axis(&d, d.loop, d.loop_n, b.loop);
	unsigned at = insert_axis(&d, d.alloc, d.alloc_n, b.alloc);
	for (unsigned i = 0; i <= d.alloc_n; i++)
		b.contiguous[i] = i == at || d.contiguous[i < at ? i : i - 1];
	b.loop_n = (uint8_t)(d.loop_n + 1), b.alloc_n = (uint8_t)(d.alloc_n + 1);
	return type_make(m, type.dtype, (enum memory)type.memory, type.mesh, domain_finish(m, &b));
}

type_id infer_shard(struct module *m, type_id operand)
{
	struct type t = m->type.at[operand];
	domain_id id = t.domain;
	for (unsigned a = m->domain.at[id].logical_n; a-- > m->domain.at[id].rank;)
		if (m->domain.at[id].axis[a].kind == AXIS_REDUCE && !(id = without_axis(m, id, a)))
			return 0;
	struct domain_builder b;
	domain_edit(&b, &m->domain.at[id]);
	domain_allocate_default(&b, false);
	return type_make(m, t.dtype, MEMORY_LOCAL, t.mesh, domain_finish(m, &b));
}

/* Appends a reduce axis like logical axis `from` of another tensor: its local part and, if the result
 * has no partial axes for them, its mesh placements. */
static void add_reduce(struct module *m, struct sugar *s, type_id operand, unsigned from, unsigned partial,
                       unsigned used)
{
	struct sugar o;
	const struct type t = m->type.at[operand];
	domain_id d = t.domain;
	sugar_in_order(m, t.domain, t.mesh, &d); /* the order of its loop axes does not matter */
	if (s->axis_n == IR_MAX_LOGICAL || !sugar_from_domain(m, d, t.mesh, &o))
		return;
	struct sugar_axis a = {.extent = o.axis[from].extent, .kind = AXIS_REDUCE, .rf = partial != 0};
	bool whole = false;
	for (unsigned k = 0; k < o.axis[from].place_n; k++) {
		struct sugar_place p = o.axis[from].place[k];
		if (p.kind != SUGAR_MESH)
			continue;
		uint32_t size = m->mesh.at[t.mesh].size[p.mesh_axis];
		int64_t extent;
		whole = expr_is_const(m, a.extent, &extent) && extent == size;
		if (partial >> p.mesh_axis & 1)
			a.extent = whole ? expr_const(m, 1)
			                 : expr_canon(m, expr_ceil_div(m, a.extent, expr_const(m, size)));
		else if (!(used >> p.mesh_axis & 1))
			a.place[a.place_n++] = p;
	}
	if (partial && whole && expr_is_one(m, a.extent))
		return; /* the whole axis is on devices */
	s->axis[s->axis_n++] = a;
}

type_id infer_reduce_axes(struct module *m, op_id op, type_id result)
{
	const struct type t = m->type.at[result];
	struct sugar s;
	const struct domain *d = &m->domain.at[t.domain];
	uint32_t traits = op_traits(m, op);
	unsigned partial = 0, used = 0, n;
	if (!(traits & (TRAIT_CONTRACTION | TRAIT_REDUCTION | TRAIT_RESHARD | TRAIT_REDUCES)) ||
	    !op_role_count(m, op, ROLE_READ))
		return result;
	for (unsigned a = 0; a < d->logical_n; a++) {
		if (d->axis[a].kind == AXIS_REDUCE)
			return result;
		if (d->axis[a].kind == AXIS_PARTIAL)
			partial |= 1u << d->axis[a].mesh_axis;
		used |= layout_mesh_axes(m, result, a);
	}
	value_id x = op_read(m, op, 0);
	type_id tx = m->value.at[x].type;
	if (m->type.at[tx].mesh != t.mesh || !sugar_from_domain(m, t.domain, t.mesh, &s))
		return result;
	n = s.axis_n;
	if (traits & (TRAIT_CONTRACTION | TRAIT_REDUCTION)) {
		unsigned rank = value_domain(m, x)->rank;
		unsigned mask = traits & TRAIT_CONTRACTION ? 1u << (rank - 1)
		                                           : infer_reduced_axes(m, m->op.at[op].attrs, rank);
		if (!rank)
			return result;
		for (unsigned a = 0; a < rank; a++)
			if (mask >> a & 1)
				add_reduce(m, &s, tx, a, partial, used);
	} else {
		const struct domain *o = value_domain(m, x);
		for (unsigned a = o->rank; a < o->logical_n && s.axis_n < IR_MAX_LOGICAL; a++) {
			struct axis p = value_domain(m, x)->axis[a];
			if (p.kind != AXIS_PARTIAL || (used >> p.mesh_axis & 1))
				continue;
			s.axis[s.axis_n++] =
			    (struct sugar_axis){.extent = p.extent,
			                        .kind = AXIS_REDUCE,
			                        .place_n = 1,
			                        .place = {{.kind = SUGAR_MESH, .mesh_axis = p.mesh_axis}}};
		}
	}
	if (s.axis_n == n)
		return result;
	/* keep the allocation: expand with both defaults, and take the one that gave this type */
	domain_id with, without;
	unsigned offending;
	struct sugar before = s;
	before.axis_n = n;
	for (unsigned u = 0; u < 2; u++) {
		if (sugar_expand(m, &before, t.mesh, u, &without, &offending) ||
		    sugar_expand(m, &s, t.mesh, u, &with, &offending))
			return result;
		if (without == t.domain)
			return type_with_domain(m, result, with);
	}
	return result;
}

type_id infer_without_reduce(struct module *m, type_id t)
{
	const struct type old = m->type.at[t];
	const struct domain d = m->domain.at[old.domain];
	struct sugar s;
	bool unstreamed, any = false;
	uint8_t perm[IR_MAX_AXES];
	for (unsigned a = d.rank; a < d.logical_n; a++)
		any |= d.axis[a].kind == AXIS_REDUCE;
	if (!any || !sugar_from_domain(m, old.domain, old.mesh, &s) ||
	    !domain_allocation_order(&d, &unstreamed, perm))
		return t;
	for (unsigned i = 0; i < d.alloc_n; i++)
		if (perm[i] != i || !d.contiguous[i])
			return t; /* it has an allocation of its own */
	sugar_drop(&s, AXIS_REDUCE);
	domain_id id;
	unsigned offending;
	if (sugar_expand(m, &s, old.mesh, unstreamed, &id, &offending))
		return t;
	return type_with_domain(m, t, id);
}

type_id infer_pending(struct module *m, op_id op, type_id t, type_id result)
{
	const struct type from = m->type.at[result];
	struct sugar s, r;
	domain_id d, ordered = from.domain;
	unsigned offending;
	sugar_in_order(m, from.domain, from.mesh, &ordered);
	if (m->type.at[t].mesh != from.mesh || !sugar_from_domain(m, m->type.at[t].domain, from.mesh, &s) ||
	    !sugar_from_domain(m, ordered, from.mesh, &r))
		return t;
	sugar_drop(&s, AXIS_REDUCE);
	sugar_drop(&r, AXIS_REDUCE);
	if (s.axis_n > s.rank || s.rank + r.axis_n - r.rank > IR_MAX_LOGICAL)
		return t;
	for (unsigned a = r.rank; a < r.axis_n; a++)
		s.axis[s.axis_n++] = r.axis[a];
	if (s.axis_n == s.rank || sugar_expand(m, &s, from.mesh, false, &d, &offending))
		return t;
	return infer_reduce_axes(m, op, type_with_domain(m, t, d));
}

/* Chooses an axis for a team of one device, which may run along any axis of size 1. If mask has such
 * axes, the innermost placement is taken, as gathers do. */
static unsigned one_of_single(const struct module *m, mesh_id mesh, const struct sugar *g, unsigned mask)
{
	const uint32_t *size = m->mesh.at[mesh].size;
	for (unsigned k = 0; mask >> k; k++)
		if (mask >> k & 1 && size[k] > 1)
			return mask;
	for (unsigned i = 0; i < g->rank; i++) {
		const struct sugar_axis *x = &g->axis[i];
		const struct sugar_place *last = x->place_n ? &x->place[x->place_n - 1] : NULL;
		if (last && last->kind == SUGAR_MESH && size[last->mesh_axis] == 1)
			return 1u << last->mesh_axis;
	}
	return mask;
}

type_id infer_collective(struct module *m, enum op_kind kind, team_id team, type_id operand)
{
	const struct type t = m->type.at[operand];
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n = 0, offending, kept = 0, mask = 0;
	struct sugar g;
	domain_id d;
	if (kind == OP_BROADCASTS || kind == OP_SEND_RECV)
		return operand;
	if ((kind != OP_ALLGATHER && kind != OP_ALLREDUCE) || !ir_team_axes(m, team, t.mesh, axes, &n) ||
	    !sugar_from_domain(m, t.domain, t.mesh, &g))
		return 0;
	for (unsigned k = 0; k < n; k++)
		mask |= 1u << axes[k];
	mask = one_of_single(m, t.mesh, &g, mask);
	for (unsigned i = 0; i < g.axis_n; i++) {
		struct sugar_axis *x = &g.axis[i];
		unsigned places = 0;
		for (unsigned k = 0; k < x->place_n; k++)
			if (!(x->place[k].kind == SUGAR_MESH && mask >> x->place[k].mesh_axis & 1))
				x->place[places++] = x->place[k];
		bool ended = x->kind == AXIS_PARTIAL && !places;
		x->place_n = (uint8_t)places;
		if (!ended && x->kind != AXIS_REDUCE)
			g.axis[kept++] = *x;
	}
	g.axis_n = kept;
	return sugar_expand(m, &g, t.mesh, false, &d, &offending) ? 0 : type_with_domain(m, operand, d);
}
