/* ref_norm: softmax, scaled dot product attention, layer and root-mean-square norms.
 *
 * Each computes a whole row in f64 and rounds its elements once. If one element of a row is absent or poison,
 * the whole row is. */
#include "ref/ref_attention.h"
#include <math.h>

double ref_float_attribute(struct ref_context *c, op_id op, const char *key, double otherwise)
{
	const struct attr *a = op_attr(c->m, op, key);
	if (!a)
		return otherwise;
	return a->kind == ATTR_FLOAT ? a->u.f : a->kind == ATTR_INT ? (double)a->u.i : otherwise;
}

uint8_t ref_row_state(const struct ref_array *a, int64_t at, int64_t n, int64_t stride)
{
	uint8_t state = REF_DEFINED;
	for (int64_t k = 0; k < n; k++)
		if (a->state[at + k * stride] < state)
			state = a->state[at + k * stride];
	return state;
}

static void set_row(struct ref_array *out, int64_t at, int64_t n, int64_t stride, uint8_t state)
{
	for (int64_t k = 0; k < n; k++)
		out->state[at + k * stride] = state;
}

static bool same_shape(const struct ref_array *a, const struct ref_array *b)
{
	if (a->nd != b->nd)
		return false;
	for (int k = 0; k < a->nd; k++)
		if (a->n[k] != b->n[k])
			return false;
	return true;
}

/* Returns the error of a softmax weight, exp(x) over the sum of all exp. own: exp of its score; sum: of all;
 * low, high, least, most: the same with the smallest and the largest scores possible. */
static double weight_error(double own, double sum, double low, double high, double least, double most)
{
	if (!isfinite(most))
		return 1;
	double value = own / sum, down = low / (low + (most - high)), up = high / (high + (least - low));
	down = most > high ? down : 1;
	up = least > low ? up : 1;
	return fmax(value - down, up - value);
}

/* Returns the relative error of exp(x) over a sum of n of them. */
static double exp_sum_error(enum dtype t, int64_t n, double x)
{
	double shift = isfinite(x) ? fabs(x) : 0;
	return ref_sum_error(t, n) + (16 + 4 * shift) * ref_unit(t);
}

bool ref_softmax(struct ref_context *c, const struct ref_call *call, const struct ref_array *in,
                 struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	int64_t axis = op_attr_int(c->m, call->op, "axis", -1), inner = 1, count = ref_array_count(in);
	axis += axis < 0 ? in->nd : 0;
	if (axis < 0 || axis >= in->nd || !same_shape(in, out))
		return ref_refuse_shapes(c, op);
	for (int k = (int)axis + 1; k < in->nd; k++)
		inner *= in->n[k];
	int64_t n = in->n[axis];
	for (int64_t row = 0; n && row < count / n; row++) {
		int64_t at = row / inner * inner * n + row % inner;
		uint8_t state = ref_row_state(in, at, n, inner);
		set_row(out, at, n, inner, state);
		if (state != REF_DEFINED)
			continue;
		double max = -INFINITY, sum = 0, error = 0, least = 0, most = 0;
		for (int64_t k = 0; k < n; k++) {
			max = fmax(max, in->data[at + k * inner]);
			error = fmax(error, in->error[at + k * inner]);
		}
		for (int64_t k = 0; k < n; k++) {
			double x = in->data[at + k * inner] - max, e = in->error[at + k * inner];
			sum += exp(x);
			least += exp(x - e);
			most += exp(x + e);
		}
		for (int64_t k = 0; k < n; k++) {
			double x = in->data[at + k * inner] - max, e = in->error[at + k * inner],
			       own = exp(x), value = own / sum;
			double passed =
			    error > 0 ? weight_error(own, sum, exp(x - e), exp(x + e), least, most) : 0;
			ref_store(out, at + k * inner, value);
			ref_set_error(out, at + k * inner, value, passed,
			              isfinite(value) ? value * exp_sum_error(in->dtype, n, x) +
			                                    ref_underflow_error(in->dtype, 2)
			                              : 0);
		}
		ref_number_alike(c, in, at, n, inner, out);
	}
	return true;
}

