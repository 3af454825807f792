/* memory: allocations of the mock driver. Pinned memory comes from malloc; device memory can be mapped by
 * other processes. An access past the end of either is detected. */
#include "block.h"
#include "driver.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, FRESH = 0xa5 /* FRESH: each byte of new memory */ };

struct allocation {
	char *at;
	size_t bytes;
	enum memory_kind kind;
	int device;
	struct block block; /* of MEMORY_DEVICE and MEMORY_OPENED */
	struct block_id id; /* MEMORY_OPENED: id of its block */
	unsigned users;     /* MEMORY_OPENED: number of times that it was opened */
	struct allocation *next;
};
static struct allocation *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects `list` and `used` */
static size_t used[64];                                  /* bytes used, by device */

/* The caller holds the lock. */
static struct allocation *add(struct allocation a)
{
	struct allocation *new = malloc(sizeof *new);
	if (!new)
		mock_abort("memory", "the host has no memory");
	a.next = all;
	*new = a;
	return all = new;
}

static bool get(enum memory_kind kind, size_t bytes, struct allocation *out)
{
	void *at = NULL;
	if (kind == MEMORY_PINNED && posix_memalign(&at, ALIGNMENT, bytes) != 0)
		return false;
	if (kind == MEMORY_DEVICE && !block_new(bytes, &out->block))
		return false;
	out->at = at ? at : out->block.at;
	return true;
}

static void give_back(struct allocation *a)
{
	if (a->kind == MEMORY_PINNED)
		free(a->at);
	else
		block_free(&a->block);
	free(a);
}

