/* record: the calls of a rank as text, without a GPU, driver or library.
 *
 *     cuMemAlloc 61440 bytes
 *     cuEventRecord event 0 on stream 1
 *     cuStreamWaitEvent stream 2 for event 0
 *     cuLaunchKernel on stream 2, 12 x 256 threads: add f32 f32
 *     ncclAllReduce of 1024 f32, sum, communicator 0 on stream 3
 *
 * The functions stand where the libraries' would (struct cuda_api), so that what is printed is what runs.
 * Streams, events (one a record) and communicators are numbered in the order in which they are made. All work
 * is over at once; nothing is computed. */
#ifndef HIRC_CUDA_RECORD_H
#define HIRC_CUDA_RECORD_H
#include "base/str.h"
#include "cuda/api.h"

struct cuda_record;

/* Calls of this thread go to out from now on, until cuda_record_end. */
struct cuda_record *cuda_record_begin(struct buf *out);
const struct cuda_api *cuda_record_api(void);
void cuda_record_end(struct cuda_record *r);

#endif
