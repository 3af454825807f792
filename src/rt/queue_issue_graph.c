/* queue_issue_graph: makes graphs of a device that works on its own.
 *
 *     fork: an event of main ──> each other stream that is used waits for it ──> main waits for all of them
 *
 * So everything issued from begin to end is one graph, which begins and ends in main. Where the transport has
 * functions for graphs, all ranks make and replay them together. */
#include "rt/queue_issue.h"
#include <assert.h>

/* Returns the transport if its ranks make graphs together; otherwise NULL. */
static struct rt_transport *sharing_transport(const struct issue_engine *e)
{
	return e->base.transport && e->base.transport->ops->graph_begin ? e->base.transport : NULL;
}

static enum status begin_graph(struct issue_engine *e, struct stream *main)
{
	struct rt_transport *t = sharing_transport(e);
	return t ? t->ops->graph_begin(t, main->device)
	         : e->device->capture_begin(e->base.device, main->device);
}

static enum status end_graph(struct issue_engine *e, struct stream *main, void **graph)
{
	struct rt_transport *t = sharing_transport(e);
	return t ? t->ops->graph_end(t, main->device, graph)
	         : e->device->capture_end(e->base.device, main->device, graph);
}

void issue_enter_graph(struct issue_engine *e, struct stream *s, struct rt_origin at)
{
	if (!e->fork || s->captured)
		return;
	s->captured = true;
	issue_failed(e, e->device->await(e->base.device, s->device, e->fork, at));
}

bool rt_engine_captures(const struct rt_engine *e)
{
	return e->ops == &rt_issue_ops && !e->trace && e->device->ops->async->capture_begin;
}

unsigned rt_engine_graphs(const struct rt_engine *engine)
{
	const struct rt_transport *t = sharing_transport((const struct issue_engine *)engine);
	return t && t->ops->graphs ? t->ops->graphs : 1;
}

enum status rt_capture_begin(struct rt_engine *engine, struct rt_stream *main)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)main;
	const struct rt_origin nowhere = {.iteration = -1};
	for (struct rt_stream *k = engine->streams; k; k = k->next)
		((struct stream *)k)->captured = k == main;
	e->capturing = s;
	if (!issue_failed(e, begin_graph(e, s))) {
		e->fork = issue_record(e, s, nowhere);
	}
	return rt_job_status(engine->job);
}

/* Makes main wait for everything that was captured. */
static void join_graph(struct issue_engine *e, struct stream *main)
{
	const struct rt_origin nowhere = {.iteration = -1};
	for (struct rt_stream *k = e->base.streams; k && !rt_engine_failed(&e->base); k = k->next) {
		struct stream *s = (struct stream *)k;
		void *event = s != main && s->captured ? issue_record(e, s, nowhere) : NULL;
		if (event)
			issue_await(e, main, event, nowhere);
	}
	for (; e->oldest < e->issued.n; e->oldest++) {
		struct rt_ticket t = e->issued.at[e->oldest];
		issue_await_ticket(e, main, t, nowhere);
		issue_ticket_end(e, t);
	}
	e->oldest = e->issued.n = 0;
}

enum status rt_capture_end(struct rt_engine *engine, struct rt_stream *main, void **graph)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)main;
	issue_settle(e); /* ranks with one graph wait for each other's calls */
	assert(rt_engine_failed(engine) || (!e->queued && !e->unissued.n));
	join_graph(e, s);
	if (e->fork)
		e->device->release(engine->device, e->fork);
	e->fork = NULL;
	if (!rt_engine_failed(engine) && !issue_failed(e, end_graph(e, s, graph)))
		e->capturing = NULL;
	return rt_job_status(engine->job);
}

enum status rt_replay(struct rt_engine *engine, struct rt_stream *main, void *graph)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct rt_transport *t = sharing_transport(e);
	void *stream = ((struct stream *)main)->device;
	issue_failed(e,
	             t ? t->ops->replay(t, stream, graph) : e->device->replay(engine->device, stream, graph));
	return rt_job_status(engine->job);
}

void rt_graph_free(struct rt_engine *engine, void *graph)
{
	struct rt_transport *t = sharing_transport((struct issue_engine *)engine);
	if (graph && t)
		t->ops->graph_free(t, graph);
	else if (graph)
		engine->device->ops->async->graph_free(engine->device, graph);
}

void issue_graph_drop(struct issue_engine *e)
{
	struct rt_transport *t = sharing_transport(e);
	if (e->capturing && t)
		t->ops->graph_drop(t, e->capturing->device);
	else if (e->capturing)
		e->device->capture_drop(e->base.device, e->capturing->device);
	if (e->fork)
		e->device->release(e->base.device, e->fork);
}
