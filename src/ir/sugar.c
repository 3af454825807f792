/* sugar: turns placements such as `n@dp@tp` into transforms, and back.
 *
 *     [t@stream(s), k@x]  →  split t outer s, split k outer size(x);
 *                            loop [stream s, x, ceilDiv(t, s), ceilDiv(k, size(x))]
 *
 * Reading back guesses placements and expands them again. If the result is another domain, the domain
 * has no sugar. */
#include "ir/domain.h"
#include "ir/expr.h"
#include <string.h>

static unsigned loop_position(const struct domain_builder *b, unsigned axis)
{
	unsigned pos = 0;
	while (b->loop[pos] != axis)
		pos++;
	return pos;
}

static const enum axis_place place_of[] = {
    [SUGAR_MESH] = PLACE_MESH,      [SUGAR_STREAM] = PLACE_STREAM, [SUGAR_SERIAL] = PLACE_SERIAL,
    [SUGAR_SWIZZLE] = PLACE_STREAM, [SUGAR_BLOCK] = PLACE_NONE,
};

/* Applies one placement to an axis; *axis becomes the remaining axis, or -1. The last placement makes no
 * split if it is as large as a constant extent. */
static const char *expand_place(struct module *m, struct domain_builder *b, const struct sugar_place *p,
                                const struct mesh *mesh, bool last, int *axis)
{
	int64_t extent, factor = 0;
	bool by_mesh = p->kind == SUGAR_MESH || p->kind == SUGAR_SWIZZLE;
	expr_id f = by_mesh ? expr_const(m, mesh->size[p->mesh_axis]) : p->factor;
	if (!expr_is_const(m, f, &factor) || factor < 1)
		return "a placement needs a constant size of at least 1";
	unsigned pos = loop_position(b, (unsigned)*axis);
	const char *error = NULL;
	bool whole = last && expr_is_const(m, b->axis[*axis].extent, &extent) && extent == factor;
	int rest = -1;
	if (!whole) {
		error = domain_split(m, b, pos, f, false);
		if (error)
			return error;
		rest = b->loop[pos + 1];
	}
	if (p->kind == SUGAR_SWIZZLE)
		error = domain_swizzle1d(m, b, pos, mesh, p->mesh_axis);
	if (!error && place_of[p->kind] != PLACE_NONE)
		error = domain_parallelize(m, b, pos, place_of[p->kind], mesh, p->mesh_axis);
	*axis = rest;
	return error;
}

const char *sugar_expand(struct module *m, const struct sugar *s, mesh_id mesh, bool unstreamed,
                         domain_id *out, unsigned *offending)
{
	struct domain_builder b;
	domain_begin(&b);
	*offending = 0;
	for (unsigned i = 0; i < s->axis_n; i++) {
		int a = domain_add_axis(&b, (enum axis_kind)s->axis[i].kind, s->axis[i].extent);
		if (a < 0)
			return "a tensor has at most 16 axes, hidden ones included";
		b.axis[a].rf = s->axis[i].rf;
		b.axis[a].reduce = s->axis[i].reduce;
	}
	for (unsigned i = 0; i < s->axis_n; i++) {
		int axis = (int)i;
		*offending = i;
		for (unsigned k = 0; k < s->axis[i].place_n; k++) {
			const char *error =
			    expand_place(m, &b, &s->axis[i].place[k], mesh ? &m->mesh.at[mesh] : NULL,
			                 k + 1 == s->axis[i].place_n, &axis);
			if (error)
				return error;
		}
	}
	domain_parallel_to_front(&b);
	domain_allocate_default(&b, unstreamed);
	*out = domain_finish(m, &b);
	return NULL;
}

/* Returns the placement of a loop axis. */
static struct sugar_place place_from_axis(const struct axis *a, expr_id factor)
{
	struct sugar_place p = {.kind = SUGAR_BLOCK, .factor = factor};
	if (a->place == PLACE_MESH)
		p = (struct sugar_place){.kind = SUGAR_MESH, .mesh_axis = a->mesh_axis};
	else if (a->place == PLACE_STREAM)
		p.kind = SUGAR_STREAM;
	else if (a->place == PLACE_SERIAL)
		p.kind = SUGAR_SERIAL;
	return p;
}

