/* gemm: contractions by cuBLASLt.
 *
 *     task ──gemm_shape──> key ──cublasLtMatmulAlgoGetHeuristic, once for each key──> plan ──> cublasLtMatmul
 *
 * cuBLASLt is opened at the first contraction that it may be able to compute. */
#ifndef HIRC_CUDA_GEMM_H
#define HIRC_CUDA_GEMM_H
#include "cuda/cuda.h"
#include "cuda/gemm_shape.h"

enum { CUDA_GEMM_WORKSPACE = 32 << 20 /* bytes for each stream with products that need them */ };

enum status cuda_gemms_open(struct cuda *c);
void cuda_gemms_close(struct cuda *c); /* may be called if nothing was opened */

/* A GEMM task, prepared. It can be computed any number of times until cuda_gemms_close. */
struct cuda_gemm_call {
	struct cuda_gemm_plan *plan;
	struct cuda_gemm_shape shape;
	bool lacks_function; /* the task's function is not included: it must be applied to `out` afterwards */
};

/* Prepares a GEMM task. *taken is false, with STATUS_OK, if cuBLASLt cannot compute it because of types,
 * strides or bias; then a kernel does. STATUS_ABSENT with a message if there is no cuBLASLt. */
enum status cuda_gemm_make(struct cuda *c, const struct rt_task *t, struct cuda_gemm_call *out, bool *taken);
/* Allocates the memory for products on a stream, so that a later cuda_gemm_run only issues them. */
enum status cuda_gemm_prepare(struct cuda *c, CUstream s, const struct cuda_gemm_call *call);
enum status cuda_gemm_run(struct cuda *c, CUstream s, const struct cuda_gemm_call *call);

#endif
