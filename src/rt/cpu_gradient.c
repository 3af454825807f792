/* cpu_gradient: computes the gradients of attention block by block, so that scores need no memory of their own size.
 *
 *     s = q k^T                w = exp(scale * s - l)      gradient of v = w^T g
 *     t = g v^T                z = w * (t - d)             gradient of q = scale * z k, of k = scale * z^T q
 *
 * l and d are sums of a row: see GRADIENT_SUMS. A block has up to ROWS rows and KEYS keys. The gradient of q adds up all
 * keys of a block of rows, the others all rows of a block of keys. Products are those of cpu_gemm. Steps are in f32 (f64
 * for f64). */
#include "rt/clones.h"
#include "rt/cpu.h"
#include "rt/elementary_f64.h"
#include "rt/rows.h"
#include "rt/vectors.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { ROWS = 256, KEYS = 512, SCORE_SCRATCH = 5, SUM_SCRATCH = 6 };

struct gradient {
	struct cpu_lane *lane;
	enum rt_gradient of;
	enum dtype wide;
	double scale;
	bool causal;
	int64_t first;
	struct rt_view out, q, k, v, g, sums; /* matrices of one batch */
	bool masked;
	struct rt_view mask; /* of the scores of one batch, if masked */
	void *s, *t;         /* blocks [ROWS, KEYS], wide */
	void *line;          /* a line of the mask in a block, wide */
	void *o;             /* the block of the result that is being added up, wide */
	char *why;
};

#define DEFINE_ROWS(type, name, exp_of)                                                                              \
	RT_CLONES static void weigh_##name(type *x, int64_t n, type scale, type less)                                \
	{                                                                                                            \
		for (int64_t i = 0; i < n; i++)                                                                      \
			x[i] = exp_of(x[i] * scale - less);                                                          \
	}                                                                                                            \
                                                                                                                     \
	RT_CLONES static void slope_##name(type *x, const type *t, int64_t n, type d)                                \
	{                                                                                                            \
		for (int64_t i = 0; i < n; i++)                                                                      \
			x[i] *= t[i] - d;                                                                            \
	}                                                                                                            \
                                                                                                                     \
	RT_CLONES static void add_mask_##name(type *x, const type *mask, int64_t n, type scale, type less)           \
	{                                                                                                            \
		for (int64_t i = 0; i < n; i++)                                                                      \
			x[i] = exp_of(x[i] * scale + mask[i] - less);                                                \
	}                                                                                                            \
                                                                                                                     \
	static void hide_##name(type *x, const type *mask, int64_t n)                                                \
	{                                                                                                            \
		for (int64_t i = 0; i < n; i++)                                                                      \
			if (mask[i] == 0)                                                                            \
				x[i] = 0;                                                                            \
	}                                                                                                            \
                                                                                                                     \
	/* Makes w, or z except for the gradient of v, of row r of a block, number `row` of the matrix, and of the \
	 * keys from `key` on, of which it sees `live`. */ \
	static void row_##name(const struct gradient *a, int64_t r, int64_t row, int64_t key, int64_t keys,          \
	                       int64_t live)                                                                         \
	{                                                                                                            \
		const struct rt_view *m = &a->mask;                                                                  \
		type *x = (type *)a->s + r * keys, *t = (type *)a->t + r * keys;                                     \
		const type *sum = (const type *)((const char *)a->sums.data +                                        \
		                                 row * a->sums.stride[0] * (int64_t)sizeof(type));                   \
		type less = sum[0];                                                                                  \
		live = live < 0 || less == -(type)INFINITY ? 0 : live < keys ? live : keys;                          \
		if (a->masked)                                                                                       \
			rt_row_load_##name(m->dtype,                                                                 \
			                   (char *)m->data + (row * m->stride[0] + key * m->stride[1]) *             \
			                                         (int64_t)dtype_bytes(m->dtype),                     \
			                   m->stride[1], a->line, (size_t)live);                                     \
		if (a->masked && m->dtype != DTYPE_BOOL)                                                             \
			add_mask_##name(x, a->line, live, (type)a->scale, less);                                     \
		else                                                                                                 \
			weigh_##name(x, live, (type)a->scale, less);                                                 \
		if (a->of != RT_GRADIENT_V)                                                                          \
			slope_##name(x, t, live, sum[a->sums.stride[1]]);                                            \
		if (a->masked && m->dtype == DTYPE_BOOL)                                                             \
			hide_##name(x, a->line, live);                                                               \
		for (int64_t i = live; i < keys; i++)                                                                \
			x[i] = 0;                                                                                    \
	}

