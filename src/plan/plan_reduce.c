/* plan_reduce: lowers reductions and contractions.
 *
 * A rank reduces its own part of an axis. If that is not the whole axis, the result must be a pending
 * sum:
 *
 *     P: f32[4, 5] partial(x) = matmul(A: f32[4, 6@x], B: f32[6, 5])      rank 1 of 2
 *         gemm of A's columns [3, 6), the ones on this rank, and the rows [3, 6) of B */
#include "ir/infer.h"
#include "ir/layout.h"
#include "plan/planner.h"
#include <string.h>

/* Returns the mesh axes with several devices over which an axis is spread. */
static unsigned axes_of_several(const struct planner *b, const struct view *operand, unsigned axis)
{
	unsigned spread = layout_mesh_axes(b->m, operand->type, axis);
	for (unsigned k = 0; spread >> k; k++)
		if (spread >> k & 1 && ir_mesh(b->m, ir_type(b->m, operand->type)->mesh)->size[k] == 1)
			spread &= ~(1u << k);
	return spread;
}

/* Reports a reduced axis of which a rank has only a part, with a result that is not the sum of parts. */
static void report_part(struct planner *b, const struct view *result, const struct view *operand,
                        unsigned axis, bool over_ranks)
{
	const char *from = value_text(b, operand->value), *to = value_text(b, result->value);
	if (over_ranks) {
		planner_error(b, E_PLAN_LAYOUT,
		              "axis %u of '%s' is spread over ranks, but '%s' is not partial", axis, from,
		              to);
		return;
	}
	planner_error(b, E_PLAN_LAYOUT,
	              "a step of the loop has only a part of axis %u of '%s', but '%s' needs the whole axis",
	              axis, from, to);
	if (op_info[b->m->op.at[b->at].kind].traits & TRAIT_CONTRACTION)
		diag_note(b->d, DIAG_NOWHERE,
		          "`C <- matmul(A, B, accumulate=true)` adds the products of all steps to a buffer");
}

/* Returns true if the block of a reduced axis may be only a part of it: the result is then a pending
 * sum. */
bool plan_may_reduce(struct planner *b, const struct view *result, const struct view *operand, unsigned axis)
{
	const struct domain *d = ir_domain(b->m, ir_type(b->m, result->type)->domain);
	const struct view_axis *a = &operand->axis[axis];
	int64_t off, len;
	if (sx_is_const(b, a->off, &off) && off == 0 && sx_is_const(b, a->len, &len) && len == a->extent)
		return true;
	unsigned spread = axes_of_several(b, operand, axis);
	bool over_ranks = spread, pending = false;
	for (unsigned i = d->rank; i < d->logical_n; i++)
		if (d->axis[i].kind == AXIS_PARTIAL) {
			pending = true;
			spread &= ~(1u << d->axis[i].mesh_axis);
		}
	if (pending && !spread)
		return true;
	report_part(b, result, operand, axis, over_ranks || !b->loop_n);
	return false;
}

/* Returns the factor for a rank's part of a mean. The part is its sum divided by the number of all
 * elements; if an average is pending, times the number of parts. */
static double pending_parts(const struct planner *b, const struct view *result)
{
	const struct type *t = ir_type(b->m, result->type);
	const struct domain *d = ir_domain(b->m, t->domain);
	double n = 1;
	for (unsigned i = d->rank; i < d->logical_n; i++)
		if (d->axis[i].kind == AXIS_PARTIAL && d->axis[i].reduce == REDUCE_AVG)
			n *= ir_mesh(b->m, t->mesh)->size[d->axis[i].mesh_axis];
	return n;
}

static bool part_of_mean(struct planner *b, const struct view *operand, unsigned axis, double *part)
{
	int64_t len;
	if (!sx_is_const(b, operand->axis[axis].len, &len)) {
		planner_error(b, E_PLAN_KERNEL,
		              "a mean over axis %u of '%s', which a loop cuts; use sum and div", axis,
		              value_text(b, operand->value));
		return false;
	}
	*part *= operand->axis[axis].own ? 1 / (double)operand->axis[axis].extent
	                                 : (double)len / (double)operand->axis[axis].extent;
	return true;
}

