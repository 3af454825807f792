/* memory: puts the memory of all ranks side by side in one region that all of them see.
 *
 *     region   | rank 0's memory | rank 1's memory | …      mapped once by each rank
 *     a view   | piece of 1 | piece of 0 | piece of 3 |    the same pages again, at consecutive addresses
 *
 * Without shared memory, or if the device has memory of its own, each rank uses memory of its device. */
#include "rt/memory.h"
#include "base/arena.h"
#include "base/page.h"
#include "rt/device.h"
#include "rt/rt_region.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct view {
	struct view *next;
	void *at;
	size_t offset, block_bytes;
	int n, rank[];
};

struct rt_memory {
	void *own;               /* this rank's memory */
	size_t counted;          /* bytes counted for the device */
	bool shared;             /* otherwise own is the device's memory, and the fields below are not set */
	struct rt_region region; /* memory of all ranks */
	size_t *bytes, *offset;  /* by rank: its part of the region; whole pages */
	struct view *views;
};

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Finds the places of the parts. *total: size of all parts. */
static enum status place_regions(struct rt_job *job, struct rt_memory *m, size_t bytes, size_t *total)
{
	m->bytes = mem_alloc((size_t)job->size * sizeof *m->bytes);
	m->offset = mem_alloc((size_t)job->size * sizeof *m->offset);
	size_t pages = round_up(bytes ? bytes : 1, rt_page_bytes()), largest = 0;
	enum status status = rt_job_allgather(job, "the sizes of all memory", &pages, sizeof pages, m->bytes);
	if (status != STATUS_OK)
		return status;
	for (int r = 0; r < job->size; r++)
		largest = m->bytes[r] > largest ? m->bytes[r] : largest;
	*total = 0;
	for (int r = 0; r < job->size; r++) {
		m->offset[r] = *total;
		*total += round_up(m->bytes[r], rt_region_unit(largest));
	}
	return STATUS_OK;
}

static void memory_free(struct rt_job *job, struct rt_memory *m)
{
	for (struct view *v = m->views, *next; v; v = next) {
		next = v->next;
		munmap(v->at, (size_t)v->n * v->block_bytes);
		free(v);
	}
	if (m->region.at)
		job->boot->unshare(job, &m->region);
	free(m->bytes);
	free(m->offset);
	free(m);
}

/* Allocates the pages of this rank's part, and fills it with NaN. */
static enum status fill_own_region(struct rt_job *job, struct rt_memory *m, size_t bytes, const char *what)
{
	if (!rt_region_populate(&m->region, m->own, m->bytes[job->rank]))
		return rt_region_failed(job, what, bytes, errno);
	memset(m->own, 0xff, bytes);
	return STATUS_OK;
}

static enum status share_memory(struct rt_job *job, struct rt_memory *m, size_t bytes, const char *what)
{
	if (bytes > SIZE_MAX / 2 / (size_t)job->size)
		return rt_region_failed(job, what, bytes, ENOMEM);
	size_t total;
	char all[128];
	snprintf(all, sizeof all, "%s of all ranks", what);
	enum status status = place_regions(job, m, bytes, &total);
	/* the system would grant more, and later kill some process that uses it */
	if (status == STATUS_OK && machine_bytes() && total > (size_t)machine_bytes()) {
		if (job->rank == 0)
			rt_job_error(job,
			             "no shared memory for %s (%zu bytes): this machine has %lld; smaller "
			             "sizes or fewer ranks need less",
			             all, total, (long long)machine_bytes());
		rt_job_barrier(job, "printing messages");
		return rt_job_fail(job, STATUS_DIAGNOSTICS);
	}
	if (status == STATUS_OK)
		status = job->boot->share(job, all, total, &m->region);
	if (status != STATUS_OK)
		return status;
	m->own = (char *)m->region.at + m->offset[job->rank];
	status = fill_own_region(job, m, bytes, what);
	/* wait, so that nobody reads or writes memory that is not filled yet */
	status = status == STATUS_OK ? rt_job_barrier(job, "the memory of all ranks") : status;
	for (int r = 0; status == STATUS_OK && r < job->size; r++)
		if (r != job->rank)
			rt_region_touch((char *)m->region.at + m->offset[r], m->bytes[r]);
	return status;
}

enum status rt_transport_alloc(struct rt_transport *t, struct rt_device *d, size_t bytes, const char *what,
                               void **out)
{
	assert(!t->memory);
	struct rt_job *job = t->job;
	struct rt_memory *m = mem_zalloc(sizeof *m);
	m->shared = job->boot->shares(job) && !d->ops->async;
	enum status status = m->shared       ? share_memory(job, m, bytes, what)
	                     : t->ops->alloc ? t->ops->alloc(t, d, bytes, what, &m->own)
	                                     : rt_device_alloc(d, bytes, what, &m->own);
	if (status != STATUS_OK) {
		memory_free(job, m);
		return status;
	}
	if (m->shared)
		rt_device_count(d, (int64_t)bytes);
	m->counted = bytes;
	t->memory = m;
	*out = m->own;
	return STATUS_OK;
}

