/* cuda_clock: times of events by the host's clock. */
#ifndef HIRC_CUDA_CUDA_CLOCK_H
#define HIRC_CUDA_CUDA_CLOCK_H
#include "cuda/cuda.h"

/* As clock and elapsed of struct rt_async_ops. Events have times; s has nothing to do. */
enum status cuda_clock_match(struct cuda *c, CUstream s, CUevent *out, int64_t *ns, int64_t *error);
enum status cuda_clock_elapsed(struct cuda *c, CUevent from, CUevent to, int64_t *ns);

#endif
