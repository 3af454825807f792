/* ipc_graph: see ipc_graph.h. */
#include "cuda/ipc_graph.h"
#include "base/arena.h"
#include "cuda/ipc.h"
#include <stdlib.h>
#include <string.h>

struct ipc_graph {
	CUgraphExec executable;
	void *saved; /* the set's semaphores when the capture began, in the GPU's memory */
	size_t bytes;
};

/* ---- streams of the graph that is being made */

enum status ipc_graph_enter(struct ipc *t, CUstream s)
{
	return cuda_await(t->base.c, s, t->capture.fork);
}

/* Makes a stream wait for what another has so far. */
static enum status follow(struct ipc *t, CUstream s, CUstream other)
{
	CUevent e;
	enum status status = cuda_event_record(t->base.c, other, &e);
	if (status != STATUS_OK)
		return status;
	status = cuda_await(t->base.c, s, e);
	cuda_event_release(t->base.c, e);
	return status;
}

enum status ipc_graph_before_wait(struct ipc *t, CUstream s)
{
	if (!t->capture.fork)
		return STATUS_OK;
	enum status status = ipc_graph_enter(t, s);
	return status == STATUS_OK ? follow(t, s, t->capture.order) : status;
}

enum status ipc_graph_after_signal(struct ipc *t, CUstream s, int rank)
{
	if (!t->capture.fork)
		return STATUS_OK;
	t->capture.partner[rank] = true;
	return follow(t, t->capture.order, s);
}

/* ---- the semaphores */

static enum status finish_pool(struct ipc *t, const struct cuda_stream_pool *pool)
{
	for (uint32_t k = 0; k < pool->stream.n; k++)
		if (!cuda_call(t->base.c, cuStreamSynchronize, pool->stream.at[k]))
			return ipc_failure(t);
	return STATUS_OK;
}

/* Waits until this rank's GPU has done all of the transport's work, also signals that nothing follows. */
static enum status finish_streams(struct ipc *t)
{
	const struct cuda_stream_pool *pool[] = {&t->offers, &t->moves, &t->ends, &t->itself, &t->base.spare};
	enum status status = STATUS_OK;
	for (int id = 0; id < t->base.base.teams; id++) {
		const struct ipc_team *own = &t->team[id];
		if ((own->offers && !cuda_call(t->base.c, cuStreamSynchronize, own->offers)) ||
		    (own->moves && !cuda_call(t->base.c, cuStreamSynchronize, own->moves)))
			return ipc_failure(t);
	}
	for (size_t k = 0; k < sizeof pool / sizeof *pool && status == STATUS_OK; k++)
		status = finish_pool(t, pool[k]);
	return status;
}

/* ---- the turns of the two sets */

uint32_t ipc_graph_room(const struct ipc *t, int rank)
{
	return (uint32_t)(IPC_SEMAPHORES - t->base.base.job->size + rank);
}

/* Saves the semaphores of a graph's set. Before the first of two graphs, the second set has room, and the first has
 * none. */
static enum status save_semaphores(struct ipc *t, CUstream s, const struct ipc_graph *g)
{
	struct cuda *c = t->base.c;
	unsigned set = t->capture.set;
	size_t ranks = (size_t)t->base.base.job->size;
	bool ok = cuda_call(c, cuMemcpyDtoDAsync, (CUdeviceptr)g->saved, t->semaphores + ipc_word(set, 0),
	                    g->bytes, s);
	for (unsigned k = 0; set == 0 && k < IPC_SETS && ok; k++)
		ok = cuda_call(c, cuMemsetD8Async, t->semaphores + ipc_word(k, ipc_graph_room(t, 0)),
		               (unsigned char)k, ranks * sizeof(uint32_t), s);
	return ok && cuda_call(c, cuStreamSynchronize, s) ? STATUS_OK : ipc_failure(t);
}

/* Ends a graph: gives the semaphores of its set to the partners again, and waits for those of the next replay. */
static enum status change_sets(struct ipc *t, CUstream s, const struct ipc_graph *g)
{
	struct cuda *c = t->base.c;
	int ranks = t->base.base.job->size, rank = t->base.base.job->rank;
	unsigned set = t->capture.set, next = (set + 1) % IPC_SETS;
	bool ok = true;
	for (int r = 0; r < ranks && ok; r++) {
		CUdeviceptr room = t->semaphores + ipc_word(next, ipc_graph_room(t, r));
		if (t->capture.partner[r])
			ok = cuda_call(c, cuStreamWaitValue32, s, room, 1, t->wait_flags) &&
			     cuda_call(c, cuStreamWriteValue32, s, room, 0, CU_STREAM_WRITE_VALUE_DEFAULT);
	}
	ok = ok && cuda_call(c, cuMemcpyDtoDAsync, t->semaphores + ipc_word(set, 0), (CUdeviceptr)g->saved,
	                     g->bytes, s);
	for (int r = 0; r < ranks && ok; r++)
		if (t->capture.partner[r])
			ok = cuda_call(c, cuStreamWriteValue32, s,
			               t->peer[r].semaphores + ipc_word(set, ipc_graph_room(t, rank)), 1,
			               CU_STREAM_WRITE_VALUE_DEFAULT);
	return ok ? STATUS_OK : ipc_failure(t);
}

