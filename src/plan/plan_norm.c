/* plan_norm: lowers softmax and norms to a kernel each; attention is in plan_attention.c. */
#include "plan/plan_norm.h"

struct plan_view plan_norm_window(struct norm *x, const struct view *v, unsigned keep)
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

double plan_norm_number(const struct norm *x, const char *key, double otherwise)
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
	t.out = plan_norm_window(x, x->result, 0), t.in[0] = plan_norm_window(x, in, 0);
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
	t.scalar[0].literal = plan_norm_number(x, "eps", 1e-5);
	t.scalar[1].literal = 1;
	t.out = plan_norm_window(x, x->result, axis);
	t.axes = t.out.nd - 1u;
	for (unsigned k = 0; k < 3; k++)
		if (k < count)
			t.in[k] = plan_norm_window(x, in[k], axis);
		else
			t.scalars |= (uint8_t)(1u << k);
	if (x->ok)
		plan_task_emit(x->b, &t);
}

bool plan_norm(struct planner *b, op_id op, unsigned k, struct view *result, const struct operand_ref *in,
               unsigned n, struct plan_view *found)
{
	struct norm x = {.b = b, .op = op, .result = result, .nd = result->rank, .ok = true};
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	struct view *views[PLAN_NORM_OPERANDS] = {NULL};
	unsigned count = 0;
	if (kind != OP_SOFTMAX && kind != OP_LAYERNORM && kind != OP_RMSNORM && kind != OP_SDPA &&
	    kind != OP_SDPA_BACKWARD)
		return false;
	for (unsigned i = 0; i < n && count < PLAN_NORM_OPERANDS; i++)
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
	else if (kind == OP_SDPA)
		plan_attention(&x, k, views, found);
	else if (kind == OP_SDPA_BACKWARD)
		plan_attention_gradient(&x, k, views, found);
	else
		plan_layer(&x, views, count, kind == OP_LAYERNORM ? RT_NORM_LAYER : RT_NORM_RMS);
	return true;
}
