/* ref_gradient: the gradients of attention.
 *
 *     s[i, j] = scale * q[i] k[j] + mask[i, j]     w[i, j] = exp(s[i, j] - l[i])
 *     z[i, j] = w[i, j] * (g[i] v[j] - g[i] o[i])
 *     gradient of q[i] = scale * sum over j of z[i, j] k[j]
 *     gradient of k[j] = scale * sum over i of z[i, j] q[i]
 *     gradient of v[j] = sum over i of w[i, j] g[i]
 *
 * The sums have the pairs of a row and a key that the row sees. A row whose l is -inf sees none. If one element that a
 * sum needs is absent or poison, its row of the result is. */
#include "ref/ref_attention.h"
#include <math.h>

enum { SLOPE, Q, K, V, OUT, LOGS, MASK };

struct gradient {
	const struct ref_array *const *in;
	const struct ref_array *mask; /* NULL: none */
	enum dtype t;
	unsigned of; /* number of the result: q, k, v */
	int64_t rows, keys, depth, width;
	int64_t head;
	int64_t k, v; /* offsets of the head's keys and values */
	double scale;
	bool causal;
	double *weight, *error; /* by row or key: w or z of a pair, and its error */
	int64_t *with;          /* the rows or keys that these belong to */
	int64_t n;
	uint8_t state; /* of the pairs together */
};

/* Returns the error of the sum of the products of n elements. */
static double product_error(const struct ref_array *a, int64_t x, const struct ref_array *b, int64_t y,
                            int64_t n)
{
	const struct ref_array *pair[] = {a, b};
	return ref_score_error(pair, x, y, n, 1);
}

static double multiply(const struct ref_array *a, int64_t x, const struct ref_array *b, int64_t y, int64_t n)
{
	double sum = 0;
	for (int64_t i = 0; i < n; i++)
		sum += a->data[x + i] * b->data[y + i];
	return sum;
}

static void lower_state(struct gradient *x, const struct ref_array *a, int64_t at, int64_t n)
{
	uint8_t state = ref_row_state(a, at, n, 1);
	x->state = state < x->state ? state : x->state;
}

/* Adds the pair of row i and key j, which belongs to `with`. Returns false if the mask does not fit. */
static bool add_pair(struct gradient *x, int64_t i, int64_t j, int64_t with)
{
	const struct ref_array *const *in = x->in;
	int64_t row = x->head * x->rows + i, q = row * x->depth, g = row * x->width, k = x->k + j * x->depth,
	        v = x->v + j * x->width;
	struct ref_row at = {0};
	lower_state(x, in[Q], q, x->depth), lower_state(x, in[K], k, x->depth),
	    lower_state(x, in[LOGS], row, 1);
	lower_state(x, in[SLOPE], g, x->width);
	if (x->mask && !ref_mask_row(x->mask, in[Q], x->keys, x->head, i, &at))
		return false;
	if (x->mask)
		lower_state(x, x->mask, at.mask + j * at.mask_step, 1);
	if (x->of != 2)
		lower_state(x, in[V], v, x->width), lower_state(x, in[OUT], g, x->width);
	if (x->state != REF_DEFINED)
		return true;
	double score = x->scale * multiply(in[Q], q, in[K], k, x->depth), logs = in[LOGS]->data[row];
	double off = ref_score_error(in + Q, q, k, x->depth, fabs(x->scale)) + in[LOGS]->error[row];
	if (x->mask)
		off += ref_mask_score(x->mask, at.mask + j * at.mask_step, x->t, &score);
	if (score == -INFINITY || (logs == -INFINITY && in[LOGS]->error[row] == 0))
		return true;
	off += ref_unit(x->t) * (16 + 4 * (fabs(score) + fabs(logs)));
	double w = exp(score - logs), relative = expm1(off) + ref_weight_rounding(x->t),
	       least = dtype_bytes(x->t) == 2 ? REF_LEAST_WEIGHT : 0, value = w, error = w * relative + least;
	if (x->of != 2) {
		double t = multiply(in[SLOPE], g, in[V], v, x->width),
		       d = multiply(in[SLOPE], g, in[OUT], g, x->width);
		double between = product_error(in[SLOPE], g, in[V], v, x->width) +
		                 product_error(in[SLOPE], g, in[OUT], g, x->width) +
		                 2 * ref_unit(x->t) * (fabs(t) + fabs(d));
		value = w * (t - d);
		error = w * relative * fabs(t - d) + w * (1 + relative) * between;
		error += fabs(value) * ref_weight_rounding(x->t) + least;
	}
	x->weight[x->n] = value, x->error[x->n] = error, x->with[x->n++] = with;
	return true;
}

