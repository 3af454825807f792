/* gemm_shape: brings a contraction into the form that cuBLASLt computes.
 *
 *     d[rows, cols] = function(scales op(a)[rows, inner] op(b)[inner, cols] + bias[rows])    or + d, or + c, or + bias + c
 *
 * Matrices are column-major with a leading dimension, a batch of them a count and strides. A matrix that hirc
 * writes row by row is read as its transpose, so that nothing is copied:
 *
 *     out[b, m, n], rows of n dense      d is n x m, a is in[1], b is in[0]; a bias along n
 *     out[b, m, n], columns of m dense   d is m x n, a is in[0], b is in[1]; a bias along m
 *
 * Scales are numbers in the GPU's memory, which cuBLASLt takes for operands of f8 alone: one for a, one for b, one for d.
 * It clamps a result of f8 to the finite range.
 *
 * A bias that is a whole matrix is c, which lies as d does. A task with a row and a matrix has both.
 *
 * If the strides of all operands allow it, a batch axis is joined with m where in[1] has stride 0 along it,
 * with n where in[0] has, or with another batch axis. The longest remaining axis is cuBLASLt's batch; each
 * index of the others is a launch. */
#ifndef HIRC_CUDA_GEMM_SHAPE_H
#define HIRC_CUDA_GEMM_SHAPE_H
#include "rt/device.h"

enum cuda_gemm_operand {
	CUDA_GEMM_A,
	CUDA_GEMM_B,
	CUDA_GEMM_D,
	CUDA_GEMM_BIAS,
	CUDA_GEMM_C,
	CUDA_GEMM_OPERANDS
};
enum { CUDA_GEMM_LAUNCHES = 32 /* most launches of a task */ };

/* Functions of the sum before it is rounded. Bias and c are added before the function. */
enum cuda_gemm_function { CUDA_GEMM_NO_FUNCTION, CUDA_GEMM_RELU, CUDA_GEMM_GELU };

/* The properties that decide the algorithm. Compared as bytes, so it has no padding. */
struct cuda_gemm_key {
	int64_t rows, cols, inner;
	int64_t lead[CUDA_GEMM_BIAS];             /* elements from one column to the next of a, b, d in
	                                             memory */
	int64_t batch;                            /* number of matrices, at least 1 */
	int64_t batch_stride[CUDA_GEMM_OPERANDS]; /* elements; 0: all products share one matrix */
	uint16_t aligned[CUDA_GEMM_OPERANDS];     /* a divisor of all addresses, at most 256 */
	uint8_t dtype[CUDA_GEMM_OPERANDS];        /* enum dtype */
	bool transposed[CUDA_GEMM_D];             /* op of a, b */
	bool accumulate;                          /* the product is added to d */
	bool bias;                                /* a bias is added */
	bool addend;                              /* c is added, which lies as d */
	uint8_t function;                         /* enum cuda_gemm_function */
	uint8_t tf32;                             /* f32 may be rounded to tf32 */
	uint8_t scales;                           /* numbers that the product is scaled by */
	uint8_t unused[1];                        /* 0 */
};

struct cuda_gemm_shape {
	struct cuda_gemm_key key;
	int64_t launches; /* 1 to CUDA_GEMM_LAUNCHES */
	char *at[CUDA_GEMM_OPERANDS];
	const void *scale[RT_GEMM_SCALES]; /* addresses of one f32 each; NULL: none */
	int axes;                          /* number of axes that launches go over */
	struct {
		int64_t n, stride[CUDA_GEMM_OPERANDS]; /* bytes */
	} axis[RT_MAX_DIMS];
};

/* Returns false if cuBLASLt cannot compute it because of types, strides or bias, or if a sum is empty or
 * there is nothing to do. */
bool cuda_gemm_shape(const struct rt_task *t, struct cuda_gemm_shape *out);
/* Computes the operands' addresses for a launch in [0, launches). */
void cuda_gemm_operands(const struct cuda_gemm_shape *s, int64_t launch, char *at[CUDA_GEMM_OPERANDS]);

#endif
