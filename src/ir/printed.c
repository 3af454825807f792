/* printed: makes a domain of a tensor's printed ids. How they are read is in printed_reading.c, the rule for a whole
 * listing in printed_rule.c. */
#include "ir/printed.h"
#include "ir/expr.h"
#include "ir/printed_reading.h"
#include <string.h>

unsigned printed_reduced(struct module *m, const struct printed_tensor *t, uint8_t *axis)
{
	struct printed_reading r;
	uint8_t order[IR_MAX_AXES], at = 0;
	unsigned n = 0;
	printed_reading_find(m, t, &r);
	printed_reading_order(t, &r, order);
	for (unsigned i = 0; i < t->id_n; i++) {
		const struct axis *x = &t->id[order[i]].axis;
		if (r.is_half[order[i]] || x->kind == AXIS_PARTIAL)
			continue;
		if (x->kind == AXIS_REDUCE)
			axis[n++] = at;
		at++;
	}
	return n;
}

static unsigned find_loop_position(const struct domain_builder *b, unsigned axis)
{
	unsigned p = 0;
	while (b->loop[p] != axis)
		p++;
	return p;
}

/* Returns true if a reduction is over a mesh axis that another axis is spread over, as in the result of a ReduceScatter.
 * It holds no elements, and is then over no mesh axis. */
static bool is_scattered(const struct printed_tensor *t, unsigned i)
{
	const struct axis *x = &t->id[i].axis;
	for (unsigned k = 0; x->kind == AXIS_REDUCE && x->place == PLACE_MESH && k < t->id_n; k++) {
		const struct axis *y = &t->id[k].axis;
		if (y->kind == AXIS_ITER && y->place == PLACE_MESH && y->mesh_axis == x->mesh_axis)
			return true;
	}
	return false;
}

static const char *parallelize_axis(struct module *m, struct domain_builder *b, unsigned axis,
                                    const struct axis *as, mesh_id mesh)
{
	if (as->place == PLACE_NONE)
		return NULL;
	return domain_parallelize(m, b, find_loop_position(b, axis), (enum axis_place)as->place,
	                          mesh ? &m->mesh.at[mesh] : NULL, as->mesh_axis);
}

static const char *swizzle_axis(struct module *m, struct domain_builder *b, const struct printed_tensor *t,
                                unsigned outer, uint8_t *axis)
{
	unsigned mesh_axis = 0, n = printed_reading_mesh_axes(m, t, t->id[outer].axis.extent, &mesh_axis);
	if (n != 1)
		return "Swizzle1D made its stream axis, and several mesh axes have this size";
	const char *why =
	    domain_swizzle1d(m, b, find_loop_position(b, axis[outer]), &m->mesh.at[t->mesh], mesh_axis);
	axis[outer] = (uint8_t)(b->axis_n - 1);
	return why;
}

/* Splits an axis into an id and the rest, which is the other half. */
static const char *split_off(struct module *m, struct domain_builder *b, const struct axis *id, bool is_inner,
                             expr_id rest, uint8_t *axis_id, uint8_t *axis_rest)
{
	expr_id outer = is_inner ? rest : id->extent, inner = is_inner ? id->extent : rest;
	const struct expr *x = &m->expr.at[outer], *y = &m->expr.at[inner];
	bool by_outer = y->kind == EXPR_CEIL_DIV && y->b == outer;
	bool by_inner =
	    !by_outer && (is_inner || id->place == PLACE_NONE || (x->kind == EXPR_CEIL_DIV && x->b == inner));
	const char *why =
	    domain_split(m, b, find_loop_position(b, *axis_rest), by_inner ? inner : outer, by_inner);
	*(is_inner ? axis_rest : axis_id) = (uint8_t)(b->axis_n - 2);
	*(is_inner ? axis_id : axis_rest) = (uint8_t)(b->axis_n - 1);
	return why;
}

/* Splits the logical axis that ends in id i, the earliest half first. */
static const char *split_axis(struct module *m, struct domain_builder *b, const struct printed_tensor *t,
                              const struct printed_reading *r, unsigned i, uint8_t *axis)
{
	uint8_t half[IR_MAX_AXES];
	expr_id rest[IR_MAX_AXES]; /* the extent of the other half */
	unsigned n = 0;
	expr_id extent = t->id[i].axis.extent;
	for (int h = r->half_of[i]; h >= 0; h = r->half_of[h]) {
		rest[n] = extent;
		extent = printed_reading_join(m, t, r, (unsigned)h, extent);
		half[n++] = (uint8_t)h;
	}
	while (n--) {
		unsigned h = half[n];
		const char *why =
		    split_off(m, b, &t->id[h].axis, r->is_inner[h], rest[n], &axis[h], &axis[i]);
		if (!why && r->swizzled[h])
			why = swizzle_axis(m, b, t, h, axis);
		if (why)
			return why;
	}
	return NULL;
}

domain_id printed_domain(struct module *m, const struct printed_tensor *t, const char **why)
{
	struct domain_builder b;
	struct printed_reading r;
	uint8_t axis[IR_MAX_AXES]; /* by id: the axis of the domain */
	uint8_t order[IR_MAX_AXES];
	domain_begin(&b);
	printed_reading_find(m, t, &r);
	printed_reading_order(t, &r, order);
	static const uint8_t group[] = {[AXIS_ITER] = 0, [AXIS_PARTIAL] = 1, [AXIS_REDUCE] = 2};
	for (unsigned g = 0; g < 3; g++)
		for (unsigned at = 0; at < t->id_n; at++) {
			unsigned i = order[at];
			const struct axis *x = &t->id[i].axis;
			if (group[x->kind] != g || r.is_half[i])
				continue;
			expr_id extent = printed_reading_extent(m, t, &r, i);
			int a = extent ? domain_add_axis(&b, (enum axis_kind)x->kind, extent) : -1;
			*why = extent ? "it has more than 16 logical axes" : "an extent overflows 64 bits";
			if (a < 0)
				return 0;
			b.axis[a].rf = x->rf;
			b.axis[a].reduce = x->reduce;
			axis[i] = (uint8_t)a;
		}
	for (unsigned l = 0; l < b.logical_n; l++)
		for (unsigned i = 0; i < t->id_n; i++) {
			if (r.is_half[i] || axis[i] != l || r.half_of[i] < 0)
				continue;
			*why = split_axis(m, &b, t, &r, i, axis);
			if (*why)
				return 0;
			break;
		}
	for (unsigned i = 0; i < t->id_n; i++) {
		*why = "the halves of a split have other extents";
		if (b.axis[axis[i]].extent != t->id[i].axis.extent)
			return 0;
		if (is_scattered(t, i))
			continue;
		*why = parallelize_axis(m, &b, axis[i], &t->id[i].axis, t->mesh);
		if (*why)
			return 0;
	}
	memcpy(b.loop, axis, t->id_n);
	printed_allocate(m, &b, t->io, t->size);
	return domain_finish(m, &b);
}
