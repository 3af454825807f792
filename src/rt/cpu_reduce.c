/* cpu_reduce: reduces a tensor over a set of its axes.
 *
 * Floats are accumulated in f64, integers in i64. For each result element, the removed axes are walked
 * in rows. If the kept axes have the short strides, a row of results is accumulated at once instead:
 *
 *     sum over axis 0 of in[a, b]:  acc[0..b) += in[i, 0..b)   for i in 0..a */
#include "rt/clones.h"
#include "rt/cpu.h"
#include "rt/fault.h"
#include "rt/rows.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS = 8 }; /* results whose sums are computed side by side */

struct reduction {
	const struct rt_task *task;
	bool real;             /* f64, otherwise i64 */
	bool along_rows;       /* the inner walk's row is a row of results, not of reduced elements */
	int64_t removed;       /* number of elements that make one result */
	struct cpu_walk inner; /* over the removed axes, for the current results */
	struct rt_view in;     /* the removed axes of in[0]; with along_rows followed by the row's axis */
	union {
		double f64[RT_ROW];
		int64_t i64[RT_ROW];
	} acc;
};

/* Computes eight extremes side by side, so that the processor can use vectors; their order does not
 * matter. */
#define FOLD_EXTREME(type, better)                                                                           \
	do {                                                                                                 \
		type lane[8], y;                                                                             \
		size_t i = 0;                                                                                \
		for (int k = 0; k < 8; k++)                                                                  \
			lane[k] = acc;                                                                       \
		for (; i + 8 <= n; i += 8)                                                                   \
			for (int k = 0; k < 8; k++)                                                          \
				lane[k] =                                                                    \
				    lane[k] better x[i + k] || lane[k] != lane[k] ? lane[k] : x[i + k];      \
		for (int k = 0; k < 8; k++) {                                                                \
			y = lane[k];                                                                         \
			acc = acc better y || acc != acc ? acc : y;                                          \
		}                                                                                            \
		for (; i < n; i++)                                                                           \
			acc = acc better x[i] || acc != acc ? acc : x[i];                                    \
	} while (0)

#define FOLD(type, sum, product)                                                                             \
	do {                                                                                                 \
		switch (op) {                                                                                \
		case REDUCE_PROD:                                                                            \
			for (size_t i = 0; i < n; i++)                                                       \
				acc = (type)(product);                                                       \
			break;                                                                               \
		case REDUCE_MIN:                                                                             \
			FOLD_EXTREME(type, <);                                                               \
			break;                                                                               \
		case REDUCE_MAX:                                                                             \
			FOLD_EXTREME(type, >);                                                               \
			break;                                                                               \
		default:                                                                                     \
			for (size_t i = 0; i < n; i++)                                                       \
				acc = (type)(sum);                                                           \
			break;                                                                               \
		}                                                                                            \
		return acc;                                                                                  \
	} while (0)

RT_CLONES static double fold_f64(enum reduce_op op, double acc, const double *x, size_t n)
{
	FOLD(double, acc + x[i], acc * x[i]);
}

RT_CLONES static int64_t fold_i64(enum reduce_op op, int64_t acc, const int64_t *x, size_t n)
{
	FOLD(int64_t, (uint64_t)acc + (uint64_t)x[i], (uint64_t)acc * (uint64_t)x[i]);
}

void cpu_sum_start(enum reduce_op op, enum dtype t, union cpu_sum *sum)
{
	if (dtype_is_float(t))
		sum->f64 = reduce_identity_f64(op, t);
	else
		sum->i64 = reduce_identity_i64(op, t);
}

void cpu_sum_add(enum reduce_op op, enum dtype t, union cpu_sum *sum, const void *at, size_t n)
{
	size_t size = dtype_bytes(t);
	for (size_t first = 0; first < n; first += RT_ROW) {
		size_t m = n - first < RT_ROW ? n - first : RT_ROW;
		const char *from = (const char *)at + first * size;
		if (dtype_is_float(t)) {
			double x[RT_ROW];
			rt_row_load_f64(t, from, 1, x, m);
			sum->f64 = fold_f64(op, sum->f64, x, m);
		} else {
			int64_t x[RT_ROW];
			rt_row_load_i64(t, from, 1, x, m);
			sum->i64 = fold_i64(op, sum->i64, x, m);
		}
	}
}

/* Adds up SUMS rows, each in order. Rows are independent, so an addition waits only for the one before
 * it in its own row. */