static bool read_axis(const struct domain *d, unsigned logical, struct sugar_axis *out)
{
	unsigned a = logical;
	for (;;) {
		const struct xform *x = domain_consumer(d, a);
		if (out->place_n == SUGAR_MAX_PLACES)
			return false;
		if (!x) {
			if (d->axis[a].place != PLACE_NONE)
				out->place[out->place_n++] = place_from_axis(&d->axis[a], d->axis[a].extent);
			return true;
		}
		if (x->kind == XFORM_SWIZZLE1D) {
			out->place[out->place_n++] =
			    (struct sugar_place){.kind = SUGAR_SWIZZLE, .mesh_axis = x->mesh_axis};
			return true;
		}
		if (x->kind != XFORM_SPLIT_OUTER)
			return false;
		const struct xform *swizzle = domain_consumer(d, x->out[0]);
		if (swizzle && swizzle->kind != XFORM_SWIZZLE1D)
			return false;
		out->place[out->place_n++] =
		    swizzle ? (struct sugar_place){.kind = SUGAR_SWIZZLE, .mesh_axis = swizzle->mesh_axis}
		            : place_from_axis(&d->axis[x->out[0]], x->factor);
		a = x->out[1];
	}
}

void sugar_extents(const struct module *m, domain_id id, struct sugar *out)
{
	const struct domain *d = &m->domain.at[id];
	memset(out, 0, sizeof *out);
	out->rank = d->rank;
	out->axis_n = d->logical_n;
	for (unsigned i = 0; i < d->logical_n; i++) {
		const struct axis *a = &d->axis[i];
		out->axis[i] = (struct sugar_axis){
		    .extent = a->extent, .kind = a->kind, .reduce = a->reduce, .rf = a->rf};
	}
}

bool sugar_from_domain(struct module *m, domain_id id, mesh_id mesh, struct sugar *out)
{
	struct domain d = m->domain.at[id];
	domain_id again;
	unsigned offending;
	sugar_extents(m, id, out);
	for (unsigned i = 0; i < d.logical_n; i++)
		if (!read_axis(&d, i, &out->axis[i]))
			return false;
	for (unsigned i = 0; i < d.logical_n && !mesh; i++)
		for (unsigned k = 0; k < out->axis[i].place_n; k++)
			if (out->axis[i].place[k].kind == SUGAR_MESH ||
			    out->axis[i].place[k].kind == SUGAR_SWIZZLE)
				return false;
	if (sugar_expand(m, out, mesh, false, &again, &offending))
		return false;
	const struct domain *e = &m->domain.at[again];
	return d.axis_n == e->axis_n && d.xform_n == e->xform_n && d.loop_n == e->loop_n &&
	       (!d.axis_n || !memcmp(d.axis, e->axis, sizeof *d.axis * d.axis_n)) &&
	       (!d.xform_n || !memcmp(d.xform, e->xform, sizeof *d.xform * d.xform_n)) &&
	       (!d.loop_n || !memcmp(d.loop, e->loop, d.loop_n));
}

/* ---- the same transforms in another order */

static bool is_loop(const struct axis *a)
{
	return a->place == PLACE_STREAM || a->place == PLACE_SERIAL;
}

/* Finds for axis a of d, and for the axes made of it, those of e that are made alike from axis b. */
static bool map_axis(const struct domain *d, const struct domain *e, unsigned a, unsigned b, uint8_t *map)
{
	const struct xform *x = domain_consumer(d, a), *y = domain_consumer(e, b);
	map[a] = (uint8_t)b;
	if (memcmp(&d->axis[a], &e->axis[b], sizeof *d->axis) || !x != !y)
		return false;
	if (!x)
		return !is_loop(&d->axis[a]);
	return x->kind == XFORM_SPLIT_OUTER && y->kind == XFORM_SPLIT_OUTER && x->factor == y->factor &&
	       map_axis(d, e, x->out[0], y->out[0], map) && map_axis(d, e, x->out[1], y->out[1], map);
}

/* Returns true if two orders in memory differ only in the places of mesh axes, of which each rank has
 * one element, and the first is contiguous. */
static bool same_memory(const struct domain *d, const struct domain *e, const uint8_t *map)
{
	unsigned i = 0, j = 0;
	for (unsigned k = 0; k < d->alloc_n; k++)
		if (!d->contiguous[k])
			return false;
	for (;;) {
		while (i < d->alloc_n && d->axis[d->alloc[i]].place == PLACE_MESH)
			i++;
		while (j < e->alloc_n && e->axis[e->alloc[j]].place == PLACE_MESH)
			j++;
		if (i == d->alloc_n || j == e->alloc_n)
			return i == d->alloc_n && j == e->alloc_n;
		if (map[d->alloc[i++]] != e->alloc[j++])
			return false;
	}
}

