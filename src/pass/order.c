/* order: compares and chooses allocation orders. */
#include "pass/order.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include "pass/place.h"
#include "pass/rewrite.h"
#include <string.h>

enum { ORDER_MERGED = 254 }; /* an axis that several tensor axes share */

struct order {
	unsigned n;
	uint8_t dim[IR_MAX_AXES]; /* tensor axis of each local axis whose extent is not 1, in memory order */
	bool contiguous;
};

/* Returns true if a rank has all of an axis. */
static bool is_here(const struct domain *d, unsigned axis, bound_set bound)
{
	uint8_t place = d->axis[axis].place;
	return place == PLACE_NONE || (place != PLACE_MESH && !bound_has(d, bound, axis));
}

static bool is_local(const struct module *m, const struct domain *d, unsigned axis, bound_set bound)
{
	int64_t k;
	const struct axis *a = &d->axis[axis];
	bool here = is_here(d, axis, bound);
	return here && a->kind == AXIS_ITER && !(expr_is_const(m, a->extent, &k) && k == 1);
}

static void read_order(const struct module *m, struct order_side s, struct order *o)
{
	const struct domain *d = &m->domain.at[m->type.at[s.type].domain];
	o->n = 0;
	o->contiguous = true;
	for (unsigned i = 0; i < d->alloc_n; i++) {
		if (!is_local(m, d, d->alloc[i], s.bound))
			continue;
		int dim = layout_logical_of(d, d->alloc[i]);
		o->dim[o->n++] = dim < 0 ? ORDER_MERGED : (uint8_t)dim;
		o->contiguous &= d->contiguous[i] != 0;
	}
}

/* Returns the type as one block of all its loops. */
static struct order_side one_block(const struct module *m, type_id t)
{
	return (struct order_side){t, bound_all(m, t)};
}

static void read_value(const struct module *m, value_id v, struct order *o)
{
	read_order(m, (struct order_side){m->value.at[v].type, bound_of(m, v)}, o);
}

/* Returns true if all parts of a dim come before all other axes. */
static bool leads(const struct order *o, int dim)
{
	bool other = false;
	for (unsigned i = 0; i < o->n; i++) {
		if (o->dim[i] == dim && other)
			return false;
		other |= o->dim[i] != dim;
	}
	return true;
}

static bool has_dim(const struct order *o, unsigned dim)
{
	return memchr(o->dim, (int)dim, o->n) != NULL;
}

/* Returns true if the dims that both have, except `except`, are in the same order. */
static bool has_same_order(const struct order *a, const struct order *b, int except)
{
	unsigned i = 0, j = 0;
	for (;; i++, j++) {
		while (i < a->n &&
		       (a->dim[i] == except || !has_dim(b, a->dim[i]) || (i && a->dim[i] == a->dim[i - 1])))
			i++;
		while (j < b->n &&
		       (b->dim[j] == except || !has_dim(a, b->dim[j]) || (j && b->dim[j] == b->dim[j - 1])))
			j++;
		if (i == a->n || j == b->n)
			return i == a->n && j == b->n;
		if (a->dim[i] != b->dim[j])
			return false;
	}
}

/* Removes loop placements without a mesh axis or bound placement below them; blocks: removes blocks as
 * well. */
static struct order_side without_loops(struct module *m, struct order_side from, bool blocks)
{
	struct sugar s;
	const char *reason;
	struct type old = m->type.at[from.type];
	struct order_side to = {0};
	unsigned axis, level;
	unsigned bound[IR_MAX_LOGICAL] = {0}; /* by axis: bit set of its bound placements */
	if (!blocks && !(bound_all(m, from.type) & ~from.bound))
		return from;
	if (!sugar_from_domain(m, old.domain, old.mesh, &s))
		return from;
	const struct domain *d = &m->domain.at[old.domain];
	for (unsigned n = 0; place_find_loop(d, &s, n, &axis, &level); n++)
		bound[axis] |= (unsigned)(from.bound >> n & 1) << level;
	sugar_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++) {
		unsigned n = place_footprint(&s.axis[a]);
		while (bound[a] >> n)
			n++;
		if (blocks || place_has_loop(&s.axis[a]))
			s.axis[a].place_n = (uint8_t)n;
	}
	to.type = place_type(m, from.type, old.mesh, &s, false, &reason);
	if (!to.type)
		return from;
	d = &m->domain.at[m->type.at[to.type].domain];
	for (unsigned n = 0; place_find_loop(d, &s, n, &axis, &level); n++)
		to.bound |= (bound_set)(bound[axis] >> level & 1) << n;
	return to;
}

/* Returns true if a split leaves room at the end of its last block, and a rank has all of both resulting
 * axes. */
static bool is_uneven(const struct module *m, const struct domain *d, const struct xform *f)
{
	int64_t whole, outer, inner;
	if (f->kind != XFORM_SPLIT_OUTER && f->kind != XFORM_SPLIT_INNER)
		return false;
	return !(expr_is_const(m, d->axis[f->in[0]].extent, &whole) &&
	         expr_is_const(m, d->axis[f->out[0]].extent, &outer) &&
	         expr_is_const(m, d->axis[f->out[1]].extent, &inner) && whole == outer * inner);
}

