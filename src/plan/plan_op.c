/* plan_op: lowers local operations to kernel tasks.
 *
 * A rank computes the block of the result that it holds. If it holds more of an operand, a window
 * selects the part that is needed (replicated → sharded). It must not hold less:
 *
 *     Y: f32[64@x, 32] = add(A, B)     A: f32[64, 32], B: f32[1, 32]     rank 1 of 2
 *         out  Y [32, 64) x [0, 32)        in  A from row 32 on;  B, stride 0 along the rows
 *
 * Axes with one element on this rank are left out of the windows. */
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/unit.h"
#include "plan/plan_boxes.h"
#include "plan/plan_dense.h"
#include "plan/plan_elements.h"
#include <string.h>

/* ---- windows */

void plan_task_start(struct plan_task *t, enum rt_kernel kernel)
{
	memset(t, 0, sizeof *t);
	t->kernel = (uint8_t)kernel;
}

void plan_task_emit(struct planner *b, struct plan_task *t)
{
	b->p->buffer.at[t->out.buffer].written = true;
	if (b->in_unit) {
		t->statement = b->at;
		vec_push(&b->p->step, *t);
		return;
	}
	bool packs = b->target->as_checked && !b->in_group && !b->settled[b->at] &&
	             b->m->op.at[b->at].flags & OP_ASYNC;
	vec_push(&b->p->task, *t);
	plan_emit(b, (struct plan_instruction){
	                 .code = PLAN_TASK, .op = packs ? PLAN_TASK_PACKS : 0, .a = b->p->task.n - 1});
}

void plan_require_inside(struct planner *b, const struct view *v, unsigned axis, sx_id off, sx_id len)
{
	const struct view_axis *a = &v->axis[axis];
	if (a->off == off && a->len == len)
		return;
	sx_id none = sx_op(b, EXPR_LE, len, sx_const(b, 0));
	sx_id from = sx_op(b, EXPR_GE, off, a->off);
	sx_id to = sx_op(b, EXPR_LE, sx_add(b, off, len), sx_add(b, a->off, a->len));
	sx_id inside = sx_op(b, EXPR_OR, none, sx_op(b, EXPR_AND, from, to));
	const sx_id shown[] = {a->off, sx_add(b, a->off, a->len), off, sx_add(b, off, len)};
	plan_emit_check(b, inside, E_PLAN_CHECK,
	                arena_printf(b->scratch,
	                             "rank %lld holds [" PLAN_VALUE ", " PLAN_VALUE
	                             ") of axis %u of '%s', but needs [" PLAN_VALUE ", " PLAN_VALUE ")",
	                             (long long)b->p->rank, axis, value_text(b, v->value)),
	                shown, 4);
}

bool plan_require_whole(struct planner *b, op_id op, const struct view *v, unsigned axis)
{
	int64_t off, len;
	const struct view_axis *a = &v->axis[axis];
	if (sx_is_const(b, a->off, &off) && off == 0 && sx_is_const(b, a->len, &len) && len == a->extent)
		return true;
	planner_error(b, E_PLAN_LAYOUT, "%s needs axis %u of '%s' whole on each rank",
	              op_info[b->m->op.at[op].kind].hir, axis, value_text(b, v->value));
	return false;
}

bool plan_window(struct planner *b, const struct view *v, unsigned nd, const sx_id *n, const int *map,
                 const sx_id *at, unsigned keep, struct plan_view *out)
{
	unsigned k = 0;
	*out = (struct plan_view){.buffer = v->buffer};
	for (unsigned i = 0; i < nd; i++) {
		int64_t one;
		if (i < keep && sx_is_const(b, n[i], &one) && one == 1)
			continue;
		if (k == RT_MAX_DIMS) {
			planner_error(b, E_PLAN_LIMIT, "'%s' has too many axes for the kernels (limit %d)",
			              value_text(b, v->value), RT_MAX_DIMS);
			return false;
		}
		out->n[k] = sx_reg(b, n[i]);
		out->stride[k++] = map[i] < 0 || v->axis[map[i]].own ? 0 : v->axis[map[i]].stride;
	}
	out->nd = (uint8_t)k;
	out->slot = sx_reg(b, v->slot);
	out->offset = sx_reg(b, view_offset(b, v, at));
	return true;
}

