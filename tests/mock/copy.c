/* copy: copies and fills of memory, in the order of a stream. */
#include "driver.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct copy {
	void *to;
	const void *from; /* NULL: fill */
	size_t bytes;
	int fill;
	char staged[]; /* copy of source memory that may change */
};

/* Writes one word at once and after all earlier writes, since a stream may wait for it (value.c). */
static void write_word(const struct copy *c)
{
	uint32_t word = (unsigned char)c->fill * 0x01010101u;
	if (c->from)
		memcpy(&word, c->from, sizeof word);
	atomic_store_explicit((_Atomic uint32_t *)c->to, word, memory_order_release);
}

static void run(void *data, uint64_t number)
{
	struct copy *c = data;
	(void)number;
	if (c->bytes == sizeof(uint32_t) && (uintptr_t)c->to % sizeof(uint32_t) == 0)
		write_word(c);
	else if (c->from)
		memmove(c->to, c->from, c->bytes);
	else
		memset(c->to, c->fill, c->bytes);
}

static void push(CUstream s, void *to, const void *from, size_t bytes, int fill, bool stage)
{
	struct copy *c = malloc(sizeof *c + (stage ? bytes : 0));
	if (!c)
		mock_abort("copy", "the host has no memory");
	*c = (struct copy){to, from, bytes, fill};
	if (stage)
		c->from = memcpy(c->staged, from, bytes);
	mock_stream_push(s, (struct mock_work){run, free, NULL, c});
}

/* Pinned memory is read when the stream reaches the copy, other memory at the call. */
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream s)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, "%zu stream %u", bytes, STREAM_NUMBER(s));
	mock_memory_check(__func__, (void *)to, bytes);
	bool stage = memory_kind(__func__, from, bytes) == MEMORY_PAGEABLE && !mock_stream_is_captured(s);
	if (bytes)
		push(s, (void *)to, from, bytes, 0, stage);
	return CUDA_SUCCESS;
}

/* If the memory is not pinned, the copy is done when the call returns. */
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream s)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, "%zu stream %u", bytes, STREAM_NUMBER(s));
	mock_memory_check(__func__, (void *)from, bytes);
	if (!bytes)
		return CUDA_SUCCESS;
	push(s, to, (void *)from, bytes, 0, false);
	if (memory_kind(__func__, to, bytes) == MEMORY_PAGEABLE && !mock_stream_is_captured(s))
		stream_wait_idle(s);
	return driver_state();
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, "%zu stream %u", bytes, STREAM_NUMBER(s));
	mock_memory_check(__func__, (void *)to, bytes);
	mock_memory_check(__func__, (void *)from, bytes);
	if (bytes)
		push(s, (void *)to, (void *)from, bytes, 0, false);
	return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char fill, size_t bytes, CUstream s)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, "%zu stream %u", bytes, STREAM_NUMBER(s));
	mock_memory_check(__func__, (void *)to, bytes);
	if (bytes)
		push(s, (void *)to, NULL, bytes, fill, false);
	return CUDA_SUCCESS;
}
