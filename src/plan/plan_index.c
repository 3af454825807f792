/* plan_index: lowers operations on indices.
 *
 *     V, I = topk(X, k=2)              S = topk(X);  V = gather(X, S);  I = copy(S), S in scratch
 *
 *     Y: f32[b@x, h] = gather(T, I)     T: f32[v, h], I: i64[b@x]     rank 1 of 2, b = 8
 *         out  Y [4, 8) x [0, h)           in  T [*, 0 … h, v];  I from element 4 on, stride 0 along h
 *
 *     Y: f32[b, h] partial(x) = gather(T: f32[v@x, h], I)     entries of other ranks are 0
 *
 *     Y = scan(X, axis=1)               the axis whole on each rank
 *
 *     Y = scatter(A, I, S)              Y = copy(A);  Y[I] = put(I, S)
 *     Y: bf16 = scatter(…, op=sum)      C: f32 = copy(A);  C[I] = accumulate by sum(I, S);  Y = copy(C)
 *
 *     Y: f32[m@x, n] = grouped_matmul(A, B, E)     the rows of this rank, and the number of the first one
 *
 *     Y: f32[b, 8@x] = one_hot(I)       rank 1 of 2
 *         classes 4 5 6 7 in scratch;  Y = eq(I, classes) */
#include "plan/planner.h"
#include <string.h>

/* Reads axis= of an operation on a tensor with `rank` axes. Returns -1 after reporting. */
static int axis_of(struct planner *b, op_id op, unsigned rank, int64_t otherwise)
{
	int64_t axis = op_attr_int(b->m, op, "axis", otherwise);
	axis += axis < 0 ? rank : 0;
	if (axis >= 0 && axis < rank)
		return (int)axis;
	planner_error(b, E_AXIS_ATTRIBUTE, "axis= must name an axis of the operand");
	return -1;
}

/* Makes the window on the table: along the result's dims, and along the indexed axis as the last dim. */
static bool table_window(struct planner *b, const struct view *table, const struct box *box, int axis,
                         const int *dim, unsigned keep, struct plan_view *out)
{
	int map[IR_MAX_LOGICAL + 1];
	sx_id at[IR_MAX_LOGICAL], n[IR_MAX_LOGICAL + 1];
	memcpy(n, box->n, sizeof *n * box->nd);
	plan_follow(b, table, dim, box->nd, box->n, box->at, box->extent, map, at);
	map[box->nd] = axis;
	n[box->nd] = table->axis[axis].len;
	return plan_window(b, table, box->nd + 1, n, map, at, keep, out);
}

void plan_take(struct planner *b, op_id op, const struct view *result, const struct operand_ref *in)
{
	const struct view *table = in[0].view, *index = in[1].view;
	int axis = axis_of(b, op, table->rank, 0), dim[IR_MAX_LOGICAL];
	struct box box = plan_box_of(result);
	struct plan_task t;
	if (axis < 0 || !plan_may_reduce(b, result, table, (unsigned)axis))
		return;
	plan_task_start(&t, RT_TASK_GATHER);
	t.in_n = 2;
	const struct view_axis *a = &table->axis[axis];
	int64_t off, len;
	if (!sx_is_const(b, a->off, &off) || off || !sx_is_const(b, a->len, &len) || len != a->extent) {
		if (a->extent > UINT32_MAX) {
			planner_error(b, E_PLAN_LIMIT,
			              "axis %d of '%s' is too long to be spread (limit %lld)", axis,
			              value_text(b, table->value), (long long)UINT32_MAX);
			return;
		}
		t.in_n = 3; /* elements of other ranks give zeros */
		t.scalars = 4;
		t.axes = (uint32_t)a->extent;
		t.scalar[2] = (struct plan_operand){.is_reg = true, .reg = sx_reg(b, a->off)};
	}
	for (int c = 0; c < (int)table->rank; c++)
		dim[c] = c == axis ? -1 : c < axis ? c : c - 1 + (int)index->rank;
	if (!table_window(b, table, &box, axis, dim, box.nd, &t.in[0]))
		return;
	for (int c = 0; c < (int)index->rank; c++)
		dim[c] = axis + c;
	if (plan_operand_window(b, index, &box, dim, box.nd, &t.in[1]) &&
	    plan_result_window(b, result, &box, box.nd, &t.out))
		plan_task_emit(b, &t);
}

void plan_scan(struct planner *b, op_id op, const struct view *result, const struct view *operand)
{
	int axis = axis_of(b, op, operand->rank, -1), dim[IR_MAX_LOGICAL];
	struct box box = plan_box_of(result);
	struct plan_task t;
	enum reduce_op reduce = REDUCE_SUM;
	if (axis < 0 || !plan_require_whole(b, op, operand, (unsigned)axis) ||
	    !plan_require_whole(b, op, result, (unsigned)axis))
		return;
	for (int c = 0; c < (int)operand->rank; c++)
		dim[c] = c;
	op_attr_reduce(b->m, op, &reduce);
	plan_task_start(&t, RT_TASK_SCAN);
	t.op = (uint8_t)reduce;
	t.in_n = 1;
	t.axes = (unsigned)axis;
	if (plan_operand_window(b, operand, &box, dim, 0, &t.in[0]) &&
	    plan_result_window(b, result, &box, 0, &t.out))
		plan_task_emit(b, &t);
}

