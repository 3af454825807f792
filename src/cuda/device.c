/* device: the device "cuda". Memory, streams and events are the driver's; tasks go to kernel.c and gemm.c. */
#include "base/vec.h"
#include "cuda/clock.h"
#include "cuda/cuda.h"
#include "cuda/lasting.h"
#include "cuda/record.h"
#include "rt/fault.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All of a rank. */
struct cuda_streams {
	VEC(CUstream) stream;
	uint32_t busy;       /* the one that was not idle at the last look, which is asked first */
	VEC(CUevent) unused; /* events that nobody has */
	bool have_times;     /* events: those that are made from now on */
	CUstream copies;     /* of upload, download and poison */
	VEC(struct cuda_memory) memory;
	uint64_t allocations; /* that were ever made */
};

static struct cuda *cuda_of(struct rt_device *d)
{
	return (struct cuda *)d;
}

/* ---- checked calls */

static bool failed(struct cuda *c, const char *call, const char *name, const char *text)
{
	rt_job_error_at(c->base.job, c->at, "%s: %s: %s", call, name, text);
	rt_job_fail(c->base.job, STATUS_DIAGNOSTICS);
	return false;
}

bool cuda_check(struct cuda *c, CUresult r, const char *call)
{
	const char *name = NULL, *text = NULL;
	if (r == CUDA_SUCCESS)
		return true;
	c->api->cuGetErrorName(r, &name);
	c->api->cuGetErrorString(r, &text);
	return failed(c, call, name ? name : "unknown error", text ? text : "");
}

bool cuda_check_blas(struct cuda *c, cublasStatus_t r, const char *call)
{
	return r == CUBLAS_STATUS_SUCCESS || failed(c, call, "cuBLASLt", c->api->cublasLtGetStatusString(r));
}

bool cuda_check_nvrtc(struct cuda *c, nvrtcResult r, const char *call)
{
	return r == NVRTC_SUCCESS || failed(c, call, "NVRTC", c->api->nvrtcGetErrorString(r));
}

bool cuda_check_nccl(struct cuda *c, ncclResult_t r, const char *call)
{
	if (r == ncclSuccess)
		return true;
	const char *last = c->api->ncclGetLastError(NULL);
	return failed(c, call, c->api->ncclGetErrorString(r), last ? last : "");
}

static enum status failure(const struct cuda *c)
{
	return rt_job_status(c->base.job);
}

/* ---- memory */

static enum status no_memory(struct cuda *c, size_t bytes, const char *what)
{
	rt_job_error(c->base.job, "GPU %d has no memory for the %zu bytes of %s", c->ordinal, bytes, what);
	return rt_job_fail(c->base.job, STATUS_DIAGNOSTICS);
}

static enum status copies_done(struct cuda *c)
{
	return cuda_call(c, cuStreamSynchronize, c->streams->copies) ? STATUS_OK : failure(c);
}

static enum status device_poison(struct rt_device *d, void *at, size_t bytes)
{
	struct cuda *c = cuda_of(d);
	if (bytes && !cuda_call(c, cuMemsetD8Async, (CUdeviceptr)at, 0xff, bytes, c->streams->copies))
		return failure(c);
	return copies_done(c);
}

static enum status device_alloc(struct rt_device *d, size_t bytes, const char *what, void **out)
{
	struct cuda *c = cuda_of(d);
	CUdeviceptr at = 0;
	CUresult r = c->api->cuMemAlloc(&at, bytes ? bytes : 1);
	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		return no_memory(c, bytes, what);
	if (!cuda_check(c, r, "cuMemAlloc"))
		return failure(c);
	vec_push(&c->streams->memory, (struct cuda_memory){at, bytes, ++c->streams->allocations});
	rt_device_count(d, (int64_t)bytes);
	*out = (void *)at;
	return device_poison(d, *out, bytes);
}

