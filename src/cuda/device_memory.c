/* device_memory: memory of the GPU, pinned memory of the host, and copies between them. */
#include "cuda/cuda_device.h"
#include <string.h>

static enum status no_memory(struct cuda *c, size_t bytes, const char *what)
{
	size_t left, all;
	struct buf text = {0};
	buf_printf(&text, "GPU %d has no memory for the %zu bytes of %s", c->ordinal, bytes, what);
	if (c->api->cuMemGetInfo(&left, &all) == CUDA_SUCCESS)
		buf_printf(&text, ": %zu of its %zu are free", left, all);
	rt_job_error(
	    c->base.job,
	    "%s; smaller extents (-D) or sizes, fewer streams (--streams) and fewer ranks on a GPU need less",
	    text.at);
	buf_free(&text);
	return rt_job_fail(c->base.job, STATUS_DIAGNOSTICS);
}

static enum status copies_done(struct cuda *c)
{
	return cuda_call(c, cuStreamSynchronize, c->streams->copies) ? STATUS_OK : cuda_failure(c);
}

enum status cuda_device_poison(struct rt_device *d, void *at, size_t bytes)
{
	struct cuda *c = cuda_of(d);
	if (bytes && !cuda_call(c, cuMemsetD8Async, (CUdeviceptr)at, 0xff, bytes, c->streams->copies))
		return cuda_failure(c);
	return copies_done(c);
}

enum status cuda_device_alloc(struct rt_device *d, size_t bytes, const char *what, void **out)
{
	struct cuda *c = cuda_of(d);
	CUdeviceptr at = 0;
	CUresult r = c->api->cuMemAlloc(&at, bytes ? bytes : 1);
	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		return no_memory(c, bytes, what);
	if (!cuda_check(c, r, "cuMemAlloc"))
		return cuda_failure(c);
	vec_push(&c->streams->memory, (struct cuda_memory){at, bytes, ++c->streams->allocations});
	rt_device_count(d, (int64_t)bytes);
	*out = (void *)at;
	return cuda_device_poison(d, *out, bytes);
}

void cuda_device_free(struct rt_device *d, void *at)
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
		size_t offset = (size_t)((CUdeviceptr)at - m->at); /* for addresses before the memory this
		                                                      is a large number */
		if (offset <= m->bytes && bytes <= m->bytes - offset)
			return m;
	}
	return NULL;
}

enum status cuda_device_upload(struct rt_device *d, void *to, const void *from, size_t bytes)
{
	struct cuda *c = cuda_of(d);
	if (bytes && !cuda_call(c, cuMemcpyHtoDAsync, (CUdeviceptr)to, from, bytes, c->streams->copies))
		return cuda_failure(c);
	return copies_done(c);
}

enum status cuda_device_download(struct rt_device *d, void *to, const void *from, size_t bytes)
{
	struct cuda *c = cuda_of(d);
	if (bytes && !cuda_call(c, cuMemcpyDtoHAsync, to, (CUdeviceptr)from, bytes, c->streams->copies))
		return cuda_failure(c);
	return copies_done(c);
}

enum status cuda_device_staging_new(struct rt_device *d, size_t bytes, const char *what, void **out)
{
	struct cuda *c = cuda_of(d);
	CUresult r = c->api->cuMemHostAlloc(out, bytes ? bytes : 1, 0);
	if (r == CUDA_ERROR_OUT_OF_MEMORY) {
		rt_job_error(
		    d->job,
		    "no pinned memory for the %zu bytes of %s; smaller extents (-D) or sizes and fewer "
		    "ranks on a host need less",
		    bytes, what);
		return rt_job_fail(d->job, STATUS_DIAGNOSTICS);
	}
	if (!cuda_check(c, r, "cuMemHostAlloc"))
		return cuda_failure(c);
	memset(*out, 0xff, bytes);
	return STATUS_OK;
}

void cuda_device_staging_free(struct rt_device *d, void *at)
{
	cuda_call(cuda_of(d), cuMemFreeHost, at);
}