/* Makes a row of the result from the pairs and the rows of `of` from `first` on. */
static void add_up(const struct gradient *x, const struct ref_array *of, int64_t first, struct ref_array *out,
                   int64_t at, int64_t width)
{
	double scale = x->of == 2 ? 1 : x->scale;
	for (int64_t e = 0; e < width; e++) {
		double value = 0, magnitude = 0, passed = 0;
		out->state[at + e] = x->state;
		if (x->state != REF_DEFINED)
			continue;
		for (int64_t p = 0; p < x->n; p++) {
			int64_t k = first + x->with[p] * width + e;
			double y = of->data[k], w = fabs(x->weight[p]);
			value += x->weight[p] * y;
			magnitude += w * fabs(y);
			passed += x->error[p] * fabs(y) + (w + x->error[p]) * of->error[k];
		}
		value *= scale;
		ref_store(out, at + e, value);
		if (!isfinite(value)) { /* in no run, unless that is due to errors */
			ref_set_error(out, at + e, value, passed > 0 ? INFINITY : 0, 0);
			continue;
		}
		ref_set_error(out, at + e, value, fabs(scale) * passed,
		              fabs(scale) * magnitude * ref_sum_error(x->t, x->n + 2));
	}
}

static bool make_row(struct gradient *x, int64_t own, struct ref_array *out)
{
	bool by_rows = x->of == 0, ok = true;
	int64_t others = by_rows ? x->keys : x->rows, matrix = x->head * x->rows;
	x->n = 0, x->state = REF_DEFINED;
	for (int64_t other = 0; other < others && ok; other++) {
		int64_t i = by_rows ? own : other, j = by_rows ? other : own;
		if (!x->causal || j <= i)
			ok = add_pair(x, i, j, other);
	}
	int64_t width = x->of == 2 ? x->width : x->depth,
	        at = (x->head * (by_rows ? x->rows : x->keys) + own) * width;
	if (by_rows)
		add_up(x, x->in[K], x->k, out, at, width);
	else if (x->of == 1)
		add_up(x, x->in[Q], matrix * x->depth, out, at, width);
	else
		add_up(x, x->in[SLOPE], matrix * x->width, out, at, width);
	return ok;
}

static bool has_extents(const struct ref_array *a, const struct ref_array *q, int64_t down, int64_t across)
{
	bool ok = a->nd == q->nd && a->n[a->nd - 2] == down && a->n[a->nd - 1] == across;
	for (int j = 0; ok && j < a->nd - 2; j++)
		ok = a->n[j] == q->n[j];
	return ok;
}

bool ref_sdpa_backward(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
                       struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	int nd = in[Q]->nd;
	if (nd < 2 || in[K]->nd != nd || in[V]->nd != nd)
		return ref_refuse_shapes(c, op);
	struct gradient x = {.in = in,
	                     .mask = call->n > MASK ? in[MASK] : NULL,
	                     .t = in[Q]->dtype,
	                     .of = (unsigned)call->result,
	                     .rows = in[Q]->n[nd - 2],
	                     .keys = in[K]->n[nd - 2],
	                     .depth = in[Q]->n[nd - 1],
	                     .width = in[V]->n[nd - 1],
	                     .causal = op_attr_is_true(c->m, call->op, "causal")};
	int64_t heads = 1, own = x.of == 0 ? x.rows : x.keys, most = x.of == 0 ? x.keys : x.rows;
	x.scale = ref_float_attribute(c, call->op, "scale", 1 / sqrt((double)x.depth));
	for (int j = 0; j < nd - 2; j++)
		heads *= in[Q]->n[j];
	if (!ref_broadcasts(in[K], in[Q], 2) || !ref_broadcasts(in[V], in[Q], 2) ||
	    in[K]->n[nd - 1] != x.depth || in[V]->n[nd - 2] != x.keys ||
	    !has_extents(in[SLOPE], in[Q], x.rows, x.width) ||
	    !has_extents(in[OUT], in[Q], x.rows, x.width) || !has_extents(in[LOGS], in[Q], x.rows, 1) ||
	    !has_extents(out, in[Q], own, x.of == 2 ? x.width : x.depth))
		return ref_refuse_shapes(c, op);
	x.weight = mem_alloc(2 * sizeof *x.weight * (size_t)(most + 1));
	x.error = x.weight + most + 1;
	x.with = mem_alloc(sizeof *x.with * (size_t)(most + 1));
	bool ok = true;
	for (int64_t at = 0; at < heads * own && ok; at++) {
		x.head = at / own;
		x.k = ref_matrix_of_head(in[K], in[Q], x.head) * x.keys * x.depth;
		x.v = ref_matrix_of_head(in[V], in[Q], x.head) * x.keys * x.width;
		ok = make_row(&x, at % own, out);
	}
	free(x.weight);
	free(x.with);
	return ok || ref_refuse_shapes(c, op);
}
