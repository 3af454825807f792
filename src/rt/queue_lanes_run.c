/* queue_lanes_run: the two threads that execute the issued work. */
#include "base/arena.h"
#include "rt/queue_lanes.h"
#include <sched.h>
#include <stdlib.h>

static const struct rt_origin nowhere = {.iteration = -1};

/* Increments a count that only this thread writes. */
static void increment_count(_Atomic int64_t *n)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_release);
}

/* Wakes the host if it sleeps and its work is done. Call it after a sequentially consistent access to
 * the count. */
static void tell_host(struct lane_engine *e)
{
	if (atomic_load(&e->host_bell.sleepers) > 0 &&
	    lane_done(e) >= atomic_load_explicit(&e->host_wants, memory_order_relaxed))
		rt_bell_ring(&e->host_bell);
}

static bool stopped(struct lane_engine *e)
{
	return atomic_load_explicit(&e->stop, memory_order_acquire) || rt_engine_failed(&e->base);
}

/* Compute lane */

static void show_wait(struct lane_engine *e, struct lane_stream *s, const struct lane_item *item)
{
	uint64_t number = atomic_load_explicit(&s->completed, memory_order_relaxed) + 1;
	if (s->shown == number)
		return;
	s->shown = number;
	if (!item->after.stream)
		rt_engine_trace_wait(&e->base, &s->base, item->after.ticket, item->at);
	struct rt_ticket t = item->after.ticket;
	uint32_t awaited =
	    item->after.stream || t.generation == 0
	        ? 0
	        : atomic_load_explicit(&rt_engine_slot(&e->base, t.slot)->label, memory_order_relaxed);
	rt_board_line_begin(s->base.board, RT_LINE_WAITING, item->at, awaited);
}

/* Executes the head of s if it is ready. Returns false if it has failed. */
static bool stream_step(struct lane_engine *e, struct lane_stream *s, bool *moved)
{
	struct lane_item *item = rt_fifo_peek(&s->fifo);
	if (!item)
		return true;
	if (item->wait) {
		if (!lane_ready(e, &item->after)) {
			show_wait(e, s, item);
			return true;
		}
		if (e->base.trace)
			show_wait(e, s, item); /* each wait is traced once, even if it was over already */
		rt_board_line_set(s->base.board, RT_LINE_IDLE, nowhere, 0);
	} else {
		const struct rt_task *task = item->task ? item->task : rt_fifo_peek(&s->copies);
		if (!rt_engine_run(&e->base, &s->base, task, item->at))
			return false;
		if (!item->task)
			rt_fifo_drop(&s->copies);
	}
	rt_fifo_drop(&s->fifo);
	increment_count(&e->computed);
	/* either the communication lane sees this, or this thread sees that the lane has something to
	 * start; the same holds for the host */
	atomic_fetch_add(&s->completed, 1);
	*moved = true;
	tell_host(e);
	if (atomic_load(&e->comm_left) > 0)
		e->base.transport->ops->wake(e->base.transport);
	return true;
}

/* Executes one item of each stream that has one. */
static bool streams_step(struct lane_engine *e)
{
	bool moved = false;
	struct rt_stream *s = atomic_load_explicit(&e->base.streams, memory_order_acquire);
	for (; s && !stopped(e); s = atomic_load_explicit(&s->next, memory_order_acquire))
		if (!stream_step(e, (struct lane_stream *)s, &moved))
			break;
	return moved;
}

void *lane_compute(void *engine)
{
	struct lane_engine *e = engine;
	for (int looks = 0; !stopped(e); looks++) {
		if (streams_step(e)) {
			looks = 0;
		} else if (looks < LANE_SPINS) {
			rt_pause();
		} else if (looks < LANE_SPINS + LANE_YIELDS) {
			sched_yield();
		} else {
			uint32_t seen = rt_bell_announce(&e->compute_bell);
			if (streams_step(e) || stopped(e))
				rt_bell_withdraw(&e->compute_bell);
			else
				rt_bell_sleep(&e->compute_bell, seen, RT_LOOK_US);
			looks = 0;
		}
	}
	lane_wake_all(e);
	return NULL;
}

/* Communication lane */

static void give_back(struct lane_engine *e, struct rt_ticket t)
{
	struct rt_slot *slot = rt_engine_slot(&e->base, t.slot);
	uint32_t head = atomic_load_explicit(&e->base.released, memory_order_relaxed);
	do
		slot->next = head;
	while (!atomic_compare_exchange_weak_explicit(&e->base.released, &head, t.slot + 1,
	                                              memory_order_release, memory_order_relaxed));
}

