/* kernel: writes a kernel for each task, and launches it.
 *
 * First the axes of a task's views are simplified: axes of extent 1 are removed, and axes that follow each
 * other in memory in all views are joined. Then kernel, operations, element types, number of axes, and which
 * views are dense decide the source text. All other values are arguments. A source is compiled once for each
 * process and architecture, and kept on disk:
 *
 *     task ──shape──> source ──hash──> …/hirc/kernels/<hash>.cubin ──> module ──> launch with arguments */
#ifndef HIRC_CUDA_KERNEL_H
#define HIRC_CUDA_KERNEL_H
#include "cuda/cuda.h"

enum { CUDA_ARGUMENT_BYTES = 4096 /* most that a kernel may have */ };

/* A task, prepared. It can be launched any number of times. */
struct cuda_launch {
	CUfunction function;
	unsigned grid, block; /* numbers of blocks and threads, one-dimensional */
	unsigned shared;      /* bytes of shared memory of a block */
	bool scratch;         /* it uses the scratch memory of its stream */
	size_t bytes;         /* size of the arguments, which are one structure */
	_Alignas(16) char argument[CUDA_ARGUMENT_BYTES];
};

enum status cuda_kernels_open(struct cuda *c);
void cuda_kernels_close(struct cuda *c); /* may be called if nothing was opened */

/* Prepares a task: any except CALL; a GEMM only if cuBLASLt does not take it, and without its function. A
 * grid of 0 means that there is nothing to do. After a failure why (RT_WHY_BYTES) has the reason, or "" if it
 * was printed. */
enum status cuda_kernel_make(struct cuda *c, const struct rt_task *t, struct cuda_launch *out, char *why);
/* Launches it for the statement c->at, which errors name. */
enum status cuda_kernel_launch(struct cuda *c, CUstream s, struct cuda_launch *l);

/* Makes the sum, product, … of n arrays of `count` elements in out, which may be one of them; as
 * rt_reduce_arrays. */
enum { CUDA_REDUCE_ARRAYS = 256 /* as many as ranks on a host; their addresses are arguments */ };
enum status cuda_reduce_arrays(struct cuda *c, CUstream s, enum reduce_op op, enum dtype t, void *out,
                               const void *const *in, int n, int64_t count);

/* Writes the source of a task's kernel, independent of the machine, for tests and `--dump-kernels`. Returns
 * false with the reason in why. */
bool cuda_kernel_source(const struct rt_task *t, struct buf *out, char *why);

#endif
