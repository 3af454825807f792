/* kernel_attention: the parts that the kernels of attention and of its gradients share. */
#ifndef HIRC_CUDA_KERNEL_ATTENTION_H
#define HIRC_CUDA_KERNEL_ATTENTION_H
#include "cuda/kernel_write.h"

enum {
	ATTENTION_ROWS = 128,              /* of a block on tensor cores */
	ATTENTION_CACHED_BYTES = 16 << 20, /* of operands that blocks side by side read */
};

/* Returns true if tensor cores take a matrix: rows of 16 … 256 elements in steps of 16, aligned to 16 bytes. */
bool kernel_attention_takes(const struct rt_view *v);
/* Returns the bytes of a row in shared memory, which has 64 elements or a multiple. */
int64_t kernel_attention_row_bytes(int64_t elements);
/* Writes MASKED(x, row, key), the score x with the mask, view 4 of the axes q; NULL: none. scale: NULL, or the text of the
 * factor of the score; it is 1 after an addition. */
void kernel_attention_write_mask(struct kernel_writer *w, const struct rt_view *mask, enum dtype wide,
                                 const char *scale);

#endif
