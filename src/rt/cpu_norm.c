/* cpu_norm: computes layer norms and root-mean-square norms along an axis, a row at a time.
 *
 *     layer: d = x - mean(x), rms: d = x        out = d / sqrt(mean(d * d) + eps) * factor + addend
 *
 * A row is read into memory that stays in the cache, in f32 (f64 for f64), and written once. Sums are in f64:
 * LANES of them side by side, added up in a fixed order, so that all processors give the same bits. */
#include "rt/clones.h"
#include "rt/cpu.h"
#include "rt/rows.h"
#include "rt/vectors.h"
#include <assert.h>
#include <math.h>

enum { LANES = 16 };

struct norm {
	const struct rt_task *t;
	int axis;
	int64_t length;
	bool has[3];         /* operands that are no numbers */
	const void *kept[3]; /* address of the factors and addends in `operand`; NULL: none yet */
	void *row, *operand[3];
};

#define DEFINE_ROWS(type, name)                                                                              \
	RT_CLONES static double squares_##name(const type *x, int64_t n)                                     \
	{                                                                                                    \
		double lane[LANES] = {0}, sum = 0;                                                           \
		int64_t i = 0;                                                                               \
		for (; i + LANES <= n; i += LANES)                                                           \
			for (int k = 0; k < LANES; k++)                                                      \
				lane[k] += (double)x[i + k] * (double)x[i + k];                              \
		for (; i < n; i++)                                                                           \
			lane[i % LANES] += (double)x[i] * (double)x[i];                                      \
		for (int k = 0; k < LANES; k++)                                                              \
			sum += lane[k];                                                                      \
		return sum;                                                                                  \
	}                                                                                                    \
                                                                                                             \
	RT_CLONES static void subtract_##name(type *x, type by, int64_t n)                                   \
	{                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                              \
			x[i] -= by;                                                                          \
	}                                                                                                    \
                                                                                                             \
	RT_CLONES static void multiply_##name(type *x, const type *by, int64_t n)                            \
	{                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                              \
			x[i] *= by[i];                                                                       \
	}                                                                                                    \
                                                                                                             \
	/* Returns the factors or addends of a row. They are mostly those of the row before. */              \
	static const type *operand_##name(struct norm *s, int k, const void *at)                             \
	{                                                                                                    \
		const struct rt_view *v = &s->t->in[k];                                                      \
		if (s->kept[k] != at)                                                                        \
			rt_row_load_##name(v->dtype, at, v->stride[s->axis], s->operand[k],                  \
			                   (size_t)s->length);                                               \
		s->kept[k] = at;                                                                             \
		return s->operand[k];                                                                        \
	}                                                                                                    \
                                                                                                             \
	static void row_##name(struct norm *s, const char *const *in, char *out)                             \
	{                                                                                                    \
		const struct rt_task *t = s->t;                                                              \
		type *x = s->row;                                                                            \
		int64_t n = s->length;                                                                       \
		rt_row_load_##name(t->in[0].dtype, in[0], t->in[0].stride[s->axis], x, (size_t)n);           \
		if (t->norm == RT_NORM_LAYER)                                                                \
			subtract_##name(x, (type)(vector_sum_##name(x, n) / (double)n), n);                  \
		double variance = squares_##name(x, n) / (double)n;                                          \
		vector_scale_##name(x, (type)(1 / sqrt(variance + t->scalar[0].f)), n);                      \
		if (s->has[1])                                                                               \
			multiply_##name(x, operand_##name(s, 1, in[1]), n);                                  \
		if (s->has[2])                                                                               \
			vector_add_##name(x, operand_##name(s, 2, in[2]), n);                                \
		rt_row_store_##name(t->out.dtype, out, t->out.stride[s->axis], x, (size_t)n);                \
	}

DEFINE_ROWS(float, f32)
DEFINE_ROWS(double, f64)

enum status cpu_norm(struct cpu_lane *lane, const struct rt_task *t, char *why)
{
	struct norm s = {.t = t, .axis = (int)t->axes};
	int64_t index[RT_MAX_DIMS] = {0};
	enum dtype wide = dtype_wide(t->in[0].dtype);
	assert(wide != DTYPE_I64 && s.axis < t->out.nd);
	s.length = t->out.n[s.axis];
	if (!rt_view_count(&t->out))
		return STATUS_OK;
	size_t line = ((size_t)s.length * dtype_bytes(wide) + 63) & ~(size_t)63;
	char *room = cpu_scratch(lane, 0, line * 3, why);
	if (!room)
		return STATUS_DIAGNOSTICS;
	s.row = room;
	for (int k = 1; k < 3; k++)
		s.has[k] = !(t->scalars >> k & 1), s.operand[k] = room + (size_t)k * line;
	do {
		const char *in[3] = {cpu_address(&t->in[0], index)};
		for (int k = 1; k < 3; k++)
			in[k] = s.has[k] ? cpu_address(&t->in[k], index) : NULL;
		if (wide == DTYPE_F64)
			row_f64(&s, in, cpu_address(&t->out, index));
		else
			row_f32(&s, in, cpu_address(&t->out, index));
	} while (cpu_next_index(&t->out, 1u << s.axis, index));
	return STATUS_OK;
}