static CUresult allocate(enum memory_kind kind, size_t bytes, void **out)
{
	int device = mock_device_current();
	bool counts = kind == MEMORY_DEVICE;
	struct allocation a = {.bytes = bytes, .kind = kind, .device = device};
	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	bool done = (!counts || bytes <= mock_settings()->memory - used[device]) && get(kind, bytes, &a);
	if (done) {
		memset(a.at, FRESH, bytes);
		add(a);
		used[device] += counts ? bytes : 0;
		*out = a.at;
	}
	pthread_mutex_unlock(&lock);
	return done ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Returns the place in the list of the allocation that begins at `at`; NULL there: none. The caller holds the
 * lock. */
static struct allocation **find(enum memory_kind kind, const void *at)
{
	struct allocation **a = &all;
	while (*a && ((*a)->at != at || (*a)->kind != kind))
		a = &(*a)->next;
	return a;
}

static void release(const char *call, enum memory_kind kind, void *at)
{
	pthread_mutex_lock(&lock);
	struct allocation **a = find(kind, at), *gone = *a;
	if (!gone)
		mock_abort(call, "%p is not where an allocation begins", at);
	*a = gone->next;
	used[gone->device] -= kind == MEMORY_DEVICE ? gone->bytes : 0;
	pthread_mutex_unlock(&lock);
	give_back(gone);
}

/* Returns the allocation that contains a byte; NULL: none. The caller holds the lock. */
static const struct allocation *around(const void *at)
{
	uintptr_t from = (uintptr_t)at;
	for (const struct allocation *a = all; a; a = a->next)
		if (from >= (uintptr_t)a->at && from - (uintptr_t)a->at < a->bytes)
			return a;
	return NULL;
}

enum memory_kind memory_kind(const char *call, const void *at, size_t bytes)
{
	enum memory_kind kind = MEMORY_PAGEABLE;
	pthread_mutex_lock(&lock);
	const struct allocation *a = around(at);
	if (a) {
		size_t offset = (size_t)((const char *)at - a->at);
		if (bytes > a->bytes - offset)
			mock_abort(call, "%zu bytes from byte %zu of an allocation of %zu", bytes, offset,
			           a->bytes);
		kind = a->kind;
	}
	pthread_mutex_unlock(&lock);
	return kind;
}

void mock_memory_check(const char *call, const void *at, size_t bytes)
{
	if (bytes && memory_kind(call, at, bytes) == MEMORY_PAGEABLE)
		mock_abort(call, "%p, %zu bytes: no allocation", at, bytes);
}

static unsigned count(bool opened)
{
	unsigned n = 0;
	pthread_mutex_lock(&lock);
	for (const struct allocation *a = all; a; a = a->next)
		n += a->kind != MEMORY_MAPPED && (a->kind == MEMORY_OPENED) == opened;
	pthread_mutex_unlock(&lock);
	return n;
}

unsigned memory_count(void)
{
	return count(false);
}

unsigned memory_count_opened(void)
{
	return count(true);
}

/* ---- memory of other processes */

bool memory_id(CUdeviceptr at, struct block_id *out)
{
	pthread_mutex_lock(&lock);
	const struct allocation *a = *find(MEMORY_DEVICE, (void *)at);
	if (a)
		*out = block_id(&a->block);
	pthread_mutex_unlock(&lock);
	return a != NULL;
}

bool memory_open(const struct block_id *id, CUdeviceptr *out)
{
	struct allocation a = {.kind = MEMORY_OPENED, .device = mock_device_current(), .id = *id, .users = 1};
	if (!block_open(id, &a.block))
		return false;
	a.at = a.block.at;
	a.bytes = a.block.bytes;
	pthread_mutex_lock(&lock);
	struct allocation *before = all;
	while (before && (before->kind != MEMORY_OPENED || before->device != a.device ||
	                  before->id.process != id->process || before->id.inode != id->inode))
		before = before->next;
	if (before) {
		before->users++;
		block_free(&a.block);
	} else {
		before = add(a);
	}
	*out = (CUdeviceptr)before->at;
	pthread_mutex_unlock(&lock);
	return true;
}

bool memory_close(CUdeviceptr at)
{
	pthread_mutex_lock(&lock);
	struct allocation **a = find(MEMORY_OPENED, (void *)at), *o = *a;
	bool last = o && --o->users == 0;
	if (last)
		*a = o->next;
	pthread_mutex_unlock(&lock);
	if (last)
		give_back(o);
	return o != NULL;
}

/* ---- memory of vmm.c */

bool memory_take(int device, size_t bytes)
{
	pthread_mutex_lock(&lock);
	bool done = bytes <= mock_settings()->memory - used[device];
	used[device] += done ? bytes : 0;
	pthread_mutex_unlock(&lock);
	return done;
}

void memory_give_back(int device, size_t bytes)
{
	pthread_mutex_lock(&lock);
	used[device] -= bytes;
	pthread_mutex_unlock(&lock);
}

void memory_map_add(char *at, size_t bytes)
{
	pthread_mutex_lock(&lock);
	add((struct allocation){.at = at, .bytes = bytes, .kind = MEMORY_MAPPED});
	pthread_mutex_unlock(&lock);
}

void memory_map_end(const char *at)
{
	pthread_mutex_lock(&lock);
	struct allocation **a = &all, *gone;
	while (*a && ((*a)->kind != MEMORY_MAPPED || at < (*a)->at || at >= (*a)->at + (*a)->bytes))
		a = &(*a)->next;
	gone = *a; /* NULL: freed together with another part of the range */
	if (gone)
		*a = gone->next;
	pthread_mutex_unlock(&lock);
	free(gone);
}

/* ---- entry points */

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

/* For the current device: the memory that this process has not used. */
CUresult cuMemGetInfo(size_t *left, size_t *total)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_CONTEXT, NULL);
	pthread_mutex_lock(&lock);
	*total = mock_settings()->memory;
	*left = *total - used[mock_device_current()];
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange(CUdeviceptr *from, size_t *bytes, CUdeviceptr at)
{
	DRIVER_ENTER(CUDA_ERROR_NOT_FOUND, NULL);
	pthread_mutex_lock(&lock);
	const struct allocation *a = around((void *)at);
	bool found = a && a->kind != MEMORY_PINNED;
	if (found && from)
		*from = (CUdeviceptr)a->at;
	if (found && bytes)
		*bytes = a->bytes;
	pthread_mutex_unlock(&lock);
	return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
