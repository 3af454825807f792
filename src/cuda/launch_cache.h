/* launch_cache: keeps the prepared launches of a rank's fixed tasks, so that they can be launched again
 * without new preparation. The address of a task's record is the key.
 *
 *     record of a task ──first launch──> made ──each launch──> cuLaunchKernel, cublasLtMatmul
 *
 * Records last as long as an engine. When it ends, it frees its streams, and the cache is emptied. */
#ifndef HIRC_CUDA_LASTING_H
#define HIRC_CUDA_LASTING_H
#include "cuda/gemm.h"
#include "cuda/kernel.h"

/* Either a launch or a product is set; all pointers are owned. */
struct cuda_made {
	const struct rt_task *task; /* the record */
	struct cuda_launch *launch; /* its arguments end with `bytes` */
	struct cuda_gemm_call *product;
	struct cuda_launch *function; /* runs after the product or the launch; NULL: none */
};

struct cuda_launch_cache *cuda_launch_cache_new(void);
void cuda_launch_cache_free(struct cuda_launch_cache *l); /* NULL is allowed */

/* Returns the prepared launch of a task; NULL: it was not kept. */
const struct cuda_made *cuda_launch_cache_find(const struct cuda_launch_cache *l, const struct rt_task *t);
/* Keeps copies of the prepared launch of a fixed task that is not in the cache. */
void cuda_launch_cache_keep(struct cuda_launch_cache *l, const struct cuda_made *made);
void cuda_launch_cache_forget(struct cuda_launch_cache *l);

#endif
