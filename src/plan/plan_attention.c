/* plan_attention: lowers attention to one kernel, and its gradients to one for the sums of rows and one each.
 *
 *     DQ, DK, DV = sdpa_backward(G, Q, K, V, O, L)      S = gradient sums of G, O, L, in scratch
 *                                                       DQ = gradient of q of Q, K, V, S, G;  DK = …;  DV = … */
#include "plan/plan_norm.h"
#include <math.h>

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

/* Makes scratch memory for `width` numbers of each row of the result. */
static struct plan_view make_rows(struct norm *x, int64_t width)
{
	struct planner *b = x->b;
	struct plan_view v = {.nd = (uint8_t)x->nd};
	int64_t size = width;
	sx_id slot;
	v.n[x->nd - 1] = sx_reg(b, sx_const(b, width));
	v.stride[x->nd - 1] = 1;
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
static void attend(struct norm *x, struct view *const *in, struct plan_view *logs)
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
	t.out = plan_norm_window(x, x->result, 0);
	if (!x->ok)
		return;
	bool causal = op_attr_is_true(b->m, x->op, "causal");
	t.in_n = causal ? RT_ATTENTION_FIRST + 1 : RT_ATTENTION_SCALE + 1;
	t.scalars = (uint8_t)(1u << RT_ATTENTION_SCALE | (unsigned)causal << RT_ATTENTION_FIRST |
	                      (unsigned)!mask << RT_ATTENTION_MASK | (unsigned)!logs << RT_ATTENTION_LOGS |
	                      1u << RT_ATTENTION_SLOPE);
	if (logs) {
		*logs = make_rows(x, 1);
		b->p->buffer.at[logs->buffer].written = true;
		t.in[RT_ATTENTION_LOGS] = *logs;
		t.writes = 1u << RT_ATTENTION_LOGS;
	}
	t.scalar[RT_ATTENTION_SCALE].literal =
	    plan_norm_number(x, "scale", 1 / sqrt((double)q->axis[last].extent));
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
	t.out = plan_norm_window(x, x->result, 0);
	bool alike = logs->nd == x->nd;
	for (unsigned i = 0; alike && i < x->nd; i++)
		alike = t.out.n[i] == logs->n[i];
	if (!alike && !x->b->failed)
		planner_error(x->b, E_PLAN_LAYOUT, "'%s' is spread otherwise than the values beside it",
		              value_text(x->b, x->result->value));
	if (x->ok && alike)
		plan_task_emit(x->b, &t);
}

void plan_attention(struct norm *x, unsigned k, struct view *const *in, struct plan_view *found)
{
	if (k)
		copy_logs(x, found);
	else
		attend(x, in, op_def(x->b->m, x->op, 1) || op_write(x->b->m, x->op, 1) ? found : NULL);
}

/* ---- gradients */

/* Returns the window on an operand of gradients: the heads of the result, and its own last two axes. */
static struct plan_view matrix_window(struct norm *x, const struct view *v, sx_id rows, sx_id columns)
{
	struct planner *b = x->b;
	struct plan_view out = {0};
	unsigned ahead = x->nd - v->rank;
	int dim[IR_MAX_LOGICAL], map[IR_MAX_LOGICAL];
	sx_id at[IR_MAX_LOGICAL], n[IR_MAX_LOGICAL];
	for (unsigned i = 0; i < x->nd; i++)
		n[i] = i + 2 < x->nd ? x->n[i] : i + 1 < x->nd ? rows : columns;
	for (unsigned c = 0; c < v->rank; c++)
		dim[c] = c + ahead + 2 < x->nd ? (int)(c + ahead) : -1;
	plan_follow(b, v, dim, x->nd, x->n, x->at, x->extent, map, at);
	for (unsigned c = 0; c < v->rank; c++)
		if (dim[c] < 0 && v->axis[c].extent != 1) { /* an axis of one element is repeated */
			x->ok = x->ok && plan_require_whole(b, x->op, v, c);
			map[c + ahead] = (int)c;
		}
	x->ok = x->ok && plan_window(b, v, x->nd, n, map, at, 0, &out);
	return out;
}

/* Plans the sums of the rows that all gradients need: the second result of sdpa, and the products of the first with its
 * gradient. */
static struct plan_view plan_sums(struct norm *x, const struct view *slope, const struct view *out,
                                  const struct view *logs)
{
	sx_id rows = slope->axis[x->nd - 2].len, width = slope->axis[x->nd - 1].len;
	struct plan_task t;
	plan_task_start(&t, RT_TASK_GRADIENT_SUMS);
	t.in_n = 3;
	t.in[0] = matrix_window(x, slope, rows, width);
	t.in[1] = matrix_window(x, out, rows, width);
	t.in[2] = matrix_window(x, logs, rows, sx_const(x->b, 1));
	t.out = make_rows(x, 2);
	if (x->ok)
		plan_task_emit(x->b, &t);
	return t.out;
}

void plan_attention_gradient(struct norm *x, unsigned k, struct view *const *in, struct plan_view *found)
{
	enum { SLOPE, Q, K, V, OUT, LOGS, MASK };
	struct planner *b = x->b;
	unsigned rows = x->nd - 2, last = x->nd - 1;
	struct plan_task t;
	if (x->nd < 2 || !plan_require_whole(b, x->op, x->result, rows) ||
	    !plan_require_whole(b, x->op, x->result, last))
		return;
	sx_id queries = in[Q]->axis[rows].len, keys = in[K]->axis[rows].len, depth = in[Q]->axis[last].len,
	      width = in[V]->axis[last].len;
	int64_t none;
	if (sx_is_const(b, queries, &none) && !none) { /* no row sees a key, and there are no sums */
		plan_fill_box(b, x->result, x->at, x->n, 0, 0);
		return;
	}
	if (k == 0)
		*found = plan_sums(x, in[SLOPE], in[OUT], in[LOGS]);
	plan_task_start(&t, RT_TASK_GRADIENT);
	t.op = (uint8_t)k; /* enum rt_gradient */
	t.in[0] = matrix_window(x, in[Q], queries, depth);
	t.in[1] = matrix_window(x, in[K], keys, depth);
	t.in[2] = matrix_window(x, in[V], keys, width);
	if (in[MASK])
		t.in[RT_ATTENTION_MASK] = matrix_window(x, in[MASK], queries, keys);
	t.in[RT_ATTENTION_SUMS] = *found;
	t.in[RT_ATTENTION_SLOPE] = matrix_window(x, in[SLOPE], queries, width);
	t.out = plan_norm_window(x, x->result, 0);
	bool causal = op_attr_is_true(b->m, x->op, "causal"), alike = found->nd == x->nd;
	for (unsigned i = 0; alike && i < rows; i++)
		alike = t.out.n[i] == found->n[i];
	if (!alike && x->ok && !b->failed)
		planner_error(b, E_PLAN_LAYOUT, "'%s' is spread otherwise than the values beside it",
		              value_text(b, x->result->value));
	t.in_n = causal ? RT_ATTENTION_FIRST + 1 : RT_ATTENTION_SCALE + 1;
	t.scalars = (uint8_t)(1u << RT_ATTENTION_SCALE | (unsigned)causal << RT_ATTENTION_FIRST |
	                      (unsigned)!in[MASK] << RT_ATTENTION_MASK);
	t.scalar[RT_ATTENTION_SCALE].literal =
	    plan_norm_number(x, "scale", 1 / sqrt((double)in[Q]->axis[last].extent));
	if (x->ok && alike)
		plan_task_emit(b, &t);
}