/* Makes dense scratch memory with the extents of a box. */
static struct plan_view make_box_scratch(struct planner *b, const struct view *result, const struct box *box,
                                         enum dtype t)
{
	struct plan_view v = {.nd = (uint8_t)box->nd};
	int64_t size = 1;
	sx_id slot;
	for (unsigned i = box->nd; i-- > 0;) {
		v.n[i] = sx_reg(b, box->n[i]);
		v.stride[i] = size;
		size *= b->sx.at[box->n[i]].hi; /* size of a full block */
	}
	v.buffer = storage_temporary(b, result->value, t, size, &slot);
	v.slot = sx_reg(b, slot);
	v.offset = sx_reg(b, sx_const(b, 0));
	return v;
}

/* Computes the indices of the largest elements in scratch memory. They are used for the values, and
 * copied to the result for the indices. */
static bool find_largest_indices(struct planner *b, op_id op, const struct view *result,
                                 const struct view *operand, const struct box *box, int axis,
                                 struct plan_view *found)
{
	struct box row = *box;
	struct plan_task t;
	int dim[IR_MAX_LOGICAL];
	if (result->axis[axis].extent > operand->axis[axis].extent) {
		planner_error(b, E_TOPK, "topk: k= is %lld, the axis has %lld elements",
		              (long long)result->axis[axis].extent, (long long)operand->axis[axis].extent);
		return false;
	}
	if (!plan_require_whole(b, op, operand, (unsigned)axis) ||
	    !plan_require_whole(b, op, result, (unsigned)axis))
		return false;
	row.n[axis] = operand->axis[axis].len;
	row.extent[axis] = operand->axis[axis].extent;
	for (int c = 0; c < (int)operand->rank; c++)
		dim[c] = c;
	plan_task_start(&t, RT_TASK_TOPK);
	t.in_n = 1;
	t.axes = (unsigned)axis;
	if (!plan_operand_window(b, operand, &row, dim, 0, &t.in[0]))
		return false;
	t.out = *found = make_box_scratch(b, result, box, DTYPE_I64);
	plan_task_emit(b, &t);
	return true;
}

void plan_topk(struct planner *b, op_id op, unsigned k, const struct view *result, const struct view *operand,
               struct plan_view *found)
{
	int axis = axis_of(b, op, operand->rank, -1), dim[IR_MAX_LOGICAL];
	struct box box = plan_box_of(result);
	struct plan_task t;
	if (axis < 0)
		return;
	if (k == 0 ? !find_largest_indices(b, op, result, operand, &box, axis, found) : !found->nd) {
		if (k && !b->failed)
			planner_error(b, E_PLAN_LAYOUT, "'%s' is spread otherwise than the values beside it",
			              value_text(b, result->value));
		return;
	}
	for (unsigned i = 0; i < box.nd; i++)
		if (sx_reg(b, box.n[i]) != found->n[i]) {
			planner_error(b, E_PLAN_LAYOUT, "'%s' is spread otherwise than the values beside it",
			              value_text(b, result->value));
			return;
		}
	plan_task_start(&t, k == 0 ? RT_TASK_GATHER : RT_TASK_COPY);
	t.in_n = k == 0 ? 2 : 1;
	t.in[t.in_n - 1] = *found;
	for (int c = 0; c < (int)operand->rank; c++)
		dim[c] = c == axis ? -1 : c;
	if (k == 0 && !table_window(b, operand, &box, axis, dim, 0, &t.in[0]))
		return;
	if (plan_result_window(b, result, &box, 0, &t.out))
		plan_task_emit(b, &t);
}

