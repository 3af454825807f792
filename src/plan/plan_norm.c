/* plan_norm: lowers softmax, attention and norms to a kernel each. */
#include "plan/planner.h"
#include <math.h>
#include <string.h>

struct norm {
	struct planner *b;
	op_id op;
	struct view *result;
	unsigned nd;
	sx_id n[IR_MAX_LOGICAL + 1], at[IR_MAX_LOGICAL];
	int64_t extent[IR_MAX_LOGICAL];
	enum dtype wide;
	bool ok;
};

/* Returns the window on an operand whose axes match the result's from the right. Axes before `keep` with one
 * element are left out. */
static struct plan_view aligned(struct norm *x, const struct view *v, unsigned keep)
{
	struct plan_view out = {0};
	int dim[IR_MAX_LOGICAL], map[IR_MAX_LOGICAL];
	sx_id at[IR_MAX_LOGICAL];
	for (unsigned c = 0; c < v->rank; c++)
		dim[c] = (int)x->nd - (int)v->rank + (int)c;
	plan_follow(x->b, v, dim, x->nd, x->n, x->at, x->extent, map, at);
	x->ok &= plan_window(x->b, v, x->nd, x->n, map, at, keep, &out);
	return out;
}

static double float_attribute(const struct norm *x, const char *key, double otherwise)
{
	const struct attr *a = op_attr(x->b->m, x->op, key);
	return !a                      ? otherwise
	       : a->kind == ATTR_FLOAT ? a->u.f
	       : a->kind == ATTR_INT   ? (double)a->u.i
	                               : otherwise;
}

static void plan_softmax(struct norm *x, const struct view *in)
{
	int64_t axis = op_attr_int(x->b->m, x->op, "axis", -1);
	axis += axis < 0 ? x->nd : 0;
	if (axis < 0 || axis >= x->nd) {
		planner_error(x->b, E_AXIS_ATTRIBUTE, "axis= must name an axis of the operand");
		return;
	}
	if (!plan_require_whole(x->b, x->op, in, (unsigned)axis) ||
	    !plan_require_whole(x->b, x->op, x->result, (unsigned)axis))
		return;
	struct plan_task t;
	plan_task_start(&t, RT_TASK_SOFTMAX);
	t.in_n = 1;
	t.axes = (unsigned)axis;
	t.out = aligned(x, x->result, 0), t.in[0] = aligned(x, in, 0);
	if (x->ok)
		plan_task_emit(x->b, &t);
}

static void plan_layer(struct norm *x, struct view *const *in, unsigned count, enum rt_norm kind)
{
	unsigned axis = x->nd - 1;
	struct plan_task t;
	if (!x->nd || !plan_require_whole(x->b, x->op, in[0], axis) ||
	    !plan_require_whole(x->b, x->op, x->result, axis))
		return;
	plan_task_start(&t, RT_TASK_NORM);
	t.op = (uint8_t)kind;
	t.in_n = 3;
	t.scalar[0].literal = float_attribute(x, "eps", 1e-5);
	t.scalar[1].literal = 1;
	t.out = aligned(x, x->result, axis);
	t.axes = t.out.nd - 1u;
	for (unsigned k = 0; k < 3; k++)
		if (k < count)
			t.in[k] = aligned(x, in[k], axis);
		else
			t.scalars |= (uint8_t)(1u << k);
	if (x->ok)
		plan_task_emit(x->b, &t);
}

/* Returns the window on the mask: [heads, rows, keys]. */
static struct plan_view mask_window(struct norm *x, const struct view *mask, sx_id keys)
{
	struct planner *b = x->b;
	struct plan_view out = {0};
	unsigned last = x->nd - 1;
	int dim[IR_MAX_LOGICAL], map[IR_MAX_LOGICAL];
	sx_id at[IR_MAX_LOGICAL], n[IR_MAX_LOGICAL];
	plan_align_right(mask->rank, x->nd, dim);
	for (unsigned i = 0; i < x->nd; i++)
		n[i] = i < last ? x->n[i] : keys;
	if (mask->rank)
		dim[mask->rank - 1] = -1;
	plan_follow(b, mask, dim, x->nd, x->n, x->at, x->extent, map, at);
	if (mask->rank && mask->axis[mask->rank - 1].extent != 1) {
		x->ok = x->ok && plan_require_whole(b, x->op, mask, mask->rank - 1);
		map[last] = (int)mask->rank - 1;
	}
	x->ok = x->ok && plan_window(b, mask, x->nd, n, map, at, 0, &out);
	return out;
}

/* Makes scratch memory for a number of each row of the result. */
static struct plan_view make_logs(struct norm *x)
{
	struct planner *b = x->b;
	struct plan_view v = {.nd = (uint8_t)x->nd};
	int64_t size = 1;
	sx_id slot;
	v.n[x->nd - 1] = sx_reg(b, sx_const(b, 1));
	for (unsigned i = x->nd - 1; i-- > 0;) {
		v.n[i] = sx_reg(b, x->n[i]);
		v.stride[i] = size;
		size *= b->sx.at[x->n[i]].hi; /* size of a full block */
	}
	v.buffer = storage_temporary(b, x->result->value, x->wide, size, &slot);
	v.slot = sx_reg(b, slot);
	return v;
}

