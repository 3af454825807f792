/* kernel: tasks as launches of kernels that are written for them.
 *
 * The views of a task are brought to their least form (axes of extent 1 go, axes that lie one after the other
 * in all views become one); the rest (kernel, operations, element types, number of axes, which views are
 * dense) decides the source text, everything else is an argument. A source is compiled once a process and
 * architecture, and kept on disk:
 *
 *     task ──shape──> source ──hash──> …/hirc/kernels/<hash>.cubin ──> module ──> launch with arguments
 */
#ifndef HIRC_CUDA_KERNEL_H
#define HIRC_CUDA_KERNEL_H
#include "cuda/cuda.h"

enum { CUDA_ARGUMENT_BYTES = 4096 /* what a kernel may have */ };

/* A task, ready to be launched any number of times. */
struct cuda_launch {
	CUfunction function;
	unsigned grid, block; /* one-dimensional */
	unsigned shared;      /* bytes of a block */
	bool scratch;         /* it uses scratch memory of its stream */
	size_t bytes;         /* of arguments, one structure */
	_Alignas(16) char argument[CUDA_ARGUMENT_BYTES];
};

enum status cuda_kernels_open(struct cuda *c);
void cuda_kernels_close(struct cuda *c); /* not opened is allowed */

/* All tasks but CALL, and GEMM only if cuBLASLt does not take it, and without its function. A grid of 0:
 * there is nothing to do. On failure why (RT_WHY_BYTES) has the reason, "" if it was printed. */
enum status cuda_kernel_make(struct cuda *c, const struct rt_task *t, struct cuda_launch *out, char *why);
/* For the statement c->at, which faults name. */
enum status cuda_kernel_launch(struct cuda *c, CUstream s, struct cuda_launch *l);

/* The sum, product, … of n arrays of `count` elements into out, which may be one of them; as
 * rt_reduce_arrays. */
enum { CUDA_REDUCE_ARRAYS = 256 /* as many ranks as a host can have; their addresses are arguments */ };
enum status cuda_reduce_arrays(struct cuda *c, CUstream s, enum reduce_op op, enum dtype t, void *out,
                               const void *const *in, int n, int64_t count);

/* The source of a task's kernel, whatever the machine: for tests and `--dump-kernels`. False: why has the
 * reason. */
bool cuda_kernel_source(const struct rt_task *t, struct buf *out, char *why);

#endif
