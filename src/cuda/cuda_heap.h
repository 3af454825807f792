/* cuda_heap: memory of each rank that the GPUs of all ranks map: symmetric buffers, and views that join them.
 *
 *     pieces     rank 0 | A0 | B0 |      rank 1 | A1 | B1 |      one allocation each
 *     in rank 0  | A0 | B0 | at one address, | A1 | B1 | at another
 *     a view     | A1 | A0 |             the same memory again, at consecutive addresses
 *
 * CUDA maps a piece only as a whole. Kernels and copies that come later see, through any address, what was
 * written through another one. This file does not order them. */
#ifndef HIRC_CUDA_CUDA_HEAP_H
#define HIRC_CUDA_CUDA_HEAP_H
#include "cuda/cuda.h"

struct cuda_heap;

/* Makes a heap. Collective. It has n pieces, with these numbers of bytes, which are multiples of RT_HEAP_UNIT
 * and the same on all ranks; all of it is NaN. ranks: processes of one host, or threads of one process.
 * STATUS_ABSENT with a message if the GPU does not support it. After a failure nothing is left. */
enum status cuda_heap_new(struct rt_job *job, struct cuda *c, const size_t *piece, uint32_t n,
                          const char *what, struct cuda_heap **out);
/* Returns the address of a rank's memory in this process. */
void *cuda_heap_of(const struct cuda_heap *h, int rank);
/* Returns true if bytes from `at` on are in this rank's memory. *offset: distance from its beginning. */
bool cuda_heap_offset(const struct cuda_heap *h, const void *at, int64_t bytes, uint64_t *offset);
/* Returns true if an address is in a view. */
bool cuda_heap_is_view(const struct cuda_heap *h, const void *at);
/* Makes a view: for each of these ranks, the piece that begins `offset` bytes after its beginning, at
 * consecutive addresses. The same request gives the same address. */
enum status cuda_heap_view(struct cuda_heap *h, const int *ranks, int n, size_t offset, size_t bytes,
                           void **out);
/* Frees the heap after the device has done all its work. Other ranks may continue to read the memory. NULL is
 * allowed. */
void cuda_heap_free(struct cuda_heap *h);

#endif
