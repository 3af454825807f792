/* graph: the work given to streams between cuStreamBeginCapture and cuStreamEndCapture, as a list of steps on
 * lanes, one lane for each stream. A launch gives the steps, in that order, to streams of the graph:
 *
 *     a: work 1, record e     b: wait e, work 2, record f     a: wait f
 *     lane 0: work 1   lane 0: signal 0   lane 1: wait 0   lane 1: work 2   lane 1: signal 1   lane 0: wait
 * 1 */
#include "driver.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_LANES = 128 };

struct step {
	enum { WORK, SIGNAL, WAIT } kind;
	int lane;
	unsigned mark;
	struct mock_work work;
};

/* For each lane, how many of its steps are over at one point of a lane. */
struct clock {
	unsigned of[MAX_LANES];
};

struct CUgraph_st {
	struct mock_object object;
	unsigned references; /* by the handle and by executables */
	CUcontext context;
	struct step *step;
	unsigned steps, room;
	int lanes;
	unsigned marks;
	/* while it is captured: */
	pthread_t thread;
	CUstream stream[MAX_LANES];
	struct clock now[MAX_LANES];
	struct clock *at_mark;
	bool is_over, is_broken;
};

struct CUgraphExec_st {
	struct mock_object object;
	unsigned references; /* by the handle and by running launches */
	CUgraph graph;
	CUstream stream[MAX_LANES]; /* by lane */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all captures and references */
static _Thread_local CUgraph own;                        /* the graph that this thread captures */

static void *must(void *at)
{
	if (!at)
		mock_abort("graph", "the host has no memory");
	return at;
}

static void hold(unsigned *references)
{
	pthread_mutex_lock(&lock);
	++*references;
	pthread_mutex_unlock(&lock);
}

/* Drops a reference. Returns true if it was the last one. */
static bool drop_reference(unsigned *references)
{
	pthread_mutex_lock(&lock);
	bool last = --*references == 0;
	pthread_mutex_unlock(&lock);
	return last;
}

/* ---- capture; all under the lock */

static struct step *add(CUgraph g, int kind, int lane)
{
	if (g->steps == g->room) {
		g->room = g->room ? 2 * g->room : 64;
		g->step = must(realloc(g->step, g->room * sizeof *g->step));
	}
	g->step[g->steps] = (struct step){.kind = kind, .lane = lane};
	return &g->step[g->steps++];
}

static int join(CUgraph g, CUstream s)
{
	if (g->lanes == MAX_LANES)
		mock_abort("graph", "more than %d streams", MAX_LANES);
	g->stream[g->lanes] = s;
	s->graph = g;
	s->lane = g->lanes;
	return g->lanes++;
}

bool mock_stream_is_captured(CUstream s)
{
	pthread_mutex_lock(&lock);
	bool captured = s->graph != NULL;
	pthread_mutex_unlock(&lock);
	return captured;
}

bool graph_takes_work(CUstream s, const struct mock_work *work)
{
	pthread_mutex_lock(&lock);
	CUgraph g = s->graph;
	if (g) {
		add(g, WORK, s->lane)->work = *work;
		g->now[s->lane].of[s->lane]++;
	}
	pthread_mutex_unlock(&lock);
	return g != NULL;
}

bool graph_takes_signal(CUstream s, struct mock_mark *m)
{
	pthread_mutex_lock(&lock);
	CUgraph g = s->graph;
	if (g) {
		m->graph = g;
		m->index = g->marks++;
		g->at_mark = must(realloc(g->at_mark, g->marks * sizeof *g->at_mark));
		g->at_mark[m->index] = g->now[s->lane];
		add(g, SIGNAL, s->lane)->mark = m->index;
	}
	pthread_mutex_unlock(&lock);
	return g != NULL;
}

static CUresult take_wait(CUstream s, const struct mock_mark *m)
{
	CUgraph g = m->graph;
	if (!g || (s->graph && s->graph != g)) {
		s->graph->is_broken = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (g->is_over)
		return CUDA_ERROR_CAPTURED_EVENT;
	if (!s->graph)
		join(g, s);
	add(g, WAIT, s->lane)->mark = m->index;
	for (int k = 0; k < g->lanes; k++)
		if (g->now[s->lane].of[k] < g->at_mark[m->index].of[k])
			g->now[s->lane].of[k] = g->at_mark[m->index].of[k];
	return CUDA_SUCCESS;
}

bool graph_takes_wait(CUstream s, struct mock_mark *m, CUresult *error)
{
	pthread_mutex_lock(&lock);
	bool takes = s->graph || m->graph;
	if (takes)
		*error = take_wait(s, m);
	pthread_mutex_unlock(&lock);
	return takes;
}

/* Returns an error for a call that must not be made while this graph is captured. */
static CUresult forbid(const CUgraph *captured)
{
	pthread_mutex_lock(&lock);
	CUgraph g = *captured;
	if (g)
		g->is_broken = true;
	pthread_mutex_unlock(&lock);
	return g ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult graph_forbids(void)
{
	return forbid(&own);
}

CUresult graph_forbids_stream(CUstream s)
{
	return forbid(&s->graph);
}

CUresult cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode)
{
	DRIVER_ENTER(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "stream %u", STREAM_NUMBER(s));
	bool relaxed = mode == CU_STREAM_CAPTURE_MODE_RELAXED;
	if ((mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && !relaxed) || own)
		return CUDA_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&lock);
	bool captured = s->graph != NULL;
	if (!captured) {
		CUgraph g = must(calloc(1, sizeof *g));
		g->references = 1;
		g->context = s->context;
		g->thread = pthread_self();
		mock_object_add(&g->object, MOCK_GRAPH);
		join(g, s);
		own = relaxed ? NULL : g;
	}
	pthread_mutex_unlock(&lock);
	return captured ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

/* Returns the error of cuStreamEndCapture for a capture that began in s. */
static CUresult find_fault(CUgraph g, CUstream s)
{
	if (g->stream[0] != s)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (g->is_broken)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	for (int k = 1; k < g->lanes; k++)
		if (g->now[0].of[k] < g->now[k].of[k])
			return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	return CUDA_SUCCESS;
}

static void graph_release(CUgraph g)
{
	if (!drop_reference(&g->references))
		return;
	for (unsigned k = 0; k < g->steps; k++)
		if (g->step[k].kind == WORK)
			g->step[k].work.free(g->step[k].work.data);
	free(g->step);
	g->step = NULL;
	g->steps = 0;
}

CUresult cuStreamEndCapture(CUstream s, CUgraph *out)
{
	bool fails =
	    mock_enter(__func__, "stream %u", STREAM_NUMBER(s)); /* this ends the capture all the same */
	CUresult state = driver_state();
	if (state != CUDA_SUCCESS)
		return state;
	*out = NULL;
	pthread_mutex_lock(&lock);
	CUgraph g = s->graph;
	if (g && fails)
		g->is_broken = true;
	CUresult r = !g                                          ? CUDA_ERROR_INVALID_VALUE
	             : !pthread_equal(g->thread, pthread_self()) ? CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
	                                                         : find_fault(g, s);
	if (g && r != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) {
		for (int k = 0; k < g->lanes; k++)
			g->stream[k]->graph = NULL;
		g->is_over = true;
		free(g->at_mark);
		g->at_mark = NULL;
		if (own == g)
			own = NULL;
	}
	pthread_mutex_unlock(&lock);
	if (r == CUDA_SUCCESS) {
		*out = g;
	} else if (g && g->is_over) {
		mock_object_end(__func__, MOCK_GRAPH, g);
		graph_release(g);
	}
	return r;
}

CUresult cuGraphDestroy(CUgraph g)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, "graph %u", mock_object_number(__func__, MOCK_GRAPH, g));
	mock_object_end(__func__, MOCK_GRAPH, g);
	graph_release(g);
	return CUDA_SUCCESS;
}

