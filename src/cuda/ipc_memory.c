/* ipc_memory: a rank's memory, mapped by the others.
 *
 * An allocation is exported when a buffer in it is first named. Each other rank opens it when it first reads
 * that name. So there is no round of all ranks, and nothing to do once all is known. The name is the number
 * of the allocation among all allocations of its rank. So memory that was freed and allocated again, even at
 * the same address, has another name. */
#include "cuda/ipc.h"
#include <unistd.h>

enum { NEWS_US = 300000, LOOK_US = 1000 };

/* Fails the job after an error; the driver does not give a reason. */
static enum status checked(struct ipc *t, CUresult r, const char *call)
{
	struct cuda *c = t->base.c;
	const char *name = NULL, *text = NULL;
	if (r == CUDA_SUCCESS)
		return STATUS_OK;
	c->api->cuGetErrorName(r, &name);
	c->api->cuGetErrorString(r, &text);
	rt_job_error_at(c->base.job, c->at,
	                "%s: %s: %s; processes open each other's GPU memory in one container, which sees "
	                "the host's processes (--ipc=host --pid=host), and in one MIG instance; ranks that "
	                "are threads need not (--bootstrap=thread with --transport=peers), nor those with a "
	                "GPU each (--transport=nccl)",
	                call, name ? name : "unknown error", text ? text : "");
	return rt_job_fail(c->base.job, STATUS_DIAGNOSTICS);
}

enum status ipc_handle(struct ipc *t, CUdeviceptr at, CUipcMemHandle *out)
{
	return checked(t, t->base.c->api->cuIpcGetMemHandle(out, at), "cuIpcGetMemHandle");
}

static enum status refuse_view(struct ipc *t, const void *at)
{
	if (!t->base.heap || !cuda_heap_is_view(t->base.heap, at))
		return STATUS_OK;
	rt_job_error_at(
	    t->base.base.job, t->base.c->at,
	    "transport %s sends no view of several ranks' memory: send a copy, as `X = set(view)` makes one",
	    transport_kind_name(TRANSPORT_CUDA_IPC));
	return STATUS_DIAGNOSTICS;
}

enum status ipc_stage(struct ipc *t, CUstream s, const void *at, int64_t bytes, uint64_t offset,
                      struct ipc_place *out)
{
	*out = (struct ipc_place){.number = bytes > 0 ? IPC_STAGE : 0, .offset = offset};
	if (bytes <= 0)
		return STATUS_OK;
	enum status status = refuse_view(t, at);
	return status == STATUS_OK ? cuda_copy(t->base.c, s, (void *)(t->semaphores + offset), at, bytes)
	                           : status;
}

enum status ipc_export(struct ipc *t, const void *at, int64_t bytes, struct ipc_place *out)
{
	struct cuda *c = t->base.c;
	out->number = 0;
	if (bytes <= 0)
		return STATUS_OK;
	const struct cuda_heap *heap = t->base.heap;
	if (heap && cuda_heap_offset(heap, at, bytes, &out->offset)) {
		out->number = IPC_HEAP;
		return STATUS_OK;
	}
	enum status status = refuse_view(t, at);
	if (status != STATUS_OK)
		return status;
	const struct cuda_memory *m = cuda_memory_find(c, at, (size_t)bytes);
	if (!m) {
		rt_job_error_at(c->base.job, c->at, "%p, %lld bytes: not in memory of the device", at,
		                (long long)bytes);
		return STATUS_INTERNAL;
	}
	uint32_t k = t->exported.n;
	while (k > 0 && t->exported.at[k - 1].number != m->number)
		k--;
	if (!k) {
		struct ipc_exported e = {.number = m->number};
		status = ipc_handle(t, m->at, &e.handle);
		if (status != STATUS_OK)
			return status;
		vec_push(&t->exported, e);
		k = t->exported.n;
	}
	*out = (struct ipc_place){.number = m->number,
	                          .at = m->at,
	                          .bytes = m->bytes,
	                          .offset = (uint64_t)((CUdeviceptr)at - m->at),
	                          .handle = t->exported.at[k - 1].handle};
	return STATUS_OK;
}

/* Closes memory that overlaps the place: its owner has freed it. */
static enum status close_replaced(struct ipc *t, struct ipc_peer *peer, const struct ipc_place *p)
{
	for (uint32_t k = 0; k < peer->opened.n;) {
		const struct ipc_opened *o = &peer->opened.at[k];
		if (o->there >= p->at + p->bytes || p->at >= o->there + o->bytes) {
			k++;
			continue;
		}
		if (!cuda_call(t->base.c, cuIpcCloseMemHandle, o->at))
			return ipc_failure(t);
		peer->opened.at[k] = peer->opened.at[--peer->opened.n];
	}
	return STATUS_OK;
}

enum status ipc_open(struct ipc *t, const CUipcMemHandle *handle, CUdeviceptr *out)
{
	struct cuda *c = t->base.c;
	CUresult r = c->api->cuIpcOpenMemHandle(out, *handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
	for (int us = 0; r != CUDA_SUCCESS && us < NEWS_US && ipc_failure(t) == STATUS_OK; us += LOOK_US)
		usleep(LOOK_US); /* its owner may have ended, which will be reported */
	return checked(t, r, "cuIpcOpenMemHandle");
}

enum status ipc_import(struct ipc *t, int rank, const struct ipc_place *p, void *out)
{
	struct ipc_peer *peer = &t->peer[rank];
	uint32_t k = peer->opened.n;
	*(void **)out = NULL;
	if (!p->number)
		return STATUS_OK;
	if (p->number == IPC_HEAP) {
		*(void **)out = (char *)cuda_heap_of(t->base.heap, rank) + p->offset;
		return STATUS_OK;
	}
	if (p->number == IPC_STAGE) {
		*(void **)out = (void *)(peer->semaphores + p->offset);
		return STATUS_OK;
	}
	while (k > 0 && peer->opened.at[k - 1].number != p->number)
		k--;
	if (!k) {
		struct ipc_opened o = {.number = p->number, .there = p->at, .bytes = p->bytes};
		enum status status = close_replaced(t, peer, p);
		if (status != STATUS_OK)
			return status;
		status = ipc_open(t, &p->handle, &o.at);
		if (status != STATUS_OK)
			return status;
		vec_push(&peer->opened, o);
		k = peer->opened.n;
	}
	*(void **)out = (void *)(peer->opened.at[k - 1].at + p->offset);
	return STATUS_OK;
}

void ipc_close_memory(struct ipc *t)
{
	for (int r = 0; r < t->base.base.job->size; r++) {
		struct ipc_peer *peer = &t->peer[r];
		while (peer->opened.n)
			cuda_call(t->base.c, cuIpcCloseMemHandle, peer->opened.at[--peer->opened.n].at);
	}
}
