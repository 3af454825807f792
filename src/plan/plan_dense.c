/* plan_dense: see plan_dense.h. */
#include "plan/plan_dense.h"
#include "plan/plan_elements.h"
#include <string.h>

bool dense_possible(const struct planner *b, const struct view *v, int lead)
{
	if (view_apart(v))
		return elements_whole(b, v);
	for (unsigned a = 0; a < v->rank; a++)
		if ((int)a != lead && !sx_is_const(b, v->axis[a].len, NULL))
			return false;
	return true;
}

/* Finds the number of elements that the rank has along each axis. local: by axis, the copy numbers them
 * from 0 and not by their coordinates. */
static bool extents(struct planner *b, const struct view *v, int64_t *n, bool *local)
{
	struct elements e;
	int64_t room = MAX_ELEMENTS;
	bool apart = view_apart(v);
	if (apart && !elements_of(b, v, b->p->rank, &room, &e))
		return false;
	if (apart && !e.per_axis) {
		planner_error(b, E_PLAN_LAYOUT, "layout of '%s' is not one interval a rank; not executed yet",
		              value_text(b, v->value));
		return false;
	}
	for (unsigned a = 0; a < v->rank; a++) {
		local[a] = v->axis[a].pieces;
		if (apart)
			n[a] = e.count[a];
		else
			n[a] = b->sx.at[v->axis[a].len].hi;
	}
	return true;
}

struct view *dense_view(struct planner *b, const struct view *v, const uint8_t *order)
{
	struct view *d = view_new(b, v->value);
	int64_t n[IR_MAX_LOGICAL], dense = 1;
	bool local[IR_MAX_LOGICAL];
	if (!extents(b, v, n, local))
		return NULL;
	for (unsigned k = v->rank; k-- > 0;) {
		unsigned a = order ? order[k] : k;
		struct view_axis *x = &d->axis[a];
		*x = (struct view_axis){.extent = local[a] ? n[a] : v->axis[a].extent,
		                        .stride = dense,
		                        .room = n[a],
		                        .full = true};
		x->len = local[a] ? sx_const(b, n[a]) : v->axis[a].len;
		x->off = x->base = local[a] ? sx_const(b, 0) : v->axis[a].off;
		x->start = sx_const(b, 0);
		memcpy(x->bound, v->axis[a].bound, sizeof x->bound);
		dense *= n[a];
	}
	d->origin = sx_const(b, 0);
	d->buffer = storage_temporary(b, v->value, view_dtype(b, v), dense, &d->slot);
	return d;
}

static bool copy_view(struct planner *b, const struct view *to, const struct view *from, op_id after)
{
	int same[IR_MAX_LOGICAL];
	sx_id n[IR_MAX_LOGICAL], at[IR_MAX_LOGICAL];
	struct plan_view x, y;
	for (unsigned a = 0; a < to->rank; a++)
		same[a] = (int)a, n[a] = to->axis[a].len, at[a] = to->axis[a].off;
	if (!plan_window(b, from, to->rank, n, same, at, to->rank, &x) ||
	    !plan_window(b, to, to->rank, n, same, at, to->rank, &y))
		return false;
	if (after)
		plan_copy_after(b, after, &y, &x);
	else
		plan_copy_now(b, &y, &x);
	return true;
}

/* Returns the place of the k-th element in a copy. */
static int64_t place_in(const struct view *dense, const struct elements *e, int64_t k)
{
	int64_t at = 0;
	for (unsigned a = dense->rank; a-- > 0; k /= e->count[a])
		at += k % e->count[a] * dense->axis[a].stride;
	return at;
}

static bool copy_elements(struct planner *b, const struct view *dense, const struct view *v, bool back,
                          op_id after)
{
	struct elements e;
	int64_t room = MAX_ELEMENTS;
	if (!elements_of(b, v, b->p->rank, &room, &e))
		return false;
	struct element_piece *p = arena_alloc(b->scratch, sizeof *p * (size_t)(e.n + 1));
	for (int64_t k = 0; k < e.n; k++) {
		int64_t place = place_in(dense, &e, k);
		p[k] = (struct element_piece){.from = back ? place : e.offset[k],
		                              .to = back ? e.offset[k] : place};
	}
	return elements_copy(b, p, e.n, back ? dense : v, back ? v : dense, after);
}

bool dense_fill(struct planner *b, const struct view *dense, const struct view *v)
{
	return view_apart(v) ? copy_elements(b, dense, v, false, 0) : copy_view(b, dense, v, 0);
}

bool dense_drain(struct planner *b, const struct view *dense, const struct view *v, op_id after)
{
	b->p->buffer.at[v->buffer].written = true;
	return view_apart(v) ? copy_elements(b, dense, v, true, after) : copy_view(b, v, dense, after);
}