double ref_score_error(const struct ref_array *const *in, int64_t q, int64_t k, int64_t n, double scale)
{
	double magnitude = 0, passed = 0;
	for (int64_t i = 0; i < n; i++) {
		double a = fabs(in[0]->data[q + i]), b = fabs(in[1]->data[k + i]);
		magnitude += a * b;
		passed += a * in[1]->error[k + i] + in[0]->error[q + i] * (b + in[1]->error[k + i]);
	}
	return scale * (passed + magnitude * ref_sum_error(in[0]->dtype, n + 2) +
	                ref_underflow_error(in[0]->dtype, n));
}

enum { LOG_ULPS = 16 /* of max + log(sum), of its parts */ };

double ref_weight_rounding(enum dtype t)
{
	return dtype_bytes(t) == 2 ? ldexp(1, -ref_precision(t)) : 0;
}

double ref_mask_score(const struct ref_array *mask, int64_t at, enum dtype t, double *score)
{
	if (mask->dtype == DTYPE_BOOL) {
		*score = mask->data[at] != 0 ? *score : -INFINITY;
		return 0;
	}
	double error = mask->error[at] + ref_unit(t) * (fabs(*score) + fabs(mask->data[at]));
	*score += mask->data[at];
	return isfinite(*score) ? error : 0;
}

/* Computes attention of one query row: out[e] = sum over s of p[s] * v[s, e], or the logarithm of the
 * sum of the weights if logs. mask: NULL: none. */
static void attend(const struct ref_array *const *in, const struct ref_array *mask, const struct ref_row *row,
                   double scale, double *p, bool logs, struct ref_array *out, int64_t at)
{
	int64_t e = in[0]->n[in[0]->nd - 1], ev = in[2]->n[in[2]->nd - 1], n = row->n;
	enum dtype t = in[0]->dtype;
	double max = -INFINITY, min = INFINITY, sum = 0, error = 0;
	for (int64_t s = 0; s < n; s++) {
		p[s] = 0;
		for (int64_t i = 0; i < e; i++)
			p[s] += in[0]->data[row->q + i] * in[1]->data[row->k + s * e + i];
		p[s] *= scale;
		double own = ref_score_error(in, row->q, row->k + s * e, e, fabs(scale));
		if (mask)
			own += ref_mask_score(mask, row->mask + s * row->mask_step, t, &p[s]);
		max = fmax(max, p[s]);
		min = p[s] == -INFINITY ? min : fmin(min, p[s]);
		error = fmax(error, own);
	}
	for (int64_t s = 0; s < n; s++)
		sum += p[s] = exp(p[s] - (max == -INFINITY ? 0 : max));
	double relative = expm1(2 * error) + exp_sum_error(t, n, sum == 0 ? 0 : max - min);
	if (logs) {
		double value = max + log(sum);
		ref_store(out, at, value);
		if (isfinite(value))
			ref_set_error(out, at, value, 0,
			              error + relative +
			                  LOG_ULPS * ref_unit(t) * (fabs(max) + fabs(log(sum))));
		else /* a row that sees no key has -inf in every run */
			ref_set_error(out, at, value, sum != 0 && error > 0 ? INFINITY : 0, 0);
		return;
	}
	if (sum == 0) /* it sees no key */
		sum = 1;
	double rounding = ref_weight_rounding(t);
	for (int64_t i = 0; i < ev; i++) {
		double value = 0, magnitude = 0, passed = 0, low = INFINITY, high = -INFINITY, worst = 0;
		for (int64_t s = 0; s < n; s++) {
			double w = p[s] / sum, x = in[2]->data[row->v + s * ev + i],
			       x_error = in[2]->error[row->v + s * ev + i];
			value += w * x;
			magnitude += w * fabs(x);
			passed += w * (1 + relative) * x_error;
			low = fmin(low, x), high = fmax(high, x), worst = fmax(worst, x_error);
		}
		/* for any weights the result lies between the values */
		double most = fmax(fabs(low), fabs(high)),
		       least = (rounding > 0 ? REF_LEAST_WEIGHT * (double)n * most : 0) +
		               (most > 0 ? ref_underflow_error(t, n) * (2 * most + 1) : 0);
		double sums = (exp_sum_error(t, n, 0) + rounding) * most + least;
		ref_store(out, at + i, value);
		if (!isfinite(value)) { /* it is not finite in any run, unless that is due to errors */
			ref_set_error(out, at + i, value, error > 0 || worst > 0 ? INFINITY : 0, 0);
			continue;
		}
		ref_set_error(out, at + i, value, 0,
		              fmin(passed + least + magnitude * (relative + rounding + ref_sum_error(t, n)),
		                   high - low + worst + sums));
	}
}

