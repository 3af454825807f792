/* plan_shape: lowers reshape, and the operations on pieces: slice, pad, cat.
 *
 * A reshape is one strided copy. Its dims are the common refinement of both shapes:
 *
 *     [6, 4] → [2, 3, 4]      dims 2, 3, 4     operand strides 12 4 1 (axis 0 is two dims)
 *
 * If an axis is several dims, only the outermost of them may be cut by ranks. Axes without a common
 * refinement are one dim if they are contiguous in memory: [12@x, 16] → [16@x, 12]. */
#include "plan/planner.h"
#include <string.h>

/* Makes a strided window. Dims of extent 1 are left out. skip: offset in elements of memory. */
static bool raw_window(struct planner *b, const struct view *v, unsigned nd, const sx_id *n,
                       const int64_t *stride, const sx_id *at, sx_id skip, struct plan_view *out)
{
	unsigned k = 0;
	*out = (struct plan_view){.buffer = v->buffer};
	for (unsigned i = 0; i < nd; i++) {
		int64_t one;
		if (sx_is_const(b, n[i], &one) && one == 1)
			continue;
		if (k == RT_MAX_DIMS) {
			planner_error(b, E_PLAN_LIMIT,
			              "the reshape of '%s' has too many axes for the kernels (limit %d)",
			              value_text(b, v->value), RT_MAX_DIMS);
			return false;
		}
		out->n[k] = sx_reg(b, n[i]);
		out->stride[k++] = stride[i];
	}
	out->nd = (uint8_t)k;
	out->slot = sx_reg(b, v->slot);
	out->offset = sx_reg(b, sx_add(b, view_offset(b, v, at), skip));
	return true;
}

struct reshape {
	struct planner *b;
	const struct view *x, *r;
	unsigned nd;
	sx_id n[2 * IR_MAX_LOGICAL];
	int64_t x_stride[2 * IR_MAX_LOGICAL], r_stride[2 * IR_MAX_LOGICAL];
	sx_id x_at[IR_MAX_LOGICAL], r_at[IR_MAX_LOGICAL];
	sx_id x_end[IR_MAX_LOGICAL]; /* coordinate of the last element needed */
	sx_id x_skip;                /* elements of memory between x_at and the first element needed */
};

static int64_t stride_of(const struct view_axis *a)
{
	return a->own ? 0 : a->stride;
}

/* Returns true if this rank's part of axes [from, to) is one run of memory; only the outermost axis may
 * be a part. *at, *n: the elements on this rank, as an interval of all elements of the axes. */
static bool is_flat(struct planner *b, const struct view *v, unsigned from, unsigned to, sx_id *at, sx_id *n)
{
	int64_t inner = 1, stride = v->axis[to - 1].stride;
	*at = sx_const(b, 0), *n = sx_const(b, 1);
	for (unsigned i = to; i-- > from;) {
		const struct view_axis *a = &v->axis[i];
		int64_t off, len, before;
		bool one =
		    sx_is_const(b, a->off, &off) && sx_is_const(b, a->len, &len) && off == 0 && len == 1;
		if (one && a->extent == 1)
			continue;
		if (!sx_is_const(b, *n, &before) || before != inner)
			return false; /* an inner axis is only a part */
		if (!a->own && !one && a->stride != stride * inner)
			return false;
		*at = sx_scale(b, a->off, inner);
		*n = sx_scale(b, a->len, inner);
		inner *= a->extent;
	}
	return true;
}

/* Adds a dim of extent g. Neighbours are `inner_x` elements apart along operand axis i, and `inner_r`
 * along result axis j. last: it is the outermost dim of the result axis, which may be a part. */
static void add_dim(struct reshape *s, unsigned i, unsigned j, int64_t g, int64_t inner_x, int64_t inner_r,
                    bool outermost)
{
	struct planner *b = s->b;
	const struct view_axis *rj = &s->r->axis[j];
	sx_id n = sx_const(b, g), at = sx_const(b, 0), block = sx_const(b, inner_r);
	if (outermost) {
		const char *text =
		    arena_printf(b->p->arena, "a block of '%s' does not begin and end between those of '%s'",
		                 value_text(b, s->r->value), value_text(b, s->x->value));
		plan_emit_check(b, sx_op(b, EXPR_EQ, sx_op(b, EXPR_MOD, rj->off, block), sx_const(b, 0)),
		                E_PLAN_CHECK, text, NULL, 0);
		plan_emit_check(b, sx_op(b, EXPR_EQ, sx_op(b, EXPR_MOD, rj->len, block), sx_const(b, 0)),
		                E_PLAN_CHECK, text, NULL, 0);
		n = sx_op(b, EXPR_FLOOR_DIV, rj->len, block);
		at = sx_op(b, EXPR_FLOOR_DIV, rj->off, block);
	}
	s->n[s->nd] = n;
	s->x_stride[s->nd] = inner_x * stride_of(&s->x->axis[i]);
	s->r_stride[s->nd] = inner_r * stride_of(rj);
	s->nd++;
	s->x_at[i] = sx_add(b, s->x_at[i], sx_scale(b, at, inner_x));
	sx_id last = sx_add(b, at, sx_sub(b, n, sx_const(b, 1)));
	s->x_end[i] = sx_add(b, s->x_end[i], sx_scale(b, last, inner_x));
}

