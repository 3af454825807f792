/* peers_graph: see peers_graph.h. */
#include "cuda/peers_graph.h"
#include "base/arena.h"
#include "rt/bell.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* A graph that was made. */
struct made {
	struct made *before; /* the graph made before it */
	_Atomic int users;   /* the last one destroys the executable */
	CUgraphExec executable;
	CUevent over; /* the end of its last replay; rank 0's */
};

struct peers_graph {
	int ranks;
	_Atomic uint64_t arrived; /* at all meetings so far */
	_Atomic uint64_t called;  /* calls of other ranks than 0 for replays */
	_Atomic uint64_t given;   /* replays that rank 0 has launched */
	_Atomic bool capturing;   /* the capture has begun and not ended */
	CUevent fork;             /* rank 0's, when the capture has begun */
	struct made *made;        /* the last graph; freed with this, since a rank that failed ends no use */
	CUevent joined[];         /* by rank: its stream has nothing more to give */
};

struct peers_graph *peers_graph_new(int ranks)
{
	struct peers_graph *g = mem_zalloc(sizeof *g + (size_t)ranks * sizeof *g->joined);
	g->ranks = ranks;
	return g;
}

void peers_graph_free(struct peers_graph *g)
{
	for (struct made *m = g->made; m;) {
		struct made *before = m->before;
		free(m);
		m = before;
	}
	free(g);
}

/* Waits until a count of other ranks is large enough. This rank sees then what they wrote before. */
static enum status wait_for(struct cuda *c, const _Atomic uint64_t *count, uint64_t least)
{
	for (unsigned k = 0; atomic_load(count) < least; k++) {
		enum status status = rt_job_status(c->base.job);
		if (status != STATUS_OK)
			return status;
		rt_pause();
		if (k > 64)
			sched_yield();
	}
	return rt_job_status(c->base.job);
}

/* Waits until all ranks have met as often as this one. */
static enum status meet(struct cuda *c, struct peers_graph_rank *r)
{
	atomic_fetch_add(&r->all->arrived, 1);
	return wait_for(c, &r->all->arrived, ++r->met * (uint64_t)r->all->ranks);
}

static enum status await(struct cuda *c, CUstream s, CUevent e)
{
	return cuda_call(c, cuStreamWaitEvent, s, e, 0) ? STATUS_OK : rt_job_status(c->base.job);
}

/* The capture is relaxed: other threads give work to it, for which they may load a kernel or allocate. */
enum status peers_graph_begin(struct cuda *c, struct peers_graph_rank *r, CUstream stream)
{
	bool first = c->base.job->rank == 0;
	enum status status = STATUS_OK;
	if (first) {
		bool begun = cuda_call(c, cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
		atomic_store(&r->all->capturing, begun);
		status = begun ? cuda_event_record(c, stream, &r->all->fork) : rt_job_status(c->base.job);
	}
	if (status == STATUS_OK)
		status = meet(c, r);
	if (status == STATUS_OK && !first)
		status = await(c, stream, r->all->fork);
	c->captured = status == STATUS_OK;
	return status;
}

/* Makes rank 0's stream wait for the others', and ends the capture. */
static enum status end_capture(struct cuda *c, struct peers_graph_rank *r, CUstream stream)
{
	struct peers_graph *g = r->all;
	struct made *m;
	CUgraph graph;
	enum status status = STATUS_OK;
	for (int k = 1; k < g->ranks && status == STATUS_OK; k++)
		status = await(c, stream, g->joined[k]);
	if (status != STATUS_OK)
		return status;
	c->at = (struct rt_origin){.iteration = -1};
	bool ended = cuda_call(c, cuStreamEndCapture, stream, &graph);
	atomic_store(&g->capturing, false); /* also if it failed */
	if (!ended)
		return rt_job_status(c->base.job);
	m = mem_zalloc(sizeof *m);
	atomic_init(&m->users, g->ranks);
	m->before = g->made;
	g->made = m;
	bool ok = cuda_call(c, cuGraphInstantiate, &m->executable, graph, 0);
	cuda_call(c, cuGraphDestroy, graph);
	cuda_event_release(c, g->fork);
	return ok ? cuda_event_record(c, stream, &m->over) : rt_job_status(c->base.job);
}

enum status peers_graph_end(struct cuda *c, struct peers_graph_rank *r, CUstream stream, void **graph)
{
	int rank = c->base.job->rank;
	enum status status = rank ? cuda_event_record(c, stream, &r->all->joined[rank]) : STATUS_OK;
	if (status == STATUS_OK)
		status = meet(c, r);
	if (status == STATUS_OK && rank == 0)
		status = end_capture(c, r, stream);
	if (status == STATUS_OK)
		status = meet(c, r);
	c->captured = false;
	if (status != STATUS_OK)
		return status;
	if (rank)
		cuda_event_release(c, r->all->joined[rank]);
	*graph = r->all->made;
	return STATUS_OK;
}

enum status peers_graph_replay(struct cuda *c, struct peers_graph_rank *r, CUstream stream, void *graph)
{
	struct peers_graph *g = r->all;
	struct made *m = graph;
	enum status status;
	r->replays++;
	if (c->base.job->rank) {
		atomic_fetch_add(&g->called, 1);
		status = wait_for(c, &g->given, r->replays);
		return status == STATUS_OK ? await(c, stream, m->over) : status;
	}
	status = wait_for(c, &g->called, r->replays * (uint64_t)(g->ranks - 1));
	if (status != STATUS_OK)
		return status;
	if (!cuda_call(c, cuGraphLaunch, m->executable, stream) ||
	    !cuda_call(c, cuEventRecord, m->over, stream))
		return rt_job_status(c->base.job);
	atomic_store(&g->given, r->replays);
	return STATUS_OK;
}

void peers_graph_drop(struct cuda *c, struct peers_graph_rank *r, CUstream stream)
{
	CUgraph graph = NULL;
	c->captured = false;
	if (c->base.job->rank == 0 && atomic_load(&r->all->capturing)) {
		if (c->api->cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS && graph)
			c->api->cuGraphDestroy(graph);
		atomic_store(&r->all->capturing, false);
	}
	while (atomic_load(&r->all->capturing)) /* rank 0 comes here, too */
		sched_yield();
}

void peers_graph_end_use(struct cuda *c, void *graph)
{
	struct made *m = graph;
	if (c->base.job->rank == 0 && m->over)
		cuda_event_release(c, m->over);
	if (atomic_fetch_sub(&m->users, 1) == 1 && m->executable)
		cuda_call(c, cuGraphExecDestroy, m->executable);
}