static void device_free(struct rt_device *d, void *at)
{
	struct cuda *c = cuda_of(d);
	struct cuda_streams *s = c->streams;
	uint32_t k = 0;
	while (s->memory.at[k].at != (CUdeviceptr)at)
		k++;
	rt_device_count(d, -(int64_t)s->memory.at[k].bytes);
	s->memory.at[k] = s->memory.at[--s->memory.n];
	cuda_call(c, cuMemFree, (CUdeviceptr)at);
}

const struct cuda_memory *cuda_memory_find(const struct cuda *c, const void *at, size_t bytes)
{
	const struct cuda_streams *s = c->streams;
	for (uint32_t k = s->memory.n; k-- > 0;) {
		const struct cuda_memory *m = &s->memory.at[k];
		size_t offset = (size_t)((CUdeviceptr)at - m->at); /* of addresses before it: large */
		if (offset <= m->bytes && bytes <= m->bytes - offset)
			return m;
	}
	return NULL;
}

static enum status device_upload(struct rt_device *d, void *to, const void *from, size_t bytes)
{
	struct cuda *c = cuda_of(d);
	if (bytes && !cuda_call(c, cuMemcpyHtoDAsync, (CUdeviceptr)to, from, bytes, c->streams->copies))
		return failure(c);
	return copies_done(c);
}

static enum status device_download(struct rt_device *d, void *to, const void *from, size_t bytes)
{
	struct cuda *c = cuda_of(d);
	if (bytes && !cuda_call(c, cuMemcpyDtoHAsync, to, (CUdeviceptr)from, bytes, c->streams->copies))
		return failure(c);
	return copies_done(c);
}

static enum status device_staging_new(struct rt_device *d, size_t bytes, const char *what, void **out)
{
	struct cuda *c = cuda_of(d);
	CUresult r = c->api->cuMemHostAlloc(out, bytes ? bytes : 1, 0);
	if (r == CUDA_ERROR_OUT_OF_MEMORY) {
		rt_job_error(d->job, "no pinned memory for the %zu bytes of %s", bytes, what);
		return rt_job_fail(d->job, STATUS_DIAGNOSTICS);
	}
	if (!cuda_check(c, r, "cuMemHostAlloc"))
		return failure(c);
	memset(*out, 0xff, bytes);
	return STATUS_OK;
}

static void device_staging_free(struct rt_device *d, void *at)
{
	cuda_call(cuda_of(d), cuMemFreeHost, at);
}

/* ---- streams and events */

enum status cuda_stream_new(struct cuda *c, CUstream *out)
{
	if (!cuda_call(c, cuStreamCreate, out, CU_STREAM_NON_BLOCKING))
		return failure(c);
	vec_push(&c->streams->stream, *out);
	return STATUS_OK;
}

static enum status device_stream_new(struct rt_device *d, void **out)
{
	CUstream s;
	enum status status = cuda_stream_new(cuda_of(d), &s);
	if (status == STATUS_OK)
		*out = s;
	return status;
}

enum status cuda_event_record(struct cuda *c, CUstream s, CUevent *out)
{
	CUevent e;
	if (c->streams->unused.n)
		e = c->streams->unused.at[--c->streams->unused.n];
	else if (!cuda_call(c, cuEventCreate, &e,
	                    c->streams->have_times ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING))
		return failure(c);
	*out = e;
	return cuda_call(c, cuEventRecord, e, s) ? STATUS_OK : failure(c);
}

void cuda_event_release(struct cuda *c, CUevent e)
{
	vec_push(&c->streams->unused, e);
}

static enum status device_record(struct rt_device *d, void *stream, struct rt_origin at, void **event)
{
	struct cuda *c = cuda_of(d);
	CUevent e;
	c->at = at;
	enum status status = cuda_event_record(c, stream, &e);
	if (status == STATUS_OK)
		*event = e;
	return status;
}

static enum status device_await(struct rt_device *d, void *stream, void *event, struct rt_origin at)
{
	struct cuda *c = cuda_of(d);
	c->at = at;
	return cuda_call(c, cuStreamWaitEvent, stream, event, 0) ? STATUS_OK : failure(c);
}

