/* blas: declarations that the files of the mock libcublasLt.so.13 share. */
#ifndef HIRC_MOCK_BLAS_H
#define HIRC_MOCK_BLAS_H
#include "element.h"
#include "mock.h"
#include <cublasLt.h>

struct blas_layout {
	struct mock_object object;
	cudaDataType type;
	cublasLtOrder_t order;
	uint64_t rows, columns;
	int64_t leading;
	int32_t batch;
	int64_t stride; /* elements from one matrix of the batch to the next */
};

struct blas_operation {
	struct mock_object object;
	cublasComputeType_t compute;
	cudaDataType scale;
	int32_t transpose_a, transpose_b; /* cublasOperation_t */
	cublasLtEpilogue_t epilogue;
	const void *bias;
	int32_t bias_type; /* cudaDataType; -1: the default for the type of D */
	int64_t bias_stride;
	const void *scale_a, *scale_b, *scale_c, *scale_d; /* floats on the device; NULL: 1 */
	bool unknown; /* a property was set that the mock does not compute */
};

struct blas_preference {
	struct mock_object object;
	size_t workspace;
	uint32_t alignment[4]; /* of A, B, C, D */
};

struct blas_problem {
	const struct blas_operation *operation;
	const struct blas_layout *a, *b, *c, *d;
};

enum element blas_element(cudaDataType t);
/* Returns the type of a bias vector of this problem. */
cudaDataType blas_bias_type(const struct blas_problem *p);
/* Checks a problem. INVALID_VALUE: its extents do not fit. NOT_SUPPORTED: there is no algorithm for it.
 * alignment: as in preferences. */
cublasStatus_t blas_check(const struct blas_problem *p, const uint32_t *alignment);

/* Issues D = epilogue(alpha A B + beta C + bias) to the stream. Scalars and descriptors are read at the
 * call. us: added to its time. */
void blas_push(const struct blas_problem *p, const void *alpha, const void *a, const void *b,
               const void *beta, const void *c, void *d, unsigned us, CUstream s);

#endif
