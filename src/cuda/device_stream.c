/* device_stream: streams, events and graphs. */
#include "cuda/cuda_clock.h"
#include "cuda/cuda_device.h"
#include "cuda/launch_cache.h"
#include "rt/fault.h"

/* ---- streams and events */

enum status cuda_stream_new(struct cuda *c, CUstream *out)
{
	if (!cuda_call(c, cuStreamCreate, out, CU_STREAM_NON_BLOCKING))
		return cuda_failure(c);
	vec_push(&c->streams->stream, *out);
	return STATUS_OK;
}

enum status cuda_device_stream_new(struct rt_device *d, void **out)
{
	CUstream s;
	enum status status = cuda_stream_new(cuda_of(d), &s);
	if (status == STATUS_OK)
		*out = s;
	return status;
}

void cuda_device_stream_free(struct rt_device *d, void *stream)
{
	struct cuda *c = cuda_of(d);
	struct cuda_streams *s = c->streams;
	cuda_launch_cache_forget(c->launch_cache); /* their engine ends */
	for (uint32_t k = 0; k < s->stream.n; k++)
		if (s->stream.at[k] == stream) {
			s->stream.at[k] = s->stream.at[--s->stream.n];
			cuda_call(c, cuStreamDestroy, stream);
			return;
		}
}

enum status cuda_event_record(struct cuda *c, CUstream s, CUevent *out)
{
	CUevent e;
	if (c->streams->unused.n)
		e = c->streams->unused.at[--c->streams->unused.n];
	else if (!cuda_call(c, cuEventCreate, &e,
	                    c->streams->have_times ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING))
		return cuda_failure(c);
	*out = e;
	return cuda_call(c, cuEventRecord, e, s) ? STATUS_OK : cuda_failure(c);
}

void cuda_event_release(struct cuda *c, CUevent e)
{
	vec_push(&c->streams->unused, e);
}

enum status cuda_device_record(struct rt_device *d, void *stream, struct rt_origin at, void **event)
{
	struct cuda *c = cuda_of(d);
	CUevent e = NULL;
	c->at = at;
	enum status status = cuda_event_record(c, stream, &e);
	if (status == STATUS_OK)
		*event = e;
	return status;
}

enum status cuda_device_await(struct rt_device *d, void *stream, void *event, struct rt_origin at)
{
	struct cuda *c = cuda_of(d);
	c->at = at;
	return cuda_call(c, cuStreamWaitEvent, stream, event, 0) ? STATUS_OK : cuda_failure(c);
}

enum status cuda_device_is_over(struct rt_device *d, void *event, bool *over)
{
	struct cuda *c = cuda_of(d);
	CUresult r = c->api->cuEventQuery(event);
	*over = r == CUDA_SUCCESS;
	return r == CUDA_ERROR_NOT_READY || cuda_check(c, r, "cuEventQuery") ? STATUS_OK : cuda_failure(c);
}

void cuda_device_release(struct rt_device *d, void *event)
{
	cuda_event_release(cuda_of(d), event);
}

/* Makes all later events have times. Destroys unused events, which have none. */
enum status cuda_device_time_events(struct rt_device *d)
{
	struct cuda *c = cuda_of(d);
	while (c->streams->unused.n)
		if (!cuda_call(c, cuEventDestroy, c->streams->unused.at[--c->streams->unused.n]))
			return cuda_failure(c);
	c->streams->have_times = true;
	return STATUS_OK;
}

enum status cuda_device_clock(struct rt_device *d, void **event, int64_t *ns, int64_t *error)
{
	struct cuda *c = cuda_of(d);
	CUevent e;
	enum status status = cuda_clock_match(c, c->streams->copies, &e, ns, error);
	if (status == STATUS_OK)
		*event = e;
	return status;
}

enum status cuda_device_elapsed(struct rt_device *d, void *from, void *to, int64_t *ns)
{
	return cuda_clock_elapsed(cuda_of(d), from, to, ns);
}

/* Another GPU writes its data here before the value. Where the device can, a wait makes sure that these writes have
 * arrived, too. */
bool cuda_wait_flags(struct cuda *c, unsigned *out)
{
	int flushes = 0;
	if (!cuda_call(c, cuDeviceGetAttribute, &flushes, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES,
	               c->device))
		return false;
	*out = CU_STREAM_WAIT_VALUE_GEQ | (flushes ? (unsigned)CU_STREAM_WAIT_VALUE_FLUSH : 0);
	return true;
}

/* ---- graphs */

enum status cuda_device_capture_begin(struct rt_device *d, void *stream)
{
	struct cuda *c = cuda_of(d);
	return cuda_call(c, cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
	           ? STATUS_OK
	           : cuda_failure(c);
}

enum status cuda_device_capture_end(struct rt_device *d, void *stream, void **out)
{
	struct cuda *c = cuda_of(d);
	CUgraph graph;
	CUgraphExec executable;
	c->at = (struct rt_origin){.iteration = -1};
	if (!cuda_call(c, cuStreamEndCapture, stream, &graph))
		return cuda_failure(c);
	bool ok = cuda_call(c, cuGraphInstantiate, &executable, graph, 0);
	cuda_call(c, cuGraphDestroy, graph);
	if (ok)
		*out = executable;
	return ok ? STATUS_OK : cuda_failure(c);
}

void cuda_device_capture_drop(struct rt_device *d, void *stream)
{
	struct cuda *c = cuda_of(d);
	CUgraph graph = NULL;
	if (c->api->cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph)
		c->api->cuGraphDestroy(graph);
}

enum status cuda_device_replay(struct rt_device *d, void *stream, void *graph)
{
	struct cuda *c = cuda_of(d);
	return cuda_call(c, cuGraphLaunch, graph, stream) ? STATUS_OK : cuda_failure(c);
}

void cuda_device_graph_free(struct rt_device *d, void *graph)
{
	cuda_call(cuda_of(d), cuGraphExecDestroy, graph);
}

/* ---- the test that all is done, and errors of kernels */

static enum status look_for_fault(struct cuda *c)
{
	struct cuda_fault *f = c->fault;
	struct rt_origin at = {.label = f->label, .iteration = f->iteration};
	char why[RT_WHY_BYTES];
	if (!f->kind)
		return STATUS_OK;
	rt_fault_text((enum rt_fault)f->kind, f->value, f->limit, why);
	rt_job_error_at(c->base.job, at, "%s", why);
	return rt_job_fail(c->base.job, STATUS_DIAGNOSTICS);
}

enum status cuda_device_is_idle(struct rt_device *d, bool *idle)
{
	struct cuda *c = cuda_of(d);
	*idle = false;
	struct cuda_streams *s = c->streams;
	for (uint32_t k = 0; k < s->stream.n; k++) {
		uint32_t at = (s->busy + k) % s->stream.n;
		CUresult r = c->api->cuStreamQuery(s->stream.at[at]);
		if (r == CUDA_ERROR_NOT_READY) {
			s->busy = at;
			return STATUS_OK;
		}
		c->at = (struct rt_origin){.iteration = -1};
		if (!cuda_check(c, r, "cuStreamQuery"))
			return cuda_failure(c);
	}
	*idle = true;
	c->launched = 0;
	return look_for_fault(c);
}
