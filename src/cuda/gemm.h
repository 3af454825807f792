/* gemm: contractions by cuBLASLt. */
#ifndef HIRC_CUDA_GEMM_H
#define HIRC_CUDA_GEMM_H
#include "cuda/cuda.h"

enum status cuda_gemms_open(struct cuda *c);
void cuda_gemms_close(struct cuda *c); /* not opened is allowed */

/* Computes a GEMM task on a stream. *taken is false, with STATUS_OK and nothing done, for what cuBLASLt has
 * no way for: types, strides, a bias that it cannot add; a kernel does that. */
enum status cuda_gemm_launch(struct cuda *c, CUstream s, const struct rt_task *t, bool *taken);

#endif
