/* check_order: the order in memory of the elements that a message moves.
 *
 *     S: f32[4, 6], allocation (1, 0)      axes 1 0
 *     Y: f32[4, 6]                         axes 0 1
 *     T = select(S, axis=0, index=2)       axis 1 of S, which is axis 0 of T: axes 0
 *
 * An axis of one element has no place in the order. Orders are compared where an element keeps its index. The order of
 * a view is that of its buffer. */
#include "check/check_order.h"
#include "check/check_view.h"
#include "check/checker.h"
#include "ir/layout.h"

/* Finds the axis of a view that is an axis of its buffer; -1: none, as a select has removed it. */
static int axis_of_view(const struct view *x, unsigned rank, int of_buffer)
{
	for (unsigned a = 0; a < rank; a++)
		if (x->axis[a] == of_buffer)
			return (int)a;
	return -1;
}

/* Adds the axes of the buffer to the order. Returns false if it is not known. */
static bool add_axes(const struct rank_check *w, const struct view *x, unsigned rank, const int64_t *length,
                     struct span *order, unsigned *n)
{
	const struct domain *d = value_domain(w->m, w->storage.at[x->storage].value);
	for (unsigned i = 0; i < d->alloc_n; i++) {
		const struct axis *at = &d->axis[d->alloc[i]];
		int64_t extent;
		if (at->place == PLACE_MESH || at->kind == AXIS_PARTIAL || at->kind == AXIS_REDUCE ||
		    (expr_is_const(w->m, at->extent, &extent) && extent == 1))
			continue;
		const int logical = layout_logical_of(d, d->alloc[i]),
		          axis = logical < 0 ? -1 : axis_of_view(x, rank, logical);
		if (logical < 0)
			return false;
		if (axis < 0 || length[axis] == 1 || (*n && order[*n - 1].lo == axis))
			continue;
		for (unsigned k = 0; k < *n; k++)
			if (order[k].lo == axis)
				return false; /* its blocks lie apart */
		order[(*n)++] = (struct span){axis, axis};
	}
	return true;
}

spread_id check_order_find(struct rank_check *w, value_id v)
{
	const struct view *x = &w->view[v];
	const unsigned rank = value_domain(w->m, v)->rank;
	const struct cut none = {.axis = -1};
	struct span order[IR_MAX_LOGICAL];
	int64_t length[IR_MAX_LOGICAL];
	if (x->storage == CHECK_NONE || x->absent || x->symmetric)
		return 0;
	for (unsigned a = 0; a < rank; a++) {
		struct part_axis part;
		if (!check_view_axis(w, x, w->m->value.at[v].type, a, none, &part, NULL) ||
		    part.to == part.from)
			return 0;
		length[a] = part.to - part.from;
	}
	unsigned n = 0;
	if (!add_axes(w, x, rank, length, order, &n))
		return 0;
	for (; n < rank; n++)
		order[n] = (struct span){-1, -1};
	return spread_get(&w->c->spreads, order, n);
}

bool check_order_differs(const struct spreads *s, spread_id a, spread_id b)
{
	const uint32_t n = s->spread.at[a].n;
	bool same = true;
	if (!a || !b)
		return false;
	for (uint32_t k = 0; k < n; k++)
		same &= spread_span(s, a, k).lo == spread_span(s, b, k).lo;
	return !same;
}

void check_order_put(const struct spreads *s, spread_id order, struct buf *out)
{
	const uint32_t n = s->spread.at[order].n;
	buf_puts(out, "elements by axes (");
	for (uint32_t k = 0; k < n && spread_span(s, order, k).lo >= 0; k++)
		buf_printf(out, "%s%lld", k ? ", " : "", (long long)spread_span(s, order, k).lo);
	buf_puts(out, ") in memory");
}
