/* cpu_attention: computes out = softmax(scale * q k^T) v for a block of rows at a time, from a block of
 * keys at a time, so that the scores need no memory of their own size. Of each row it keeps the largest
 * score so far, the sum of the weights, and the weighted sum of the values:
 *
 *     best' = max(best, scores)     p = exp(scores - best')     by = exp(best - best')
 *     total = total * by + sum p    o = o * by + p v            out = o / total
 *
 * Products are those of cpu_gemm. Steps are in f32 (f64 for f64), the sum of the weights is in f64. */
#include "rt/clones.h"
#include "rt/cpu.h"
#include "rt/elementary_f64.h"
#include "rt/rows.h"
#include "rt/vectors.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { ROWS = 256, KEYS = 512, SCORE_SCRATCH = 5, SUM_SCRATCH = 6 };

struct attention {
	struct cpu_lane *lane;
	enum dtype wide;
	double scale;
	bool causal;
	int64_t first;
	struct rt_view out, q, k, v; /* matrices of one batch */
	bool masked;
	struct rt_view mask; /* of the scores of one batch, if masked */
	bool logs;
	struct rt_view log; /* the second result of one batch, if logs */
	void *s, *o;        /* scores [ROWS, KEYS] and sums [ROWS, width], both wide */
	void *best;         /* by row, wide */
	void *line;         /* a line of the mask in a block, wide */
	double *total;      /* by row */
	char *why;
};

#define DEFINE_ROWS(type, name, exp_of)                                                                      \
	RT_CLONES static void hide_##name(type *x, const type *mask, int64_t n)                              \
	{                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                              \
			x[i] = mask[i] != 0 ? x[i] : -(type)INFINITY;                                        \
	}                                                                                                    \
                                                                                                             \
	static void mask_##name(const struct attention *a, type *x, int64_t row, int64_t key, int64_t n)     \
	{                                                                                                    \
		const struct rt_view *m = &a->mask;                                                          \
		char *at = (char *)m->data +                                                                 \
		           (row * m->stride[0] + key * m->stride[1]) * (int64_t)dtype_bytes(m->dtype);       \
		rt_row_load_##name(m->dtype, at, m->stride[1], a->line, (size_t)n);                          \
		(m->dtype == DTYPE_BOOL ? hide_##name : vector_add_##name)(x, a->line, n);                   \
	}                                                                                                    \
                                                                                                             \
	/* Makes the weights of row r of a block, number `row` of the matrix, from the keys `key` to \
	 * key + keys, of which it sees `live`. */       \
	static void row_##name(const struct attention *a, int64_t r, int64_t row, int64_t key, int64_t keys, \
	                       int64_t live)                                                                 \
	{                                                                                                    \
		type *x = (type *)a->s + r * keys, *best = (type *)a->best + r;                              \
		live = live < 0 ? 0 : live < keys ? live : keys;                                             \
		vector_scale_##name(x, (type)a->scale, live);                                                \
		if (a->masked)                                                                               \
			mask_##name(a, x, row, key, live);                                                   \
		type most = vector_max_##name(x, *best, live), less = most == -(type)INFINITY ? 0 : most;    \
		type by = exp_of(*best - less);                                                              \
		vector_exp_##name(x, less, live);                                                            \
		a->total[r] = a->total[r] * (double)by + vector_sum_##name(x, live);                         \
		for (int64_t i = live; i < keys; i++)                                                        \
			x[i] = 0;                                                                            \
		if (by != 1)                                                                                 \
			vector_scale_##name((type *)a->o + r * a->v.n[1], by, a->v.n[1]);                    \
		*best = most;                                                                                \
	}                                                                                                    \
                                                                                                             \
	static void start_##name(const struct attention *a, int64_t rows)                                    \
	{                                                                                                    \
		for (int64_t r = 0; r < rows; r++)                                                           \
			((type *)a->best)[r] = -(type)INFINITY;                                              \
	}                                                                                                    \
                                                                                                             \
	/* A row that sees no key has the sum 0, and is 0. */                                                \
	static void end_##name(const struct attention *a, int64_t row, int64_t rows)                         \
	{                                                                                                    \
		for (int64_t r = 0; r < rows; r++) {                                                         \
			type by = a->total[r] == 0 ? 1 : (type)a->total[r];                                  \
			for (int64_t i = 0; i < a->v.n[1]; i++)                                              \
				((type *)a->o)[r * a->v.n[1] + i] /= by;                                     \
			if (a->logs)                                                                         \
				rt_store_f64(a->log.dtype,                                                   \
				             (char *)a->log.data + (row + r) * a->log.stride[0] *            \
				                                       (int64_t)dtype_bytes(a->log.dtype),   \
				             (double)((type *)a->best)[r] + log(a->total[r]));               \
		}                                                                                            \
	}

DEFINE_ROWS(float, f32, elementary_expf)
DEFINE_ROWS(double, f64, elementary_exp_f64)