void plan_follow(struct planner *b, const struct view *v, const int *dim, unsigned nd, const sx_id *n,
                 const sx_id *at, const int64_t *extent, int *map, sx_id *coordinate)
{
	for (unsigned i = 0; i < nd; i++)
		map[i] = -1;
	for (unsigned c = 0; c < v->rank; c++) {
		const struct view_axis *a = &v->axis[c];
		coordinate[c] = a->off;
		if (dim[c] < 0)
			continue;
		if (a->extent == 1 && extent[dim[c]] != 1) {
			plan_require_inside(b, v, c, sx_const(b, 0), sx_const(b, 1));
			continue;
		}
		plan_require_inside(b, v, c, at[dim[c]], n[dim[c]]);
		map[dim[c]] = (int)c;
		coordinate[c] = at[dim[c]];
	}
}

struct box plan_box_of(const struct view *result)
{
	struct box box = {.nd = result->rank};
	for (unsigned i = 0; i < result->rank; i++) {
		box.n[i] = result->axis[i].len;
		box.at[i] = result->axis[i].off;
		box.extent[i] = result->axis[i].extent;
		box.map[i] = (int)i;
	}
	return box;
}

bool plan_operand_window(struct planner *b, const struct view *operand, const struct box *box, const int *dim,
                         unsigned keep, struct plan_view *out)
{
	int map[IR_MAX_LOGICAL];
	sx_id at[IR_MAX_LOGICAL];
	plan_follow(b, operand, dim, box->nd, box->n, box->at, box->extent, map, at);
	return plan_window(b, operand, box->nd, box->n, map, at, keep, out);
}

bool plan_result_window(struct planner *b, const struct view *result, const struct box *box, unsigned keep,
                        struct plan_view *out)
{
	return plan_window(b, result, box->nd, box->n, box->map, box->at, keep, out);
}

void plan_align_right(unsigned rank, unsigned nd, int *dim)
{
	for (unsigned c = 0; c < rank; c++)
		dim[c] = (int)nd - (int)rank + (int)c;
}

void plan_copy_box(struct planner *b, const struct view *result, const struct view *operand, const int *map,
                   const sx_id *to, const sx_id *from, const sx_id *n)
{
	struct plan_task t;
	int same[IR_MAX_LOGICAL];
	for (unsigned i = 0; i < result->rank; i++)
		same[i] = (int)i;
	plan_task_start(&t, RT_TASK_COPY);
	t.in_n = 1;
	if (plan_window(b, result, result->rank, n, same, to, result->rank, &t.out) &&
	    plan_window(b, operand, result->rank, n, map, from, result->rank, &t.in[0]))
		plan_task_emit(b, &t);
}

void plan_fill_box(struct planner *b, const struct view *result, const sx_id *to, const sx_id *n,
                   double literal, sx_id value)
{
	struct plan_task t;
	int same[IR_MAX_LOGICAL];
	for (unsigned i = 0; i < result->rank; i++)
		same[i] = (int)i;
	plan_task_start(&t, RT_TASK_FILL);
	t.in_n = t.scalars = 1;
	t.scalar[0].literal = literal;
	t.scalar[0].is_reg = value != 0;
	if (value)
		t.scalar[0].reg = sx_reg(b, value);
	if (plan_window(b, result, result->rank, n, same, to, result->rank, &t.out))
		plan_task_emit(b, &t);
}

/* ---- operands in order: tensors and scalars */

static bool collect_operands(struct planner *b, op_id op, struct operand_ref *out, unsigned max, unsigned *n)
{
	const struct op *o = &b->m->op.at[op];
	*n = 0;
	for (unsigned k = 0; k < o->operand_n; k++) {
		const struct operand *x = &b->m->operand.at[o->operand + k];
		if (x->role != ROLE_READ && x->role != ROLE_SCALAR)
			continue;
		if (*n == max) {
			planner_error(b, E_PLAN_LIMIT, "'%s' has too many operands", op_info[o->kind].hir);
			return false;
		}
		struct operand_ref *to = &out[(*n)++];
		*to = (struct operand_ref){0};
		if (x->role == ROLE_READ) {
			to->view = view_of(b, x->id);
			if (!to->view)
				return false;
			continue;
		}
		const struct scalar *s = &b->m->scalar.at[x->id];
		sx_id value;
		int64_t number;
		to->scalar.literal = s->literal;
		if (s->expr && expr_is_const(b->m, s->expr, &number) && number == PLAN_UNDEFINED) {
			to->scalar.literal = (double)number; /* a register with this number is undefined */
		} else if (s->expr) {
			if (!sx_lower(b, s->expr, &value))
				return false;
			to->scalar.is_reg = true;
			to->scalar.reg = sx_reg(b, value);
		}
	}
	return true;
}

/* ---- pointwise */

/* Returns the dtype for numbers among the operands: that of a tensor operand or, without one, of the
 * result. from: the first operand that is considered. */