static void scale_output(struct planner *b, const struct plan_view *v, double by)
{
	struct plan_task t;
	plan_task_start(&t, RT_TASK_POINTWISE);
	t.op = POINTWISE_MUL;
	t.in_n = t.scalars = 2;
	t.scalar[1].literal = by;
	t.out = t.in[0] = *v;
	for (unsigned k = 0; k < t.out.nd; k++) /* reduced dims have stride 0 in the output */
		if (!t.out.stride[k])
			t.out.n[k] = t.in[0].n[k] = sx_reg(b, sx_const(b, 1));
	plan_task_emit(b, &t);
}

void plan_reduce(struct planner *b, op_id op, const struct view *result, const struct view *operand)
{
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	struct infer_axes axes;
	struct plan_task t;
	sx_id n[IR_MAX_LOGICAL], from[IR_MAX_LOGICAL], to[IR_MAX_LOGICAL], one = sx_const(b, 1);
	sx_id out_n[IR_MAX_LOGICAL];
	int in_map[IR_MAX_LOGICAL], out_map[IR_MAX_LOGICAL];
	double part = pending_parts(b, result); /* factor of this rank's part of the mean */
	unsigned nd = 0;
	if (!infer_axes(b->m, op, &axes))
		return;
	plan_task_start(&t, RT_TASK_REDUCE);
	t.op = (uint8_t)reduce_op_of(kind);
	t.in_n = 1;
	for (unsigned i = 0; i < result->rank; i++)
		to[i] = result->axis[i].off;
	for (unsigned c = 0; c < operand->rank; c++) {
		bool reduced = axes.kind[axes.operand[0][c]] == DIM_REDUCED;
		unsigned i = 0;
		while (!reduced && i < result->rank && axes.result[i] != axes.operand[0][c])
			i++;
		n[c] = reduced ? operand->axis[c].len : result->axis[i].len;
		from[c] = reduced ? operand->axis[c].off : result->axis[i].off;
		out_n[c] = reduced ? one : n[c];
		in_map[c] = (int)c;
		out_map[c] = reduced ? -1 : (int)i;
		if (reduced && !plan_may_reduce(b, result, operand, c))
			return;
		if (reduced && kind == OP_MEAN && !part_of_mean(b, operand, c, &part))
			return;
		if (!reduced)
			plan_require_inside(b, operand, c, from[c], n[c]);
		int64_t known;
		bool left_out = sx_is_const(b, n[c], &known) && known == 1;
		if (reduced && !left_out)
			t.axes |= 1u << nd;
		nd += !left_out;
	}
	/* removes from both windows the axes with extent 1 in the operand */
	unsigned k = 0;
	for (unsigned c = 0; c < operand->rank; c++) {
		int64_t known;
		if (sx_is_const(b, n[c], &known) && known == 1)
			continue;
		n[k] = n[c], out_n[k] = out_n[c], in_map[k] = in_map[c], out_map[k++] = out_map[c];
	}
	if (kind == OP_MEAN && part == 0)
		t.op = REDUCE_SUM; /* a reduction of nothing */
	if (!plan_window(b, operand, k, n, in_map, from, 0, &t.in[0]) ||
	    !plan_window(b, result, k, out_n, out_map, to, 0, &t.out))
		return;
	plan_task_emit(b, &t);
	if (kind == OP_MEAN && part != 0 && part != 1)
		scale_output(b, &t.out, part);
}

/* ---- contractions */

/* Returns true if this rank adds the bias. It is added once: by the first rank along each axis over
 * which the result is pending. */
static bool adds_bias(const struct planner *b, const struct view *result)
{
	const struct type *t = ir_type(b->m, result->type);
	const struct domain *d = ir_domain(b->m, t->domain);
	for (unsigned i = d->rank; i < d->logical_n; i++)
		if (d->axis[i].kind == AXIS_PARTIAL &&
		    mesh_index(b, result->type, d->axis[i].mesh_axis, b->p->rank) != 0)
			return false;
	return true;
}

/* Finds the part of the contracted axis that both operands hold. */
static void intersect_axes(struct planner *b, const struct view_axis *p, const struct view_axis *q,
                           sx_id *off, sx_id *len)
{
	*off = sx_max(b, p->off, q->off);
	sx_id end = sx_min(b, sx_add(b, p->off, p->len), sx_add(b, q->off, q->len));
	*len = p->off == q->off ? sx_min(b, p->len, q->len) : sx_max(b, sx_sub(b, end, *off), sx_const(b, 0));
}

/* Returns true if the contraction adds to a sum (accumulate=) to which others add as well: other steps
 * of a loop or, if they can write the buffer, other ranks. */
