/* ipc_graph: see ipc_graph.h. */
#include "cuda/ipc_graph.h"
#include "base/arena.h"
#include "cuda/ipc.h"
#include <stdlib.h>

struct ipc_graph {
	CUgraphExec executable;
	void *saved; /* the semaphores when the capture began, in the GPU's memory */
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

enum status ipc_graph_after_signal(struct ipc *t, CUstream s)
{
	return t->capture.fork ? follow(t, t->capture.order, s) : STATUS_OK;
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

/* Copies the semaphores, or sets them back, when no rank has work in flight. */
static enum status copy_semaphores(struct ipc *t, CUstream s, CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	enum status status = rt_job_barrier(t->base.base.job, "the end of all signals");
	if (status != STATUS_OK)
		return status;
	return cuda_call(t->base.c, cuMemcpyDtoDAsync, to, from, bytes, s) &&
	               cuda_call(t->base.c, cuStreamSynchronize, s)
	           ? STATUS_OK
	           : ipc_failure(t);
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

enum status ipc_graph_begin(struct ipc *t, CUstream stream)
{
	struct cuda *c = t->base.c;
	struct ipc_graph *g = mem_zalloc(sizeof *g);
	g->bytes = t->semaphores_used * sizeof(uint32_t);
	t->making = g;
	enum status status = rt_device_alloc(&c->base, g->bytes, "the semaphores of a graph", &g->saved);
	if (status == STATUS_OK && !t->capture.order)
		status = cuda_stream_new(c, &t->capture.order);
	if (status == STATUS_OK)
		status = finish_streams(t);
	if (status == STATUS_OK)
		status = copy_semaphores(t, stream, (CUdeviceptr)g->saved, t->semaphores, g->bytes);
	if (status != STATUS_OK)
		return status;
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
	if (status != STATUS_OK)
		return status;
	end_fork(t);
	c->at = (struct rt_origin){.iteration = -1};
	if (!cuda_call(c, cuStreamEndCapture, stream, &made))
		return ipc_failure(t);
	bool ok = cuda_call(c, cuGraphInstantiate, &t->making->executable, made, 0);
	cuda_call(c, cuGraphDestroy, made);
	if (!ok)
		return ipc_failure(t);
	*graph = t->making;
	t->making = NULL;
	return STATUS_OK;
}

enum status ipc_graph_replay(struct ipc *t, CUstream stream, void *graph)
{
	const struct ipc_graph *g = graph;
	struct cuda *c = t->base.c;
	enum status status = finish_streams(t);
	if (status == STATUS_OK && !cuda_call(c, cuStreamSynchronize, stream))
		status = ipc_failure(t);
	if (status == STATUS_OK)
		status = copy_semaphores(t, stream, t->semaphores, (CUdeviceptr)g->saved, g->bytes);
	if (status == STATUS_OK)
		status = rt_job_barrier(t->base.base.job, "the semaphores of a graph");
	if (status != STATUS_OK)
		return status;
	return cuda_call(c, cuGraphLaunch, g->executable, stream) ? STATUS_OK : ipc_failure(t);
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