RT_CLONES static void add_rows(double *acc, double (*x)[RT_ROW], size_t n)
{
	double s[SUMS];
	memcpy(s, acc, sizeof s);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < SUMS; k++)
			s[k] += x[k][i];
	memcpy(acc, s, sizeof s);
}

void cpu_sum_add_rows(enum reduce_op op, enum dtype t, union cpu_sum *sum, int64_t sums, const void *at,
                      size_t n)
{
	size_t size = dtype_bytes(t);
	const char *from = at;
	bool adds = dtype_is_float(t) && (op == REDUCE_SUM || op == REDUCE_AVG);
	for (; adds && sums >= SUMS; sums -= SUMS, sum += SUMS, from += SUMS * n * size)
		for (size_t first = 0; first < n; first += RT_ROW) {
			double x[SUMS][RT_ROW];
			size_t m = n - first < RT_ROW ? n - first : RT_ROW;
			for (size_t k = 0; k < SUMS; k++)
				rt_row_load_f64(t, from + (k * n + first) * size, 1, x[k], m);
			add_rows(&sum->f64, x, m);
		}
	for (; sums > 0; sums--, sum++, from += n * size)
		cpu_sum_add(op, t, sum, from, n);
}

void cpu_sum_add_each(enum reduce_op op, enum dtype t, union cpu_sum *sum, const void *at, size_t n)
{
	size_t size = dtype_bytes(t);
	for (size_t first = 0; first < n; first += RT_ROW) {
		size_t m = n - first < RT_ROW ? n - first : RT_ROW;
		const char *from = (const char *)at + first * size;
		if (dtype_is_float(t)) {
			double x[RT_ROW];
			rt_row_load_f64(t, from, 1, x, m);
			rt_combine_f64(op, &sum[first].f64, x, m);
		} else {
			int64_t x[RT_ROW];
			rt_row_load_i64(t, from, 1, x, m);
			rt_combine_i64(op, &sum[first].i64, x, m);
		}
	}
}

void cpu_sum_store(enum reduce_op op, enum dtype t, union cpu_sum sum, int64_t removed, enum dtype out,
                   void *at)
{
	bool mean = op == REDUCE_AVG && out != DTYPE_BOOL;
	if (dtype_is_float(t))
		rt_store_f64(out, at, mean ? sum.f64 / (double)removed : sum.f64);
	else
		rt_store_i64(out, at, mean ? sum.i64 / removed : sum.i64);
}

/* Reduces a row of removed elements into acc[0]. */
static enum status fold_row(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	struct reduction *r = arg;
	enum dtype t = r->in.dtype;
	int64_t s = stride[0] / (int64_t)dtype_bytes(t);
	if (r->real) {
		double x[RT_ROW];
		rt_row_load_f64(t, at[0], s, x, n);
		r->acc.f64[0] = fold_f64(r->task->reduce, r->acc.f64[0], x, n);
	} else {
		int64_t x[RT_ROW];
		rt_row_load_i64(t, at[0], s, x, n);
		r->acc.i64[0] = fold_i64(r->task->reduce, r->acc.i64[0], x, n);
	}
	return STATUS_OK;
}

static void finish_row(struct reduction *r, char *at, int64_t stride, size_t n)
{
	const struct rt_task *t = r->task;
	if (t->reduce == REDUCE_AVG && t->out.dtype != DTYPE_BOOL)
		for (size_t i = 0; i < n; i++) {
			if (r->real)
				r->acc.f64[i] /= (double)r->removed;
			else
				r->acc.i64[i] /= r->removed;
		}
	if (r->real)
		rt_row_store_f64(t->out.dtype, at, stride, r->acc.f64, n);
	else
		rt_row_store_i64(t->out.dtype, at, stride, r->acc.i64, n);
}

static void start_row(struct reduction *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (r->real)
			r->acc.f64[i] = reduce_identity_f64(r->task->reduce, r->in.dtype);
		else
			r->acc.i64[i] = reduce_identity_i64(r->task->reduce, r->in.dtype);
	}
}

