/* plan_boxes: see plan_boxes.h. */
#include "plan/plan_boxes.h"
#include "ir/infer.h"
#include "plan/plan_elements.h"
#include <string.h>

bool boxes_of(struct planner *b, const struct view *v, struct boxes *out)
{
	*out = (struct boxes){.n = 1};
	for (unsigned a = 0; a < v->rank; a++) {
		out->axis[a] = view_intervals(b, v, a);
		if (v->axis[a].scattered || out->axis[a] < 1 || out->axis[a] > MAX_BOXES / out->n)
			return false;
		out->n *= out->axis[a];
	}
	return true;
}

/* Returns the interval along an axis that box k has. */
static int64_t interval_of(const struct boxes *boxes, unsigned rank, int64_t k, unsigned axis)
{
	for (unsigned a = rank; a-- > axis + 1;)
		k /= boxes->axis[a];
	return k % boxes->axis[axis];
}

struct view *boxes_view(struct planner *b, const struct view *v, const struct boxes *boxes, int64_t k)
{
	struct view *box = view_new(b, v->value);
	memcpy(box, v, sizeof *v + sizeof *v->axis * v->rank);
	for (unsigned a = 0; a < v->rank; a++)
		if (boxes->axis[a] > 1)
			axis_resolve(b, box, a, interval_of(boxes, v->rank, k, a));
	return box;
}

bool boxes_interval(struct planner *b, const struct view *v, const struct boxes *boxes, int64_t k,
                    unsigned axis, int64_t rank, sx_id *off, sx_id *len)
{
	return view_interval_at(b, v, axis, rank, interval_of(boxes, v->rank, k, axis), off, len);
}

/* ---- operations */

/* Returns the result axis that corresponds to an axis of an operand; -1: none. */
static int result_axis(const struct infer_axes *x, unsigned operand, unsigned axis, unsigned rank)
{
	for (unsigned a = 0; a < rank; a++)
		if (x->operand[operand][axis] != INFER_NONE && x->result[a] == x->operand[operand][axis])
			return (int)a;
	return -1;
}

/* Returns the number of the operand's box for box k of the result; -1: the operand's boxes are not those
 * of the result. */
static int64_t operand_box(const struct infer_axes *x, unsigned operand, const struct view *v,
                           const struct boxes *in, const struct view *result, const struct boxes *out,
                           int64_t k)
{
	int64_t box = 0;
	for (unsigned c = 0; c < v->rank; c++) {
		int a = in->axis[c] > 1 ? result_axis(x, operand, c, result->rank) : -1;
		if (in->axis[c] > 1 && (a < 0 || out->axis[a] != in->axis[c]))
			return -1;
		box = box * in->axis[c] + (a < 0 ? 0 : interval_of(out, result->rank, k, (unsigned)a));
	}
	return box;
}

/* Returns true if a box is empty in every step. */
static bool nothing(const struct planner *b, const struct view *box)
{
	int64_t n;
	for (unsigned a = 0; a < box->rank; a++)
		if (sx_is_const(b, box->axis[a].len, &n) && n == 0)
			return true;
	return false;
}

/* The axes of the result that are one interval although an operand has several. The result is computed
 * interval by interval along these axes. */
struct cuts {
	int operand[IR_MAX_LOGICAL]; /* by axis of the result: the operand with several intervals; -1: none */
	unsigned axis[IR_MAX_LOGICAL];
};

static bool find_cuts(const struct infer_axes *x, const struct operand_ref *in, const struct boxes *of,
                      unsigned n, const struct view *result, struct boxes *out, struct cuts *cuts)
{
	unsigned operand = 0;
	memset(cuts->operand, 0xff, sizeof cuts->operand);
	for (unsigned k = 0; k < n; k++) {
		for (unsigned c = 0; in[k].view && c < in[k].view->rank; c++) {
			int64_t boxes = of[operand].axis[c];
			int a = boxes > 1 ? result_axis(x, operand, c, result->rank) : -1;
			if (a < 0 || out->axis[a] != 1)
				continue;
			if (boxes > MAX_BOXES / out->n)
				return false;
			out->axis[a] = boxes;
			out->n *= boxes;
			cuts->operand[a] = (int)k;
			cuts->axis[a] = c;
		}
		operand += in[k].view != NULL;
	}
	return true;
}