static enum dtype dtype_of_numbers(const struct planner *b, const struct view *result,
                                   const struct operand_ref *in, unsigned from, unsigned n)
{
	for (unsigned k = from; k < n; k++)
		if (in[k].view)
			return view_dtype(b, in[k].view);
	return view_dtype(b, result);
}

/* Plans a pointwise task; copies and fills are such tasks, too. */
static void plan_pointwise(struct planner *b, op_id op, const struct view *result,
                           const struct operand_ref *in, unsigned n)
{
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	struct box box = plan_box_of(result);
	struct plan_task t;
	bool copy = kind == OP_CAST || kind == OP_BITCAST || kind == OP_SET || kind == OP_BROADCAST ||
	            kind == OP_FULL;
	plan_task_start(&t, !copy                ? RT_TASK_POINTWISE
	                    : kind == OP_BITCAST ? RT_TASK_BITCAST
	                    : in[0].view         ? RT_TASK_COPY
	                                         : RT_TASK_FILL);
	enum pointwise function = 0;
	op_pointwise(kind, &function);
	t.op = (uint8_t)function;
	t.in_n = (uint8_t)n;
	unsigned from = kind == OP_WHERE; /* the condition is bool, so it does not decide */
	enum dtype number = dtype_of_numbers(b, result, in, from, n);
	for (unsigned k = 0; k < n; k++) {
		int dim[IR_MAX_LOGICAL];
		if (!in[k].view) {
			t.scalars |= (uint8_t)(1u << k);
			t.scalar[k] = in[k].scalar;
			t.scalar[k].rounded = 1 + (k < from ? DTYPE_BOOL : number);
			continue;
		}
		plan_align_right(in[k].view->rank, box.nd, dim);
		if (!plan_operand_window(b, in[k].view, &box, dim, box.nd, &t.in[k]))
			return;
	}
	if (plan_result_window(b, result, &box, box.nd, &t.out))
		plan_task_emit(b, &t);
}

/* ---- axes that go elsewhere */

static void plan_permute(struct planner *b, op_id op, const struct view *result, const struct view *operand)
{
	const struct attr *dims = op_attr(b->m, op, "dims");
	struct box box = plan_box_of(result);
	struct plan_task t;
	int dim[IR_MAX_LOGICAL];
	if (!dims || dims->kind != ATTR_INTS || dims->n != operand->rank || result->rank != operand->rank) {
		planner_error(b, E_PERMUTE, "permute takes one number for each axis");
		return;
	}
	for (unsigned i = 0; i < result->rank; i++)
		dim[dims->u.ints[i]] = (int)i;
	plan_task_start(&t, RT_TASK_COPY);
	t.in_n = 1;
	if (plan_operand_window(b, operand, &box, dim, box.nd, &t.in[0]) &&
	    plan_result_window(b, result, &box, box.nd, &t.out))
		plan_task_emit(b, &t);
}

static void plan_iota(struct planner *b, const struct view *result)
{
	struct box box = plan_box_of(result);
	struct plan_task t;
	int64_t one;
	sx_id first = result->rank ? result->axis[result->rank - 1].off : sx_const(b, 0);
	if (!result->rank || (sx_is_const(b, box.n[result->rank - 1], &one) && one == 1)) {
		plan_fill_box(b, result, box.at, box.n, 0, first);
		return;
	}
	plan_task_start(&t, RT_TASK_IOTA);
	t.scalars = 3;
	t.in_n = 2;
	t.scalar[0] = (struct plan_operand){.is_reg = true, .reg = sx_reg(b, first)};
	t.scalar[1] = (struct plan_operand){.literal = 1};
	if (!plan_result_window(b, result, &box, box.nd, &t.out))
		return;
	t.axes = t.out.nd - 1u;
	plan_task_emit(b, &t);
}

/* Plans the random numbers of a box. An element has the same number on every rank: it follows from the element's place
 * in the whole tensor. */
static void plan_uniform(struct planner *b, const struct view *result, const struct operand_ref *in)
{
	struct box box = plan_box_of(result);
	struct plan_task t;
	int64_t distance = 1, one;
	sx_id first = sx_const(b, 0);
	unsigned k;
	plan_task_start(&t, RT_TASK_UNIFORM);
	if (!plan_result_window(b, result, &box, box.nd, &t.out))
		return;
	k = t.in[0].nd = t.out.nd;
	for (unsigned i = box.nd; i-- > 0; distance *= box.extent[i]) {
		first = sx_add(b, first, sx_mul(b, sx_const(b, distance), box.at[i]));
		if (!sx_is_const(b, box.n[i], &one) || one != 1)
			t.in[0].stride[--k] = distance;
	}
	t.in_n = 3;
	t.scalars = 7;
	t.scalar[0] = (struct plan_operand){.is_reg = true, .reg = sx_reg(b, first)};
	t.scalar[1] = in[0].scalar;
	t.scalar[2] = in[1].scalar;
	plan_task_emit(b, &t);
}

