/* cpu_scan: computes out[i] = the reduction of in[0][0 … i] along an axis, in f64, for integers in i64, rounded once.
 *
 *     along     the axis is the inner one in memory: line by line
 *     across    other axes are: a row of lines at a time, with a running result for each */
#include "rt/clones.h"
#include "rt/cpu.h"
#include "rt/rows.h"

struct scan {
	const struct rt_task *task;
	int64_t n, in_bytes, out_bytes; /* elements of the axis, and distances between them */
	bool real;
};

/* The running results of a row of lines. */
union running {
	double f64[RT_ROW];
	int64_t i64[RT_ROW];
};

#define FOLD_LINE(type, sum, product)                                                                        \
	switch (op) {                                                                                        \
	case REDUCE_PROD:                                                                                    \
		for (size_t i = 0; i < n; i++)                                                               \
			x[i] = a = (type)(product);                                                          \
		break;                                                                                       \
	case REDUCE_MAX:                                                                                     \
		for (size_t i = 0; i < n; i++)                                                               \
			x[i] = a = a > x[i] || a != a ? a : x[i];                                            \
		break;                                                                                       \
	case REDUCE_MIN:                                                                                     \
		for (size_t i = 0; i < n; i++)                                                               \
			x[i] = a = a < x[i] || a != a ? a : x[i];                                            \
		break;                                                                                       \
	default:                                                                                             \
		for (size_t i = 0; i < n; i++)                                                               \
			x[i] = a = (type)(sum);                                                              \
	}                                                                                                    \
	return a;

/* Replaces n elements by the running results from a on. Returns the last one. */
static double fold_line_f64(enum reduce_op op, double a, double *x, size_t n)
{
	FOLD_LINE(double, a + x[i], a * x[i])
}

static int64_t fold_line_i64(enum reduce_op op, int64_t a, int64_t *x, size_t n)
{
	FOLD_LINE(int64_t, (uint64_t)a + (uint64_t)x[i], (uint64_t)a * (uint64_t)x[i])
}

static void scan_along(const struct scan *s, char *to, const char *from)
{
	const struct rt_task *t = s->task;
	int64_t in = s->in_bytes / (int64_t)dtype_bytes(t->in[0].dtype),
	        out = s->out_bytes / (int64_t)dtype_bytes(t->out.dtype);
	double f = reduce_identity_f64(t->reduce, t->in[0].dtype);
	int64_t k = reduce_identity_i64(t->reduce, t->in[0].dtype);
	union running x;
	for (int64_t i = 0; i < s->n; i += RT_ROW) {
		size_t n = (size_t)(s->n - i < RT_ROW ? s->n - i : RT_ROW);
		if (s->real) {
			rt_row_load_f64(t->in[0].dtype, from + i * s->in_bytes, in, x.f64, n);
			f = fold_line_f64(t->reduce, f, x.f64, n);
			rt_row_store_f64(t->out.dtype, to + i * s->out_bytes, out, x.f64, n);
		} else {
			rt_row_load_i64(t->in[0].dtype, from + i * s->in_bytes, in, x.i64, n);
			k = fold_line_i64(t->reduce, k, x.i64, n);
			rt_row_store_i64(t->out.dtype, to + i * s->out_bytes, out, x.i64, n);
		}
	}
}

static void scan_across(const struct scan *s, char *const *at, const int64_t *stride, size_t n)
{
	const struct rt_task *t = s->task;
	int64_t in = stride[1] / (int64_t)dtype_bytes(t->in[0].dtype),
	        out = stride[0] / (int64_t)dtype_bytes(t->out.dtype);
	union running all, x;
	for (size_t i = 0; i < n; i++) {
		if (s->real)
			all.f64[i] = reduce_identity_f64(t->reduce, t->in[0].dtype);
		else
			all.i64[i] = reduce_identity_i64(t->reduce, t->in[0].dtype);
	}
	for (int64_t i = 0; i < s->n; i++) {
		if (s->real) {
			rt_row_load_f64(t->in[0].dtype, at[1] + i * s->in_bytes, in, x.f64, n);
			rt_combine_f64(t->reduce, all.f64, x.f64, n);
			rt_row_store_f64(t->out.dtype, at[0] + i * s->out_bytes, out, all.f64, n);
		} else {
			rt_row_load_i64(t->in[0].dtype, at[1] + i * s->in_bytes, in, x.i64, n);
			rt_combine_i64(t->reduce, all.i64, x.i64, n);
			rt_row_store_i64(t->out.dtype, at[0] + i * s->out_bytes, out, all.i64, n);
		}
	}
}

static enum status scan_row(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	const struct scan *s = arg;
	int64_t apart = stride[1] < 0 ? -stride[1] : stride[1],
	        along = s->in_bytes < 0 ? -s->in_bytes : s->in_bytes;
	if (n > 1 && apart < along) {
		scan_across(s, at, stride, n);
		return STATUS_OK;
	}
	for (size_t i = 0; i < n; i++)
		scan_along(s, at[0] + (int64_t)i * stride[0], at[1] + (int64_t)i * stride[1]);
	return STATUS_OK;
}

enum status cpu_scan(const struct rt_task *t)
{
	struct cpu_walk w;
	int axis = (int)t->axes;
	struct scan s = {.task = t,
	                 .n = t->out.n[axis],
	                 .in_bytes = t->in[0].stride[axis] * (int64_t)dtype_bytes(t->in[0].dtype),
	                 .out_bytes = t->out.stride[axis] * (int64_t)dtype_bytes(t->out.dtype),
	                 .real = dtype_is_float(t->in[0].dtype)};
	if (!rt_view_count(&t->out))
		return STATUS_OK;
	struct rt_view out = rt_view_slice(t->out, axis, 0, 1), in = rt_view_slice(t->in[0], axis, 0, 1);
	cpu_walk_start(&w, 2, (const struct rt_view *const[]){&out, &in});
	return cpu_walk_rows(&w, RT_ROW, scan_row, &s);
}
