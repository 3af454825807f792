/* convert: converts and reduces elements of every dtype.
 *
 * Every rounding is to nearest, ties to even, and happens once: a value is
 * converted from its exact source to the target, never through a third type.
 *
 *   float -> float    overflow gives inf; f8e4m3 has no inf, it gives NaN
 *                     (bit patterns as torch.float8_e4m3fn / float8_e5m2)
 *   float -> integer  towards zero, clamped to the range; NaN gives 0
 *   integer -> integer  keeps the low bits (two's complement)
 *   any -> bool       x != 0 (NaN is true); a bool reads as 0 or 1 */
#ifndef HIRC_RT_CONVERT_H
#define HIRC_RT_CONVERT_H
#include "base/reduction.h"
#include <stddef.h>

/* Load and store one element. rt_load_f64 of i64 rounds to nearest; all other loads are exact. */
double rt_load_f64(enum dtype t, const void *at);
int64_t rt_load_i64(enum dtype t, const void *at); /* floats: towards zero, clamped */
void rt_store_f64(enum dtype t, void *at, double x);
void rt_store_i64(enum dtype t, void *at, int64_t x);

/* Converts n contiguous elements. dst and src may be the same memory only if both types have the same
 * size. */
void rt_convert(enum dtype dst_type, void *dst, enum dtype src_type, const void *src, size_t n);

/* Reduces `count` arrays of n elements of type t in the given order: out[i] = in[0][i] op in[1][i] op …
 * It computes in the wide type and rounds once. out may be one of in. count >= 1. */
void rt_reduce_arrays(enum reduce_op op, enum dtype t, void *out, const void *const *in, int count, size_t n);

/* Computes acc[i] = acc[i] op x[i]. AVG adds; the caller divides. */
void rt_combine_f64(enum reduce_op op, double *acc, const double *x, size_t n);
void rt_combine_f32(enum reduce_op op, float *acc, const float *x, size_t n);
void rt_combine_i64(enum reduce_op op, int64_t *acc, const int64_t *x, size_t n);

#endif
