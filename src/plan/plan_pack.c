/* plan_pack: makes runs of memory of the data of collectives.
 *
 *     X: f32[3, 9@x], x = 2           rank 1 holds 3 lines of 4, room for 5: 12 elements are packed
 *     Y: f32[3, 9@stream(2)@x]        in a loop
 *
 * Only the types decide if both buffers are packed, and in which order of axes. So all ranks decide the
 * same. */
#include "plan/plan_boxes.h"
#include "plan/plan_comm.h"
#include "plan/plan_dense.h"
#include "plan/plan_elements.h"
#include <string.h>

/* ---- from types alone */

/* Returns true if a loop binds the stream and serial splits of an axis. */
static bool is_bound(const struct view *v, unsigned axis)
{
	for (unsigned k = 0; k < VIEW_MAX_STEPS; k++)
		if (v->axis[axis].bound[k])
			return true;
	return false;
}

/* Returns the tensor axis that is outermost in the memory of a rank's part; -1: none. */
static int outermost(struct planner *b, const struct view *v)
{
	const struct domain *d = ir_domain(b->m, ir_type(b->m, v->type)->domain);
	for (unsigned i = 0; i < d->alloc_n; i++) {
		const struct axis *x = &d->axis[d->alloc[i]];
		int a = layout_logical_of(d, d->alloc[i]);
		int64_t n;
		if (x->place == PLACE_MESH || x->kind == AXIS_REDUCE || x->kind == AXIS_PARTIAL || a < 0)
			continue;
		if (x->place != PLACE_NONE && is_bound(v, (unsigned)a))
			continue;
		if (planner_value(b, x->extent, &n) && n != 1)
			return a;
	}
	return -1;
}

/* Returns true if the blocks of an axis are not all full. loops: includes the splits that a loop binds. */
static bool is_uneven(struct planner *b, const struct view *v, unsigned axis, bool loops)
{
	const struct domain *d = ir_domain(b->m, ir_type(b->m, v->type)->domain);
	struct axis_steps steps;
	int64_t part;
	bool uneven = false, cut = false, room = false; /* room: some stored blocks have no elements */
	if (!axis_steps_find(b, v->type, axis, false, &steps) ||
	    !planner_value(b, d->axis[axis].extent, &part))
		return false;
	for (unsigned k = 0; k < steps.n; k++) {
		bool loop = steps.step[k].place == PLACE_STREAM || steps.step[k].place == PLACE_SERIAL;
		int64_t block = steps.step[k].block; /* 0 for an empty axis */
		bool full = block == 0 || (part % block == 0 && part / block == steps.step[k].count);
		uneven |= !full;
		room |= !full && steps.step[k].place == PLACE_NONE;
		cut |= uneven && loop && is_bound(v, axis);
		part = steps.step[k].block;
	}
	return loops ? cut : room || (uneven && part > 1);
}

bool plan_comm_has_gaps(const struct comm *s, const struct view *v)
{
	int first = outermost(s->b, v);
	for (unsigned a = 0; a < v->rank; a++)
		if ((int)a != s->gathered && (int)a != first && is_uneven(s->b, v, a, false))
			return true;
	return false;
}

/* ---- packing */

/* Finds the axis that must be outermost: the gathered one, or one whose extent depends on a loop; -1:
 * none. Returns false if there are two. */
static bool find_lead(struct comm *s, const struct view *x, const struct view *y, int *lead)
{
	const struct view *side[2] = {x, y};
	*lead = s->gathered;
	for (unsigned k = 0; k < 2; k++)
		for (unsigned a = 0; a < side[k]->rank; a++) {
			if (!is_uneven(s->b, side[k], a, true))
				continue;
			if (*lead >= 0 && *lead != (int)a)
				return false;
			*lead = (int)a;
		}
	return true;
}

/* Lists the axes in the order of the operand's memory, `lead` first. */
static void packed_order(struct comm *s, const struct view *x, int lead, uint8_t *order)
{
	const struct domain *d = ir_domain(s->b->m, ir_type(s->b->m, x->type)->domain);
	unsigned n = 0;
	if (lead >= 0)
		order[n++] = (uint8_t)lead;
	for (unsigned i = 0; i < d->alloc_n + x->rank; i++) {
		int a = i < d->alloc_n ? layout_logical_of(d, d->alloc[i]) : (int)(i - d->alloc_n);
		if (a >= 0 && a < (int)x->rank && !memchr(order, a, n))
			order[n++] = (uint8_t)a;
	}
}

