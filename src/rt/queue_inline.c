/* queue_inline: the engine that runs everything on the host thread.
 *
 * A stream without pending items runs new work at once. When it has to wait, it is blocked, and new work
 * goes into its queue. If another item must start after an item of this stream, a mark in the queue
 * starts it, so that no dependency has to be searched for.
 *
 *     stream 0   wait c0 · task · task · mark: start allreduce c1 · wait c1
 *     main       join with stream 0 · task                                   a mark lets the join pass
 *
 *     blocked ──the head's wait is over──> ready ──run until the next wait──> blocked or idle
 *
 * Items come from one pool. All communications in flight are tested whenever the transport is polled:
 * after a task, after a start, now and then while issuing, and in every wait. */
#include "rt/queue_inline.h"
#include "base/arena.h"
#include "rt/bell.h"
#include <sched.h>
#include <stdlib.h>

enum {
	POOL_CHUNK = 256,   /* items allocated at once */
	ISSUES_A_POLL = 16, /* queued items between polls of the transport */
	SPIN_US = 2,        /* a wait polls for this long, */
	YIELDS = 2,         /* then yields so many times, */
	PATIENCE_US = 1000, /* then sleeps if no stream could continue; halved after a useless sleep */
	LEAST_PATIENCE_US = 8,
};

/* Pools */

static struct item *item_new(struct inline_engine *e)
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
	return i;
}

static void item_free(struct inline_engine *e, struct item *i)
{
	if (i->kind <= ITEM_WAIT)
		e->outstanding--;
	if (i->kind == ITEM_TASK && !i->task->fixed) {
		struct record *r = (struct record *)i->task; /* the task is the first member of the record */
		r->next = e->free_records;
		e->free_records = r;
	}
	i->next = e->free_items;
	e->free_items = i;
}

static const struct rt_task *keep_task(struct inline_engine *e, const struct rt_task *task)
{
	if (task->fixed)
		return task;
	struct record *r = e->free_records;
	if (r) {
		e->free_records = r->next;
	} else {
		r = mem_alloc(sizeof *r);
		vec_push(&e->made, r);
	}
	r->task = *task;
	return &r->task;
}

/* Streams */

/* Appends an item to the queue of s. */
static struct item *put_inline_item(struct inline_engine *e, struct stream *s, enum item_kind kind,
                                    struct rt_origin at)
{
	struct item *i = item_new(e);
	i->next = NULL;
	i->kind = kind;
	i->reached = false;
	i->at = at;
	if (kind <= ITEM_WAIT)
		e->outstanding++;
	if (s->head) {
		s->last->next = i;
	} else {
		s->head = i;
		e->busy++;
	}
	s->last = i;
	return i;
}

static void block_stream(struct inline_engine *e, struct stream *s, uint32_t awaited)
{
	(void)e;
	s->blocked = true;
	rt_board_line_begin(s->base.board, RT_LINE_WAITING, s->head->at, awaited);
}

void inline_unblock(struct inline_engine *e, struct stream *s)
{
	s->blocked = false;
	rt_board_line_set(s->base.board, RT_LINE_IDLE, (struct rt_origin){.iteration = -1}, 0);
	s->next = NULL;
	if (e->ready)
		e->last_ready->next = s;
	else
		e->ready = s;
	e->last_ready = s;
}

/* Running */

/* Runs the queue of s until it is empty or blocked. */
static void run_stream(struct inline_engine *e, struct stream *s)
{
	for (struct item *i; (i = s->head); item_free(e, i)) {
		switch (i->kind) {
		case ITEM_TASK:
			if (!rt_engine_run(&e->base, &s->base, i->task, i->at))
				return;
			if (inline_under_way(e))
				inline_poll(e, &(bool){false});
			break;
		case ITEM_JOIN:
			if (!i->reached) {
				block_stream(e, s, 0);
				return;
			}
			break;
		case ITEM_WAIT:
			if (!i->reached)
				rt_engine_trace_wait(&e->base, &s->base, i->ticket, i->at);
			i->reached = true;
			if (!rt_engine_ticket_done(&e->base, i->ticket)) {
				struct rt_slot *slot = rt_engine_slot(&e->base, i->ticket.slot);
				block_stream(e, s, atomic_load_explicit(&slot->label, memory_order_relaxed));
				s->next = (struct stream *)slot->blocked;
				slot->blocked = &s->base;
				return;
			}
			break;
		case ITEM_COMM:
			inline_let_start(e, i->comm);
			break;
		case ITEM_MARK:
			i->join->reached = true;
			if (i->stream->blocked && i->stream->head == i->join)
				inline_unblock(e, i->stream);
			break;
		}
		s->head = i->next;
		if (rt_engine_failed(&e->base)) {
			item_free(e, i);
			return;
		}
	}
	e->busy--;
}

