/* vmm: memory of a device that is made, mapped and shared separately from its addresses.
 *
 *     cuMemCreate ─> physical memory: a file in memory, counted by its handles and maps
 *     cuMemAddressReserve ─> addresses without memory
 *     cuMemMap, cuMemSetAccess ─> the memory at these addresses; at several addresses, and side by side
 *
 * Where drivers differ it is stricter than the documentation: only a whole handle can be mapped, and each map
 * must be unmapped by itself. */
#include "driver.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GRANULARITY = 2 << 20, FIRST_HANDLE = 0x7000, FRESH = 0xa5 };

struct physical {
	CUmemGenericAllocationHandle handle;
	int file, device; /* device -1: memory of another process, where it counts */
	size_t bytes;
	unsigned handles, maps; /* numbers that are left */
	bool shareable;
	struct physical *next;
};
struct map {
	char *at;
	struct physical *of;
	bool accessible;
	struct map *next;
};
struct range {
	char *at;
	size_t bytes;
	struct range *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the lists */
static struct physical *physicals;
static struct map *maps;
static struct range *ranges;
static CUmemGenericAllocationHandle next_handle = FIRST_HANDLE;

static void *new (size_t bytes)
{
	void *at = calloc(1, bytes);
	if (!at)
		mock_abort("vmm", "the host has no memory");
	return at;
}

/* Finds the memory of a handle; aborts if there is none. The caller holds the lock, as for the functions
 * below. */
static struct physical *physical_of(const char *call, CUmemGenericAllocationHandle handle)
{
	struct physical *p = physicals;
	while (p && (p->handle != handle || !p->handles))
		p = p->next;
	if (!p)
		mock_abort(call, "%#llx is no handle of memory", handle);
	return p;
}

static void physical_end(struct physical *p)
{
	struct physical **at = &physicals;
	if (p->handles || p->maps)
		return;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	if (p->device >= 0)
		memory_give_back(p->device, p->bytes);
	close(p->file);
	free(p);
}

static CUmemGenericAllocationHandle physical_add(int file, int device, size_t bytes, bool shareable)
{
	struct physical *p = new (sizeof *p);
	*p = (struct physical){.handle = next_handle++,
	                       .file = file,
	                       .device = device,
	                       .bytes = bytes,
	                       .handles = 1,
	                       .shareable = shareable,
	                       .next = physicals};
	physicals = p;
	return p->handle;
}

static struct map *map_at(const char *at)
{
	struct map *m = maps;
	while (m && (at < m->at || at >= m->at + m->of->bytes))
		m = m->next;
	return m;
}

static const struct range *range_of(const char *at, size_t bytes)
{
	const struct range *r = ranges;
	while (r && (at < r->at || (size_t)(at - r->at) + bytes > r->bytes))
		r = r->next;
	return r;
}

unsigned vmm_left(void)
{
	unsigned n = 0;
	pthread_mutex_lock(&lock);
	for (const struct physical *p = physicals; p; p = p->next)
		n += p->handles + p->maps;
	for (const struct range *r = ranges; r; r = r->next)
		n++;
	pthread_mutex_unlock(&lock);
	return n;
}

/* ---- physical memory */

static bool is_known(const CUmemAllocationProp *p)
{
	return p->type == CU_MEM_ALLOCATION_TYPE_PINNED && p->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
	       p->location.id >= 0 && p->location.id < mock_settings()->devices &&
	       (p->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0;
}

CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *p,
                                       CUmemAllocationGranularity_flags option)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, NULL);
	if (!is_known(p) || option != CU_MEM_ALLOC_GRANULARITY_MINIMUM)
		return CUDA_ERROR_INVALID_VALUE;
	*out = GRANULARITY;
	return CUDA_SUCCESS;
}