/* Replaces both buffers by copies without gaps. */
static bool pack_buffers(struct comm *s, const uint8_t *order)
{
	struct planner *b = s->b;
	s->dense = true;
	if (s->in) {
		struct view *dense = dense_view(b, s->in, order);
		if (!dense || !dense_fill(b, dense, s->in))
			return false;
		s->in = dense;
	}
	if (s->out) {
		struct view *dense = dense_view(b, s->out, order);
		if (!dense || !dense_drain(b, dense, s->out, s->op))
			return false;
		s->out = dense;
	}
	return true;
}

/* ---- with padding */

/* Returns true if both sides move the same extents of the other axes. */
static bool same_extents(struct comm *s)
{
	for (unsigned i = 0; s->in && s->out && i < s->in->rank; i++)
		if ((int)i != s->gathered && s->in_n[i] != s->out_n[i])
			return false;
	return true;
}

/* Decides which elements are moved: only those of the tensor or, with `gaps`, the padding of clipped
 * blocks as well, if that makes runs of memory. */
static void choose_extents(struct comm *s, bool gaps)
{
	struct planner *b = s->b;
	bool plain = (!s->in || run_is_plain(b, s->in, s->gathered)) &&
	             (!s->out || run_is_plain(b, s->out, s->gathered));
	bool same_axes = s->in && s->out && s->in->rank == s->out->rank;
	for (unsigned i = 0; same_axes && i < s->in->rank; i++)
		same_axes = s->in->axis[i].extent == s->out->axis[i].extent;
	for (int k = gaps ? 0 : 2; k < 3;
	     k++) { /* the last try moves only the elements, with a check at run time */
		bool ok = true, padded = k < 2 && (k == 1) == plain;
		if (s->in) {
			run_extents(b, s->in, s->gathered, padded, s->in_n);
			ok = sx_holds(b, run_condition(b, s->in, s->in_n));
		}
		if (s->out) {
			run_extents(b, s->out, s->gathered, padded, s->out_n);
			ok = ok && sx_holds(b, run_condition(b, s->out, s->out_n));
		}
		if (ok && (!padded || !same_axes || same_extents(s)))
			break;
	}
}

/* Returns true if a value is several boxes, or one box in several places, in a step of a loop. */
static bool in_boxes(struct planner *b, const struct view *v)
{
	return view_apart_anywhere(b, v) && !elements_whole(b, v);
}

/* Replaces both buffers by copies, made box by box. */
static bool pack_boxes(struct comm *s, int lead)
{
	struct planner *b = s->b;
	s->packed = true;
	s->in_count = s->out_count = sx_const(b, 0);
	if (s->out)
		b->p->buffer.at[s->out->buffer].written = true;
	return (!s->in || boxes_pack(b, s->in, lead, 0, &s->c.in, &s->in_count)) &&
	       (!s->out || boxes_pack(b, s->out, lead, s->op, &s->c.out, &s->out_count));
}

bool plan_comm_runs(struct comm *s, const struct view *x, const struct view *y)
{
	struct planner *b = s->b;
	uint8_t order[IR_MAX_LOGICAL];
	int lead;
	if ((in_boxes(b, x) || in_boxes(b, y)) && s->gathered < 0 && !b->in_group && !s->uncertain &&
	    x->rank == y->rank && find_lead(s, x, y, &lead))
		return pack_boxes(s, lead);
	bool gaps = plan_comm_has_gaps(s, x) || plan_comm_has_gaps(s, y) || view_apart_anywhere(b, x) ||
	            view_apart_anywhere(b, y);
	if (gaps && !b->in_group && !s->uncertain && x->rank == y->rank && find_lead(s, x, y, &lead) &&
	    (!s->in || dense_possible(b, s->in, lead)) && (!s->out || dense_possible(b, s->out, lead))) {
		packed_order(s, x, lead, order);
		if (!pack_buffers(s, order))
			return false;
		gaps = false;
	}
	if ((s->in && !view_usable(b, s->in)) || (s->out && !view_usable(b, s->out)))
		return false;
	choose_extents(s, gaps);
	if ((s->in && !run_of(b, s->in, s->in_n, &s->c.in)) ||
	    (s->out && !run_of(b, s->out, s->out_n, &s->c.out)))
		return false;
	s->in_count = s->in ? run_product(b, s->in, s->in_n, -1) : sx_const(b, 0);
	s->out_count = s->out ? run_product(b, s->out, s->out_n, -1) : sx_const(b, 0);
	return true;
}