bool sugar_in_order(struct module *m, domain_id id, mesh_id mesh, domain_id *out)
{
	struct sugar s;
	domain_id ordered;
	unsigned offending;
	uint8_t map[IR_MAX_AXES];
	sugar_extents(m, id, &s);
	for (unsigned i = 0; i < s.axis_n; i++)
		if (!read_axis(&m->domain.at[id], i, &s.axis[i]))
			return false;
	if (!mesh || sugar_expand(m, &s, mesh, false, &ordered, &offending))
		return false;
	const struct domain *d = &m->domain.at[id], *e = &m->domain.at[ordered];
	for (unsigned i = 0; i < d->logical_n; i++)
		if (!map_axis(d, e, i, i, map))
			return false;
	struct domain_builder b;
	domain_edit(&b, e);
	if (!same_memory(d, e, map)) {
		b.alloc_n = d->alloc_n;
		for (unsigned k = 0; k < d->alloc_n; k++)
			b.alloc[k] = map[d->alloc[k]];
		memcpy(b.contiguous, d->contiguous, d->alloc_n);
	}
	*out = domain_finish(m, &b);
	return *out != id;
}

/* ---- axes that placements can make as well */

static bool is_leaf(const struct domain *d, unsigned axis)
{
	return !domain_consumer(d, axis);
}

/* Reads an inner split without remainder as blocks, each as long as the inner axis. */
static bool read_inner_split(struct module *m, const struct domain *d, const struct xform *x,
                             struct sugar_axis *out)
{
	int64_t n, k;
	if (!is_leaf(d, x->out[0]) || !is_leaf(d, x->out[1]) ||
	    !expr_is_const(m, d->axis[x->in[0]].extent, &n) || !expr_is_const(m, x->factor, &k) || n % k)
		return false;
	out->place[out->place_n++] = place_from_axis(&d->axis[x->out[0]], expr_const(m, n / k));
	if (d->axis[x->out[1]].place != PLACE_NONE)
		out->place[out->place_n++] = place_from_axis(&d->axis[x->out[1]], x->factor);
	return true;
}

/* Reads a loop over two merged axes as loops over both. It must cover all of them, or blocks that are
 * boxes. */
static bool read_merge(struct module *m, const struct domain *d, const struct xform *x, struct sugar_axis *a,
                       struct sugar_axis *b)
{
	const struct xform *split = domain_consumer(d, x->out[0]);
	unsigned loop = split ? split->out[0] : x->out[0];
	int64_t na, nb, n;
	if ((split && (split->kind != XFORM_SPLIT_OUTER || !is_leaf(d, split->out[0]) ||
	               !is_leaf(d, split->out[1]) || d->axis[split->out[1]].place != PLACE_NONE)) ||
	    !is_loop(&d->axis[loop]) || !expr_is_const(m, a->extent, &na) ||
	    !expr_is_const(m, b->extent, &nb) || !expr_is_const(m, d->axis[loop].extent, &n))
		return false;
	int64_t outer = na % n ? na : n;
	if (n % outer || nb % (n / outer))
		return false;
	a->place[a->place_n++] = place_from_axis(&d->axis[loop], expr_const(m, outer));
	if (n > outer)
		b->place[b->place_n++] = place_from_axis(&d->axis[loop], expr_const(m, n / outer));
	return true;
}

bool sugar_equivalent(struct module *m, domain_id id, mesh_id mesh, struct sugar *out)
{
	const struct domain d = m->domain.at[id];
	bool merged[IR_MAX_AXES] = {false};
	sugar_extents(m, id, out);
	for (unsigned i = 0; i < d.logical_n; i++) {
		const struct xform *x = domain_consumer(&d, i);
		struct sugar_axis plain = out->axis[i];
		if (merged[i])
			continue;
		if (read_axis(&d, i, &plain)) {
			out->axis[i] = plain;
		} else if (x->kind == XFORM_SPLIT_INNER) {
			if (!read_inner_split(m, &d, x, &out->axis[i]))
				return false;
		} else if (x->kind != XFORM_MERGE || x->in[0] != i || x->in[1] >= d.logical_n ||
		           !read_merge(m, &d, x, &out->axis[i], &out->axis[x->in[1]])) {
			return false;
		} else {
			merged[x->in[1]] = true;
		}
	}
	domain_id again;
	unsigned offending;
	return !sugar_expand(m, out, mesh, false, &again, &offending);
}

void sugar_drop(struct sugar *s, enum axis_kind kind)
{
	unsigned n = s->rank;
	for (unsigned a = s->rank; a < s->axis_n; a++)
		if (s->axis[a].kind != kind)
			s->axis[n++] = s->axis[a];
	s->axis_n = n;
}