/* Finds the part of a result's box for which the operands' boxes at `at` suffice. */
static void cut_result_box(struct planner *b, const struct cuts *cuts, const struct operand_ref *at,
                           struct view *to)
{
	for (unsigned a = 0; a < to->rank; a++) {
		if (cuts->operand[a] < 0)
			continue;
		const struct view_axis *y = &at[cuts->operand[a]].view->axis[cuts->axis[a]];
		struct view_axis *x = &to->axis[a];
		sx_id end = sx_min(b, sx_add(b, x->off, x->len), sx_add(b, y->off, y->len));
		x->off = sx_max(b, x->off, y->off);
		x->len = sx_max(b, sx_const(b, 0), sx_sub(b, end, x->off));
		x->full = false;
	}
}

bool boxes_each(struct planner *b, op_id op, bool positions, struct view *result,
                const struct operand_ref *in, unsigned n, boxes_plan *plan)
{
	struct boxes out, *of = NULL;
	struct infer_axes x;
	bool apart = view_apart(result), whole = elements_whole(b, result);
	unsigned views = 0;
	for (unsigned k = 0; k < n; k++)
		if (in[k].view) {
			apart |= view_apart(in[k].view);
			whole &= elements_whole(b, in[k].view);
		}
	if (!apart || (whole && !positions))
		return false;
	if (n)
		of = arena_alloc(b->scratch, sizeof *of * n);
	for (unsigned k = 0; k < n; k++)
		if (in[k].view && !boxes_of(b, in[k].view, &of[views++]))
			return false;
	struct cuts cuts;
	if (!boxes_of(b, result, &out) || !infer_axes(b->m, op, &x) || x.operand_n != views ||
	    !find_cuts(&x, in, of, n, result, &out, &cuts))
		return false;
	for (unsigned a = 0; a < result->rank; a++)
		if (out.axis[a] > 1 && (x.result[a] == INFER_NONE || x.kind[x.result[a]] != DIM_PARALLEL))
			return false;
	struct operand_ref *at = n ? arena_alloc(b->scratch, sizeof *at * n) : NULL;
	for (int64_t box = 0; box < out.n; box++) {
		unsigned operand = 0;
		struct view *to = boxes_view(b, result, &out, box);
		for (unsigned k = 0; k < n; k++) {
			at[k] = in[k];
			if (!in[k].view)
				continue;
			int64_t j = operand_box(&x, operand, in[k].view, &of[operand], result, &out, box);
			if (j < 0)
				return false;
			at[k].view = boxes_view(b, in[k].view, &of[operand++], j);
			if (!view_usable(b, at[k].view))
				return true;
		}
		if (!view_usable(b, to))
			return true;
		cut_result_box(b, &cuts, at, to);
		if (!nothing(b, to))
			plan(b, op, to, at, n);
	}
	return true;
}

/* ---- copies */

/* Copies the intersection of two boxes. Returns its number of elements. */
static sx_id copy_common(struct planner *b, const struct view *to, const struct view *from)
{
	sx_id at[IR_MAX_LOGICAL], n[IR_MAX_LOGICAL], count = sx_const(b, 1);
	int same[IR_MAX_LOGICAL];
	bool none = false;
	for (unsigned a = 0; a < to->rank; a++) {
		const struct view_axis *x = &to->axis[a], *y = &from->axis[a];
		same[a] = (int)a;
		at[a] = sx_max(b, x->off, y->off);
		sx_id end = sx_min(b, sx_add(b, x->off, x->len), sx_add(b, y->off, y->len));
		n[a] = sx_max(b, sx_const(b, 0), sx_sub(b, end, at[a]));
		none |= b->sx.at[n[a]].hi == 0;
		count = sx_mul(b, count, n[a]);
	}
	if (none)
		return sx_const(b, 0);
	plan_copy_box(b, to, from, same, at, at, n);
	return count;
}

/* Returns all boxes of a value; NULL: there are too many, or one is not in one place. */
static struct view **all_boxes(struct planner *b, const struct view *v, int64_t *n)
{
	struct boxes x;
	if (!boxes_of(b, v, &x))
		return NULL;
	struct view **box = arena_alloc(b->scratch, sizeof(struct view *) * (size_t)x.n);
	for (*n = 0; *n < x.n; ++*n) {
		box[*n] = boxes_view(b, v, &x, *n);
		if (view_apart(box[*n]))
			return NULL;
	}
	return box;
}