static void run_ready(struct inline_engine *e)
{
	while (e->ready && !rt_engine_failed(&e->base)) {
		struct stream *s = e->ready;
		e->ready = s->next;
		run_stream(e, s);
	}
}

/* Does everything that is possible now. */
static void advance_inline(struct inline_engine *e, bool *moved)
{
	inline_poll(e, moved);
	*moved |= e->ready != NULL;
	run_ready(e);
}

static uint32_t read_bell(struct inline_engine *e)
{
	return e->base.transport ? e->base.transport->ops->read(e->base.transport) : 0;
}

static void sleep_until(struct inline_engine *e, uint32_t seen, int64_t microseconds)
{
	if (e->base.transport)
		e->base.transport->ops->wait(e->base.transport, seen, microseconds);
}

static void inline_drain(struct rt_engine *engine)
{
	struct inline_engine *e = (struct inline_engine *)engine;
	struct rt_watch watch = {0};
	while (e->outstanding > 0 && !rt_engine_failed(engine)) {
		bool moved = false;
		uint32_t seen = read_bell(e);
		advance_inline(e, &moved);
		if (moved || e->outstanding == 0)
			continue;
		if (rt_watch_expired(&watch, engine->job)) {
			rt_engine_stuck(engine);
			return;
		}
		sleep_until(e, seen, RT_LOOK_US);
	}
}

/* Waits while anything moves, since the host is far ahead. */
static void catch_up(struct inline_engine *e, struct rt_origin at)
{
	struct rt_watch watch = {0};
	int64_t quiet = rt_engine_quiet_us(&e->base);
	while (e->outstanding > e->window / 2 && !rt_engine_failed(&e->base)) {
		bool moved = false;
		uint32_t seen = read_bell(e);
		advance_inline(e, &moved);
		if (moved)
			continue;
		if (rt_watch_idle_us(&watch, e->base.job) >= quiet) {
			if (e->window < RT_LIMIT)
				e->window *= 2;
			else
				rt_engine_too_many(&e->base, at);
			return;
		}
		sleep_until(e, seen, RT_LOOK_US);
	}
}

/* Handles an item that was queued. */
static void queued(struct inline_engine *e, struct rt_origin at)
{
	if (++e->issued >= ISSUES_A_POLL && inline_under_way(e))
		advance_inline(e, &(bool){false});
	if (e->outstanding >= e->window)
		catch_up(e, at);
}

/* Waits for a moment: the host could go on, but the ticket may be done soon. */
static void linger(struct inline_engine *e, struct rt_ticket ticket)
{
	int64_t start = rt_clock_us(), waited = 0;
	int yields = 0;
	bool slept = false;
	for (;;) {
		bool moved = false;
		uint32_t seen = read_bell(e);
		advance_inline(e, &moved);
		if (rt_engine_ticket_done(&e->base, ticket)) {
			if (slept)
				e->patience_us = PATIENCE_US;
			return;
		}
		if (rt_engine_failed(&e->base))
			return;
		if (moved)
			continue;
		waited = rt_clock_us() - start;
		if (waited < SPIN_US)
			continue;
		if (yields++ < YIELDS) {
			sched_yield();
			continue;
		}
		if (e->busy < e->streams - 1)
			return; /* other streams can run */
		if (waited >= e->patience_us)
			break;
		sleep_until(e, seen, e->patience_us - waited);
		slept = true;
	}
	if (e->patience_us > LEAST_PATIENCE_US)
		e->patience_us /= 2;
}

/* Submits */

