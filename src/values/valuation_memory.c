/* valuation_memory: see valuation_memory.h. */
#include "values/valuation_memory.h"
#include "ir/bound.h"
#include "ir/layout.h"

/* Returns true if the rank's memory has one block of an axis of the allocation domain. */
static bool has_one_block(const struct valuation *v, const struct value_view *x, const struct domain *d,
                          unsigned axis)
{
	unsigned of, level;
	if (d->axis[axis].place == PLACE_MESH)
		return !v->is_logical;
	return bound_level(d, axis, &of, &level) && value_view_bound(x, of, level);
}

static void add_axis(struct value_memory *x, unsigned axis)
{
	const struct part_axis *part = &x->view->part->axis[axis];
	x->axis[x->n] = (uint8_t)axis;
	x->extent[x->n++] = part->to - part->from;
	x->count *= part->to - part->from;
}

bool value_memory_find(const struct valuation *v, const struct value_view *x, struct value_memory *out)
{
	const struct domain *d = ir_domain(v->m, ir_type(v->m, x->type)->domain);
	uint32_t single = 0, seen = 0;
	*out = (struct value_memory){.view = x, .count = 1};
	if (x->unknown || x->symmetric || !value_view_is_there(x))
		return false;
	for (unsigned a = 0; a < x->axis_n; a++) {
		if (x->part->axis[a].levels)
			return false;
		if (x->part->axis[a].to - x->part->axis[a].from == 1)
			single |= 1u << a;
	}
	for (unsigned k = 0; k < d->alloc_n; k++) {
		const int a = layout_logical_of(d, d->alloc[k]);
		if (a >= (int)x->axis_n || has_one_block(v, x, d, d->alloc[k]))
			continue; /* a < axis_n: not hidden */
		if (a < 0)
			return false;
		if (single >> a & 1 || (out->n && out->axis[out->n - 1] == a))
			continue;
		if (seen >> a & 1)
			return false; /* its blocks lie apart */
		seen |= 1u << a;
		add_axis(out, (unsigned)a);
	}
	out->long_n = out->n;
	for (unsigned a = 0; a < x->axis_n; a++)
		if (single >> a & 1)
			add_axis(out, a);
	return out->n == x->axis_n && out->count > 0;
}

bool value_memory_box(const struct value_memory *x, struct extent flat, struct extent *out)
{
	struct extent box[IR_MAX_LOGICAL];
	if (!value_unflatten(flat, x->extent, x->n, box))
		return false;
	for (unsigned k = 0; k < x->n; k++) {
		const int64_t from = x->view->part->axis[x->axis[k]].from;
		out[x->axis[k]] = (struct extent){box[k].lo + from, box[k].hi + from};
	}
	return true;
}

bool value_memory_interval(const struct value_memory *x, const struct extent *box, struct extent *out)
{
	struct extent inside[IR_MAX_LOGICAL];
	for (unsigned k = 0; k < x->n; k++) {
		const int64_t from = x->view->part->axis[x->axis[k]].from;
		inside[k] = (struct extent){box[x->axis[k]].lo - from, box[x->axis[k]].hi - from};
	}
	return value_flatten(inside, x->extent, x->n, out);
}
