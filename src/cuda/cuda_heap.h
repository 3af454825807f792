/* cuda_heap: memory of each rank that the GPUs of all ranks map: symmetric buffers, and views of them side by
 * side.
 *
 *     pieces     rank 0 | A0 | B0 |      rank 1 | A1 | B1 |      one allocation each
 *     a rank     | A0 | B0 | where its own are, | A1 | B1 | where those of rank 1 are seen
 *     a view     | A1 | A0 |                    the same memory again, at consecutive addresses
 *
 * A piece is mapped whole, as CUDA asks for. Writes through one address are seen through another by the
 * kernels and copies that follow; their order is not decided here. */
#ifndef HIRC_CUDA_CUDA_HEAP_H
#define HIRC_CUDA_CUDA_HEAP_H
#include "cuda/cuda.h"

struct cuda_heap;

/* Collective; n pieces of so many bytes, multiples of RT_HEAP_UNIT, the same on all ranks. All of it is NaN.
 * ranks: processes of one host, or threads of one process. STATUS_ABSENT with a message where the GPU cannot.
 * On failure nothing is left. */
enum status cuda_heap_new(struct rt_job *job, struct cuda *c, const size_t *piece, uint32_t n,
                          const char *what, struct cuda_heap **out);
/* Returns the begin of a rank's memory in this process. */
void *cuda_heap_of(const struct cuda_heap *h, int rank);
/* Returns true if bytes from `at` on are in the memory of this rank. *offset: from its beginning. */
bool cuda_heap_offset(const struct cuda_heap *h, const void *at, int64_t bytes, uint64_t *offset);
/* Returns true if an address is in a view. */
bool cuda_heap_is_view(const struct cuda_heap *h, const void *at);
/* The piece that begins so many bytes after the beginning, of each of the ranks, at consecutive addresses.
 * The same request gives the same address. */
enum status cuda_heap_view(struct cuda_heap *h, const int *ranks, int n, size_t offset, size_t bytes,
                           void **out);
/* Frees the heap once the device is done with all its work; other ranks may go on reading the memory. NULL is
 * allowed. */
void cuda_heap_free(struct cuda_heap *h);

#endif