DEFINE_ROWS(float, f32, elementary_expf)
DEFINE_ROWS(double, f64, elementary_exp_f64)

static enum status multiply(const struct gradient *a, struct rt_view out, struct rt_view x, struct rt_view y,
                            bool accumulate)
{
	struct rt_task t = {.kernel = RT_TASK_GEMM, .out = out, .in = {x, y}, .accumulate = accumulate};
	return cpu_gemm(a->lane, &t, a->why);
}

/* Adds to o the part of a block of rows and keys. */
static enum status add_block(const struct gradient *a, struct rt_view o, int64_t row, int64_t rows,
                             int64_t key, int64_t keys)
{
	struct rt_view s = rt_view_dense(a->s, a->wide, 2, (const int64_t[]){rows, keys}),
	               t = rt_view_dense(a->t, a->wide, 2, (const int64_t[]){rows, keys}),
	               q = rt_view_slice(a->q, 0, row, rows), g = rt_view_slice(a->g, 0, row, rows),
	               k = rt_view_slice(a->k, 0, key, keys), v = rt_view_slice(a->v, 0, key, keys);
	enum status status = multiply(a, s, q, rt_view_swap(k, 0, 1), false);
	if (status == STATUS_OK && a->of != RT_GRADIENT_V)
		status = multiply(a, t, g, rt_view_swap(v, 0, 1), false);
	for (int64_t r = 0; r < rows && status == STATUS_OK; r++)
		(a->wide == DTYPE_F64 ? row_f64 : row_f32)(a, r, row + r, key, keys,
		                                           a->causal ? a->first + row + r + 1 - key : keys);
	if (status != STATUS_OK)
		return status;
	return a->of == RT_GRADIENT_Q   ? multiply(a, o, s, k, true)
	       : a->of == RT_GRADIENT_K ? multiply(a, o, rt_view_swap(s, 0, 1), q, true)
	                                : multiply(a, o, rt_view_swap(s, 0, 1), g, true);
}

/* Computes a block of the result: n rows, or n keys, from `at` on. */
static enum status make_block(const struct gradient *a, int64_t at, int64_t n)
{
	bool by_rows = a->of == RT_GRADIENT_Q;
	int64_t width = a->out.n[1], step = by_rows ? KEYS : ROWS, from = 0,
	        to = by_rows ? a->k.n[0] : a->q.n[0];
	struct rt_view o = rt_view_dense(a->o, a->wide, 2, (const int64_t[]){n, width}),
	               out = rt_view_slice(a->out, 0, at, n);
	memset(a->o, 0, (size_t)(n * width) * dtype_bytes(a->wide));
	if (a->causal && by_rows && a->first + at + n < to) /* later keys are hidden from all rows */
		to = a->first + at + n;
	if (a->causal && !by_rows && at > a->first) /* earlier rows see none of the keys */
		from = (at - a->first) / step * step;
	for (int64_t other = from; other < to; other += step) {
		int64_t others = to - other < step ? to - other : step;
		enum status status =
		    by_rows ? add_block(a, o, at, n, other, others) : add_block(a, o, other, others, at, n);
		if (status != STATUS_OK)
			return status;
	}
	if (a->of != RT_GRADIENT_V && a->wide == DTYPE_F64)
		vector_scale_f64(a->o, a->scale, n * width);
	else if (a->of != RT_GRADIENT_V)
		vector_scale_f32(a->o, (float)a->scale, n * width);
	return cpu_copy(&out, &o);
}

