/* record: writes the calls of a rank as text, without a GPU, driver or library.
 *
 *     cuMemAlloc 61440 bytes
 *     # Y = add(X, B)  (f.hir:7) iteration 2
 *     cuEventRecord event 0 on stream 1
 *     cuStreamWaitEvent stream 2 for event 0
 *     cuLaunchKernel on stream 2, 12 x 256 threads: add f32 f32 to f32
 *     # Z = allreduce(Y)  (f.hir:8) iteration 2
 *     ncclAllReduce of 1024 f32, communicator 0 on stream 3, sum
 *
 *     cuStreamWaitValue32 stream 3 for >= 1, word 514
 *     cuMemcpyDtoDAsync 4096 bytes from rank 1 on stream 3
 *     cuStreamWriteValue32 stream 3: 1 to word 770 of rank 1
 *
 * A line with # is the statement of the calls below it. Recording functions replace those of the libraries
 * (struct cuda_api), so that the printed calls are those of a run. Streams, events (a new one for each
 * cuEventRecord) and communicators are numbered in order; roots and peers are ranks. Memory of another rank
 * is printed with that rank, and a word by its place in its allocation. All work is over at once; nothing is
 * computed, and every read from the GPU gives 0. */
#ifndef HIRC_CUDA_RECORD_H
#define HIRC_CUDA_RECORD_H
#include "base/str.h"
#include "cuda/api.h"

struct cuda;
struct cuda_calls;
struct cuda_record;

/* Begins a recording: calls of this thread are recorded until cuda_record_end. c->at is the statement. */
struct cuda_record *cuda_record_begin(const struct cuda *c, const struct cuda_calls *calls);
const struct cuda_api *cuda_record_api(const struct cuda_record *r);
void cuda_record_end(struct cuda_record *r);
/* States the ranks of the communicator that is made next, in its order; it names a rank by its index. */
void cuda_record_members(struct cuda_record *r, const int *rank, int n);

#endif