/* logs: NULL, or receives the scratch memory with the logarithms of the sums of the rows. */
static void plan_attention(struct norm *x, struct view *const *in, struct plan_view *logs)
{
	struct planner *b = x->b;
	const struct view *q = in[0], *k = in[1], *v = in[2], *mask = in[3];
	unsigned rows = x->nd - 2, last = x->nd - 1;
	int dim[IR_MAX_LOGICAL], map[IR_MAX_LOGICAL];
	sx_id at[IR_MAX_LOGICAL], n[IR_MAX_LOGICAL], e, keys;
	struct plan_task t;
	plan_task_start(&t, RT_TASK_ATTENTION);
	if (x->nd < 2 || q->rank != x->nd || k->rank != x->nd || v->rank != x->nd) {
		planner_error(b, E_SHAPES_DIFFER, "q, k and v must have the axes of the result");
		return;
	}
	if (!plan_require_whole(x->b, x->op, q, last) || !plan_require_whole(x->b, x->op, k, last) ||
	    !plan_require_whole(x->b, x->op, k, rows) || !plan_require_whole(x->b, x->op, v, rows))
		return;
	e = q->axis[last].len, keys = k->axis[rows].len;
	for (unsigned i = 0; i < x->nd; i++)
		dim[i] = (int)i, n[i] = x->n[i];
	/* q: [heads, rows, e] */
	dim[last] = -1;
	plan_follow(b, q, dim, x->nd, x->n, x->at, x->extent, map, at);
	map[last] = (int)last, n[last] = e;
	x->ok &= plan_window(b, q, x->nd, n, map, at, 0, &t.in[0]);
	/* k: [heads, keys, e] */
	dim[rows] = -1;
	plan_follow(b, k, dim, x->nd, x->n, x->at, x->extent, map, at);
	map[rows] = (int)rows, n[rows] = keys, map[last] = (int)last;
	x->ok &= plan_window(b, k, x->nd, n, map, at, 0, &t.in[1]);
	/* v: [heads, keys, ev] */
	dim[last] = (int)last;
	plan_follow(b, v, dim, x->nd, x->n, x->at, x->extent, map, at);
	map[rows] = (int)rows, n[last] = x->n[last];
	x->ok &= plan_window(b, v, x->nd, n, map, at, 0, &t.in[2]);
	if (mask)
		t.in[RT_ATTENTION_MASK] = mask_window(x, mask, keys);
	t.out = aligned(x, x->result, 0);
	if (!x->ok)
		return;
	bool causal = op_attr_is_true(b->m, x->op, "causal");
	t.in_n = causal ? RT_ATTENTION_FIRST + 1 : RT_ATTENTION_SCALE + 1;
	t.scalars = (uint8_t)(1u << RT_ATTENTION_SCALE | (unsigned)causal << RT_ATTENTION_FIRST |
	                      (unsigned)!mask << RT_ATTENTION_MASK | (unsigned)!logs << RT_ATTENTION_LOGS);
	if (logs) {
		*logs = make_logs(x);
		b->p->buffer.at[logs->buffer].written = true;
		t.in[RT_ATTENTION_LOGS] = *logs;
		t.writes = 1u << RT_ATTENTION_LOGS;
	}
	t.scalar[RT_ATTENTION_SCALE].literal =
	    float_attribute(x, "scale", 1 / sqrt((double)q->axis[last].extent));
	if (causal)
		t.scalar[RT_ATTENTION_FIRST] =
		    (struct plan_operand){.is_reg = true, .reg = sx_reg(b, x->at[rows])};
	plan_task_emit(b, &t);
}

/* Plans the second result of attention. */
static void copy_logs(struct norm *x, const struct plan_view *logs)
{
	struct plan_task t;
	plan_task_start(&t, RT_TASK_COPY);
	t.in_n = 1;
	t.in[0] = *logs;
	t.out = aligned(x, x->result, 0);
	bool alike = logs->nd == x->nd;
	for (unsigned i = 0; alike && i < x->nd; i++)
		alike = t.out.n[i] == logs->n[i];
	if (!alike && !x->b->failed)
		planner_error(x->b, E_PLAN_LAYOUT, "'%s' is spread otherwise than the values beside it",
		              value_text(x->b, x->result->value));
	if (x->ok && alike)
		plan_task_emit(x->b, &t);
}

bool plan_norm(struct planner *b, op_id op, unsigned k, struct view *result, const struct operand_ref *in,
               unsigned n, struct plan_view *found)
{
	struct norm x = {.b = b, .op = op, .result = result, .nd = result->rank, .ok = true};
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	struct view *views[4] = {NULL};
	unsigned count = 0;
	if (kind != OP_SOFTMAX && kind != OP_LAYERNORM && kind != OP_RMSNORM && kind != OP_SDPA)
		return false;
	for (unsigned i = 0; i < n && count < 4; i++)
		if (in[i].view)
			views[count++] = in[i].view;
	x.wide = dtype_wide(view_dtype(b, views[0]));
	if (x.nd > RT_MAX_DIMS || x.wide == DTYPE_I64) {
		planner_error(b, E_PLAN_KERNEL, "%s takes floats with at most %d axes", op_info[kind].hir,
		              RT_MAX_DIMS);
		return true;
	}
	for (unsigned i = 0; i < x.nd; i++)
		x.n[i] = result->axis[i].len, x.at[i] = result->axis[i].off,
		x.extent[i] = result->axis[i].extent;
	if (kind == OP_SOFTMAX)
		plan_softmax(&x, views[0]);
	else if (kind == OP_SDPA && k)
		copy_logs(&x, found);
	else if (kind == OP_SDPA)
		plan_attention(&x, views, op_def(b->m, op, 1) || op_write(b->m, op, 1) ? found : NULL);
	else
		plan_layer(&x, views, count, kind == OP_LAYERNORM ? RT_NORM_LAYER : RT_NORM_RMS);
	return true;
}