/* Reverses the dims, which were added from the innermost on. */
static void reverse(struct reshape *s, unsigned first)
{
	for (unsigned i = first, j = s->nd; i + 1 < j; i++) {
		j--;
		sx_id n = s->n[i];
		int64_t x = s->x_stride[i], r = s->r_stride[i];
		s->n[i] = s->n[j], s->x_stride[i] = s->x_stride[j], s->r_stride[i] = s->r_stride[j];
		s->n[j] = n, s->x_stride[j] = x, s->r_stride[j] = r;
	}
}

/* Adds operand axes [i, i_end) and result axes [j, j_end) as one dim. */
static bool add_flat(struct reshape *s, unsigned i, unsigned i_end, unsigned j, unsigned j_end,
                     unsigned first)
{
	struct planner *b = s->b;
	sx_id x_from, x_n, r_from, r_n;
	if (!is_flat(b, s->x, i, i_end, &x_from, &x_n) || !is_flat(b, s->r, j, j_end, &r_from, &r_n))
		return false;
	const char *text =
	    arena_printf(b->p->arena, "rank %lld does not hold all of '%s' that its part of '%s' needs",
	                 (long long)b->p->rank, value_text(b, s->x->value), value_text(b, s->r->value));
	sx_id skip = sx_sub(b, r_from, x_from);
	sx_id inside = sx_op(b, EXPR_AND, sx_op(b, EXPR_GE, skip, sx_const(b, 0)),
	                     sx_op(b, EXPR_LE, sx_add(b, skip, r_n), x_n));
	plan_emit_check(b, sx_op(b, EXPR_OR, inside, sx_op(b, EXPR_LE, r_n, sx_const(b, 0))), E_PLAN_CHECK,
	                text, NULL, 0);
	for (unsigned k = i; k < i_end; k++) {
		s->x_at[k] = s->x->axis[k].off;
		s->x_end[k] = sx_sub(b, sx_add(b, s->x_at[k], s->x->axis[k].len), sx_const(b, 1));
	}
	s->x_skip = sx_add(b, s->x_skip, sx_scale(b, skip, s->x->axis[i_end - 1].stride));
	s->nd = first;
	s->n[s->nd] = r_n;
	s->x_stride[s->nd] = s->x->axis[i_end - 1].stride;
	s->r_stride[s->nd++] = s->r->axis[j_end - 1].stride;
	return true;
}

/* Adds operand axes [i, i_end) and result axes [j, j_end), which have the same elements. */
static bool add_group(struct reshape *s, unsigned i, unsigned i_end, unsigned j, unsigned j_end)
{
	unsigned p = i_end, q = j_end, first = s->nd;
	int64_t left = 1, right = 1, inner_x = 1, inner_r = 1;
	for (;;) {
		while (left == 1 && p > i)
			left = s->x->axis[--p].extent, inner_x = 1;
		while (right == 1 && q > j)
			right = s->r->axis[--q].extent, inner_r = 1;
		if (left == 1 && right == 1) {
			reverse(s, first);
			return true;
		}
		int64_t g = left < right ? left : right;
		if (g == 1 || left % g || right % g)
			break;
		if (s->nd == 2 * IR_MAX_LOGICAL)
			return false;
		add_dim(s, p, q, g, inner_x, inner_r, right == g);
		left /= g, right /= g;
		inner_x *= g, inner_r *= g;
	}
	return i < i_end && j < j_end && add_flat(s, i, i_end, j, j_end, first);
}

void plan_reshape(struct planner *b, const struct view *result, const struct view *operand)
{
	struct reshape s = {.b = b, .x = operand, .r = result, .x_skip = sx_const(b, 0)};
	for (unsigned k = 0; k < operand->rank; k++) {
		s.x_at[k] = s.x_end[k] = sx_const(b, 0);
		if (operand->axis[k].extent == 0)
			return;
	}
	for (unsigned k = 0; k < result->rank; k++)
		s.r_at[k] = result->axis[k].off;
	for (unsigned i = 0, j = 0; i < operand->rank || j < result->rank;) {
		unsigned p = i, q = j;
		int64_t left = 1, right = 1;
		if (i < operand->rank && j < result->rank &&
		    operand->axis[i].extent == result->axis[j].extent &&
		    s.nd < 2 * IR_MAX_LOGICAL) { /* an axis that does not change */
			add_dim(&s, i, j, operand->axis[i].extent, 1, 1, true);
			i++, j++;
			continue;
		}
		do {
			if (p < operand->rank && (left <= right || q == result->rank))
				left *= operand->axis[p++].extent;
			else if (q < result->rank)
				right *= result->axis[q++].extent;
			else
				break;
		} while (left != right);
		if (left != right || !add_group(&s, i, p, j, q)) {
			planner_error(b, E_PLAN_LAYOUT,
			              "the reshape of '%s' to '%s' is not one strided copy; not executed yet",
			              value_text(b, operand->value), value_text(b, result->value));
			return;
		}
		i = p, j = q;
	}
	for (unsigned k = 0; k < operand->rank; k++)
		plan_require_inside(b, operand, k, s.x_at[k],
		                    sx_add(b, sx_sub(b, s.x_end[k], s.x_at[k]), sx_const(b, 1)));
	struct plan_task t;
	plan_task_start(&t, RT_TASK_COPY);
	t.in_n = 1;
	if (raw_window(b, result, s.nd, s.n, s.r_stride, s.r_at, sx_const(b, 0), &t.out) &&
	    raw_window(b, operand, s.nd, s.n, s.x_stride, s.x_at, s.x_skip, &t.in[0]))
		plan_task_emit(b, &t);
}