static bool adds_part(const struct planner *b, op_id op, const struct view *result, const struct view *x,
                      unsigned kx, const struct view *w, unsigned kw)
{
	const struct plan_buffer *buffer = &b->p->buffer.at[result->buffer];
	if (!op_attr(b->m, op, "accumulate"))
		return false;
	return buffer->view || buffer->symmetric ||
	       (!axes_of_several(b, x, kx) && !axes_of_several(b, w, kw));
}

void plan_contraction(struct planner *b, op_id op, const struct view *result, const struct operand_ref *in,
                      unsigned n)
{
	bool linear = b->m->op.at[op].kind == OP_LINEAR;
	const struct view *x = in[0].view, *w = in[1].view;
	unsigned kx = x->rank - 1, kw = linear ? 1 : w->rank - 2, nd = result->rank,
	         nw = linear ? 0 : w->rank - 1;
	struct box box = plan_box_of(result);
	struct plan_task t;
	sx_id k_off, k_len, at[IR_MAX_LOGICAL], dims[IR_MAX_LOGICAL + 1];
	int dim[IR_MAX_LOGICAL], map[IR_MAX_LOGICAL + 1];
	intersect_axes(b, &x->axis[kx], &w->axis[kw], &k_off, &k_len);
	int64_t whole;
	if (!adds_part(b, op, result, x, kx, w, kw) &&
	    !(sx_is_const(b, k_len, &whole) && whole == x->axis[kx].extent) &&
	    (!plan_may_reduce(b, result, x, kx) || !plan_may_reduce(b, result, w, kw)))
		return;
	plan_task_start(&t, RT_TASK_GEMM);
	t.in_n = 2;
	t.accumulate = op_attr_is_true(b->m, op, "accumulate");
	unsigned keep = nd < 2 ? 0 : nd - 2; /* m and n are never removed */
	/* linear of a vector: m is 1 */
	bool vector = linear && nd == 1;
	sx_id one = sx_const(b, 1);

	memcpy(dims, box.n, sizeof box.n);
	for (unsigned c = 0; c < x->rank; c++)
		dim[c] = c == kx ? -1 : (int)nd - (int)x->rank + (int)c;
	plan_follow(b, x, dim, nd, box.n, box.at, box.extent, map, at);
	at[kx] = k_off;
	if (vector) {
		sx_id vn[] = {one, k_len};
		int vm[] = {-1, (int)kx};
		if (!plan_window(b, x, 2, vn, vm, at, 0, &t.in[0]))
			return;
	} else {
		dims[nd - 1] = k_len;
		map[nd - 1] = (int)kx;
		if (!plan_window(b, x, nd, dims, map, at, keep, &t.in[0]))
			return;
	}

	for (unsigned c = 0; c < w->rank; c++)
		dim[c] = c == kw ? -1 : c == nw ? (int)nd - 1 : (int)nd - (int)w->rank + (int)c;
	plan_follow(b, w, dim, nd, box.n, box.at, box.extent, map, at);
	at[kw] = k_off;
	if (vector) {
		sx_id vn[] = {k_len, box.n[0]};
		int vm[] = {(int)kw, map[0]};
		if (!plan_window(b, w, 2, vn, vm, at, 0, &t.in[1]))
			return;
	} else {
		memcpy(dims, box.n, sizeof box.n);
		dims[nd - 2] = k_len;
		map[nd - 2] = (int)kw;
		if (!plan_window(b, w, nd, dims, map, at, keep, &t.in[1]))
			return;
	}

	sx_id on[] = {one, box.n[0]};
	int om[] = {-1, 0};
	if (n == 3 && adds_bias(b, result)) {
		const struct view *bias = in[2].view;
		plan_align_right(bias->rank, nd, dim);
		plan_follow(b, bias, dim, nd, box.n, box.at, box.extent, map, at);
		om[1] = map[0];
		if (vector ? !plan_window(b, bias, 2, on, om, at, 0, &t.in[2])
		           : !plan_window(b, bias, nd, box.n, map, at, keep, &t.in[2]))
			return;
		t.has_bias = 1;
		t.in_n = 3;
		om[1] = 0;
	}
	if (vector ? plan_window(b, result, 2, on, om, box.at, 0, &t.out)
	           : plan_result_window(b, result, &box, keep, &t.out))
		plan_task_emit(b, &t);
}
