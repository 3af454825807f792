/* reduce_arrays: reduces several arrays element by element to one, reading each once.
 *
 * Sums of types that are as wide as their accumulators are loops over up to four arrays at a time. For
 * more arrays, the sum so far is in a block that fits in the nearest cache. All other reductions work on
 * rows in the wide type. In both cases terms are combined in the given order. */
#include "rt/clones.h"
#include "rt/convert.h"
#include "rt/rows.h"
#include <assert.h>
#include <string.h>

enum {
	BLOCK_BYTES = 8 << 10, /* block for sums of more arrays than: */
	AT_ONCE = 4,
};

/* out is one of the arrays or overlaps none: each element is read before it is written */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH_ALONE _Pragma("GCC ivdep")
#else
#define EACH_ALONE
#endif

#define SUM(name, type)                                                                                      \
	RT_CLONES static void sum_##name(void *out, const void *const *in, int terms, size_t n)              \
	{                                                                                                    \
		type *o = out;                                                                               \
		const type *a = in[0], *b = in[1], *c = in[terms > 2 ? 2 : 0], *d = in[terms > 3 ? 3 : 0];   \
		if (terms == 2) {                                                                            \
			EACH_ALONE for (size_t i = 0; i < n; i++) o[i] = a[i] + b[i];                        \
		} else if (terms == 3) {                                                                     \
			EACH_ALONE for (size_t i = 0; i < n; i++) o[i] = a[i] + b[i] + c[i];                 \
		} else {                                                                                     \
			EACH_ALONE for (size_t i = 0; i < n; i++) o[i] = a[i] + b[i] + c[i] + d[i];          \
		}                                                                                            \
	}

SUM(f32, float)
SUM(f64, double)
SUM(32, uint32_t) /* integers wrap, whatever their sign is */
SUM(64, uint64_t)

typedef void sum_function(void *out, const void *const *in, int terms, size_t n);

static void sum_blocks(sum_function *f, size_t size, char *out, const void *const *in, int count, size_t n)
{
	_Alignas(64) char block[BLOCK_BYTES];
	if (count <= AT_ONCE) {
		f(out, in, count, n);
		return;
	}
	for (size_t at = 0, m; at < n; at += m) {
		m = n - at < BLOCK_BYTES / size ? n - at : BLOCK_BYTES / size;
		const void *next[AT_ONCE];
		for (int k = 0, taken = 0; k < count; k += taken) {
			int terms = k > 0;
			next[0] = block;
			for (taken = 0; terms < AT_ONCE && k + taken < count; taken++)
				next[terms++] = (const char *)in[k + taken] + at * size;
			f(k + taken == count ? out + at * size : block, next, terms, m);
		}
	}
}

/* Reduces one block in a wide type. */
#define REDUCE_BLOCK(type, name)                                                                             \
	do {                                                                                                 \
		type acc[RT_ROW], x[RT_ROW];                                                                 \
		rt_row_load_##name(t, (const char *)in[0] + at, 1, acc, m);                                  \
		for (int k = 1; k < count; k++) {                                                            \
			rt_row_load_##name(t, (const char *)in[k] + at, 1, x, m);                            \
			rt_combine_##name(op, acc, x, m);                                                    \
		}                                                                                            \
		if (op == REDUCE_AVG && t != DTYPE_BOOL)                                                     \
			for (size_t j = 0; j < m; j++)                                                       \
				acc[j] /= (type)count;                                                       \
		rt_row_store_##name(t, (char *)out + at, 1, acc, m);                                         \
	} while (0)

static void reduce_rows(enum reduce_op op, enum dtype t, void *out, const void *const *in, int count,
                        size_t n)
{
	for (size_t i = 0; i < n; i += RT_ROW) {
		size_t m = n - i < RT_ROW ? n - i : RT_ROW, at = i * dtype_bytes(t);
		switch (dtype_wide(t)) {
		case DTYPE_F64:
			REDUCE_BLOCK(double, f64);
			break;
		case DTYPE_F32:
			REDUCE_BLOCK(float, f32);
			break;
		default:
			REDUCE_BLOCK(int64_t, i64);
			break;
		}
	}
}

void rt_reduce_arrays(enum reduce_op op, enum dtype t, void *out, const void *const *in, int count, size_t n)
{
	sum_function *f = t == DTYPE_F32   ? sum_f32
	                  : t == DTYPE_F64 ? sum_f64
	                  : t == DTYPE_I32 ? sum_32
	                  : t == DTYPE_I64 ? sum_64
	                                   : NULL;
	assert(count >= 1);
	if (count == 1 && f && op != REDUCE_AVG)
		memmove(out, in[0], n * dtype_bytes(t));
	else if (f && op == REDUCE_SUM)
		sum_blocks(f, dtype_bytes(t), out, in, count, n);
	else
		reduce_rows(op, t, out, in, count, n);
}