/* ---- launches */

/* Events make edges, not nodes. */
static unsigned count_nodes(const struct CUgraph_st *g)
{
	unsigned n = 0;
	for (unsigned k = 0; k < g->steps; k++)
		n += g->step[k].kind == WORK;
	return n;
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph g, unsigned long long flags)
{
	DRIVER_ENTER(CUDA_ERROR_OUT_OF_MEMORY, "graph %u nodes %u",
	             mock_object_number(__func__, MOCK_GRAPH, g), count_nodes(g));
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	CUgraphExec e = must(calloc(1, sizeof *e));
	e->references = 1;
	e->graph = g;
	for (int k = 0; k < g->lanes; k++)
		e->stream[k] = stream_make(g->context, 1000 + (uint64_t)k);
	hold(&g->references);
	mock_object_add(&e->object, MOCK_GRAPH);
	*out = e;
	return CUDA_SUCCESS;
}

static void executable_release(void *data)
{
	CUgraphExec e = data;
	if (!drop_reference(&e->references))
		return;
	for (int k = 0; k < e->graph->lanes; k++)
		stream_end(e->stream[k]);
	graph_release(e->graph);
}

static void nothing(void *data, uint64_t number)
{
	(void)data;
	(void)number;
}

/* Makes the later work of `to` wait for the work of `from`. */
static void order(CUstream from, CUstream to)
{
	struct mock_mark *m = mock_mark_new();
	mock_stream_signal(from, m);
	mock_stream_wait(to, m);
	mock_mark_release(m);
}

CUresult cuGraphLaunch(CUgraphExec e, CUstream s)
{
	DRIVER_ENTER(CUDA_ERROR_LAUNCH_FAILED, "graph %u stream %u",
	             mock_object_number(__func__, MOCK_GRAPH, e), STREAM_NUMBER(s));
	if (mock_stream_is_captured(s))
		return CUDA_ERROR_NOT_SUPPORTED;
	CUgraph g = e->graph;
	struct mock_mark **mark = must(calloc(g->marks + 1, sizeof *mark));
	for (unsigned k = 0; k < g->marks; k++)
		mark[k] = mock_mark_new();
	hold(&e->references);
	for (int k = 0; k < g->lanes; k++)
		order(s, e->stream[k]);
	for (unsigned k = 0; k < g->steps; k++) {
		const struct step *t = &g->step[k];
		const struct mock_work *w = &t->work;
		if (t->kind == WORK)
			stream_enqueue(e->stream[t->lane], w->run, w->data, NULL,
			               w->issue ? w->issue(w->data) : 0);
		else if (t->kind == SIGNAL)
			mock_stream_signal(e->stream[t->lane], mark[t->mark]);
		else
			mock_stream_wait(e->stream[t->lane], mark[t->mark]);
	}
	for (int k = 0; k < g->lanes; k++)
		order(e->stream[k], s);
	stream_enqueue(s, nothing, e, executable_release, 0);
	for (unsigned k = 0; k < g->marks; k++)
		mock_mark_release(mark[k]);
	free(mark);
	return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec e)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, "graph %u", mock_object_number(__func__, MOCK_GRAPH, e));
	mock_object_end(__func__, MOCK_GRAPH, e);
	executable_release(e);
	return CUDA_SUCCESS;
}