bool ref_broadcasts(const struct ref_array *x, const struct ref_array *q, int own)
{
	int ahead = q->nd - x->nd;
	bool ok = ahead >= 0;
	for (int j = 0; ok && j < x->nd - own; j++)
		ok = x->n[j] == 1 || x->n[j] == q->n[j + ahead];
	return ok;
}

int64_t ref_matrix_of_head(const struct ref_array *x, const struct ref_array *q, int64_t head)
{
	int64_t number = 0, step = 1;
	for (int j = q->nd - 3; j >= 0; j--) {
		int own = j - (q->nd - x->nd);
		if (own >= 0) {
			number += x->n[own] == 1 ? 0 : head % q->n[j] * step;
			step *= x->n[own];
		}
		head /= q->n[j];
	}
	return number;
}

bool ref_mask_row(const struct ref_array *mask, const struct ref_array *q, int64_t keys, int64_t head,
                  int64_t query, struct ref_row *row)
{
	int64_t across = mask->nd > 0 ? mask->n[mask->nd - 1] : 1,
	        down = mask->nd > 1 ? mask->n[mask->nd - 2] : 1;
	row->mask_step = across > 1;
	row->mask = (ref_matrix_of_head(mask, q, head) * down + (down > 1 ? query : 0)) * across;
	return ref_broadcasts(mask, q, 1) && (across == 1 || across == keys);
}

/* q [heads, rows, e], k [heads, keys, e], v [heads, keys, ev], with any number of head dimensions; a
 * mask of [heads, rows, keys]. */
bool ref_sdpa(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
              struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	const struct ref_array *q = in[0], *k = in[1], *v = in[2], *mask = call->n > 3 ? in[3] : NULL;
	int nd = q->nd;
	if (nd < 2 || k->nd != nd || v->nd != nd || out->nd != nd)
		return ref_refuse_shapes(c, op);
	int64_t heads = 1, rows = q->n[nd - 2], keys = k->n[nd - 2], e = q->n[nd - 1], ev = v->n[nd - 1];
	bool logs = call->result == 1;
	int64_t width = logs ? 1 : ev;
	for (int j = 0; j < nd - 2; j++) {
		if (out->n[j] != q->n[j])
			return ref_refuse_shapes(c, op);
		heads *= q->n[j];
	}
	if (!ref_broadcasts(k, q, 2) || !ref_broadcasts(v, q, 2) || k->n[nd - 1] != e ||
	    v->n[nd - 2] != keys || out->n[nd - 2] != rows || out->n[nd - 1] != width)
		return ref_refuse_shapes(c, op);
	bool causal = op_attr_is_true(c->m, call->op, "causal");
	double scale = ref_float_attribute(c, call->op, "scale", 1 / sqrt((double)e));
	double *p = mem_alloc(sizeof *p * (size_t)keys);
	bool ok = true;
	for (int64_t at = 0; at < heads * rows && ok; at++) {
		int64_t head = at / rows, query = at % rows;
		struct ref_row row = {.q = at * e,
		                      .k = ref_matrix_of_head(k, q, head) * keys * e,
		                      .v = ref_matrix_of_head(v, q, head) * keys * ev,
		                      .n = causal && query + 1 < keys ? query + 1 : keys};
		uint8_t states[3] = {ref_row_state(q, row.q, e, 1), ref_row_state(k, row.k, row.n * e, 1),
		                     ref_row_state(v, row.v, row.n * ev, 1)};
		uint8_t state = states[0] < states[1] ? states[0] : states[1];
		state = states[2] < state ? states[2] : state;
		if (mask && (ok = ref_mask_row(mask, q, keys, head, query, &row))) {
			uint8_t of_mask = ref_row_state(mask, row.mask, row.mask_step ? row.n : 1, 1);
			state = of_mask < state ? of_mask : state;
		}
		set_row(out, at * width, width, 1, state);
		if (state == REF_DEFINED && ok)
			attend(in, mask, &row, scale, p, logs, out, at * width);
	}
	free(p);
	return ok || ref_refuse_shapes(c, op);
}