/* ---- layouts that are no boxes */

/* Replaces operands and results that are no boxes in memory by copies that are. *back: the result to
 * copy back to; NULL if it is a box. positions: the operation depends on the positions of elements in
 * the tensor. */
static bool make_boxes(struct planner *b, bool positions, struct operand_ref *in, unsigned n,
                       struct view **result, struct view **back)
{
	*back = NULL;
	for (unsigned k = 0; k < n; k++) {
		if (!in[k].view || !view_apart(in[k].view))
			continue;
		if (!dense_possible(b, in[k].view, -1) || (positions && view_pieces(in[k].view)))
			return view_usable(b, in[k].view);
		struct view *dense = dense_view(b, in[k].view, NULL);
		if (!dense || !dense_fill(b, dense, in[k].view))
			return false;
		in[k].view = dense;
	}
	if (!view_apart(*result))
		return true;
	if (!dense_possible(b, *result, -1) || (positions && view_pieces(*result)))
		return view_usable(b, *result);
	*back = *result;
	*result = dense_view(b, *result, NULL);
	return *result != NULL;
}

/* Returns true if, wherever the result has several intervals, the operands of a pointwise operation have
 * the same ones. */
static bool same_pieces(struct planner *b, const struct operand_ref *in, unsigned n,
                        const struct view *result)
{
	for (unsigned k = 0; k < n; k++) {
		int dim[IR_MAX_LOGICAL];
		const struct view *operand = in[k].view;
		if (!operand)
			continue;
		plan_align_right(operand->rank, result->rank, dim);
		for (unsigned c = 0; c < operand->rank; c++) {
			if (operand->axis[c].extent == 1 ||
			    operand->axis[c].pieces == result->axis[dim[c]].pieces)
				continue;
			planner_error(b, E_PLAN_LAYOUT,
			              "'%s' and '%s' are spread over the ranks in different blocks",
			              value_text(b, operand->value), value_text(b, result->value));
			return false;
		}
	}
	return true;
}

/* Copies a set whose layout is not a box. Returns false if copies of boxes can do it. */
static bool set_apart(struct planner *b, const struct view *result, const struct view *operand)
{
	if (elements_whole(b, result) && elements_whole(b, operand)) {
		b->p->buffer.at[result->buffer].written = true;
		elements_set(b, operand, result);
		return true;
	}
	return plan_copy_blocks(b, result, operand) || boxes_copy(b, result, operand);
}

/* ---- all */

static bool is_empty(const struct planner *b, const struct view *result)
{
	int64_t n;
	for (unsigned i = 0; i < result->rank; i++)
		if (sx_is_const(b, result->axis[i].len, &n) && n == 0)
			return true;
	return false;
}

/* Returns true if every element of the result comes from one element of each operand. */
static bool computes_each(enum op_kind kind)
{
	enum pointwise function;
	return op_pointwise(kind, &function) || kind == OP_CAST || kind == OP_BITCAST || kind == OP_SET ||
	       kind == OP_BROADCAST || kind == OP_FULL;
}

/* Returns true if it copies boxes of the operands to places in the result. */
static bool copies_boxes(enum op_kind kind)
{
	return kind == OP_SLICE || kind == OP_SPLIT || kind == OP_PAD || kind == OP_CAT;
}

/* Plans result k; operands and result are boxes in memory. */
static void plan_box(struct planner *b, op_id op, unsigned k, struct view *result,
                     const struct operand_ref *in, unsigned n, struct plan_view *found)
{
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	uint32_t traits = op_traits(b->m, op);
	if (computes_each(kind))
		plan_pointwise(b, op, result, in, n);
	else if (traits & TRAIT_REDUCTION)
		plan_reduce(b, op, result, in[0].view);
	else if (traits & TRAIT_CONTRACTION)
		plan_contraction(b, op, result, in, n);
	else if (kind == OP_PERMUTE)
		plan_permute(b, op, result, in[0].view);
	else if (kind == OP_IOTA)
		plan_iota(b, result);
	else if (kind == OP_UNIFORM)
		plan_uniform(b, result, in);
	else if (kind == OP_RESHAPE)
		plan_reshape(b, result, in[0].view);
	else if (copies_boxes(kind))
		plan_pieces(b, op, k, result, in, n);
	else if (kind == OP_SCAN)
		plan_scan(b, op, result, in[0].view);
	else if (kind == OP_TOPK)
		plan_topk(b, op, k, result, in[0].view, found);
	else if (kind == OP_TAKE)
		plan_take(b, op, result, in);
	else if (kind == OP_PUT)
		plan_put(b, op, result, in);
	else if (kind == OP_GROUPED_MATMUL)
		plan_grouped(b, op, result, in);
	else if (kind == OP_ONE_HOT)
		plan_one_hot(b, result, in[0].view);
	else if (!plan_norm(b, op, k, result, in, n, found))
		planner_error(b, E_PLAN_KERNEL, "'%s' has no CPU kernel", op_info[kind].hir);
}

