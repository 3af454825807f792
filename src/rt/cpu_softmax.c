/* cpu_softmax: computes out = exp(x - max(x)) / sum(exp(x - max(x))) along an axis, for a few rows at a time.
 *
 * Each step is rounded as if it were a task of its own. Steps are in f32 (f64 for f64); the sum is in
 * f64, in order, and then rounded. The sums of several rows are computed side by side, since an addition
 * waits only for the one before it in its own row. */
#include "rt/clones.h"
#include "rt/cpu.h"
#include "rt/elementary_f64.h"
#include "rt/rows.h"
#include <assert.h>

enum { ROWS = 8 };

struct softmax {
	const struct rt_task *t;
	int axis;
	int64_t length;
};

struct row {
	char *in, *out;
	void *x; /* memory for its elements, f32 or f64 */
};

#define DEFINE_ROWS(type, name, exp_of)                                                                      \
	/* NaN aside: it goes through exp and the sum to all results. */                                     \
	RT_CLONES static type max_##name(const type *x, int64_t n)                                           \
	{                                                                                                    \
		type lane[64], best = -(type)INFINITY;                                                       \
		int64_t i = 0;                                                                               \
		for (int k = 0; k < 64; k++)                                                                 \
			lane[k] = best;                                                                      \
		for (; i + 64 <= n; i += 64)                                                                 \
			for (int k = 0; k < 64; k++)                                                         \
				lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];                           \
		for (int k = 0; k < 64; k++)                                                                 \
			best = lane[k] > best ? lane[k] : best;                                              \
		for (; i < n; i++)                                                                           \
			best = x[i] > best ? x[i] : best;                                                    \
		return best;                                                                                 \
	}                                                                                                    \
                                                                                                             \
	RT_CLONES static void exp_##name(type *x, type less, int64_t n)                                      \
	{                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                              \
			x[i] = exp_of(x[i] - less);                                                          \
	}                                                                                                    \
                                                                                                             \
	RT_CLONES static void divide_##name(type *x, type by, int64_t n)                                     \
	{                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                              \
			x[i] /= by;                                                                          \
	}                                                                                                    \
                                                                                                             \
	/* Adds up the n elements of each row. */                                                            \
	RT_CLONES static void sum_##name(const struct row *row, int rows, int64_t n, double *sum)            \
	{                                                                                                    \
		const type *x[ROWS];                                                                         \
		double s[ROWS] = {0};                                                                        \
		for (int r = 0; r < ROWS; r++)                                                               \
			x[r] = row[r < rows ? r : 0].x;                                                      \
		for (int64_t i = 0; i < n; i++)                                                              \
			for (int r = 0; r < ROWS; r++)                                                       \
				s[r] += (double)x[r][i];                                                     \
		for (int r = 0; r < rows; r++)                                                               \
			sum[r] = s[r];                                                                       \
	}                                                                                                    \
                                                                                                             \
	static void rows_##name(const struct softmax *s, const struct row *row, int rows)                    \
	{                                                                                                    \
		const struct rt_view *in = &s->t->in[0], *out = &s->t->out;                                  \
		double sum[ROWS];                                                                            \
		for (int r = 0; r < rows; r++) {                                                             \
			type *x = row[r].x;                                                                  \
			rt_row_load_##name(in->dtype, row[r].in, in->stride[s->axis], x, (size_t)s->length); \
			exp_##name(x, max_##name(x, s->length), s->length);                                  \
		}                                                                                            \
		sum_##name(row, rows, s->length, sum);                                                       \
		for (int r = 0; r < rows; r++) {                                                             \
			divide_##name(row[r].x, (type)sum[r], s->length);                                    \
			rt_row_store_##name(out->dtype, row[r].out, out->stride[s->axis], row[r].x,          \
			                    (size_t)s->length);                                              \
		}                                                                                            \
	}

DEFINE_ROWS(float, f32, elementary_expf)
DEFINE_ROWS(double, f64, elementary_exp_f64)

/* Moves to the next row. Returns false at the end. */
static bool next_row(const struct softmax *s, int64_t *index)
{
	for (int d = s->t->out.nd; d-- > 0;) {
		if (d == s->axis)
			continue;
		if (++index[d] < s->t->out.n[d])
			return true;
		index[d] = 0;
	}
	return false;
}

static char *address(const struct rt_view *v, const int64_t *index)
{
	int64_t at = 0;
	for (int d = 0; d < v->nd; d++)
		at += index[d] * v->stride[d];
	return (char *)v->data + at * (int64_t)dtype_bytes(v->dtype);
}

enum status cpu_softmax(struct cpu_lane *lane, const struct rt_task *t, char *why)
{
	struct softmax s = {.t = t, .axis = (int)t->axes};
	int64_t index[RT_MAX_DIMS] = {0};
	struct row row[ROWS];
	enum dtype wide = dtype_wide(t->in[0].dtype);
	assert(wide != DTYPE_I64 && s.axis < t->out.nd);
	s.length = t->out.n[s.axis];
	if (!rt_view_count(&t->out))
		return STATUS_OK;
	size_t line = ((size_t)s.length * dtype_bytes(wide) + 63) & ~(size_t)63;
	char *room = cpu_scratch(lane, 0, line * ROWS, why);
	if (!room)
		return STATUS_DIAGNOSTICS;
	for (bool more = true; more;) {
		int rows = 0;
		for (; rows < ROWS && more; rows++) {
			row[rows] = (struct row){.in = address(&t->in[0], index),
			                         .out = address(&t->out, index),
			                         .x = room + (size_t)rows * line};
			more = next_row(&s, index);
		}
		if (wide == DTYPE_F64)
			rows_f64(&s, row, rows);
		else
			rows_f32(&s, row, rows);
	}
	return STATUS_OK;
}