/* ---- pieces along one axis */

/* Lowers an attribute that may depend on loop indices; 0 if it is absent. */
static bool lower_attribute(struct planner *b, op_id op, const char *key, sx_id *out)
{
	const struct attr *a = op_attr(b->m, op, key);
	*out = sx_const(b, a && a->kind == ATTR_INT ? a->u.i : 0);
	return !a || a->kind != ATTR_EXPR || sx_lower(b, a->u.expr, out);
}

/* Copies this rank's part of the result. all: the operand, from its element `start` of the axis on,
 * covers all of the result. Otherwise its element 0 is element `start` of the result, and it covers a
 * part. */
static void copy_piece(struct planner *b, const struct view *result, const struct view *operand,
                       unsigned axis, sx_id start, bool all)
{
	sx_id to[IR_MAX_LOGICAL], from[IR_MAX_LOGICAL], n[IR_MAX_LOGICAL];
	int map[IR_MAX_LOGICAL];
	for (unsigned i = 0; i < result->rank; i++) {
		to[i] = from[i] = result->axis[i].off;
		n[i] = result->axis[i].len;
		map[i] = (int)i;
		if (i == axis && !all) { /* only the part that the operand has */
			to[i] = sx_max(b, to[i], start);
			sx_id end = sx_min(b, sx_add(b, result->axis[i].off, result->axis[i].len),
			                   sx_add(b, start, sx_const(b, operand->axis[i].extent)));
			n[i] = sx_max(b, sx_sub(b, end, to[i]), sx_const(b, 0));
		}
		if (i == axis)
			from[i] = all ? sx_add(b, to[i], start) : sx_sub(b, to[i], start);
		plan_require_inside(b, operand, i, from[i], n[i]);
	}
	int64_t none;
	if (!sx_is_const(b, n[axis], &none) || none > 0)
		plan_copy_box(b, result, operand, map, to, from, n);
}

/* Finds the start of result k of a split of `whole` elements. Returns false after reporting. */
static bool part_start(struct planner *b, op_id op, unsigned k, int64_t axis, int64_t whole, int64_t *start)
{
	int64_t sum = 0;
	for (unsigned i = 0; i < op_result_count(b->m, op); i++) {
		int64_t n;
		if (!planner_value(b, value_domain(b->m, op_result(b->m, op, i))->axis[axis].extent, &n))
			return false;
		if (i == k)
			*start = sum;
		sum += n;
	}
	if (sum != whole)
		planner_error(b, E_SPLIT_SIZES,
		              "the results of split have %lld elements together, the axis %lld",
		              (long long)sum, (long long)whole);
	return sum == whole;
}

void plan_pieces(struct planner *b, op_id op, unsigned k, const struct view *result,
                 const struct operand_ref *in, unsigned n)
{
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	int64_t axis = op_attr_int(b->m, op, "axis", 0), at = 0;
	sx_id start;
	axis = axis < 0 ? axis + result->rank : axis;
	if (axis < 0 || axis >= result->rank) {
		planner_error(b, E_AXIS_ATTRIBUTE, "axis= must name an axis of the result");
		return;
	}
	if (kind == OP_SPLIT) {
		if (part_start(b, op, k, axis, in[0].view->axis[axis].extent, &at))
			copy_piece(b, result, in[0].view, (unsigned)axis, sx_const(b, at), true);
		return;
	}
	if (kind == OP_SLICE) {
		if (lower_attribute(b, op, "start", &start))
			copy_piece(b, result, in[0].view, (unsigned)axis, start, true);
		return;
	}
	if (kind == OP_PAD) {
		struct box box = plan_box_of(result);
		plan_fill_box(b, result, box.at, box.n, 0, 0);
		if (lower_attribute(b, op, "before", &start))
			copy_piece(b, result, in[0].view, (unsigned)axis, start, false);
		return;
	}
	at = 0;
	for (unsigned i = 0; i < n; i++) {
		copy_piece(b, result, in[i].view, (unsigned)axis, sx_const(b, at), false);
		at += in[i].view->axis[axis].extent;
	}
}