static void plan_only(struct planner *b, op_id op, struct view *result, const struct operand_ref *in,
                      unsigned n)
{
	plan_box(b, op, 0, result, in, n, NULL);
}

/* Returns true if the positions of elements in their tensor enter an operation: intervals that are side by side in
 * memory are not one. A gather uses the positions along the axis that it indexes. */
static bool uses_positions(struct planner *b, op_id op, const struct view *table)
{
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	if (kind != OP_TAKE)
		return kind == OP_IOTA || kind == OP_UNIFORM || kind == OP_ONE_HOT ||
		       kind == OP_GROUPED_MATMUL;
	int64_t axis = op_attr_int(b->m, op, "axis", 0);
	axis += axis < 0 ? table->rank : 0;
	return axis >= 0 && axis < table->rank && table->axis[axis].pieces;
}

/* Plans result k of a statement. *found: state that one result passes to the next. */
static void plan_result(struct planner *b, op_id op, unsigned k, struct operand_ref *in, unsigned n,
                        struct plan_view *found)
{
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	struct view *result = view_of_result(b, op, k);
	if (!result || result->absent || is_empty(b, result))
		return;
	for (unsigned i = 0; i < n; i++) {
		if (!in[i].view)
			continue;
		if (in[i].view->absent) {
			planner_error(b, E_PLAN_MESH,
			              "rank %lld computes '%s' but is not in the mesh of '%s'",
			              (long long)b->p->rank, value_text(b, result->value),
			              value_text(b, in[i].view->value));
			return;
		}
	}
	bool failed = b->failed;
	struct view *back;
	if (kind == OP_SET && in[0].view && (view_apart(result) || view_apart(in[0].view)) &&
	    set_apart(b, result, in[0].view))
		return;
	bool several = op_def(b->m, op, 1) || op_write(b->m, op, 1),
	     positions = uses_positions(b, op, n ? in[0].view : NULL);
	if (several || !boxes_each(b, op, positions, result, in, n, plan_only)) {
		if (((computes_each(kind) || copies_boxes(kind)) && !same_pieces(b, in, n, result)) ||
		    !make_boxes(b, positions, in, n, &result, &back) || is_empty(b, result))
			return;
		plan_box(b, op, k, result, in, n, found);
		if (back)
			dense_drain(b, result, back, 0);
	}
	if (kind == OP_SET && b->failed && !failed)
		diag_note(
		    b->d, DIAG_NOWHERE,
		    "the pass lower-collectives makes a Communication of a set that changes the layout");
}

void plan_local(struct planner *b, op_id op)
{
	enum { MAX = 64 };
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	struct operand_ref in[MAX];
	struct plan_view found = {0};
	unsigned n;
	if (kind == OP_EXTERN && b->target->externs) {
		for (unsigned k = 0; k < b->m->op.at[op].def_n; k++)
			view_of_result(b, op, k);
		return;
	}
	if (kind == OP_EXTERN) {
		const struct attr *name = op_attr(b->m, op, "callee");
		const char *text = name ? names_text(b->m->names, name->u.name) : "extern";
		if (ir_unit_is_unknown(b->m, b->m->region.at[b->m->op.at[op].parent].owner)) {
			planner_error(b, E_PLAN_KERNEL,
			              "the text of the kernel '%s' is missing: the listing shows only "
			              "its inputs and outputs",
			              text);
			diag_note(b->d, DIAG_NOWHERE,
			          "write the statements of its fusion, which NVFUSER_DUMP=fusion_ir_presched "
			          "prints, in its place");
		} else
			planner_error(b, E_PLAN_KERNEL, "'%s' has no CPU kernel", text);
		return;
	}
	if (!collect_operands(b, op, in, MAX, &n))
		return;
	for (unsigned k = 0; k < op_result_count(b->m, op); k++)
		plan_result(b, op, k, in, n, &found);
}
