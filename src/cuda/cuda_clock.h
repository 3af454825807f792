/* cuda_clock: times of events on the host's clock. */
#ifndef HIRC_CUDA_CUDA_CLOCK_H
#define HIRC_CUDA_CUDA_CLOCK_H
#include "cuda/cuda.h"

/* As clock and elapsed of struct rt_async_ops. Events must have times, and s must be idle. */
enum status cuda_clock_match(struct cuda *c, CUstream s, CUevent *out, int64_t *ns, int64_t *error);
enum status cuda_clock_elapsed(struct cuda *c, CUevent from, CUevent to, int64_t *ns);

#endif
