/* gemm_shape: a contraction as cuBLASLt computes it.
 *
 *     d[rows, cols] = function(op(a)[rows, inner] op(b)[inner, cols] + bias[rows])    or + d
 *
 * Matrices are column-major with a leading dimension, a batch of them a count and strides. A matrix that hirc
 * writes row by row is read as its transpose, so that nothing is copied:
 *
 *     out[b, m, n], rows of n dense      d is n x m, a is in[1], b is in[0]; a bias along n
 *     out[b, m, n], columns of m dense   d is m x n, a is in[0], b is in[1]; a bias along m
 *
 * Batch axes become one with m where in[1] has stride 0 there, with n where in[0] has, and with one another,
 * if all operands lie so; of those that are left the longest is the batch, the others are launches. */
#ifndef HIRC_CUDA_GEMM_SHAPE_H
#define HIRC_CUDA_GEMM_SHAPE_H
#include "rt/device.h"

enum cuda_gemm_operand { CUDA_GEMM_A, CUDA_GEMM_B, CUDA_GEMM_D, CUDA_GEMM_BIAS, CUDA_GEMM_OPERANDS };
enum { CUDA_GEMM_LAUNCHES = 32 /* that a task may take */ };

/* Functions of the sum before it is rounded: the bias is added, then the function computed. */
enum cuda_gemm_function { CUDA_GEMM_NO_FUNCTION, CUDA_GEMM_RELU, CUDA_GEMM_GELU };

/* The properties by which an algorithm is chosen. Compared as bytes: no padding. */
struct cuda_gemm_key {
	int64_t rows, cols, inner;
	int64_t lead[CUDA_GEMM_BIAS];             /* elements from column to column of a, b, d as they lie */
	int64_t batch;                            /* matrices, 1 or more */
	int64_t batch_stride[CUDA_GEMM_OPERANDS]; /* elements; 0: one for all */
	uint16_t aligned[CUDA_GEMM_OPERANDS];     /* a divisor of all addresses, at most 256 */
	uint8_t dtype[CUDA_GEMM_OPERANDS];        /* enum dtype */
	bool transposed[CUDA_GEMM_D];             /* op of a, b */
	bool accumulate;                          /* d is added to */
	bool bias;                                /* is added */
	uint8_t function;                         /* enum cuda_gemm_function */
	uint8_t tf32;                             /* f32 may be multiplied as tf32 */
	uint8_t unused[6];                        /* 0 */
};

struct cuda_gemm_shape {
	struct cuda_gemm_key key;
	int64_t launches; /* 1 to CUDA_GEMM_LAUNCHES */
	char *at[CUDA_GEMM_OPERANDS];
	int axes; /* that the launches go over */
	struct {
		int64_t n, stride[CUDA_GEMM_OPERANDS]; /* bytes */
	} axis[RT_MAX_DIMS];
};

/* False if cuBLASLt has no way for it: types, strides, a bias, empty sums, nothing to do. */
bool cuda_gemm_shape(const struct rt_task *t, struct cuda_gemm_shape *out);
/* The operands' addresses for a launch in [0, launches). */
void cuda_gemm_operands(const struct cuda_gemm_shape *s, int64_t launch, char *at[CUDA_GEMM_OPERANDS]);

#endif
