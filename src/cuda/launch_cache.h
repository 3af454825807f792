/* launch_cache: the prepared launches of a rank's fixed tasks, by the addresses of their records, so that
 * they are launched again without being prepared again.
 *
 *     record of a task ──first launch──> made ──each launch──> cuLaunchKernel, cublasLtMatmul
 *
 * Records last as long as an engine, which frees its streams when it ends: then all is forgotten. */
#ifndef HIRC_CUDA_LASTING_H
#define HIRC_CUDA_LASTING_H
#include "cuda/gemm.h"
#include "cuda/kernel.h"

/* A launch or a product is there; all are owned. */
struct cuda_made {
	const struct rt_task *task; /* the record */
	struct cuda_launch *launch; /* its arguments end with `bytes` */
	struct cuda_gemm_call *product;
	struct cuda_launch *function; /* after a product, or the launch of one; NULL: there is none */
};

struct cuda_launch_cache *cuda_launch_cache_new(void);
void cuda_launch_cache_free(struct cuda_launch_cache *l); /* NULL is allowed */

/* NULL: it was not kept. */
const struct cuda_made *cuda_launch_cache_find(const struct cuda_launch_cache *l, const struct rt_task *t);
/* Keeps copies of the prepared launch of a fixed task, which is not there yet. */
void cuda_launch_cache_keep(struct cuda_launch_cache *l, const struct cuda_made *made);
void cuda_launch_cache_forget(struct cuda_launch_cache *l);

#endif