static enum status device_is_over(struct rt_device *d, void *event, bool *over)
{
	struct cuda *c = cuda_of(d);
	CUresult r = c->api->cuEventQuery(event);
	*over = r == CUDA_SUCCESS;
	return r == CUDA_ERROR_NOT_READY || cuda_check(c, r, "cuEventQuery") ? STATUS_OK : failure(c);
}

static void device_release(struct rt_device *d, void *event)
{
	cuda_event_release(cuda_of(d), event);
}

/* Those that were made without are of no use. */
static enum status device_time_events(struct rt_device *d)
{
	struct cuda *c = cuda_of(d);
	while (c->streams->unused.n)
		if (!cuda_call(c, cuEventDestroy, c->streams->unused.at[--c->streams->unused.n]))
			return failure(c);
	c->streams->have_times = true;
	return STATUS_OK;
}

static enum status device_clock(struct rt_device *d, void **event, int64_t *ns, int64_t *error)
{
	struct cuda *c = cuda_of(d);
	CUevent e;
	enum status status = cuda_clock_match(c, c->streams->copies, &e, ns, error);
	if (status == STATUS_OK)
		*event = e;
	return status;
}

static enum status device_elapsed(struct rt_device *d, void *from, void *to, int64_t *ns)
{
	return cuda_clock_elapsed(cuda_of(d), from, to, ns);
}

/* ---- graphs */

static enum status device_capture_begin(struct rt_device *d, void *stream)
{
	struct cuda *c = cuda_of(d);
	return cuda_call(c, cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) ? STATUS_OK
	                                                                                       : failure(c);
}

static enum status device_capture_end(struct rt_device *d, void *stream, void **out)
{
	struct cuda *c = cuda_of(d);
	CUgraph graph;
	CUgraphExec executable;
	c->at = (struct rt_origin){.iteration = -1};
	if (!cuda_call(c, cuStreamEndCapture, stream, &graph))
		return failure(c);
	bool ok = cuda_call(c, cuGraphInstantiate, &executable, graph, 0);
	cuda_call(c, cuGraphDestroy, graph);
	if (ok)
		*out = executable;
	return ok ? STATUS_OK : failure(c);
}

static void device_capture_drop(struct rt_device *d, void *stream)
{
	struct cuda *c = cuda_of(d);
	CUgraph graph = NULL;
	if (c->api->cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph)
		c->api->cuGraphDestroy(graph);
}

static enum status device_replay(struct rt_device *d, void *stream, void *graph)
{
	struct cuda *c = cuda_of(d);
	return cuda_call(c, cuGraphLaunch, graph, stream) ? STATUS_OK : failure(c);
}

static void device_graph_free(struct rt_device *d, void *graph)
{
	cuda_call(cuda_of(d), cuGraphExecDestroy, graph);
}

/* ---- faults of kernels */

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

static enum status device_is_idle(struct rt_device *d, bool *idle)
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
			return failure(c);
	}
	*idle = true;
	return look_for_fault(c);
}

/* ---- tasks */

static enum status launch_kernel(struct cuda *c, CUstream s, struct cuda_launch *launch)
{
	return launch->grid ? cuda_kernel_launch(c, s, launch) : STATUS_OK;
}

/* Gives a stream what was made. *begin: an event before it; begin NULL: nobody asks. */
static enum status launch_made(struct cuda *c, CUstream s, const struct cuda_made *m, void **begin)
{
	CUevent e;
	enum status status = begin ? cuda_event_record(c, s, &e) : STATUS_OK;
	if (status != STATUS_OK)
		return status;
	if (begin)
		*begin = e;
	status = m->product ? cuda_gemm_run(c, s, m->product) : launch_kernel(c, s, m->launch);
	return status == STATUS_OK && m->function ? launch_kernel(c, s, m->function) : status;
}

/* The function of a product, of what stands in memory. */
static enum status make_function(struct cuda *c, const struct rt_task *t, struct cuda_launch *out, char *why)
{
	struct rt_task function = {.kernel = RT_TASK_POINTWISE,
	                           .op = (enum rt_pointwise)(t->function - 1),
	                           .out = t->out,
	                           .in = {t->out}};
	return cuda_kernel_make(c, &function, out, why);
}