enum status cpu_gradient(struct cpu_lane *lane, const struct rt_task *t, char *why)
{
	int64_t index[RT_MAX_DIMS] = {0}, width = t->out.n[t->out.nd - 1];
	struct gradient a = {.lane = lane,
	                     .of = t->gradient,
	                     .wide = dtype_wide(t->in[0].dtype),
	                     .scale = t->scalar[RT_ATTENTION_SCALE].f,
	                     .causal = t->scalars >> RT_ATTENTION_FIRST & 1,
	                     .first = t->scalar[RT_ATTENTION_FIRST].i,
	                     .masked = !(t->scalars >> RT_ATTENTION_MASK & 1),
	                     .why = why};
	size_t bytes = dtype_bytes(a.wide);
	assert(a.wide != DTYPE_I64 && t->out.nd >= 2 && t->in[RT_ATTENTION_SUMS].dtype == a.wide);
	if (!rt_view_count(&t->out))
		return STATUS_OK;
	a.s = cpu_scratch(lane, SCORE_SCRATCH, 2 * ROWS * KEYS * bytes, why);
	a.line = cpu_scratch(lane, SUM_SCRATCH, (size_t)(KEYS + KEYS * width) * bytes, why);
	if (!a.s || !a.line)
		return STATUS_DIAGNOSTICS;
	a.t = (char *)a.s + ROWS * KEYS * bytes;
	a.o = (char *)a.line + KEYS * bytes;
	do {
		int64_t step = a.of == RT_GRADIENT_Q ? ROWS : KEYS;
		a.out = cpu_matrix_at(&t->out, index), a.q = cpu_matrix_at(&t->in[0], index);
		a.k = cpu_matrix_at(&t->in[1], index), a.v = cpu_matrix_at(&t->in[2], index);
		a.g = cpu_matrix_at(&t->in[RT_ATTENTION_SLOPE], index);
		a.sums = cpu_matrix_at(&t->in[RT_ATTENTION_SUMS], index);
		if (a.masked)
			a.mask = cpu_matrix_at(&t->in[RT_ATTENTION_MASK], index);
		for (int64_t at = 0; at < a.out.n[0]; at += step) {
			enum status status =
			    make_block(&a, at, a.out.n[0] - at < step ? a.out.n[0] - at : step);
			if (status != STATUS_OK)
				return status;
		}
	} while (cpu_next_index(&t->out, 3u << (t->out.nd - 2), index));
	return STATUS_OK;
}

/* Returns the sum of the products of two rows. */
static double add_products(const struct rt_view *x, const struct rt_view *y, int64_t row)
{
	double a[RT_ROW], b[RT_ROW], sum = 0;
	for (int64_t at = 0; at < x->n[1]; at += RT_ROW) {
		size_t n = (size_t)(x->n[1] - at < RT_ROW ? x->n[1] - at : RT_ROW);
		rt_row_load_f64(x->dtype, cpu_address(x, (const int64_t[]){row, at}), x->stride[1], a, n);
		rt_row_load_f64(y->dtype, cpu_address(y, (const int64_t[]){row, at}), y->stride[1], b, n);
		for (size_t k = 0; k < n; k++)
			sum += a[k] * b[k];
	}
	return sum;
}

enum status cpu_gradient_sums(const struct rt_task *t)
{
	int64_t index[RT_MAX_DIMS] = {0};
	if (!rt_view_count(&t->out))
		return STATUS_OK;
	do {
		struct rt_view out = cpu_matrix_at(&t->out, index), g = cpu_matrix_at(&t->in[0], index),
		               o = cpu_matrix_at(&t->in[1], index), l = cpu_matrix_at(&t->in[2], index);
		int64_t bytes = (int64_t)dtype_bytes(out.dtype);
		for (int64_t row = 0; row < out.n[0]; row++) {
			char *to = (char *)out.data + row * out.stride[0] * bytes;
			double of_row = rt_load_f64(
			    l.dtype, (char *)l.data + row * l.stride[0] * (int64_t)dtype_bytes(l.dtype));
			rt_store_f64(out.dtype, to, of_row);
			rt_store_f64(out.dtype, to + out.stride[1] * bytes, add_products(&g, &o, row));
		}
	} while (cpu_next_index(&t->out, 3u << (t->out.nd - 2), index));
	return STATUS_OK;
}