/* Computes SUMS results from `at` on; their sources are `apart` bytes apart. */
static void sum_rows(struct reduction *r, char *const *at, int64_t out_stride, int64_t apart)
{
	double x[SUMS][RT_ROW];
	const struct cpu_walk *w = &r->inner;
	int64_t size = (int64_t)dtype_bytes(r->in.dtype);
	start_row(r, SUMS);
	for (int64_t first = 0; first < w->n[0]; first += RT_ROW) {
		size_t n = (size_t)(w->n[0] - first < RT_ROW ? w->n[0] - first : RT_ROW);
		for (int k = 0; k < SUMS; k++)
			rt_row_load_f64(r->in.dtype, at[1] + k * apart + first * w->stride[0][0],
			                w->stride[0][0] / size, x[k], n);
		add_rows(r->acc.f64, x, n);
	}
	finish_row(r, at[0], out_stride, SUMS);
}

/* at[0]: results; at[1]: the first element of each result's source. */
static enum status result_row(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	struct reduction *r = arg;
	int64_t out_stride = stride[0] / (int64_t)dtype_bytes(r->task->out.dtype);
	int64_t in_stride = stride[1] / (int64_t)dtype_bytes(r->in.dtype);
	if (!r->along_rows) {
		bool sums = r->real && (r->task->reduce == REDUCE_SUM || r->task->reduce == REDUCE_AVG) &&
		            r->inner.nd == 1 && !r->inner.empty;
		size_t i = 0;
		for (; sums && i + SUMS <= n; i += SUMS)
			sum_rows(
			    r,
			    (char *const[]){at[0] + (int64_t)i * stride[0], at[1] + (int64_t)i * stride[1]},
			    out_stride, stride[1]);
		for (; i < n; i++) {
			r->inner.base[0] = at[1] + (int64_t)i * stride[1];
			start_row(r, 1);
			cpu_walk_rows(&r->inner, RT_ROW, fold_row, r);
			finish_row(r, at[0] + (int64_t)i * stride[0], 1, 1);
		}
		return STATUS_OK;
	}
	start_row(r, n);
	int64_t index[RT_MAX_DIMS] = {0};
	const struct cpu_walk *w = &r->inner;
	char *from = at[1];
	while (!w->empty) {
		if (r->real) {
			double x[RT_ROW];
			rt_row_load_f64(r->in.dtype, from, in_stride, x, n);
			rt_combine_f64(r->task->reduce, r->acc.f64, x, n);
		} else {
			int64_t x[RT_ROW];
			rt_row_load_i64(r->in.dtype, from, in_stride, x, n);
			rt_combine_i64(r->task->reduce, r->acc.i64, x, n);
		}
		int d = w->nd - 1;
		for (; d >= 0; d--) {
			from += w->stride[0][d];
			if (++index[d] < w->n[d])
				break;
			from -= w->stride[0][d] * w->n[d];
			index[d] = 0;
		}
		if (d < 0)
			break;
	}
	finish_row(r, at[0], out_stride, n);
	return STATUS_OK;
}

/* Returns the smallest stride of an axis in the mask that has more than one element. */
static int64_t least_stride(const struct rt_view *v, unsigned axes)
{
	int64_t least = INT64_MAX;
	for (int d = 0; d < v->nd; d++)
		if ((axes >> d & 1) && v->n[d] > 1 && llabs(v->stride[d]) < least)
			least = llabs(v->stride[d]);
	return least;
}

enum status cpu_reduce(const struct rt_task *t, char *why)
{
	struct reduction r = {.task = t, .real = dtype_is_float(t->in[0].dtype), .removed = 1};
	struct rt_view kept = t->in[0];
	r.in = t->in[0];
	r.in.nd = 0;
	for (int d = 0; d < kept.nd; d++) {
		assert(t->out.n[d] == ((t->axes >> d & 1) ? 1 : kept.n[d]));
		if (!(t->axes >> d & 1))
			continue;
		r.in.n[r.in.nd] = kept.n[d];
		r.in.stride[r.in.nd++] = kept.stride[d];
		r.removed *= kept.n[d];
		kept.n[d] = 1;
	}
	if (r.removed == 0 && t->reduce == REDUCE_AVG && !r.real && t->out.dtype != DTYPE_BOOL &&
	    rt_view_count(&t->out) > 0) {
		rt_fault_text(RT_FAULT_EMPTY, 0, 0, why);
		return STATUS_DIAGNOSTICS;
	}
	r.along_rows = least_stride(&t->in[0], ~t->axes) < least_stride(&t->in[0], t->axes);
	const struct rt_view *inner = &r.in;
	cpu_walk_start(&r.inner, 1, &inner);
	struct cpu_walk outer;
	cpu_walk_start(&outer, 2, (const struct rt_view *const[]){&t->out, &kept});
	return cpu_walk_rows(&outer, RT_ROW, result_row, &r);
}
