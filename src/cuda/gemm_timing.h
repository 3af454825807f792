/* gemm_timing: finds the fastest of the algorithms that cuBLASLt's heuristic answers with.
 *
 *     answers of a shape ──each run once, then REPEATS times between two events──> the least time ──> the cache
 *
 * The heuristic orders its answers by an estimate. A choice is kept on disk (cuda_cache.h) as the number of the answer,
 * under GPU, version of cuBLASLt and key of the shape, so that later processes time nothing. */
#ifndef HIRC_CUDA_GEMM_TIMING_H
#define HIRC_CUDA_GEMM_TIMING_H
#include "cuda/cuda.h"
#include "cuda/gemm_shape.h"

/* Computes a product by an answer, on a stream; its result is thrown away. Returns false after a message. */
typedef bool cuda_gemm_trial(struct cuda *c, void *data, int answer, CUstream s);

/* Finds the number of the fastest of `answers` answers. Returns false after a message. */
bool cuda_gemm_fastest(struct cuda *c, const struct cuda_gemm_key *key, int answers, cuda_gemm_trial *run,
                       void *data, int *out);

#endif
