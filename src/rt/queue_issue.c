/* queue_issue: the engine of a device that works on its own: the host issues work to it, and waits only
 * in rt_drain.
 *
 * A stream of the program is a stream of the device. A task is launched on it. A Synchronize is an event
 * of the other stream for which this one waits. A communication starts after an event of its stream, and
 * a Wait waits for the event of the communication. That event exists once the transport has given the
 * communication to the device, which may require other members to come first. Until then, later work of
 * the waiting stream is in a queue on the host:
 *
 *     stream 0   wait c0 · task · mark: start allreduce c1 · wait c1            c0 was not issued yet
 *     main       join with stream 0 · task                                   the mark lets the join pass
 *
 * A ticket is done once the host has seen that the device is done with it. Until then streams wait for
 * its events. */
#include "rt/queue_issue.h"
#include "base/arena.h"
#include "rt/bell.h"
#include "rt/bootstrap_shared.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	POOL_CHUNK = 256,      /* items allocated at once */
	TASKS_A_BEAT = 256,    /* launches of a stream between beats, its signs of progress, or */
	WORK_A_BEAT = 1 << 22, /* elements, or multiplications of products, if these come first */
	RETIRE_TICKETS = 64,   /* issued tickets, before the host tests which are done */
	PAUSE_SHARE = 128,     /* a pause is this part of the time in which nothing has moved, */
	PAUSE_US = 200,        /* at most this long, */
	SLEEP_US = 50,         /* and busy if it is shorter, since sleeps last about this much longer */
};

/* ---- items */

static struct item *put_issue_item(struct issue_engine *e, struct stream *s, enum item_kind kind,
                                   struct rt_origin at)
{
	if (!e->free_items) {
		struct item *chunk = mem_alloc(POOL_CHUNK * sizeof *chunk);
		vec_push(&e->made, chunk);
		for (int i = POOL_CHUNK - 1; i >= 0; i--) {
			chunk[i].next = e->free_items;
			e->free_items = &chunk[i];
		}
	}
	struct item *i = e->free_items;
	e->free_items = i->next;
	*i = (struct item){.kind = kind, .at = at};
	*(s->head ? &s->last->next : &s->head) = i;
	s->last = i;
	if (++e->queued > RT_LIMIT)
		rt_engine_too_many(&e->base, at);
	return i;
}

static void take_first(struct issue_engine *e, struct stream *s)
{
	struct item *i = s->head;
	if (i->kind == ITEM_TASK && !i->task->fixed)
		free((struct rt_task *)i->task);
	s->head = i->next;
	i->next = e->free_items;
	e->free_items = i;
	e->queued--;
}

void issue_unblock(struct issue_engine *e, struct stream *s)
{
	rt_board_line_set(s->base.board, RT_LINE_IDLE, (struct rt_origin){.iteration = -1}, 0);
	s->next = NULL;
	*(e->ready ? &e->last_ready->next : &e->ready) = s;
	e->last_ready = s;
}

/* ---- work given to the device */

/* Records an event now and then, which shows that the device makes progress. */
static void beat(struct issue_engine *e, struct stream *s, struct rt_origin at)
{
	void *event;
	s->launched = 0;
	s->work = 0;
	if (!issue_failed(e, e->device->record(e->base.device, s->device, at, &event)))
		vec_push(&s->beat, event);
}

/* Estimates the work: elements, or multiplications. */
static int64_t work_of(const struct rt_task *t)
{
	if (t->kernel == RT_TASK_UNIT)
		return t->unit->steps ? t->unit->steps * work_of(&t->unit->step[0].task) : 0;
	int64_t n = rt_view_count(&t->out);
	if (t->kernel == RT_TASK_REDUCE)
		return rt_view_count(&t->in[0]);
	return t->kernel == RT_TASK_GEMM && t->in[0].nd ? n * t->in[0].n[t->in[0].nd - 1] : n;
}

/* Waits until the stream has done its work so far, if the host is to wait for each task. An error of the device then
 * names the statement of this work. */