void plan_put(struct planner *b, op_id op, const struct view *result, const struct operand_ref *in)
{
	const struct view *index = in[1].view, *from = in[2].view;
	int axis = axis_of(b, op, result->rank, 0), dim[IR_MAX_LOGICAL];
	struct box box = plan_box_of(result), line = box;
	struct plan_task copy, t, back;
	enum reduce_op reduce;
	bool reduces = op_attr(b->m, op, "op") && op_attr_reduce(b->m, op, &reduce);
	enum dtype dtype = view_dtype(b, result), wide = dtype_is_float(dtype) ? dtype_wide(dtype) : dtype;
	unsigned along = index->rank == 1 ? 0 : (unsigned)axis;
	if (axis < 0 || !plan_require_whole(b, op, result, (unsigned)axis) ||
	    !plan_require_whole(b, op, index, along) ||
	    (from && !plan_require_whole(b, op, from, (unsigned)axis)))
		return;
	for (int c = 0; c < (int)result->rank; c++)
		dim[c] = c;
	plan_task_start(&copy, RT_TASK_COPY);
	copy.in_n = 1;
	if (!plan_operand_window(b, in[0].view, &box, dim, 0, &copy.in[0]) ||
	    !plan_result_window(b, result, &box, 0, &copy.out))
		return;
	plan_task_start(&back, RT_TASK_COPY);
	if (reduces && wide != dtype) {
		back.out = copy.out;
		copy.out = back.in[0] = make_box_scratch(b, result, &box, wide);
		back.in_n = 1;
	}
	plan_task_emit(b, &copy);
	line.n[axis] = index->axis[along].len;
	line.extent[axis] = index->axis[along].extent;
	plan_task_start(&t, reduces ? RT_TASK_ACCUMULATE : RT_TASK_PUT);
	if (reduces)
		t.op = (uint8_t)reduce;
	t.out = copy.out;
	t.in_n = 2;
	t.axes = (unsigned)axis;
	if (!from) {
		t.scalars = 2;
		t.scalar[1] = in[2].scalar;
		t.scalar[1].rounded = 1 + view_dtype(b, result);
	} else if (!plan_operand_window(b, from, &line, dim, 0, &t.in[1])) {
		return;
	}
	if (index->rank == 1)
		dim[0] = axis;
	if (!plan_operand_window(b, index, &line, dim, 0, &t.in[0]))
		return;
	plan_task_emit(b, &t);
	if (back.in_n)
		plan_task_emit(b, &back);
}

void plan_grouped(struct planner *b, op_id op, const struct view *result, const struct operand_ref *in)
{
	const struct view *rows = in[0].view, *matrices = in[1].view, *ends = in[2].view;
	struct box box = plan_box_of(result), of_rows = box, of_matrices = plan_box_of(matrices),
	           of_ends = plan_box_of(ends);
	static const int same[] = {0, 1, 2};
	struct plan_task t;
	if (!plan_require_whole(b, op, rows, 1) || !plan_require_whole(b, op, matrices, 0) ||
	    !plan_require_whole(b, op, matrices, 1) || !plan_require_whole(b, op, ends, 0))
		return;
	of_rows.n[1] = rows->axis[1].len, of_rows.at[1] = rows->axis[1].off,
	of_rows.extent[1] = rows->axis[1].extent;
	of_matrices.n[2] = box.n[1], of_matrices.at[2] = box.at[1], of_matrices.extent[2] = box.extent[1];
	plan_task_start(&t, RT_TASK_GROUPED);
	t.in_n = 4;
	t.scalars = 8;
	t.scalar[3] = (struct plan_operand){.is_reg = true, .reg = sx_reg(b, box.at[0])};
	if (plan_operand_window(b, rows, &of_rows, same, 0, &t.in[0]) &&
	    plan_operand_window(b, matrices, &of_matrices, same, 0, &t.in[1]) &&
	    plan_operand_window(b, ends, &of_ends, same, 0, &t.in[2]) &&
	    plan_result_window(b, result, &box, 0, &t.out))
		plan_task_emit(b, &t);
}

/* Makes the numbers of the classes that this rank has, along the last dim of the result. */
static struct plan_view number_classes(struct planner *b, const struct view *result, const struct box *box)
{
	struct plan_view v = {.nd = (uint8_t)box->nd};
	struct plan_task t;
	sx_id slot;
	unsigned last = box->nd - 1;
	v.buffer = storage_temporary(b, result->value, DTYPE_I64, b->sx.at[box->n[last]].hi, &slot);
	v.slot = sx_reg(b, slot);
	v.offset = sx_reg(b, sx_const(b, 0));
	for (unsigned i = 0; i < box->nd; i++)
		v.n[i] = sx_reg(b, box->n[i]);
	v.stride[last] = 1;
	plan_task_start(&t, RT_TASK_IOTA);
	t.scalars = 3;
	t.in_n = 2;
	t.scalar[0] = (struct plan_operand){.is_reg = true, .reg = sx_reg(b, box->at[last])};
	t.scalar[1] = (struct plan_operand){.literal = 1};
	t.out = v;
	t.out.nd = 1;
	t.out.n[0] = v.n[last];
	t.out.stride[0] = 1;
	plan_task_emit(b, &t);
	return v;
}

void plan_one_hot(struct planner *b, const struct view *result, const struct view *operand)
{
	struct box box = plan_box_of(result);
	struct plan_task t;
	int dim[IR_MAX_LOGICAL];
	plan_task_start(&t, RT_TASK_POINTWISE);
	t.op = POINTWISE_EQ;
	t.in_n = 2;
	for (unsigned c = 0; c < operand->rank; c++)
		dim[c] = (int)c;
	if (!plan_operand_window(b, operand, &box, dim, 0, &t.in[0]) ||
	    !plan_result_window(b, result, &box, 0, &t.out))
		return;
	t.in[1] = number_classes(b, result, &box);
	plan_task_emit(b, &t);
}