/* Returns true if a split with one of these places (a bit set) has a block that is not full, along an
 * axis that is not outermost in memory. */
static bool clips(const struct module *m, type_id t, const struct order *o, unsigned places)
{
	const struct domain *d = &m->domain.at[m->type.at[t].domain];
	for (unsigned x = 0; x < d->xform_n; x++) {
		const struct xform *f = &d->xform[x];
		if (!(places >> d->axis[f->out[0]].place & 1) || !is_uneven(m, d, f))
			continue;
		int dim = layout_logical_of(d, f->in[0]);
		if (dim >= 0 && has_dim(o, (unsigned)dim) && o->dim[0] != dim)
			return true;
	}
	return false;
}

/* Returns true if blocks leave room between elements, along an axis that is not outermost in memory. */
static bool has_gaps(const struct module *m, type_id t, const struct order *o)
{
	return clips(m, t, o, 1u << PLACE_NONE);
}

void order_needs(struct module *m, struct order_side from, struct order_side to, const struct reshard *r,
                 type_id *before, type_id *after)
{
	struct order f, t;
	uint8_t dims[2 * IR_MAX_AXES + 1];
	unsigned n = 0;
	*before = *after = 0;
	if (r->kind == RESHARD_LOCAL || r->kind == RESHARD_NONE || r->kind == RESHARD_ALL_TO_ALL ||
	    r->kind == RESHARD_ALL_TO_ALLV)
		return; /* the last two kinds pack and unpack */
	bool blocks = r->kind == RESHARD_ALLGATHER || r->kind == RESHARD_REDUCE_SCATTER ||
	              r->kind == RESHARD_GATHER || r->kind == RESHARD_SCATTER;
	int lead = blocks ? r->dim : -1;
	read_order(m, from, &f);
	read_order(m, to, &t);
	if (lead >= 0)
		dims[n++] = (uint8_t)lead;
	for (unsigned i = 0; i < f.n; i++)
		if (f.dim[i] != lead)
			dims[n++] = f.dim[i];
	for (unsigned i = 0; i < t.n; i++)
		if (t.dim[i] != lead && !has_dim(&f, t.dim[i]))
			dims[n++] = t.dim[i];
	if ((r->kind == RESHARD_STEP_REDUCE || r->kind == RESHARD_STEP_RING_REDUCE) && t.contiguous &&
	    !has_gaps(m, to.type, &t)) {
		/* a rank's result is written in one step; the other steps need no copy of it */
		if (!f.contiguous || has_gaps(m, from.type, &f) || !has_same_order(&f, &t, -1))
			*before = order_like(m, from.type, to.type);
		return;
	}
	bool f_gaps = has_gaps(m, from.type, &f), t_gaps = has_gaps(m, to.type, &t);
	if (!f.contiguous || f_gaps || (lead >= 0 && !leads(&f, lead)))
		*before = order_with(m, without_loops(m, from, f_gaps), dims, n);
	if (!t.contiguous || t_gaps || (lead >= 0 && !leads(&t, lead)) || !has_same_order(&f, &t, lead))
		*after = order_with(m, without_loops(m, to, t_gaps), dims, n);
}

static unsigned rank_in(const uint8_t *dims, unsigned n, int dim)
{
	for (unsigned i = 0; i < n; i++)
		if (dims[i] == dim)
			return i;
	return n;
}

type_id order_with(struct module *m, struct order_side s, const uint8_t *dims, unsigned n)
{
	struct domain_builder b;
	uint8_t perm[IR_MAX_AXES];
	unsigned at = 0;
	type_id t = infer_without_reduce(m, s.type);
	const struct domain d = m->domain.at[m->type.at[t].domain];
	domain_edit(&b, &d);
	for (unsigned i = 0; i < d.loop_n; i++)
		if (!is_here(&d, d.loop[i], s.bound))
			perm[at++] = (uint8_t)i;
	for (unsigned k = 0; k <= n; k++)
		for (unsigned i = 0; i < d.loop_n; i++)
			if (is_here(&d, d.loop[i], s.bound) &&
			    rank_in(dims, n, layout_logical_of(&d, d.loop[i])) == k)
				perm[at++] = (uint8_t)i;
	if (domain_allocate(&b, false, perm, d.loop_n))
		return t;
	return type_make(m, m->type.at[t].dtype, MEMORY_GLOBAL, m->type.at[t].mesh, domain_finish(m, &b));
}

type_id order_row_major(struct module *m, type_id t)
{
	return order_with(m, one_block(m, t), NULL, 0);
}

type_id order_like(struct module *m, type_id t, type_id like)
{
	struct order o;
	read_order(m, one_block(m, like), &o);
	return order_with(m, one_block(m, t), o.dim, o.n);
}

type_id order_dense(struct module *m, struct order_side s)
{
	struct order o;
	read_order(m, s, &o);
	return order_with(m, s, o.dim, o.n);
}

