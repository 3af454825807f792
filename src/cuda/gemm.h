/* gemm: contractions by cuBLASLt.
 *
 *     task ──gemm_shape──> key ──cublasLtMatmulAlgoGetHeuristic, once a key──> plan ──> cublasLtMatmul
 *
 * cuBLASLt is opened at the first contraction that it can be asked for. */
#ifndef HIRC_CUDA_GEMM_H
#define HIRC_CUDA_GEMM_H
#include "cuda/cuda.h"
#include "cuda/gemm_shape.h"

enum { CUDA_GEMM_WORKSPACE = 32 << 20 /* bytes of a stream, from the first product on that needs some */ };

enum status cuda_gemms_open(struct cuda *c);
void cuda_gemms_close(struct cuda *c); /* not opened is allowed */

/* A GEMM task, ready to be computed any number of times until cuda_gemms_close. */
struct cuda_gemm_call {
	struct cuda_gemm_plan *plan;
	struct cuda_gemm_shape shape;
	bool lacks_function; /* the task's function is left to be computed, of out where it lies */
};

/* *taken is false, with STATUS_OK, if cuBLASLt has no way for it: types, strides, a bias that it cannot
 * add; a kernel does that. STATUS_ABSENT with a message where there is no cuBLASLt. */
enum status cuda_gemm_make(struct cuda *c, const struct rt_task *t, struct cuda_gemm_call *out, bool *taken);
/* Allocates the memory for products of that stream, so that a later cuda_gemm_run only gives it work. */
enum status cuda_gemm_prepare(struct cuda *c, CUstream s, const struct cuda_gemm_call *call);
enum status cuda_gemm_run(struct cuda *c, CUstream s, const struct cuda_gemm_call *call);

#endif