static void await_work(struct issue_engine *e, struct stream *s, struct rt_origin at)
{
	struct rt_watch watch = {0};
	int64_t since = rt_clock_us();
	void *event = NULL;
	bool over = false;
	if (!e->base.device->is_awaited || e->fork ||
	    issue_failed(e, e->device->record(e->base.device, s->device, at, &event)))
		return;
	while (!rt_engine_failed(&e->base) && !over) {
		bool moved = false;
		uint32_t seen = issue_seen(e);
		issue_poll(e, &moved);
		if (issue_failed(e, e->device->is_over(e->base.device, event, &over)) || over)
			break;
		if (rt_watch_expired(&watch, e->base.job))
			rt_engine_stuck(&e->base);
		else
			issue_pause(e, rt_clock_us() - since, seen);
	}
	e->device->release(e->base.device, event);
	rt_job_progress(e->base.job);
}

/* Makes the device's stream wait for a ticket whose communications are all issued. */
static void await_ticket(struct issue_engine *e, struct stream *s, struct rt_ticket ticket,
                         struct rt_origin at)
{
	issue_await_ticket(e, s, ticket, at);
	await_work(e, s, at);
}

static void launch_task(struct issue_engine *e, struct stream *s, const struct rt_task *task,
                        struct rt_origin at)
{
	char why[RT_WHY_BYTES];
	why[0] = 0;
	issue_enter_graph(e, s, at);
	rt_board_line_begin(s->base.board, RT_LINE_RUNNING, at, 0);
	int64_t work = work_of(task); /* before the launch: the unit may be reused afterwards */
	bool traced = issue_trace_clock(e);
	void *begin = NULL;
	enum status status =
	    e->device->launch(e->base.device, s->device, task, at, why, traced ? &begin : NULL);
	if (status != STATUS_OK && why[0])
		rt_job_error_at(e->base.job, at, "%s", why);
	bool failed = issue_failed(e, status);
	issue_trace_task(e, s, begin, at);
	if (failed || e->fork)
		return;
	await_work(e, s, at);
	s->work += work;
	if (++s->launched >= TASKS_A_BEAT || s->work >= WORK_A_BEAT)
		beat(e, s, at);
}

void *issue_record(struct issue_engine *e, struct stream *s, struct rt_origin at)
{
	void *event = NULL;
	issue_enter_graph(e, s, at);
	return issue_failed(e, e->device->record(e->base.device, s->device, at, &event)) ? NULL : event;
}

void issue_await(struct issue_engine *e, struct stream *s, void *event, struct rt_origin at)
{
	issue_enter_graph(e, s, at);
	issue_failed(e, e->device->await(e->base.device, s->device, event, at));
	e->device->release(e->base.device, event);
}

/* ---- queues */

/* Issues the head of a queue. Returns false if it has to wait. */
static bool issue_head(struct issue_engine *e, struct stream *s)
{
	struct item *i = s->head;
	switch (i->kind) {
	case ITEM_TASK:
		launch_task(e, s, i->task, i->at);
		return true;
	case ITEM_JOIN:
		if (i->event)
			issue_await(e, s, i->event, i->at);
		return i->event != NULL;
	case ITEM_WAIT:
		if (rt_engine_ticket_done(&e->base, i->ticket)) {
			issue_trace_wait(e, s, i->ticket, i->at);
			return true;
		}
		if (issue_awaited(e, i->ticket)->unissued) {
			struct rt_slot *slot = rt_engine_slot(&e->base, i->ticket.slot);
			rt_board_line_begin(s->base.board, RT_LINE_WAITING, i->at,
			                    atomic_load_explicit(&slot->label, memory_order_relaxed));
			s->next = (struct stream *)slot->blocked;
			slot->blocked = &s->base;
			return false;
		}
		await_ticket(e, s, i->ticket, i->at);
		return true;
	case ITEM_COMM:
		issue_comm_start(e, s, i->comm);
		return true;
	case ITEM_MARK:
		i->join->event = issue_record(e, s, i->at);
		if (i->stream->head == i->join && i->join->event)
			issue_unblock(e, i->stream);
		return true;
	}
	return true;
}

static void issue_queue(struct issue_engine *e, struct stream *s)
{
	while (s->head && !rt_engine_failed(&e->base) && issue_head(e, s))
		take_first(e, s);
}

