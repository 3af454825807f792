/* stream_pool: streams for work without a stream of its own, such as a copy between two ranks, or an event
 * that stands for another one. */
#ifndef HIRC_CUDA_SPARE_H
#define HIRC_CUDA_SPARE_H
#include "base/vec.h"
#include "cuda/cuda.h"

struct cuda_stream_pool {
	VEC(CUstream) stream; /* the device's, which closes them */
	uint32_t most;        /* streams; 0: any number */
	uint32_t turn;        /* which one is next where all are busy */
};

/* A stream that has nothing to do, else a new one, else, where there are `most`, one of those. */
enum status cuda_stream_pool_stream(struct cuda *c, struct cuda_stream_pool *s, CUstream *out);
/* An event of the caller's that is over when `after` is, which may then be used again. NULL: at once. */
enum status cuda_stream_pool_event(struct cuda *c, struct cuda_stream_pool *s, CUevent after, CUevent *out);
/* Such a stream waits for the event: the device is idle only after it. */
enum status cuda_stream_pool_follow(struct cuda *c, struct cuda_stream_pool *s, CUevent event);
/* Waits for all of them. */
void cuda_stream_pool_end(struct cuda *c, struct cuda_stream_pool *s);

#endif