static void inline_task(struct rt_engine *engine, struct rt_stream *stream, const struct rt_task *task,
                        struct rt_origin at)
{
	struct inline_engine *e = (struct inline_engine *)engine;
	struct stream *s = (struct stream *)stream;
	if (s->head) {
		put_inline_item(e, s, ITEM_TASK, at)->task = keep_task(e, task);
		queued(e, at);
	} else if (rt_engine_run(engine, stream, task, at) && inline_under_way(e)) {
		advance_inline(e, &(bool){false});
	}
}

static void inline_sync(struct rt_engine *engine, struct rt_stream *current, struct rt_stream *other,
                        struct rt_origin at)
{
	struct inline_engine *e = (struct inline_engine *)engine;
	struct stream *s = (struct stream *)current, *o = (struct stream *)other;
	if (!o->head)
		return; /* the stream has done everything */
	bool idle = !s->head;
	struct item *join = put_inline_item(e, s, ITEM_JOIN, at),
	            *mark = put_inline_item(e, o, ITEM_MARK, at);
	mark->join = join;
	mark->stream = s;
	if (idle)
		run_stream(e, s);
	queued(e, at);
}

static void inline_wait(struct rt_engine *engine, struct rt_stream *current, struct rt_ticket ticket,
                        struct rt_origin at)
{
	struct inline_engine *e = (struct inline_engine *)engine;
	struct stream *s = (struct stream *)current;
	bool idle = !s->head;
	if (idle) {
		rt_engine_trace_wait(engine, current, ticket, at);
		linger(e, ticket);
	}
	if (rt_engine_ticket_done(engine, ticket) || rt_engine_failed(engine))
		return;
	struct item *i = put_inline_item(e, s, ITEM_WAIT, at);
	i->ticket = ticket;
	i->reached = idle;
	if (idle)
		run_stream(e, s);
	queued(e, at);
}

static struct comm *make_comm(struct inline_engine *e, struct rt_comm_item *item)
{
	struct comm *c = inline_comm_new(e);
	rt_comm_take(&c->item, item);
	c->running = NULL;
	c->next = NULL;
	c->free_to_start = false;
	c->shown = -1;
	e->outstanding++;
	if (c->item.message)
		return c;
	struct team *t = inline_team_of(e, c->item.c.team);
	if (t->head)
		t->last->next = c;
	else
		t->head = c;
	t->last = c;
	return c;
}

static void inline_communicate(struct rt_engine *engine, struct rt_stream *current, struct rt_comm_item *item,
                               bool more)
{
	struct inline_engine *e = (struct inline_engine *)engine;
	struct stream *s = (struct stream *)current;
	struct rt_origin at = rt_comm_at(item);
	struct rt_request *running;
	if (s->head) {
		struct comm *c = make_comm(e, item);
		put_inline_item(e, s, ITEM_COMM, at)->comm = c;
		queued(e, at);
		return;
	}
	if (!item->message && inline_team_of(e, item->c.team)->head)
		inline_let_start(e, make_comm(e, item)); /* starts after those */
	else if (!inline_at_once(e, item, &running))
		inline_go_on(e, make_comm(e, item), running);
	if (!more && inline_under_way(e))
		advance_inline(e, &(bool){false});
	if (e->outstanding >= e->window)
		catch_up(e, at);
}

/* Beginning and end */

static void inline_stream_start(struct rt_engine *e, struct rt_stream *s)
{
	(void)s;
	((struct inline_engine *)e)->streams++;
}

static enum status inline_start(struct rt_engine *engine)
{
	struct inline_engine *e = (struct inline_engine *)engine;
	e->running.after = e->running.before = &e->running;
	e->window = RT_LARGE_WINDOW;
	e->patience_us = PATIENCE_US;
	return STATUS_OK;
}

static void inline_stop(struct rt_engine *engine)
{
	struct inline_engine *e = (struct inline_engine *)engine;
	for (uint32_t i = 0; i < e->team.n; i++)
		if (e->team.at[i].used)
			rt_board_line_free(engine->job, e->team.at[i].line);
	for (uint32_t i = 0; i < e->comms.n; i++) {
		free(e->comms.at[i]->item.blocks);
		free(e->comms.at[i]);
	}
	for (uint32_t i = 0; i < e->made.n; i++)
		free(e->made.at[i]);
	vec_free(&e->comms);
	vec_free(&e->made);
	vec_free(&e->team);
}

const struct rt_engine_ops rt_inline_ops = RT_ENGINE_OPS(inline, struct inline_engine, struct stream);
