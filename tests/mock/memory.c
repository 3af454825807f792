/* memory: allocations of the mock driver. Each is a block of malloc, so that what runs over its end shows. */
#include "driver.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, FRESH = 0xa5 /* what new memory holds */ };

struct allocation {
	char *at;
	size_t bytes;
	enum memory_kind kind;
	int device;
	struct allocation *next;
};
static struct allocation *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list and used */
static size_t used[64];                                  /* bytes of each device */

static CUresult allocate(enum memory_kind kind, size_t bytes, void **out)
{
	int device = mock_device_current();
	bool counts = kind == MEMORY_DEVICE;
	void *at = NULL;
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	if (!counts || bytes <= mock_settings()->memory - used[device]) {
		struct allocation *a = malloc(sizeof *a);
		if (a && posix_memalign(&at, ALIGNMENT, bytes) == 0) {
			memset(at, FRESH, bytes);
			*a = (struct allocation){at, bytes, kind, device, all};
			all = a;
			used[device] += counts ? bytes : 0;
		} else {
			free(a);
			at = NULL;
		}
	}
	pthread_mutex_unlock(&lock);
	if (!at)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*out = at;
	return CUDA_SUCCESS;
}

static void release(const char *call, enum memory_kind kind, void *at)
{
	pthread_mutex_lock(&lock);
	struct allocation **a = &all;
	while (*a && (*a)->at != at)
		a = &(*a)->next;
	if (!*a || (*a)->kind != kind)
		mock_abort(call, "%p is not where an allocation begins", at);
	struct allocation *gone = *a;
	*a = gone->next;
	used[gone->device] -= kind == MEMORY_DEVICE ? gone->bytes : 0;
	pthread_mutex_unlock(&lock);
	free(gone->at);
	free(gone);
}

enum memory_kind memory_kind(const char *call, const void *at, size_t bytes)
{
	enum memory_kind kind = MEMORY_PAGEABLE;
	uintptr_t from = (uintptr_t)at;
	pthread_mutex_lock(&lock);
	for (const struct allocation *a = all; a; a = a->next) {
		uintptr_t begin = (uintptr_t)a->at;
		if (from < begin || from - begin >= a->bytes)
			continue;
		if (bytes > a->bytes - (from - begin))
			mock_abort(call, "%zu bytes from byte %zu of an allocation of %zu", bytes,
			           (size_t)(from - begin), a->bytes);
		kind = a->kind;
		break;
	}
	pthread_mutex_unlock(&lock);
	return kind;
}

void mock_memory_check(const char *call, const void *at, size_t bytes)
{
	if (bytes && memory_kind(call, at, bytes) == MEMORY_PAGEABLE)
		mock_abort(call, "%p, %zu bytes: no allocation", at, bytes);
}

unsigned memory_count(void)
{
	unsigned n = 0;
	pthread_mutex_lock(&lock);
	for (const struct allocation *a = all; a; a = a->next)
		n++;
	pthread_mutex_unlock(&lock);
	return n;
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes)
{
	void *at;
	DRIVER_ENTER_ALONE(CUDA_ERROR_OUT_OF_MEMORY, "%zu", bytes);
	CUresult r = allocate(MEMORY_DEVICE, bytes, &at);
	if (r == CUDA_SUCCESS)
		*out = (CUdeviceptr)at;
	return r;
}

CUresult cuMemFree(CUdeviceptr at)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_INVALID_VALUE, NULL);
	streams_wait(mock_device_current());
	if (at)
		release(__func__, MEMORY_DEVICE, (void *)at);
	return driver_state();
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_OUT_OF_MEMORY, "%zu flags %u", bytes, flags);
	return allocate(MEMORY_PINNED, bytes, out);
}

CUresult cuMemFreeHost(void *at)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_INVALID_VALUE, NULL);
	streams_wait(mock_device_current());
	release(__func__, MEMORY_PINNED, at);
	return driver_state();
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *out, void *at, unsigned flags)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, NULL);
	if (flags || memory_kind(__func__, at, 1) != MEMORY_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	*out = (CUdeviceptr)at;
	return CUDA_SUCCESS;
}