/* Computes a block of rows. */
static enum status attend(const struct attention *a, int64_t row, int64_t rows)
{
	int64_t sees = a->k.n[0], width = a->v.n[1];
	struct rt_view o = rt_view_dense(a->o, a->wide, 2, (const int64_t[]){rows, width}),
	               out = rt_view_slice(a->out, 0, row, rows);
	bool wide = a->wide == DTYPE_F64;
	if (a->causal && a->first + row + rows < sees)
		sees = a->first + row + rows;
	(wide ? start_f64 : start_f32)(a, rows);
	memset(a->total, 0, sizeof *a->total * (size_t)rows);
	memset(a->o, 0, (size_t)(rows * width) * dtype_bytes(a->wide));
	for (int64_t key = 0; key < sees; key += KEYS) {
		int64_t keys = sees - key < KEYS ? sees - key : KEYS;
		struct rt_view s = rt_view_dense(a->s, a->wide, 2, (const int64_t[]){rows, keys}),
		               k = rt_view_slice(a->k, 0, key, keys);
		struct rt_task scores = {.kernel = RT_TASK_GEMM,
		                         .out = s,
		                         .in = {rt_view_slice(a->q, 0, row, rows), rt_view_swap(k, 0, 1)}};
		struct rt_task sums = {.kernel = RT_TASK_GEMM,
		                       .out = o,
		                       .in = {s, rt_view_slice(a->v, 0, key, keys)},
		                       .accumulate = true};
		enum status status = cpu_gemm(a->lane, &scores, a->why);
		if (status != STATUS_OK)
			return status;
		for (int64_t r = 0; r < rows; r++) {
			int64_t live = a->causal ? a->first + row + r + 1 - key : keys;
			(wide ? row_f64 : row_f32)(a, r, row + r, key, keys, live);
		}
		status = cpu_gemm(a->lane, &sums, a->why);
		if (status != STATUS_OK)
			return status;
	}
	(wide ? end_f64 : end_f32)(a, row, rows);
	return cpu_copy(&out, &o);
}

struct rt_view cpu_matrix_at(const struct rt_view *v, const int64_t *index)
{
	int batch = v->nd - 2;
	struct rt_view m = {.dtype = v->dtype,
	                    .nd = 2,
	                    .n = {v->n[batch], v->n[batch + 1]},
	                    .stride = {v->stride[batch], v->stride[batch + 1]}};
	m.data = v->data ? cpu_address(v, index) : NULL;
	return m;
}

enum status cpu_attention(struct cpu_lane *lane, const struct rt_task *t, char *why)
{
	int batch = t->out.nd - 2;
	int64_t index[RT_MAX_DIMS] = {0}, width = t->out.n[batch + 1];
	struct attention a = {.lane = lane,
	                      .wide = dtype_wide(t->in[0].dtype),
	                      .scale = t->scalar[RT_ATTENTION_SCALE].f,
	                      .causal = t->scalars >> RT_ATTENTION_FIRST & 1,
	                      .first = t->scalar[RT_ATTENTION_FIRST].i,
	                      .masked = !(t->scalars >> RT_ATTENTION_MASK & 1),
	                      .logs = !(t->scalars >> RT_ATTENTION_LOGS & 1),
	                      .why = why};
	assert(a.wide != DTYPE_I64 && batch >= 0);
	if (!rt_view_count(&t->out))
		return STATUS_OK;
	size_t bytes = dtype_bytes(a.wide), state = ROWS * (sizeof(double) + bytes) + KEYS * bytes;
	a.s = cpu_scratch(lane, SCORE_SCRATCH, ROWS * KEYS * bytes, why);
	a.total = cpu_scratch(lane, SUM_SCRATCH, state + (size_t)(ROWS * width) * bytes, why);
	if (!a.s || !a.total)
		return STATUS_DIAGNOSTICS;
	a.best = a.total + ROWS;
	a.line = (char *)a.best + ROWS * bytes;
	a.o = (char *)a.total + state;
	do {
		a.out = cpu_matrix_at(&t->out, index), a.q = cpu_matrix_at(&t->in[0], index);
		a.k = cpu_matrix_at(&t->in[1], index), a.v = cpu_matrix_at(&t->in[2], index);
		if (a.masked)
			a.mask = cpu_matrix_at(&t->in[RT_ATTENTION_MASK], index);
		if (a.logs)
			a.log = cpu_matrix_at(&t->in[RT_ATTENTION_LOGS], index);
		for (int64_t row = 0; row < a.out.n[0]; row += ROWS) {
			int64_t rows = a.out.n[0] - row < ROWS ? a.out.n[0] - row : ROWS;
			enum status status = attend(&a, row, rows);
			if (status != STATUS_OK)
				return status;
		}
	} while (cpu_next_index(&t->out, 3u << batch, index));
	return STATUS_OK;
}
