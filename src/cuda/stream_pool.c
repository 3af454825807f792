/* stream_pool: see stream_pool.h. */
#include "cuda/stream_pool.h"

enum status cuda_stream_pool_stream(struct cuda *c, struct cuda_stream_pool *s, CUstream *out)
{
	if (s->most == 1 && s->stream.n) { /* it may belong to a graph that is being captured, and then
		                              must not be queried */
		*out = s->stream.at[0];
		return STATUS_OK;
	}
	for (uint32_t k = 0; k < s->stream.n && !c->captured; k++) {
		CUresult r = c->api->cuStreamQuery(s->stream.at[k]);
		if (r == CUDA_SUCCESS) {
			*out = s->stream.at[k];
			return STATUS_OK;
		}
		if (r != CUDA_ERROR_NOT_READY) {
			cuda_check(c, r, "cuStreamQuery");
			return rt_job_status(c->base.job);
		}
	}
	if (s->most && s->stream.n == s->most) {
		*out = s->stream.at[s->turn++ % s->most];
		return STATUS_OK;
	}
	enum status status = cuda_stream_new(c, out);
	if (status == STATUS_OK)
		vec_push(&s->stream, *out);
	return status;
}

enum status cuda_stream_pool_follow(struct cuda *c, struct cuda_stream_pool *s, CUevent event)
{
	CUstream stream;
	if (c->captured) /* the graph ends when all of it is over */
		return STATUS_OK;
	enum status status = cuda_stream_pool_stream(c, s, &stream);
	if (status == STATUS_OK && !cuda_call(c, cuStreamWaitEvent, stream, event, 0))
		status = rt_job_status(c->base.job);
	return status;
}

enum status cuda_stream_pool_event(struct cuda *c, struct cuda_stream_pool *s, CUevent after, CUevent *out)
{
	CUstream stream;
	enum status status = cuda_stream_pool_stream(c, s, &stream);
	if (status == STATUS_OK && after && !cuda_call(c, cuStreamWaitEvent, stream, after, 0))
		status = rt_job_status(c->base.job);
	return status == STATUS_OK ? cuda_event_record(c, stream, out) : status;
}

void cuda_stream_pool_end(struct cuda *c, struct cuda_stream_pool *s)
{
	for (uint32_t k = 0; k < s->stream.n; k++)
		cuda_call(c, cuStreamSynchronize, s->stream.at[k]);
	vec_free(&s->stream);
}
