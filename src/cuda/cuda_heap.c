/* cuda_heap: see cuda_heap.h. */
#include "cuda/cuda_heap.h"
#include "base/arena.h"
#include "base/vec.h"
#include "cuda/cuda_device.h"
#include "cuda/handles.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Allocations mapped to consecutive addresses. */
struct map {
	CUdeviceptr at; /* 0: none */
	size_t bytes;
	uint32_t mapped; /* number of its allocations that are mapped */
};

struct view {
	struct map map;
	size_t offset, piece_bytes;
	int n, *rank; /* owned */
};

struct cuda_heap {
	struct rt_job *job;
	struct cuda *c;
	uint32_t n;                           /* number of pieces of a rank */
	size_t *piece, bytes;                 /* bytes of each piece, and of all */
	CUmemGenericAllocationHandle *handle; /* [rank * n + piece]; 0: none */
	bool named;       /* other threads are about to map this rank's pieces by these handles */
	struct map *rank; /* by rank: the map of its pieces */
	VEC(struct view) view;
};

static enum status get_heap_status(const struct cuda_heap *h)
{
	return rt_job_status(h->job);
}

/* ---- maps */

static void unmap(struct cuda_heap *h, struct map *m, const size_t *bytes, size_t each)
{
	size_t offset = 0;
	bool empty = true;
	for (uint32_t k = 0; k < m->mapped; k++) {
		size_t size = bytes ? bytes[k] : each;
		empty = cuda_call(h->c, cuMemUnmap, m->at + offset, size) && empty;
		offset += size;
	}
	if (m->at && empty)
		cuda_call(h->c, cuMemAddressFree, m->at, m->bytes);
	*m = (struct map){0};
}

/* Reserves addresses for a map. */
static enum status reserve(struct cuda_heap *h, struct map *m, size_t bytes)
{
	m->bytes = bytes;
	return cuda_call(h->c, cuMemAddressReserve, &m->at, bytes, RT_HEAP_UNIT, 0, 0) ? STATUS_OK
	                                                                               : get_heap_status(h);
}

/* Maps an allocation of rank `rank`, `offset` bytes from the beginning. */
static enum status map_piece(struct cuda_heap *h, struct map *m, size_t offset, int rank, uint32_t piece)
{
	if (!cuda_call(h->c, cuMemMap, m->at + offset, h->piece[piece], 0,
	               h->handle[(size_t)rank * h->n + piece], 0))
		return get_heap_status(h);
	m->mapped++;
	return STATUS_OK;
}

/* Allows the GPU to use the mapped memory. */
static enum status allow_access(struct cuda_heap *h, const struct map *m)
{
	const CUmemAccessDesc d = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = h->c->device},
	                           .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUresult r = h->c->api->cuMemSetAccess(m->at, m->bytes, &d, 1);
	if (r == CUDA_ERROR_INVALID_DEVICE || r == CUDA_ERROR_NOT_SUPPORTED) {
		rt_job_error(h->job,
		             "GPU %d cannot use the memory of another rank's GPU; without --zero-copy the "
		             "data is copied",
		             h->c->ordinal);
		return rt_job_fail(h->job, STATUS_ABSENT);
	}
	return cuda_check(h->c, r, "cuMemSetAccess") ? STATUS_OK : get_heap_status(h);
}

/* Maps all pieces of a rank. */
static enum status map_rank(struct cuda_heap *h, int rank)
{
	struct map *m = &h->rank[rank];
	size_t offset = 0;
	enum status status = reserve(h, m, h->bytes);
	for (uint32_t k = 0; k < h->n && status == STATUS_OK; k++) {
		status = map_piece(h, m, offset, rank, k);
		offset += h->piece[k];
	}
	return status == STATUS_OK ? allow_access(h, m) : status;
}

/* ---- the own memory */

static CUmemAllocationProp property(const struct cuda_heap *h, bool shareable)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
	                             .requestedHandleTypes = shareable
	                                                         ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
	                                                         : CU_MEM_HANDLE_TYPE_NONE,
	                             .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = h->c->device}};
}

static bool query_attribute(struct cuda_heap *h, CUdevice_attribute attribute, bool *out)
{
	int value = 0;
	bool known = cuda_call(h->c, cuDeviceGetAttribute, &value, attribute, h->c->device);
	*out = value != 0;
	return known;
}

static enum status check_device(struct cuda_heap *h, const CUmemAllocationProp *p)
{
	bool maps, files;
	size_t unit;
	if (!query_attribute(h, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, &maps) ||
	    !query_attribute(h, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, &files))
		return get_heap_status(h);
	if (maps && (files || !p->requestedHandleTypes)) {
		if (!cuda_call(h->c, cuMemGetAllocationGranularity, &unit, p,
		               CU_MEM_ALLOC_GRANULARITY_MINIMUM))
			return get_heap_status(h);
		if (RT_HEAP_UNIT % unit == 0)
			return STATUS_OK;
	}
	rt_job_error(h->job,
	             "GPU %d has no memory that other ranks can map; without --zero-copy none is needed",
	             h->c->ordinal);
	return rt_job_fail(h->job, STATUS_ABSENT);
}