static void advance_issue(struct issue_engine *e, bool *moved)
{
	issue_poll(e, moved);
	while (e->ready && !rt_engine_failed(&e->base)) {
		struct stream *s = e->ready;
		e->ready = s->next;
		*moved = true;
		issue_queue(e, s);
	}
	if (e->issued.n - e->oldest >= RETIRE_TICKETS && !e->fork && !e->base.trace)
		issue_retire(e);
}

/* ---- submits */

static void issue_task(struct rt_engine *engine, struct rt_stream *stream, const struct rt_task *task,
                       struct rt_origin at)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)stream;
	if (!s->head) {
		launch_task(e, s, task, at);
	} else {
		struct item *item = put_issue_item(e, s, ITEM_TASK, at);
		item->task = task->fixed ? task : memcpy(mem_alloc(sizeof *task), task, sizeof *task);
	}
}

static void issue_sync(struct rt_engine *engine, struct rt_stream *current, struct rt_stream *other,
                       struct rt_origin at)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)current, *o = (struct stream *)other;
	if (e->fork && !o->captured && !o->head)
		return; /* it was given nothing since the last drain */
	void *event = o->head ? NULL : issue_record(e, o, at);
	if (!s->head && event) {
		issue_await(e, s, event, at);
		return;
	}
	struct item *join = put_issue_item(e, s, ITEM_JOIN, at);
	join->event = event;
	if (!event) {
		struct item *mark = put_issue_item(e, o, ITEM_MARK, at);
		mark->join = join;
		mark->stream = s;
	}
}

static void issue_wait(struct rt_engine *engine, struct rt_stream *current, struct rt_ticket ticket,
                       struct rt_origin at)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)current;
	if (e->unissued.n)
		advance_issue(e, &(bool){false});
	bool idle = !s->head;
	if (idle && !issue_awaited(e, ticket)->unissued) {
		await_ticket(e, s, ticket, at);
		return;
	}
	put_issue_item(e, s, ITEM_WAIT, at)->ticket = ticket;
	if (idle)
		issue_queue(e, s);
}

static void issue_communicate(struct rt_engine *engine, struct rt_stream *current, struct rt_comm_item *item,
                              bool more)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)current;
	struct rt_origin at = rt_comm_at(item);
	struct comm *c = issue_comm_new(e, item, more);
	if (s->head)
		put_issue_item(e, s, ITEM_COMM, at)->comm = c;
	else
		issue_comm_start(e, s, c);
	if (!more)
		advance_issue(e, &(bool){false});
}

/* ---- the end of a run */

/* Releases the beats of a stream that are over; they end in order. */
static void listen_to_stream(struct issue_engine *e, struct stream *s)
{
	while (s->beaten < s->beat.n) {
		bool over = false;
		if (issue_failed(e, e->device->is_over(e->base.device, s->beat.at[s->beaten], &over)) ||
		    !over)
			return;
		e->device->release(e->base.device, s->beat.at[s->beaten++]);
		rt_job_progress(e->base.job);
	}
	s->beaten = s->beat.n = 0;
}

static void listen_to_beats(struct issue_engine *e)
{
	for (struct rt_stream *s = e->base.streams; s && !rt_engine_failed(&e->base); s = s->next)
		listen_to_stream(e, (struct stream *)s);
}

uint32_t issue_seen(const struct issue_engine *e)
{
	return e->base.transport ? e->base.transport->ops->read(e->base.transport) : 0;
}

void issue_pause(struct issue_engine *e, int64_t waited, uint32_t seen)
{
	struct rt_transport *t = e->base.transport;
	int64_t pause = waited / PAUSE_SHARE < PAUSE_US ? waited / PAUSE_SHARE : PAUSE_US;
	if (pause >= SLEEP_US) {
		if (t)
			t->ops->wait(t, seen, pause);
		else
			nanosleep(&(struct timespec){.tv_nsec = (long)pause * 1000}, NULL);
		return;
	}
	rt_pause();
	for (int64_t end = rt_clock_us() + pause; rt_clock_us() < end && issue_seen(e) == seen; rt_pause())
		sched_yield();
}