struct row_error {
	double mean, scale; /* errors of the mean, and of 1 / sqrt(mean square + eps) */
};

static struct row_error row_error(const struct ref_array *x, int64_t at, int64_t n, bool layer, double mean,
                                  double square, double eps)
{
	struct row_error e = {0};
	double size = (double)n, around = 0, sums = ref_sum_error(x->dtype, n + 2);
	for (int64_t k = 0; layer && k < n; k++)
		e.mean += (x->error[at + k] + sums * fabs(x->data[at + k])) / size;
	for (int64_t k = 0; k < n; k++) {
		double d = fabs(x->data[at + k] - mean), own = x->error[at + k] + e.mean;
		around += (own * (2 * d + own) + sums * d * d) / size;
	}
	double least = square - around + eps > 0 ? square - around + eps : 0;
	e.scale = 1 / sqrt(least) - 1 / sqrt(square + eps) + 4 * ref_unit(x->dtype) / sqrt(square + eps);
	return e;
}

/* layernorm(x, weight, bias), rmsnorm(x, weight): over the last axis. */
bool ref_norm(struct ref_context *c, const struct ref_call *call, const struct ref_array *const *in,
              struct ref_array *out)
{
	const struct op *op = ir_op(c->m, call->op);
	const struct ref_array *x = in[0];
	int64_t n = x->nd ? x->n[x->nd - 1] : 0;
	double eps = ref_float_attribute(c, call->op, "eps", 1e-5);
	bool layer = op->kind == OP_LAYERNORM;
	if (!x->nd || !same_shape(x, out))
		return ref_refuse_shapes(c, op);
	for (unsigned k = 1; k < call->n; k++)
		if (in[k]->nd != 1 || in[k]->n[0] != n)
			return ref_refuse_shapes(c, op);
	for (int64_t row = 0; n && row < ref_array_count(x) / n; row++) {
		int64_t at = row * n;
		uint8_t state = ref_row_state(x, at, n, 1);
		double mean = 0, square = 0;
		for (int64_t k = 0; layer && k < n; k++)
			mean += x->data[at + k] / (double)n;
		for (int64_t k = 0; k < n; k++)
			square += (x->data[at + k] - mean) * (x->data[at + k] - mean) / (double)n;
		struct row_error e = row_error(x, at, n, layer, mean, square, eps);
		bool sure = true;
		for (int64_t k = 0; k < n; k++)
			sure = sure && x->error[at + k] == 0;
		for (int64_t k = 0; k < n; k++) {
			double d = x->data[at + k] - mean, value = d / sqrt(square + eps);
			double passed = fabs(d) * e.scale +
			                (x->error[at + k] + e.mean) * (e.scale + 1 / sqrt(square + eps));
			out->state[at + k] = state;
			bool exact = sure;
			for (unsigned j = 1; j < call->n; j++) {
				double w = in[j]->data[k];
				exact = exact && in[j]->error[k] == 0;
				if (in[j]->state[k] < out->state[at + k])
					out->state[at + k] = in[j]->state[k];
				passed = j == 1 ? passed * (fabs(w) + in[j]->error[k]) +
				                      fabs(value) * in[j]->error[k]
				                : passed + in[j]->error[k];
				passed += ref_unit(x->dtype) * (fabs(value) + fabs(w));
				value = j == 1 ? value * w : value + w;
			}
			if (out->state[at + k] != REF_DEFINED)
				continue;
			ref_store(out, at + k, value);
			if (!isfinite(value)) /* it is not finite in any run, unless that is due to errors */
				ref_set_error(out, at + k, value, exact ? 0 : INFINITY, 0);
			else
				ref_set_error(out, at + k, value, passed,
				              4 * ref_unit(x->dtype) * fabs(value));
		}
	}
	return true;
}
