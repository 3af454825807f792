/* test_rt_memory: memory that all ranks see, on any job; run by test_rt_memory.c (threads, processes) and
 * test_rt_mpi.c. */
#ifndef HIRC_TESTS_TEST_RT_MEMORY_H
#define HIRC_TESTS_TEST_RT_MEMORY_H
#include "rt/device.h"
#include "rt/rt_region.h"
#include "rt/transport.h"
#include "test_rt.h"

enum { PAGE = 4096, HUGE = RT_HUGE_BYTES };

/* Sizes in bytes on rank 0. */
static const size_t memory_sizes[] = {0, 1, PAGE, 5 * PAGE + 100, 2 * HUGE + PAGE};

struct world {
	struct rt_device *device;
	struct rt_transport *t;
	int team;
};

static bool open_world(struct rt_job *job, const char *transport, struct world *w)
{
	int all[8] = {0, 1, 2, 3, 4, 5, 6, 7};
	return rt_device_open(job, "cpu", &w->device) == STATUS_OK &&
	       rt_transport_open(job, transport_kind_find(transport), &w->t) == STATUS_OK &&
	       rt_transport_team(w->t, all, job->size, &w->team) == STATUS_OK;
}

static void close_world(struct world *w)
{
	rt_transport_close(w->t);
	rt_device_close(w->device);
}

static bool meet(struct world *w)
{
	return rt_transport_run(w->t, &(struct rt_collective){.kind = COLLECTIVE_BARRIER, .team = w->team}) ==
	       STATUS_OK;
}

/* Sizes differ from rank to rank; base is the size on rank 0. */
static int peers_main(struct rt_job *job, void *arg)
{
	struct world w;
	size_t base = *(size_t *)arg, bytes = base + (size_t)job->rank * 8 * PAGE, wrong = 0;
	if (!open_world(job, "auto", &w))
		return STATUS_INTERNAL;
	for (int round = 0; round < 2; round++) {
		void *at, *view[4];
		if (rt_transport_alloc(w.t, w.device, bytes, "buffers", &at) != STATUS_OK)
			return rt_job_status(job);
		unsigned char *own = at;
		wrong += (uintptr_t)own % PAGE != 0 || rt_transport_peer(w.t, job->rank) != own;
		wrong += w.device->bytes_now != (int64_t)bytes || w.device->bytes_peak != (int64_t)bytes;
		for (size_t i = 0; i < bytes; i++)
			wrong += own[i] != 0xff;
		wrong += !meet(&w);
		for (size_t i = 0; i < bytes; i++)
			own[i] = (unsigned char)(i / PAGE * 7 + i + (size_t)job->rank);
		wrong += !meet(&w);
		for (int r = 0; r < job->size; r++) {
			const unsigned char *peer = rt_transport_peer(w.t, r);
			for (size_t i = 0; i < base; i += 61)
				wrong += peer[i] != (unsigned char)(i / PAGE * 7 + i + (size_t)r);
		}
		/* The last rank first; twice the same one. */
		int ranks[9], n = 0;
		for (int r = job->size - 1; r >= 0; r--)
			ranks[n++] = r;
		ranks[n++] = 0;
		size_t pages = base / PAGE, offset = pages / 2 * PAGE, block = base / PAGE * PAGE - offset;
		if (block) {
			wrong += rt_transport_side_by_side(w.t, ranks, n, offset, block, &view[0]) != 0;
			wrong += rt_transport_side_by_side(w.t, ranks, n - 1, offset, block, &view[1]) != 0;
			wrong += rt_transport_side_by_side(w.t, ranks, n, offset, block, &view[2]) != 0;
			wrong += rt_transport_side_by_side(w.t, ranks, 1, 0, PAGE, &view[3]) != 0;
			wrong += view[0] != view[2] || view[0] == view[1] || view[0] == view[3];
			unsigned char *v = view[0];
			for (size_t k = 0; k < (size_t)n; k++)
				for (size_t i = 0; i < block; i += 17)
					wrong += v[k * block + i] !=
					         (unsigned char)((offset + i) / PAGE * 7 + offset + i +
					                         (size_t)ranks[k]);
			wrong += !meet(&w);
			/* data written here are seen there */
			v[(size_t)(job->size - 1 - (job->rank + 1) % job->size) * block] = 99;
			wrong += !meet(&w);
			wrong += own[offset] != 99;
		}
		wrong += !meet(&w);
		rt_transport_free(w.t, w.device, own);
		wrong += w.device->bytes_now != 0 || rt_transport_peer(w.t, job->rank) != NULL;
	}
	close_world(&w);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

static int barrier_main(struct rt_job *job, void *arg)
{
	(void)arg;
	struct world w;
	void *at;
	if (!open_world(job, "auto", &w) ||
	    rt_transport_alloc(w.t, w.device, sizeof(_Atomic int), "counters", &at) != STATUS_OK)
		return STATUS_INTERNAL;
	int wrong = 0;
	for (int i = 0; i < 1000; i++) {
		atomic_store_explicit((_Atomic int *)at, i, memory_order_relaxed);
		wrong += !meet(&w);
		for (int r = 0; r < job->size; r++) {
			_Atomic int *peer = rt_transport_peer(w.t, r);
			int seen = atomic_load_explicit(peer, memory_order_relaxed);
			wrong += seen != i && seen != i + 1;
		}
	}
	rt_transport_free(w.t, w.device, at);
	close_world(&w);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

#endif
