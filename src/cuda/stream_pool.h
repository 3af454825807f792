/* stream_pool: streams for work that has none, for example a copy between two ranks, or an event that stands
 * for another one. */
#ifndef HIRC_CUDA_SPARE_H
#define HIRC_CUDA_SPARE_H
#include "base/vec.h"
#include "cuda/cuda.h"

struct cuda_stream_pool {
	VEC(CUstream) stream; /* made by the device, which closes them */
	uint32_t most;        /* most streams; 0: any number */
	uint32_t turn;        /* the next one to use if all are busy */
};

/* Returns an idle stream; if there is none, a new one; if there are `most`, one of them in turn. */
enum status cuda_stream_pool_stream(struct cuda *c, struct cuda_stream_pool *s, CUstream *out);
/* Makes an event for the caller that is over when `after` is; `after` may be reused at once. after NULL: the
 * event is over at once. */
enum status cuda_stream_pool_event(struct cuda *c, struct cuda_stream_pool *s, CUevent after, CUevent *out);
/* Makes a stream of the pool wait for an event, so that the device is not idle before it. */
enum status cuda_stream_pool_follow(struct cuda *c, struct cuda_stream_pool *s, CUevent event);
/* Waits for all streams. */
void cuda_stream_pool_end(struct cuda *c, struct cuda_stream_pool *s);

#endif