bool boxes_copy(struct planner *b, const struct view *to, const struct view *from)
{
	int64_t n, m;
	struct view **x = to->rank == from->rank ? all_boxes(b, to, &n) : NULL,
	            **y = x ? all_boxes(b, from, &m) : NULL;
	if (!y || n * m > MAX_BOXES)
		return false;
	sx_id have = sx_const(b, 0), need = have;
	for (int64_t k = 0; k < n; k++) {
		sx_id all = sx_const(b, 1);
		for (unsigned a = 0; a < to->rank; a++)
			all = sx_mul(b, all, x[k]->axis[a].len);
		need = sx_add(b, need, all);
		for (int64_t j = 0; j < m; j++)
			have = sx_add(b, have, copy_common(b, x[k], y[j]));
	}
	plan_emit_check(b, sx_op(b, EXPR_EQ, have, need), E_PLAN_CHECK,
	                arena_printf(b->p->arena, "rank %lld does not hold all of '%s' that '%s' needs",
	                             (long long)b->p->rank, value_text(b, from->value),
	                             value_text(b, to->value)),
	                NULL, 0);
	return true;
}

/* ---- packed */

/* Makes a view of a buffer that holds a box from `place` on, with axis `lead` outermost. *count: its
 * elements; *most: an upper limit of them. Returns NULL if the extent of another axis is not constant. */
static struct view *packed_box(struct planner *b, const struct view *box, unsigned lead, uint32_t buffer,
                               sx_id slot, sx_id place, sx_id *count, int64_t *most)
{
	struct view *v = view_new(b, box->value);
	v->buffer = buffer, v->slot = slot, v->origin = place;
	*count = sx_const(b, 1);
	*most = 1;
	for (unsigned k = box->rank; k-- > 0;) {
		unsigned a = k == 0 ? lead : k <= lead ? k - 1 : k;
		const struct view_axis *x = &box->axis[a];
		if (k && !sx_is_const(b, x->len, NULL))
			return NULL;
		v->axis[a] = (struct view_axis){
		    .off = x->off, .len = x->len, .start = sx_const(b, 0), .base = x->off, .stride = *most};
		*count = sx_mul(b, *count, x->len);
		*most *= b->sx.at[x->len].hi < x->room ? b->sx.at[x->len].hi : x->room;
	}
	return v;
}

bool boxes_pack(struct planner *b, const struct view *v, int lead, op_id after, struct plan_view *run,
                sx_id *count)
{
	unsigned first = lead < 0 ? 0 : (unsigned)lead;
	int64_t n, most = 0, one;
	sx_id slot, each, zero = sx_const(b, 0);
	struct view **box = all_boxes(b, v, &n);
	for (int64_t k = 0; box && k < n; k++, most += one)
		if (!packed_box(b, box[k], first, 0, zero, zero, &each, &one))
			box = NULL;
	if (!box) {
		planner_error(b, E_PLAN_LAYOUT, "the boxes of '%s' are not moved together; not executed yet",
		              value_text(b, v->value));
		return false;
	}
	uint32_t buffer = storage_temporary(b, v->value, view_dtype(b, v), most, &slot);
	*count = zero;
	for (int64_t k = 0; k < n; k++) {
		const struct view *at = packed_box(b, box[k], first, buffer, slot, *count, &each, &one);
		int same[IR_MAX_LOGICAL];
		sx_id len[IR_MAX_LOGICAL], off[IR_MAX_LOGICAL];
		struct plan_view x, y;
		for (unsigned a = 0; a < v->rank; a++)
			same[a] = (int)a, len[a] = box[k]->axis[a].len, off[a] = box[k]->axis[a].off;
		if (!plan_window(b, box[k], v->rank, len, same, off, v->rank, &x) ||
		    !plan_window(b, at, v->rank, len, same, off, v->rank, &y))
			return false;
		if (after)
			plan_copy_after(b, after, &x, &y);
		else
			plan_copy_now(b, &y, &x);
		*count = sx_add(b, *count, each);
	}
	*run = (struct plan_view){.buffer = buffer, .nd = 1, .stride = {1}};
	run->slot = sx_reg(b, slot);
	run->offset = sx_reg(b, zero);
	run->n[0] = sx_reg(b, *count);
	return true;
}
