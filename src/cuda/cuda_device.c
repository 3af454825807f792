/* cuda_device: opens and closes the device "cuda". */
#include "cuda/cuda_device.h"
#include "cuda/cuda_cache.h"
#include "cuda/gpu_assignment.h"
#include "cuda/launch_cache.h"
#include "cuda/record.h"
#include <stdlib.h>
#include <string.h>

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
	cuda_launch_cache_free(c->launch_cache);
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
    .stream_new = cuda_device_stream_new,
    .stream_free = cuda_device_stream_free,
    .launch = cuda_device_launch,
    .record = cuda_device_record,
    .await = cuda_device_await,
    .is_over = cuda_device_is_over,
    .release = cuda_device_release,
    .time_events = cuda_device_time_events,
    .clock = cuda_device_clock,
    .elapsed = cuda_device_elapsed,
    .is_idle = cuda_device_is_idle,
    .capture_begin = cuda_device_capture_begin,
    .capture_end = cuda_device_capture_end,
    .capture_drop = cuda_device_capture_drop,
    .replay = cuda_device_replay,
    .graph_free = cuda_device_graph_free,
    .upload = cuda_device_upload,
    .download = cuda_device_download,
    .poison = cuda_device_poison,
    .staging_new = cuda_device_staging_new,
    .staging_free = cuda_device_staging_free,
};

static const struct rt_device_ops cuda_ops = {
    .name = "cuda",
    .async = &cuda_async_ops,
    .alloc = cuda_device_alloc,
    .free = cuda_device_free,
    .prepare = device_prepare,
    .close = device_close,
};

static enum status open_context(struct cuda *c)
{
	CUcontext context;
	size_t bytes;
	enum status status = cuda_gpu_take(c);
	if (status != STATUS_OK)
		return status;
	if (!cuda_call(c, cuDeviceTotalMem, &bytes, c->device) ||
	    !cuda_call(c, cuDeviceGetName, c->base.model, sizeof c->base.model, c->device) ||
	    !cuda_call(c, cuDevicePrimaryCtxRetain, &context, c->device))
		return cuda_failure(c);
	c->context = context;
	c->base.memory = (int64_t)(bytes / (size_t)c->base.sharers);
	void *fault;
	if (!cuda_call(c, cuCtxSetCurrent, context) ||
	    !cuda_call(c, cuDeviceGetAttribute, &c->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
	               c->device) ||
	    !cuda_call(c, cuDeviceGetAttribute, &c->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
	               c->device) ||
	    !cuda_call(c, cuDeviceGetAttribute, &c->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
	               c->device) ||
	    !cuda_call(c, cuMemHostAlloc, &fault, sizeof *c->fault, CU_MEMHOSTALLOC_DEVICEMAP))
		return cuda_failure(c);
	c->fault = memset(fault, 0, sizeof *c->fault);
	if (!cuda_call(c, cuMemHostGetDevicePointer, &c->fault_at, fault, 0))
		return cuda_failure(c);
	return cuda_stream_new(c, &c->streams->copies);
}

enum status cuda_need(struct cuda *c, enum cuda_library library)
{
	return c->record ? STATUS_OK : cuda_api_open(c->base.job, library);
}

static enum status open_device(struct rt_job *job, const struct cuda_calls *calls, struct rt_device **out)
{
	struct cuda *c = mem_zalloc(sizeof *c);
	c->base.ops = &cuda_ops;
	c->base.job = job;
	c->record = calls ? cuda_record_begin(c, calls) : NULL;
	c->api = calls ? cuda_record_api(c->record) : cuda_api();
	c->at.iteration = -1;
	c->streams = mem_zalloc(sizeof *c->streams);
	c->launch_cache = cuda_launch_cache_new();
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
	enum status status = open_device(job, NULL, out);
	if (status == STATUS_OK)
		cuda_cache_warn(job);
	return status;
}

enum status cuda_open_recorded(struct rt_job *job, const struct cuda_calls *calls, struct rt_device **out)
{
	return open_device(job, calls, out);
}
