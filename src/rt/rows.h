/* rows: copies strided runs of elements to and from arrays of the three wide types.
 *
 * This is the inner loop of every kernel: load operands into small arrays, compute, store with one
 * rounding. stride is in elements; 0 repeats one element. Conversions are those of dtype.h. */
#ifndef HIRC_RT_ROWS_H
#define HIRC_RT_ROWS_H
#include "rt/convert.h"

enum { RT_ROW = 256 }; /* number of elements that kernels process at once */

void rt_row_load_f64(enum dtype t, const void *at, int64_t stride, double *out, size_t n);
void rt_row_load_f32(enum dtype t, const void *at, int64_t stride, float *out, size_t n);
void rt_row_load_i64(enum dtype t, const void *at, int64_t stride, int64_t *out, size_t n);
void rt_row_store_f64(enum dtype t, void *at, int64_t stride, const double *in, size_t n);
void rt_row_store_f32(enum dtype t, void *at, int64_t stride, const float *in, size_t n);
void rt_row_store_i64(enum dtype t, void *at, int64_t stride, const int64_t *in, size_t n);

/* dst[i * dst_stride] = src[i * src_stride]: copies elements of `size` bytes (1, 2, 4 or 8) without a
 * change. */
void rt_row_copy(size_t size, void *dst, int64_t dst_stride, const void *src, int64_t src_stride, size_t n);

#endif
