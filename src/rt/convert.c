/* convert: see convert.h. */
#include "rt/convert.h"
#include "rt/clones.h"
#include "rt/convert_bits.h"
#include "rt/rows.h"
#include <math.h>

double rt_load_f64(enum dtype t, const void *at)
{
	double x = 0;
	rt_row_load_f64(t, at, 1, &x, 1);
	return x;
}

int64_t rt_load_i64(enum dtype t, const void *at)
{
	int64_t x = 0;
	rt_row_load_i64(t, at, 1, &x, 1);
	return x;
}

void rt_store_f64(enum dtype t, void *at, double x)
{
	rt_row_store_f64(t, at, 1, &x, 1);
}

void rt_store_i64(enum dtype t, void *at, int64_t x)
{
	rt_row_store_i64(t, at, 1, &x, 1);
}

void rt_convert(enum dtype dst_type, void *dst, enum dtype src_type, const void *src, size_t n)
{
	size_t dst_size = dtype_bytes(dst_type), src_size = dtype_bytes(src_type);
	if (n == 0)
		return;
	if (dst_type == src_type) {
		memmove(dst, src, n * dst_size);
		return;
	}
	for (size_t i = 0; i < n; i += RT_ROW) {
		size_t m = n - i < RT_ROW ? n - i : RT_ROW;
		const void *from = (const char *)src + i * src_size;
		void *to = (char *)dst + i * dst_size;
		union {
			double f64[RT_ROW];
			float f32[RT_ROW];
			int64_t i64[RT_ROW];
		} row;
		switch (dtype_wide(src_type)) {
		case DTYPE_F64:
			rt_row_load_f64(src_type, from, 1, row.f64, m);
			rt_row_store_f64(dst_type, to, 1, row.f64, m);
			break;
		case DTYPE_F32:
			rt_row_load_f32(src_type, from, 1, row.f32, m);
			rt_row_store_f32(dst_type, to, 1, row.f32, m);
			break;
		default:
			rt_row_load_i64(src_type, from, 1, row.i64, m);
			rt_row_store_i64(dst_type, to, 1, row.i64, m);
			break;
		}
	}
}

#define COMBINE(type, sum, prod)                                                                             \
	switch (op) {                                                                                        \
	case REDUCE_SUM:                                                                                     \
	case REDUCE_AVG:                                                                                     \
		for (size_t i = 0; i < n; i++)                                                               \
			acc[i] = (type)(sum);                                                                \
		break;                                                                                       \
	case REDUCE_PROD:                                                                                    \
		for (size_t i = 0; i < n; i++)                                                               \
			acc[i] = (type)(prod);                                                               \
		break;                                                                                       \
	case REDUCE_MIN:                                                                                     \
		for (size_t i = 0; i < n; i++)                                                               \
			acc[i] = acc[i] < x[i] || acc[i] != acc[i] ? acc[i] : x[i];                          \
		break;                                                                                       \
	case REDUCE_MAX:                                                                                     \
		for (size_t i = 0; i < n; i++)                                                               \
			acc[i] = acc[i] > x[i] || acc[i] != acc[i] ? acc[i] : x[i];                          \
		break;                                                                                       \
	case REDUCE_COUNT:                                                                                   \
		break;                                                                                       \
	}

RT_CLONES void rt_combine_f64(enum reduce_op op, double *acc, const double *x,
                              size_t n){COMBINE(double, acc[i] + x[i], acc[i] * x[i])}

RT_CLONES void rt_combine_f32(enum reduce_op op, float *acc, const float *x,
                              size_t n){COMBINE(float, acc[i] + x[i], acc[i] * x[i])}

RT_CLONES void rt_combine_i64(enum reduce_op op, int64_t *acc, const int64_t *x, size_t n)
{
	COMBINE(int64_t, (uint64_t)acc[i] + (uint64_t)x[i], (uint64_t)acc[i] * (uint64_t)x[i])
}
