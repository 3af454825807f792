/* cpu_softmax: computes out = exp(x - max(x)) / sum(exp(x - max(x))) along an axis, for a few rows at a time.
 *
 * Each step is rounded as if it were a task of its own. Steps are in f32 (f64 for f64); the sum is in
 * f64, in order, and then rounded. The sums of several rows are computed side by side, since an addition
 * waits only for the one before it in its own row. */
#include "rt/clones.h"
#include "rt/cpu.h"
#include "rt/rows.h"
#include "rt/vectors.h"
#include <assert.h>
#include <math.h>

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

#define DEFINE_ROWS(type, name)                                                                              \
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
			vector_exp_##name(x, vector_max_##name(x, -(type)INFINITY, s->length), s->length);   \
		}                                                                                            \
		sum_##name(row, rows, s->length, sum);                                                       \
		for (int r = 0; r < rows; r++) {                                                             \
			divide_##name(row[r].x, (type)sum[r], s->length);                                    \
			rt_row_store_##name(out->dtype, row[r].out, out->stride[s->axis], row[r].x,          \
			                    (size_t)s->length);                                              \
		}                                                                                            \
	}

DEFINE_ROWS(float, f32)
DEFINE_ROWS(double, f64)

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
			row[rows] = (struct row){.in = cpu_address(&t->in[0], index),
			                         .out = cpu_address(&t->out, index),
			                         .x = room + (size_t)rows * line};
			more = cpu_next_index(&t->out, 1u << s.axis, index);
		}
		if (wide == DTYPE_F64)
			rows_f64(&s, row, rows);
		else
			rows_f32(&s, row, rows);
	}
	return STATUS_OK;
}