void rt_transport_free(struct rt_transport *t, struct rt_device *d, void *at)
{
	if (!at)
		return;
	struct rt_memory *m = t->memory;
	assert(m && at == m->own);
	if (t->ops->before_free)
		t->ops->before_free(t);
	if (m->shared)
		rt_device_count(d, -(int64_t)m->counted);
	else if (t->ops->free)
		t->ops->free(t, d, at);
	else
		rt_device_free(d, at);
	memory_free(t->job, m);
	t->memory = NULL;
}

void *rt_transport_peer(const struct rt_transport *t, int rank)
{
	const struct rt_memory *m = t->memory;
	if (!m)
		return NULL;
	if (!m->shared)
		return rank == t->job->rank ? m->own : NULL;
	return (char *)m->region.at + m->offset[rank];
}

int64_t rt_memory_place(const struct rt_transport *t, const void *at)
{
	const struct rt_memory *m = t->memory;
	if (!m || !m->shared)
		return -1;
	size_t i = (size_t)((uintptr_t)at - (uintptr_t)m->own); /* a lower address gives a large number */
	return i < m->bytes[t->job->rank] ? (int64_t)(m->offset[t->job->rank] + i) : -1;
}

char *rt_memory_at(const struct rt_transport *t, int64_t place)
{
	return (char *)t->memory->region.at + place;
}

enum status rt_transport_heap(struct rt_transport *t, struct rt_device *d, const size_t *piece, uint32_t n,
                              const char *what, void **out)
{
	assert(!t->memory && !t->has_heap);
	*out = NULL;
	if (!n || !d->ops->async || !t->ops->heap || t->job->size == 1)
		return STATUS_OK;
	enum status status = t->ops->heap(t, piece, n, what, out);
	t->has_heap = status == STATUS_OK;
	return status;
}

static enum status view_map(struct rt_transport *t, struct view *v)
{
	struct rt_memory *m = t->memory;
	size_t bytes = (size_t)v->n * v->block_bytes;
	size_t align =
	    v->offset % RT_HUGE_BYTES || v->block_bytes % RT_HUGE_BYTES ? rt_page_bytes() : RT_HUGE_BYTES;
	v->at = rt_region_reserve(bytes, align);
	bool ok = v->at;
	for (int i = 0; ok && i < v->n; i++) {
		char *at = (char *)v->at + (size_t)i * v->block_bytes;
		ok = rt_region_map_at(m->region.file, m->region.offset + m->offset[v->rank[i]] + v->offset,
		                      v->block_bytes, at);
	}
	if (ok) {
		rt_region_touch(v->at, bytes);
		return STATUS_OK;
	}
	int error = errno;
	if (v->at)
		munmap(v->at, bytes);
	return rt_region_failed(t->job, "memory side by side", bytes, error);
}

enum status rt_transport_side_by_side(struct rt_transport *t, const int *ranks, int n, size_t offset,
                                      size_t block_bytes, void **out)
{
	struct rt_memory *m = t->memory;
	assert(m && n > 0 && block_bytes > 0 && (offset | block_bytes) % rt_page_bytes() == 0);
	if (t->has_heap)
		return t->ops->side_by_side(t, ranks, n, offset, block_bytes, out);
	if (!m->shared) {
		struct buf names = {0};
		transport_kind_put(&names, TRANSPORT_ON_GPU | TRANSPORT_HAS_VIEWS, "or");
		rt_job_error(
		    t->job,
		    "memory side by side (--zero-copy) needs all ranks on one host, and of --target=cuda "
		    "--transport=%s",
		    names.at);
		buf_free(&names);
		return rt_job_fail(t->job, STATUS_ABSENT);
	}
	size_t rank_bytes = (size_t)n * sizeof *ranks;
	for (struct view *v = m->views; v; v = v->next)
		if (v->n == n && v->offset == offset && v->block_bytes == block_bytes &&
		    memcmp(v->rank, ranks, rank_bytes) == 0) {
			*out = v->at;
			return STATUS_OK;
		}
	struct view *v = mem_alloc(sizeof *v + rank_bytes);
	*v = (struct view){.next = m->views, .offset = offset, .block_bytes = block_bytes, .n = n};
	memcpy(v->rank, ranks, rank_bytes);
	for (int i = 0; i < n; i++)
		assert(offset + block_bytes <= m->bytes[ranks[i]]);
	enum status status = view_map(t, v);
	if (status != STATUS_OK) {
		free(v);
		return status;
	}
	m->views = v;
	*out = v->at;
	return STATUS_OK;
}