/* ---- steps */

static void free_graph(struct ipc *t, struct ipc_graph *g)
{
	if (!g)
		return;
	if (g->executable)
		cuda_call(t->base.c, cuGraphExecDestroy, g->executable);
	if (g->saved)
		rt_device_free(&t->base.c->base, g->saved);
	free(g);
}

/* Makes the graph's streams wait for nothing that came before it, since nothing is in flight. */
static void settle(struct ipc *t)
{
	ipc_messages_settle(t);
	for (int id = 0; id < t->base.base.teams; id++)
		ipc_team_settle(t, id);
	memset(t->capture.partner, 0, (size_t)t->base.base.job->size * sizeof *t->capture.partner);
}

/* Meets the other ranks when none has work in flight, and again when all have saved their semaphores. */
static enum status prepare(struct ipc *t, CUstream stream, struct ipc_graph *g)
{
	struct rt_job *job = t->base.base.job;
	g->bytes = t->semaphores_used * sizeof(uint32_t);
	enum status status =
	    rt_device_alloc(&t->base.c->base, g->bytes, "the semaphores of a graph", &g->saved);
	if (status == STATUS_OK)
		status = finish_streams(t);
	if (status == STATUS_OK)
		status = rt_job_barrier(job, "the end of all signals");
	if (status == STATUS_OK)
		status = save_semaphores(t, stream, g);
	return status == STATUS_OK ? rt_job_barrier(job, "the semaphores of a graph") : status;
}

enum status ipc_graph_begin(struct ipc *t, CUstream stream)
{
	struct cuda *c = t->base.c;
	enum status status = STATUS_OK;
	t->making = mem_zalloc(sizeof *t->making);
	t->capture.set = t->capture.made % IPC_SETS;
	if (!t->capture.order)
		status = cuda_stream_new(c, &t->capture.order);
	if (status == STATUS_OK)
		status = prepare(t, stream, t->making);
	if (status != STATUS_OK)
		return status;
	settle(t);
	/* relaxed, since memory of another rank may have to be mapped */
	if (!cuda_call(c, cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED))
		return ipc_failure(t);
	c->captured = true;
	status = cuda_event_record(c, stream, &t->capture.fork);
	return status == STATUS_OK ? ipc_graph_enter(t, t->capture.order) : status;
}

static void end_fork(struct ipc *t)
{
	if (t->capture.fork)
		cuda_event_release(t->base.c, t->capture.fork);
	t->capture.fork = NULL;
	t->base.c->captured = false;
}

enum status ipc_graph_end(struct ipc *t, CUstream stream, void **graph)
{
	struct cuda *c = t->base.c;
	CUgraph made;
	enum status status = follow(t, stream, t->capture.order);
	c->at = (struct rt_origin){.iteration = -1};
	if (status == STATUS_OK)
		status = change_sets(t, stream, t->making);
	if (status != STATUS_OK)
		return status;
	end_fork(t);
	if (!cuda_call(c, cuStreamEndCapture, stream, &made))
		return ipc_failure(t);
	bool ok = cuda_call(c, cuGraphInstantiate, &t->making->executable, made, 0);
	cuda_call(c, cuGraphDestroy, made);
	if (!ok)
		return ipc_failure(t);
	*graph = t->making;
	t->making = NULL;
	t->capture.made++;
	t->capture.set = 0;
	return STATUS_OK;
}

enum status ipc_graph_replay(struct ipc *t, CUstream stream, void *graph)
{
	const struct ipc_graph *g = graph;
	return cuda_call(t->base.c, cuGraphLaunch, g->executable, stream) ? STATUS_OK : ipc_failure(t);
}

void ipc_graph_drop(struct ipc *t, CUstream stream)
{
	CUgraph graph = NULL;
	bool capturing = t->base.c->captured;
	end_fork(t);
	if (capturing && t->base.c->api->cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph)
		t->base.c->api->cuGraphDestroy(graph);
}

void ipc_graph_free(struct ipc *t, void *graph)
{
	free_graph(t, graph);
}