void issue_settle(struct issue_engine *e)
{
	struct rt_watch watch = {0};
	int64_t since = rt_clock_us();
	while (!rt_engine_failed(&e->base) && (e->queued || e->unissued.n)) {
		bool moved = false;
		uint32_t seen = issue_seen(e);
		advance_issue(e, &moved);
		if (moved)
			since = rt_clock_us();
		else if (rt_watch_expired(&watch, e->base.job))
			rt_engine_stuck(&e->base);
		else
			issue_pause(e, rt_clock_us() - since, seen);
	}
}

/* Prints the work that the device has not finished, for the report if nothing moves any more. */
static void say_what_is_under_way(struct issue_engine *e)
{
	struct rt_job *job = e->base.job;
	struct buf text = {0}, statement = {0};
	if (e->oldest < e->issued.n) {
		const struct rt_slot *first = rt_engine_slot(&e->base, e->issued.at[e->oldest].slot);
		rt_board_label(job->board, job->rank,
		               atomic_load_explicit(&first->label, memory_order_relaxed), &statement);
	}
	buf_puts(&text, "its device");
	if (statement.n)
		buf_printf(&text, " to end  %s", statement.at);
	rt_job_host(job, text.at);
	buf_free(&statement);
	buf_free(&text);
}

static void issue_drain(struct rt_engine *engine)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct rt_watch watch = {0};
	int64_t since = rt_clock_us(), quiet = engine->job->timeout_ms * 1000 / 2;
	bool said = false;
	while (!rt_engine_failed(engine)) {
		bool moved = false, idle = false;
		uint32_t seen = issue_seen(e);
		advance_issue(e, &moved);
		issue_retire(e);
		listen_to_beats(e);
		if (!e->queued && !e->unissued.n &&
		    (issue_failed(e, e->device->is_idle(engine->device, &idle)) || idle))
			break;
		if (moved) {
			since = rt_clock_us();
			continue;
		}
		if (quiet && !said && !e->queued && rt_clock_us() - since > quiet) {
			say_what_is_under_way(e);
			said = true;
		}
		if (rt_watch_expired(&watch, engine->job)) {
			rt_engine_stuck(engine);
			break;
		}
		issue_pause(e, rt_clock_us() - since, seen);
	}
	issue_retire(e);
	listen_to_beats(e);
	issue_trace_end(e);
	if (said && !rt_engine_failed(engine))
		rt_job_host(engine->job, NULL);
	for (struct rt_stream *s = engine->streams; s && !rt_engine_failed(engine); s = s->next)
		rt_board_line_set(s->board, RT_LINE_IDLE, (struct rt_origin){.iteration = -1}, 0);
}

/* ---- beginning and end */

static void issue_stream_start(struct rt_engine *engine, struct rt_stream *stream)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	issue_failed(e, e->device->stream_new(engine->device, &((struct stream *)stream)->device));
}

static enum status issue_start(struct rt_engine *engine)
{
	((struct issue_engine *)engine)->device = engine->device->ops->async;
	return STATUS_OK;
}

static void issue_stop(struct rt_engine *engine)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	issue_graph_drop(e);
	if (engine->transport && engine->transport->ops->drop)
		engine->transport->ops->drop(engine->transport);
	for (struct rt_stream *base = engine->streams; base; base = base->next) {
		struct stream *s = (struct stream *)base;
		while (s->head) {
			if (s->head->kind == ITEM_COMM)
				issue_comm_free(s->head->comm);
			take_first(e, s);
		}
		while (s->beaten < s->beat.n)
			e->device->release(engine->device, s->beat.at[s->beaten++]);
		vec_free(&s->beat);
		if (s->device)
			e->device->stream_free(engine->device, s->device);
	}
	issue_trace_free(e);
	issue_comms_free(e);
	for (uint32_t k = 0; k < e->made.n; k++)
		free(e->made.at[k]);
	vec_free(&e->made);
}

const struct rt_engine_ops rt_issue_ops = RT_ENGINE_OPS(issue, struct issue_engine, struct stream);