static enum status make_own(struct cuda_heap *h, bool shareable, const char *what)
{
	CUmemAllocationProp p = property(h, shareable);
	enum status status = check_device(h, &p);
	for (uint32_t k = 0; k < h->n && status == STATUS_OK; k++) {
		CUresult r =
		    h->c->api->cuMemCreate(&h->handle[(size_t)h->job->rank * h->n + k], h->piece[k], &p, 0);
		if (r == CUDA_ERROR_OUT_OF_MEMORY) {
			rt_job_error(h->job, "GPU %d has no memory for the %zu bytes of %s", h->c->ordinal,
			             h->bytes, what);
			return rt_job_fail(h->job, STATUS_DIAGNOSTICS);
		}
		if (!cuda_check(h->c, r, "cuMemCreate"))
			return get_heap_status(h);
	}
	if (status == STATUS_OK)
		status = map_rank(h, h->job->rank);
	return status == STATUS_OK ? cuda_device_poison(&h->c->base, cuda_heap_of(h, h->job->rank), h->bytes)
	                           : status;
}

/* ---- that of the others */

/* Takes the handles of other ranks in this process. Threads of a process have the same handles; a rank that
 * maps one gets its own. */
static enum status take_of_threads(struct cuda_heap *h)
{
	size_t n = h->n;
	CUmemGenericAllocationHandle *own = mem_alloc(n * sizeof *own);
	memcpy(own, h->handle + (size_t)h->job->rank * n, n * sizeof *own);
	CUmemGenericAllocationHandle *all = mem_alloc((size_t)h->job->size * n * sizeof *all);
	h->named = true;
	enum status status = rt_job_allgather(h->job, "the memory of all GPUs", own, n * sizeof *own, all);
	for (int r = 0; r < h->job->size && status == STATUS_OK; r++) {
		struct map *m = &h->rank[r];
		size_t offset = 0;
		if (r == h->job->rank)
			continue;
		status = reserve(h, m, h->bytes);
		for (uint32_t k = 0; k < n && status == STATUS_OK; offset += h->piece[k++]) {
			CUmemGenericAllocationHandle there = all[(size_t)r * n + k], same;
			if (!cuda_call(h->c, cuMemMap, m->at + offset, h->piece[k], 0, there, 0)) {
				status = get_heap_status(h);
				break;
			}
			m->mapped++;
			if (cuda_call(h->c, cuMemRetainAllocationHandle, &same, (void *)(m->at + offset)))
				h->handle[(size_t)r * n + k] = there;
			else
				status = get_heap_status(h);
		}
		if (status == STATUS_OK)
			status = allow_access(h, m);
	}
	free(own);
	free(all);
	if (status == STATUS_OK)
		status = rt_job_barrier(h->job, "the maps of all GPUs");
	h->named = status != STATUS_OK;
	return status;
}

/* Makes files that stand for this rank's pieces. */
static enum status export_own(struct cuda_heap *h, int *file)
{
	for (uint32_t k = 0; k < h->n; k++)
		file[k] = -1;
	for (uint32_t k = 0; k < h->n; k++)
		if (!cuda_call(h->c, cuMemExportToShareableHandle, &file[k],
		               h->handle[(size_t)h->job->rank * h->n + k],
		               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0))
			return get_heap_status(h);
	return STATUS_OK;
}

/* Closes a file. If calls are only recorded, files are plain numbers. */
static void close_file(const struct cuda_heap *h, int file)
{
	if (file >= 0 && !h->c->record)
		close(file);
}

static enum status exchange_handles(struct cuda_heap *h, const int *own, int *all)
{
	if (!h->c->record)
		return cuda_handles_exchange(h->job, own, h->n, all);
	enum status status = rt_job_allgather(h->job, "the memory of all GPUs", own, h->n * sizeof *own, all);
	for (uint32_t k = 0; k < h->n; k++)
		all[(size_t)h->job->rank * h->n + k] = -1;
	return status;
}

static enum status take_of_processes(struct cuda_heap *h)
{
	size_t all_n = (size_t)h->job->size * h->n;
	int *own = mem_alloc(h->n * sizeof *own), *all = mem_alloc(all_n * sizeof *all);
	memset(all, 0xff, all_n * sizeof *all);
	enum status status = export_own(h, own);
	if (status == STATUS_OK)
		status = exchange_handles(h, own, all);
	for (size_t k = 0; k < all_n; k++) {
		if (all[k] < 0)
			continue;
		if (status == STATUS_OK &&
		    !cuda_call(h->c, cuMemImportFromShareableHandle, &h->handle[k], (void *)(intptr_t)all[k],
		               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)) {
			h->handle[k] = 0;
			status = get_heap_status(h);
		}
		close_file(h, all[k]);
	}
	for (uint32_t k = 0; k < h->n; k++)
		close_file(h, own[k]);
	for (int r = 0; r < h->job->size && status == STATUS_OK; r++)
		if (r != h->job->rank)
			status = map_rank(h, r);
	free(own);
	free(all);
	/* no rank uses memory that another has not filled: all have reached the exchange */
	return status;
}