static void comm_done(struct lane_engine *e, struct lane_comm *c, const struct rt_board_line *board)
{
	rt_engine_trace_comm(&e->base, &c->item, true, board);
	if (c->item.blocks) {
		struct lane_blocks b = {.at = c->item.blocks, .room = c->item.room};
		rt_fifo_put(&e->blocks, &b);
		c->item.blocks = NULL;
	}
	bool last = rt_engine_ticket_end(&e->base, c->item.ticket);
	if (last)
		give_back(e, c->item.ticket);
	increment_count(&e->communicated);
	atomic_fetch_sub(&e->comm_left, 1); /* also a fence */
	tell_host(e);
	rt_job_progress(e->base.job);
	if (last)
		rt_bell_nudge(&e->compute_bell);
}

/* Ends the finished ones among the head and others of its group. */
static enum status team_test(struct lane_engine *e, struct lane_team *q, bool *moved)
{
	struct rt_transport *t = e->base.transport;
	uint32_t kept = 0;
	enum status status = STATUS_OK;
	for (uint32_t k = 0; k < q->running.n; k++) {
		struct lane_running r = q->running.at[k];
		bool done = false;
		if (status == STATUS_OK)
			status = t->ops->test(t, r.request, &done);
		if (!done) {
			q->running.at[kept++] = r;
			continue;
		}
		if (!kept && k + 1 == q->running.n)
			rt_board_line_set(q->board, RT_LINE_IDLE, nowhere, 0);
		comm_done(e, &r.comm, q->board);
		*moved = true;
	}
	q->running.n = kept;
	return status;
}

/* Starts the heads that may start, and those behind a head that takes time if they follow it in its
 * group. */
static enum status team_step(struct lane_engine *e, struct lane_team *q, bool *moved)
{
	enum status status = team_test(e, q, moved);
	struct lane_comm *c;
	while (status == STATUS_OK && (c = rt_fifo_peek(&q->fifo)) && (!q->running.n || c->item.follows) &&
	       lane_ready(e, &c->after)) {
		struct rt_request *request = NULL;
		rt_board_line_begin(q->board, RT_LINE_WAITING, c->item.c.at, 0);
		rt_engine_trace_comm(&e->base, &c->item, false, q->board);
		status = rt_engine_start(&e->base, &c->item, &request);
		*moved = true;
		if (status != STATUS_OK)
			break;
		if (request) {
			vec_push(&q->running, ((struct lane_running){*c, request}));
		} else {
			if (!q->running.n)
				rt_board_line_set(q->board, RT_LINE_IDLE, nowhere, 0);
			comm_done(e, c, q->board);
		}
		rt_fifo_drop(&q->fifo);
	}
	return status;
}

static enum status message_step(struct lane_engine *e, struct lane_message *m, bool *moved, bool *done)
{
	struct rt_transport *t = e->base.transport;
	enum status status = STATUS_OK;
	*done = false;
	if (m->running) {
		status = t->ops->test(t, m->running, done);
	} else if (lane_ready(e, &m->comm.after)) {
		rt_engine_trace_comm(&e->base, &m->comm.item, false, NULL);
		status = rt_engine_start(&e->base, &m->comm.item, &m->running);
		if (status == STATUS_OK)
			m->shown = rt_engine_message_show(&e->base, &m->comm.item.p);
		*done = status == STATUS_OK && !m->running;
		*moved = true;
	}
	return status;
}

static enum status messages_step(struct lane_engine *e, bool *moved)
{
	struct lane_message **at = &e->pending, *m;
	while ((m = *at)) {
		bool done;
		enum status status = message_step(e, m, moved, &done);
		if (status != STATUS_OK)
			return status;
		if (!done) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		rt_engine_message_hide(&e->base, m->shown);
		comm_done(e, &m->comm, NULL);
		m->next = e->unused;
		e->unused = m;
		*moved = true;
	}
	struct lane_comm *c; /* `at` is the end of the list */
	while ((c = rt_fifo_peek(&e->messages))) {
		m = e->unused;
		if (m)
			e->unused = m->next;
		else
			m = mem_alloc(sizeof *m);
		*m = (struct lane_message){.comm = *c, .shown = -1};
		*at = m;
		at = &m->next;
		rt_fifo_drop(&e->messages);
		*moved = true;
	}
	return STATUS_OK;
}

static enum status progress_communication(struct lane_engine *e, bool *moved)
{
	enum status status = e->base.transport->ops->progress(e->base.transport, moved);
	struct lane_team *q = atomic_load_explicit(&e->teams, memory_order_acquire);
	for (; q && status == STATUS_OK; q = atomic_load_explicit(&q->next, memory_order_acquire))
		status = team_step(e, q, moved);
	return status == STATUS_OK ? messages_step(e, moved) : status;
}

void *lane_communicate(void *engine)
{
	struct lane_engine *e = engine;
	struct rt_transport *t = e->base.transport;
	while (!stopped(e)) {
		uint32_t seen = t->ops->read(t);
		bool moved = false;
		enum status status = progress_communication(e, &moved);
		if (status != STATUS_OK)
			rt_job_fail(e->base.job, status);
		else if (moved)
			rt_job_progress(e->base.job);
		else
			t->ops->wait(t, seen, RT_LOOK_US);
	}
	lane_wake_all(e);
	return NULL;
}