type_id order_streamed(struct module *m, type_id t, bool streamed)
{
	const struct domain d = m->domain.at[m->type.at[t].domain];
	struct domain_builder b;
	uint8_t perm[IR_MAX_AXES], other[IR_MAX_AXES];
	bool unstreamed;
	if (!domain_allocation_order(&d, &unstreamed, perm) || unstreamed == !streamed)
		return t;
	domain_edit(&b, &d);
	domain_allocate_default(&b, !streamed);
	/* by the tensor axis of each axis in the old order, loops first */
	unsigned n = 0;
	for (unsigned i = 0; i < b.alloc_n && streamed; i++)
		if (d.axis[b.alloc[i]].place == PLACE_STREAM || d.axis[b.alloc[i]].place == PLACE_SERIAL)
			other[n++] = (uint8_t)i;
	for (unsigned k = 0; k < d.alloc_n; k++)
		for (unsigned i = 0; i < b.alloc_n; i++) {
			int from = layout_logical_of(&d, d.alloc[k]), to = layout_logical_of(&d, b.alloc[i]);
			bool same_kind = d.axis[d.alloc[k]].place == d.axis[b.alloc[i]].place;
			if (!memchr(other, (int)i, n) &&
			    (d.alloc[k] == b.alloc[i] || (from >= 0 && from == to && same_kind)))
				other[n++] = (uint8_t)i;
		}
	if (n != b.alloc_n || domain_allocate(&b, !streamed, other, n))
		return t;
	return type_with_domain(m, t, domain_finish(m, &b));
}

bool order_is_row_major(struct module *m, type_id t)
{
	struct order o;
	read_order(m, one_block(m, t), &o);
	for (unsigned i = 1; i < o.n; i++)
		if (o.dim[i] < o.dim[i - 1])
			return false;
	return o.contiguous;
}

bool order_pads(struct module *m, struct order_side s)
{
	struct order o;
	read_order(m, s, &o);
	return s.bound && clips(m, s.type, &o, 1u << PLACE_STREAM | 1u << PLACE_SERIAL);
}

bool order_clips(struct module *m, type_id t)
{
	struct order o;
	read_order(m, one_block(m, t), &o);
	return clips(m, t, &o, ~0u);
}

bool order_same(struct module *m, type_id a, type_id b)
{
	struct order x, y;
	read_order(m, one_block(m, a), &x);
	read_order(m, one_block(m, b), &y);
	return has_same_order(&x, &y, -1);
}

/* ---- views */

static value_id sharded(const struct module *m, value_id v)
{
	op_id def;
	while ((def = m->value.at[v].def) && m->op.at[def].kind == OP_SHARD_BY_STREAM)
		v = op_read(m, def, 0);
	return v;
}

/* Returns true if a slice is one piece of its buffer in the order of its type. In memory, the axes of
 * which it has one block must be above those of which it has several. */
static bool is_piece(const struct module *m, value_id v, const struct order *o, value_id whole)
{
	const struct domain *d = value_domain(m, whole);
	struct bound_levels above, cut;
	struct order stored;
	bool several = false;
	bound_levels_of(m, v, &cut);
	read_order(m, (struct order_side){m->value.at[whole].type, bound_in(d, &cut)}, &stored);
	if (!has_same_order(o, &stored, -1))
		return false;
	bound_levels_of(m, whole, &above);
	bound_set bound = bound_of(m, whole);
	/* loops whose blocks are not contiguous are cut as a whole */
	for (unsigned i = 0; i < d->alloc_n; i++) {
		unsigned a, level;
		if (bound_level(d, d->alloc[i], &a, &level))
			above.of[a] |= (uint64_t)1 << level;
	}
	for (unsigned i = 0; i < d->alloc_n; i++) {
		unsigned axis = d->alloc[i], a, level;
		if (!is_local(m, d, axis, bound))
			continue;
		bool loop = bound_level(d, axis, &a, &level);
		if (!loop) {
			int dim = layout_logical_of(d, axis);
			a = dim < 0 ? IR_MAX_LOGICAL : (unsigned)dim;
		}
		bool cuts = loop ? cut.of[a] >> level & 1 : (cut.of[a] & ~above.of[a]) != 0;
		if (cuts && several)
			return false;
		several |= !cuts || (!loop && has_dim(o, a));
	}
	return true;
}

bool order_is_dense(struct module *m, value_id v)
{
	struct order o, stored;
	read_value(m, v, &o);
	if (!o.contiguous)
		return false;
	op_id def = m->value.at[v].def;
	if (!def || !(op_traits(m, def) & TRAIT_VIEW))
		return true;
	if (m->op.at[def].kind == OP_SHARD_BY_STREAM) {
		value_id whole = sharded(m, v);
		return is_piece(m, v, &o, whole) && order_is_dense(m, whole);
	}
	/* an element of the outermost axis is one piece */
	value_id whole = op_read(m, def, 0);
	read_value(m, whole, &stored);
	unsigned axis =
	    m->op.at[def].kind == OP_SELECT ? (unsigned)op_attr_int(m, def, "axis", 0) : ORDER_MERGED;
	return (stored.n == 0 || stored.dim[0] == axis || !has_dim(&stored, axis)) &&
	       order_is_dense(m, whole);
}