enum status cuda_heap_new(struct rt_job *job, struct cuda *c, const size_t *piece, uint32_t n,
                          const char *what, struct cuda_heap **out)
{
	bool threads = strcmp(job->boot->name, "thread") == 0;
	struct cuda_heap *h = mem_zalloc(sizeof *h);
	assert(n > 0);
	*h = (struct cuda_heap){.job = job, .c = c, .n = n};
	h->piece = mem_alloc(n * sizeof *h->piece);
	memcpy(h->piece, piece, n * sizeof *h->piece);
	for (uint32_t k = 0; k < n; k++)
		h->bytes += piece[k];
	h->handle = mem_zalloc((size_t)job->size * n * sizeof *h->handle);
	h->rank = mem_zalloc((size_t)job->size * sizeof *h->rank);
	rt_device_count(&c->base, (int64_t)h->bytes);
	enum status status = make_own(h, !threads, what);
	if (status == STATUS_OK)
		status = threads ? take_of_threads(h) : take_of_processes(h);
	if (status != STATUS_OK) {
		status = rt_job_fail(job, status);
		cuda_heap_free(h);
		return status;
	}
	*out = h;
	return STATUS_OK;
}

/* ---- use */

void *cuda_heap_of(const struct cuda_heap *h, int rank)
{
	return (void *)h->rank[rank].at;
}

bool cuda_heap_offset(const struct cuda_heap *h, const void *at, int64_t bytes, uint64_t *offset)
{
	*offset = (CUdeviceptr)at - h->rank[h->job->rank].at; /* for addresses before the memory this is a
	                                                         large number */
	return *offset <= h->bytes && (uint64_t)bytes <= h->bytes - *offset;
}

bool cuda_heap_is_view(const struct cuda_heap *h, const void *at)
{
	bool is = false;
	for (uint32_t k = 0; k < h->view.n; k++)
		is = is || (CUdeviceptr)at - h->view.at[k].map.at < h->view.at[k].map.bytes;
	return is;
}

/* Returns the piece that begins at an offset. */
static uint32_t piece_at(const struct cuda_heap *h, size_t offset)
{
	uint32_t k = 0;
	for (size_t at = 0; at != offset; at += h->piece[k++])
		assert(k < h->n);
	return k;
}

enum status cuda_heap_view(struct cuda_heap *h, const int *ranks, int n, size_t offset, size_t bytes,
                           void **out)
{
	uint32_t piece = piece_at(h, offset);
	size_t rank_bytes = (size_t)n * sizeof *ranks;
	assert(h->piece[piece] == bytes);
	for (uint32_t k = 0; k < h->view.n; k++) {
		const struct view *v = &h->view.at[k];
		if (v->offset == offset && v->n == n && memcmp(v->rank, ranks, rank_bytes) == 0) {
			*out = (void *)v->map.at;
			return STATUS_OK;
		}
	}
	struct view v = {.offset = offset, .piece_bytes = bytes, .n = n};
	enum status status = reserve(h, &v.map, (size_t)n * bytes);
	for (int k = 0; k < n && status == STATUS_OK; k++)
		status = map_piece(h, &v.map, (size_t)k * bytes, ranks[k], piece);
	if (status == STATUS_OK)
		status = allow_access(h, &v.map);
	if (status != STATUS_OK) {
		unmap(h, &v.map, NULL, bytes);
		return rt_job_fail(h->job, status);
	}
	v.rank = mem_alloc(rank_bytes);
	memcpy(v.rank, ranks, rank_bytes);
	vec_push(&h->view, v);
	*out = (void *)v.map.at;
	return STATUS_OK;
}

void cuda_heap_free(struct cuda_heap *h)
{
	if (!h)
		return;
	cuda_call(h->c, cuCtxSynchronize);
	while (h->view.n) {
		struct view *v = &h->view.at[--h->view.n];
		unmap(h, &v->map, NULL, v->piece_bytes);
		free(v->rank);
	}
	for (int r = h->job->size; r-- > 0;)
		unmap(h, &h->rank[r], h->piece, 0);
	/* after a failure others may still map this memory: it is freed with the process */
	for (size_t k = (size_t)h->job->size * h->n; k-- > 0;)
		if (h->handle[k] && !(h->named && k / h->n == (size_t)h->job->rank))
			cuda_call(h->c, cuMemRelease, h->handle[k]);
	rt_device_count(&h->c->base, -(int64_t)h->bytes);
	vec_free(&h->view);
	free(h->piece);
	free(h->handle);
	free(h->rank);
	free(h);
}