/* What a record says is made of it, and kept if it lasts. */
static enum status make_and_launch(struct cuda *c, CUstream s, const struct rt_task *t, char *why,
                                   void **begin)
{
	struct cuda_made made = {.task = t};
	struct cuda_gemm_call product;
	struct cuda_launch launch, function;
	enum status status = STATUS_OK;
	bool taken = false;
	if (t->kernel == RT_TASK_GEMM)
		status = cuda_gemm_make(c, t, &product, &taken);
	if (taken)
		made.product = &product;
	else if (status == STATUS_OK) {
		made.launch = &launch;
		status = cuda_kernel_make(c, t, &launch, why);
	}
	if (status == STATUS_OK && t->kernel == RT_TASK_GEMM && t->function &&
	    (!taken || product.lacks_function)) {
		made.function = &function;
		status = make_function(c, t, &function, why);
	}
	if (status == STATUS_OK && t->lasting)
		cuda_lasting_keep(c->lasting, &made);
	return status == STATUS_OK ? launch_made(c, s, &made, begin) : status;
}

static enum status device_launch(struct rt_device *d, void *stream, const struct rt_task *task,
                                 struct rt_origin at, char *why, void **begin)
{
	struct cuda *c = cuda_of(d);
	const struct cuda_made *made = task->lasting ? cuda_lasting_find(c->lasting, task) : NULL;
	why[0] = 0;
	c->at = at;
	if (made)
		return launch_made(c, stream, made, begin);
	if (task->kernel == RT_TASK_CALL) {
		snprintf(why, RT_WHY_BYTES, "the GPU calls no function of the host");
		return STATUS_INTERNAL;
	}
	enum status status = make_and_launch(c, stream, task, why, begin);
	if (task->kernel == RT_TASK_UNIT) /* its record is not needed any more */
		atomic_store_explicit(&task->unit->busy, false, memory_order_release);
	return status;
}

/* ---- beginning and end */

static void device_stream_free(struct rt_device *d, void *stream)
{
	struct cuda *c = cuda_of(d);
	struct cuda_streams *s = c->streams;
	cuda_lasting_forget(c->lasting); /* their engine ends */
	for (uint32_t k = 0; k < s->stream.n; k++)
		if (s->stream.at[k] == stream) {
			s->stream.at[k] = s->stream.at[--s->stream.n];
			cuda_call(c, cuStreamDestroy, stream);
			return;
		}
}

static void device_prepare(struct rt_device *d, int lane, const struct rt_task *task)
{
	(void)d;
	(void)lane;
	(void)task;
}

static void device_close(struct rt_device *d)
{
	struct cuda *c = cuda_of(d);
	struct cuda_streams *s = c->streams;
	cuda_lasting_free(c->lasting);
	cuda_kernels_close(c);
	cuda_gemms_close(c);
	while (s->stream.n)
		cuda_call(c, cuStreamDestroy, s->stream.at[--s->stream.n]);
	for (uint32_t k = 0; k < s->unused.n; k++)
		cuda_call(c, cuEventDestroy, s->unused.at[k]);
	if (c->fault)
		cuda_call(c, cuMemFreeHost, c->fault);
	if (c->context)
		cuda_call(c, cuDevicePrimaryCtxRelease, c->device);
	if (c->record)
		cuda_record_end(c->record);
	vec_free(&s->stream);
	vec_free(&s->unused);
	vec_free(&s->memory);
	free(s);
	free(c);
}

static const struct rt_async_ops cuda_async_ops = {
    .stream_new = device_stream_new,
    .stream_free = device_stream_free,
    .launch = device_launch,
    .record = device_record,
    .await = device_await,
    .is_over = device_is_over,
    .release = device_release,
    .time_events = device_time_events,
    .clock = device_clock,
    .elapsed = device_elapsed,
    .is_idle = device_is_idle,
    .capture_begin = device_capture_begin,
    .capture_end = device_capture_end,
    .capture_drop = device_capture_drop,
    .replay = device_replay,
    .graph_free = device_graph_free,
    .upload = device_upload,
    .download = device_download,
    .poison = device_poison,
    .staging_new = device_staging_new,
    .staging_free = device_staging_free,
};

