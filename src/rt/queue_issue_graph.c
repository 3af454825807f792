/* queue_issue_graph: makes graphs of a device that works on its own.
 *
 *     fork: an event of main ──> each other stream that is used waits for it ──> main waits for all of them
 *
 * So everything issued from begin to end is one graph, which begins and ends in main. */
#include "rt/queue_issue.h"
#include <assert.h>

void issue_enter_graph(struct issue_engine *e, struct stream *s, struct rt_origin at)
{
	if (!e->fork || s->captured)
		return;
	s->captured = true;
	issue_failed(e, e->device->await(e->base.device, s->device, e->fork, at));
}

bool rt_engine_captures(const struct rt_engine *e)
{
	return e->ops == &rt_issue_ops && !e->trace && e->device->ops->async->capture_begin &&
	       (!e->transport || e->transport->captures);
}

enum status rt_capture_begin(struct rt_engine *engine, struct rt_stream *main)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)main;
	const struct rt_origin nowhere = {.iteration = -1};
	for (struct rt_stream *k = engine->streams; k; k = k->next)
		((struct stream *)k)->captured = k == main;
	if (!issue_failed(e, e->device->capture_begin(engine->device, s->device))) {
		e->capturing = s;
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
	assert(!e->queued && !e->unissued.n); /* transports that support graphs issue at once */
	join_graph(e, s);
	if (e->fork)
		e->device->release(engine->device, e->fork);
	e->fork = NULL;
	if (!rt_engine_failed(engine) &&
	    !issue_failed(e, e->device->capture_end(engine->device, s->device, graph)))
		e->capturing = NULL;
	return rt_job_status(engine->job);
}

enum status rt_replay(struct rt_engine *engine, struct rt_stream *main, void *graph)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	issue_failed(e, e->device->replay(engine->device, ((struct stream *)main)->device, graph));
	return rt_job_status(engine->job);
}

void rt_graph_free(struct rt_engine *engine, void *graph)
{
	if (graph)
		engine->device->ops->async->graph_free(engine->device, graph);
}

void issue_graph_drop(struct issue_engine *e)
{
	if (e->capturing)
		e->device->capture_drop(e->base.device, e->capturing->device);
	if (e->fork)
		e->device->release(e->base.device, e->fork);
}
