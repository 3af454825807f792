/* cuda_clock: see cuda_clock.h. An event on an idle stream happens between two readings of the host's clock:
 * one before it is recorded, and one after the driver says that it is over. The shortest of a few of these
 * intervals is used. */
#include "cuda/cuda_clock.h"
#include "rt/bell.h"
#include <math.h>
#include <time.h>

enum { LOOKS = 16, ENOUGH_NS = 50000000 /* of time, since others may use the GPU, too */ };

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Records an event that happens between *from and *to. */
static enum status observe_event(struct cuda *c, CUstream s, CUevent *out, int64_t *from, int64_t *to)
{
	CUresult r = CUDA_ERROR_NOT_READY;
	*from = now_ns();
	enum status status = cuda_event_record(c, s, out);
	if (status != STATUS_OK)
		return status;
	while (r == CUDA_ERROR_NOT_READY && now_ns() - *from < ENOUGH_NS) {
		r = c->api->cuEventQuery(*out);
		if (r == CUDA_ERROR_NOT_READY)
			rt_pause();
	}
	if (r == CUDA_ERROR_NOT_READY && !cuda_call(c, cuStreamSynchronize, s))
		return rt_job_status(c->base.job);
	if (r != CUDA_ERROR_NOT_READY && !cuda_check(c, r, "cuEventQuery"))
		return rt_job_status(c->base.job);
	*to = now_ns();
	return STATUS_OK;
}

enum status cuda_clock_match(struct cuda *c, CUstream s, CUevent *out, int64_t *ns, int64_t *error)
{
	CUevent best = NULL;
	int64_t from = 0, to = 0, width = 0, start = now_ns();
	c->at = (struct rt_origin){.iteration = -1};
	for (int k = 0; k < LOOKS && (!best || to - start < ENOUGH_NS); k++) {
		CUevent e;
		enum status status = observe_event(c, s, &e, &from, &to);
		if (status != STATUS_OK)
			return status;
		if (best && to - from >= width) {
			cuda_event_release(c, e);
			continue;
		}
		if (best)
			cuda_event_release(c, best);
		best = e;
		width = to - from;
		*ns = from + width / 2;
	}
	*error = width - width / 2;
	*out = best;
	return STATUS_OK;
}

/* The driver returns milliseconds as a float, which over 10 s is exact to a microsecond. */
enum status cuda_clock_elapsed(struct cuda *c, CUevent from, CUevent to, int64_t *ns)
{
	float milliseconds;
	if (!cuda_call(c, cuEventElapsedTime, &milliseconds, from, to))
		return rt_job_status(c->base.job);
	*ns = llround((double)milliseconds * 1e6);
	return STATUS_OK;
}