static const struct rt_device_ops cuda_ops = {
    .name = "cuda",
    .async = &cuda_async_ops,
    .alloc = device_alloc,
    .free = device_free,
    .prepare = device_prepare,
    .close = device_close,
};

/* How many ranks before `end` are on the host of this one. */
static int ranks_of_host(const struct rt_job *job, int end)
{
	const int *host = job->boot->hosts ? job->boot->hosts(job) : NULL;
	int n = 0;
	for (int r = 0; r < end; r++)
		n += !host || host[r] == host[job->rank];
	return n;
}

static enum status open_context(struct cuda *c)
{
	struct rt_job *job = c->base.job;
	int count = 0;
	CUresult r = c->api->cuInit(0);
	bool none = r == CUDA_ERROR_NO_DEVICE;
	if (!none && (!cuda_check(c, r, "cuInit") || !cuda_call(c, cuDeviceGetCount, &count)))
		return failure(c);
	if (none || !count) {
		rt_job_error(job, "--target=cuda needs a GPU: the driver shows none");
		return rt_job_fail(job, STATUS_ABSENT);
	}
	c->ordinal = ranks_of_host(job, job->rank) % count;
	CUcontext context;
	size_t bytes;
	if (!cuda_call(c, cuDeviceGet, &c->device, c->ordinal) ||
	    !cuda_call(c, cuDeviceTotalMem, &bytes, c->device) ||
	    !cuda_call(c, cuDevicePrimaryCtxRetain, &context, c->device))
		return failure(c);
	c->context = context;
	int others = (ranks_of_host(job, job->size) - 1 - c->ordinal) / count; /* that have this GPU */
	c->base.memory = (int64_t)(bytes / (size_t)(1 + others));
	void *fault;
	if (!cuda_call(c, cuCtxSetCurrent, context) ||
	    !cuda_call(c, cuDeviceGetAttribute, &c->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
	               c->device) ||
	    !cuda_call(c, cuDeviceGetAttribute, &c->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
	               c->device) ||
	    !cuda_call(c, cuDeviceGetAttribute, &c->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
	               c->device) ||
	    !cuda_call(c, cuMemHostAlloc, &fault, sizeof *c->fault, CU_MEMHOSTALLOC_DEVICEMAP))
		return failure(c);
	c->fault = memset(fault, 0, sizeof *c->fault);
	if (!cuda_call(c, cuMemHostGetDevicePointer, &c->fault_at, fault, 0))
		return failure(c);
	return cuda_stream_new(c, &c->streams->copies);
}

enum status cuda_need(struct cuda *c, enum cuda_library library)
{
	return c->record ? STATUS_OK : cuda_api_open(c->base.job, library);
}

static enum status open_device(struct rt_job *job, struct buf *calls, struct rt_device **out)
{
	struct cuda *c = mem_zalloc(sizeof *c);
	c->base.ops = &cuda_ops;
	c->base.job = job;
	c->record = calls ? cuda_record_begin(c, calls) : NULL;
	c->api = calls ? cuda_record_api(c->record) : cuda_api();
	c->at.iteration = -1;
	c->streams = mem_zalloc(sizeof *c->streams);
	c->lasting = cuda_lasting_new();
	enum status status = cuda_need(c, CUDA_DRIVER);
	if (status == STATUS_OK)
		status = open_context(c);
	if (status == STATUS_OK)
		status = cuda_kernels_open(c);
	if (status == STATUS_OK)
		status = cuda_gemms_open(c);
	if (status == STATUS_OK)
		*out = &c->base;
	else
		device_close(&c->base);
	return status;
}

enum status cuda_open(struct rt_job *job, struct rt_device **out)
{
	return open_device(job, NULL, out);
}

enum status cuda_open_recorded(struct rt_job *job, struct buf *calls, struct rt_device **out)
{
	return open_device(job, calls, out);
}