static bool fill(int file, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (at == MAP_FAILED)
		return false;
	memset(at, FRESH, bytes);
	munmap(at, bytes);
	return true;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *p,
                     unsigned long long flags)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_OUT_OF_MEMORY, "%zu", bytes);
	if (!is_known(p) || flags || !bytes || bytes % GRANULARITY)
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory_take(p->location.id, bytes))
		return CUDA_ERROR_OUT_OF_MEMORY;
	int file = memfd_create("hirc-mock-gpu", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, (off_t)bytes) != 0 || !fill(file, bytes))
		mock_abort(__func__, "the host has no memory");
	pthread_mutex_lock(&lock);
	*out = physical_add(file, p->location.id, bytes, p->requestedHandleTypes != 0);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_INVALID_VALUE, NULL);
	pthread_mutex_lock(&lock);
	struct physical *p = physical_of(__func__, handle);
	p->handles--;
	physical_end(p);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *at)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, NULL);
	pthread_mutex_lock(&lock);
	struct map *m = map_at(at);
	if (m) {
		m->of->handles++;
		*out = m->of->handle;
	}
	pthread_mutex_unlock(&lock);
	return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- shared with other processes */

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, NULL);
	pthread_mutex_lock(&lock);
	struct physical *p = physical_of(__func__, handle);
	bool can = p->shareable && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && !flags;
	int file = can ? fcntl(p->file, F_DUPFD_CLOEXEC, 0) : -1;
	pthread_mutex_unlock(&lock);
	if (!can)
		return CUDA_ERROR_INVALID_VALUE;
	if (file < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	memcpy(out, &file, sizeof file);
	return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *shared,
                                        CUmemAllocationHandleType type)
{
	struct stat s;
	DRIVER_ENTER_ALONE(CUDA_ERROR_INVALID_VALUE, NULL);
	if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	int file = fcntl((int)(intptr_t)shared, F_DUPFD_CLOEXEC, 0);
	if (file < 0 || fstat(file, &s) != 0 || !s.st_size || s.st_size % GRANULARITY) {
		if (file >= 0)
			close(file);
		return CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_lock(&lock);
	*out = physical_add(file, -1, (size_t)s.st_size, true);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

/* ---- addresses */

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr hint,
                             unsigned long long flags)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_OUT_OF_MEMORY, "%zu", bytes);
	if (!bytes || bytes % GRANULARITY || alignment > GRANULARITY || hint || flags)
		return CUDA_ERROR_INVALID_VALUE;
	/* and after it one unit that must not be accessed */
	size_t all = bytes + 2 * (size_t)GRANULARITY;
	char *at = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	size_t before = (GRANULARITY - (uintptr_t)at % GRANULARITY) % GRANULARITY;
	if (before)
		munmap(at, before);
	if (GRANULARITY - before)
		munmap(at + before + bytes + GRANULARITY, GRANULARITY - before);
	struct range *r = new (sizeof *r);
	pthread_mutex_lock(&lock);
	*r = (struct range){.at = at + before, .bytes = bytes, .next = ranges};
	ranges = r;
	pthread_mutex_unlock(&lock);
	*out = (CUdeviceptr)r->at;
	return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr at, size_t bytes)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_INVALID_VALUE, NULL);
	pthread_mutex_lock(&lock);
	struct range **r = &ranges;
	while (*r && ((*r)->at != (char *)at || (*r)->bytes != bytes))
		r = &(*r)->next;
	struct range *gone = *r;
	if (!gone)
		mock_abort(__func__, "%p, %zu bytes: no reservation", (void *)at, bytes);
	for (const struct map *m = maps; m; m = m->next)
		if (m->at >= gone->at && m->at < gone->at + bytes)
			mock_abort(__func__, "%p is still mapped", (void *)m->at);
	*r = gone->next;
	pthread_mutex_unlock(&lock);
	munmap(gone->at, bytes + GRANULARITY);
	free(gone);
	return CUDA_SUCCESS;
}

/* ---- maps */

CUresult cuMemMap(CUdeviceptr to, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
	char *at = (char *)to;
	DRIVER_ENTER_ALONE(CUDA_ERROR_OUT_OF_MEMORY, "%zu", bytes);
	pthread_mutex_lock(&lock);
	struct physical *p = physical_of(__func__, handle);
	bool can = !offset && !flags && bytes == p->bytes && (uintptr_t)at % GRANULARITY == 0 &&
	           range_of(at, bytes) != NULL;
	for (const struct map *m = maps; m && can; m = m->next)
		can = at + bytes <= m->at || m->at + m->of->bytes <= at;
	if (can) {
		struct map *m = new (sizeof *m);
		if (mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, p->file, 0) == MAP_FAILED)
			mock_abort(__func__, "the host does not map memory");
		*m = (struct map){.at = at, .of = p, .next = maps};
		maps = m;
		p->maps++;
	}
	pthread_mutex_unlock(&lock);
	return can ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr from, size_t bytes, const CUmemAccessDesc *d, size_t n)
{
	char *at = (char *)from, *end = at + bytes;
	DRIVER_ENTER_ALONE(CUDA_ERROR_INVALID_VALUE, NULL);
	if (n != 1 || d->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    d->location.id != mock_device_current() || d->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&lock);
	while (at < end) {
		struct map *m = map_at(at);
		if (!m || m->at != at || at + m->of->bytes > end || m->accessible)
			break;
		m->accessible = true;
		at += m->of->bytes;
	}
	bool can = at == end && bytes && mprotect((char *)from, bytes, PROT_READ | PROT_WRITE) == 0;
	if (can)
		memory_map_add((char *)from, bytes);
	pthread_mutex_unlock(&lock);
	return can ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Later accesses to the memory fault. */
CUresult cuMemUnmap(CUdeviceptr from, size_t bytes)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_INVALID_VALUE, NULL);
	pthread_mutex_lock(&lock);
	struct map **at = &maps;
	while (*at && (*at)->at != (char *)from)
		at = &(*at)->next;
	struct map *m = *at;
	if (!m || m->of->bytes != bytes)
		mock_abort(__func__, "%p, %zu bytes: no map", (void *)from, bytes);
	*at = m->next;
	if (m->accessible)
		memory_map_end(m->at);
	if (mmap(m->at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		mock_abort(__func__, "the host does not map memory");
	m->of->maps--;
	physical_end(m->of);
	free(m);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}
