/* vectors: arithmetic on n elements that lie side by side, in f32 and in f64.
 *
 * Sums are in f64: 16 of them side by side, added up in a fixed order, so that all processors give the same
 * bits. */
#ifndef HIRC_RT_VECTORS_H
#define HIRC_RT_VECTORS_H
#include <stdint.h>

void vector_scale_f32(float *x, float by, int64_t n);
void vector_scale_f64(double *x, double by, int64_t n);
void vector_add_f32(float *x, const float *more, int64_t n);
void vector_add_f64(double *x, const double *more, int64_t n);
double vector_sum_f32(const float *x, int64_t n);
double vector_sum_f64(const double *x, int64_t n);
/* Returns the largest of x and `best`, NaN aside. */
float vector_max_f32(const float *x, float best, int64_t n);
double vector_max_f64(const double *x, double best, int64_t n);
/* x = exp(x - less) */
void vector_exp_f32(float *x, float less, int64_t n);
void vector_exp_f64(double *x, double less, int64_t n);

#endif
