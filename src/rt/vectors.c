/* vectors: arithmetic on elements that lie side by side; each function for f32 and f64, and for several processors. */
#include "rt/vectors.h"
#include "rt/clones.h"
#include "rt/elementary.h"
#include "rt/elementary_f64.h"

enum { SUMS = 16, LARGEST = 64 }; /* elements side by side */

#define DEFINE_VECTORS(type, name, exp_of)                                                                   \
	RT_CLONES void vector_scale_##name(type *x, type by, int64_t n)                                      \
	{                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                              \
			x[i] *= by;                                                                          \
	}                                                                                                    \
                                                                                                             \
	RT_CLONES void vector_add_##name(type *x, const type *more, int64_t n)                               \
	{                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                              \
			x[i] += more[i];                                                                     \
	}                                                                                                    \
                                                                                                             \
	RT_CLONES double vector_sum_##name(const type *x, int64_t n)                                         \
	{                                                                                                    \
		double lane[SUMS] = {0}, sum = 0;                                                            \
		int64_t i = 0;                                                                               \
		for (; i + SUMS <= n; i += SUMS)                                                             \
			for (int k = 0; k < SUMS; k++)                                                       \
				lane[k] += (double)x[i + k];                                                 \
		for (; i < n; i++)                                                                           \
			lane[i % SUMS] += (double)x[i];                                                      \
		for (int k = 0; k < SUMS; k++)                                                               \
			sum += lane[k];                                                                      \
		return sum;                                                                                  \
	}                                                                                                    \
                                                                                                             \
	RT_CLONES type vector_max_##name(const type *x, type best, int64_t n)                                \
	{                                                                                                    \
		type lane[LARGEST];                                                                          \
		int64_t i = 0;                                                                               \
		for (int k = 0; k < LARGEST; k++)                                                            \
			lane[k] = best;                                                                      \
		for (; i + LARGEST <= n; i += LARGEST)                                                       \
			for (int k = 0; k < LARGEST; k++)                                                    \
				lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];                           \
		for (int k = 0; k < LARGEST; k++)                                                            \
			best = lane[k] > best ? lane[k] : best;                                              \
		for (; i < n; i++)                                                                           \
			best = x[i] > best ? x[i] : best;                                                    \
		return best;                                                                                 \
	}                                                                                                    \
                                                                                                             \
	RT_CLONES void vector_exp_##name(type *x, type less, int64_t n)                                      \
	{                                                                                                    \
		for (int64_t i = 0; i < n; i++)                                                              \
			x[i] = exp_of(x[i] - less);                                                          \
	}

DEFINE_VECTORS(float, f32, elementary_expf)
DEFINE_VECTORS(double, f64, elementary_exp_f64)
