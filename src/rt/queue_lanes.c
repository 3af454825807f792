/* queue_lanes: the two threads that do what was issued. */
#include "base/arena.h"
#include "rt/queue_impl.h"
#include <stdlib.h>

/* One item is done, by either lane. */
static void item_done(struct rt_engine *e)
{
	rt_job_progress(e->job);
	int64_t done = atomic_fetch_add(&e->done, 1) + 1;
	if (done >= atomic_load(&e->host_wants))
		rt_bell_ring(&e->host_bell);
}

static bool stopped(struct rt_engine *e)
{
	return atomic_load_explicit(&e->stop, memory_order_acquire) || rt_job_status(e->job) != STATUS_OK;
}

/* Compute lane */

static void computing(struct rt_engine *e, int change)
{
	struct rt_board *b = e->job->board;
	atomic_fetch_add_explicit(&b->rank[e->job->rank - b->first].computing, (uint32_t)change,
	                          memory_order_relaxed);
}

static enum status compute(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task)
{
	char why[RT_WHY_BYTES] = "";
	rt_board_set(e->job, s->line, RT_LINE_RUNNING, task->at, 0);
	computing(e, 1);
	enum status status = rt_device_run(e->device, RT_COMPUTE_LANE, task, why);
	computing(e, -1);
	if (status == STATUS_OK)
		return status;
	if (why[0])
		rt_job_error_at(e->job, task->at, "%s", why);
	return rt_job_fail(e->job, status);
}

static void show_wait(struct rt_engine *e, struct rt_stream *s, const struct rt_stream_item *item)
{
	uint64_t number = atomic_load_explicit(&s->completed, memory_order_relaxed) + 1;
	if (s->shown == number)
		return;
	s->shown = number;
	struct rt_ticket t = item->after.ticket;
	uint32_t awaited =
	    item->after.stream || t.generation == 0
	        ? 0
	        : atomic_load_explicit(&rt_engine_slot(e, t.slot)->label, memory_order_relaxed);
	rt_board_set(e->job, s->line, RT_LINE_WAITING, item->task.at, awaited);
}

/* Does the head of s if it is ready. */
static enum status stream_step(struct rt_engine *e, struct rt_stream *s, bool *moved)
{
	struct rt_stream_item *item = rt_fifo_peek(&s->fifo);
	if (!item)
		return STATUS_OK;
	if (item->wait && !rt_engine_ready(e, &item->after)) {
		show_wait(e, s, item);
		return STATUS_OK;
	}
	if (!item->wait) {
		enum status status = compute(e, s, &item->task);
		if (status != STATUS_OK)
			return status;
	}
	rt_fifo_drop(&s->fifo);
	rt_board_set(e->job, s->line, RT_LINE_IDLE, (struct rt_origin){.iteration = -1}, 0);
	/* Either the communication lane sees this, or we see that it has something to start. */
	atomic_fetch_add(&s->completed, 1);
	*moved = true;
	item_done(e);
	if (atomic_load(&e->comm_left) > 0)
		e->transport->ops->wake(e->transport);
	return STATUS_OK;
}

void *rt_lane_compute(void *engine)
{
	struct rt_engine *e = engine;
	while (!stopped(e)) {
		uint32_t seen = rt_bell_read(&e->compute_bell);
		bool moved = false;
		struct rt_stream *s = atomic_load_explicit(&e->streams, memory_order_acquire);
		for (; s && !stopped(e); s = atomic_load_explicit(&s->next, memory_order_acquire))
			if (stream_step(e, s, &moved) != STATUS_OK)
				break;
		if (!moved && !stopped(e))
			rt_bell_wait(&e->compute_bell, seen, RT_LOOK_US);
	}
	rt_engine_wake_all(e);
	return NULL;
}

/* Communication lane */

static void release(struct rt_engine *e, struct rt_ticket t)
{
	if (t.generation == 0)
		return;
	struct rt_slot *slot = rt_engine_slot(e, t.slot);
	atomic_store_explicit(&slot->generation, t.generation + 1 ? t.generation + 1 : 1,
	                      memory_order_release);
	uint32_t head = atomic_load_explicit(&e->released, memory_order_relaxed);
	do
		slot->next = head;
	while (!atomic_compare_exchange_weak_explicit(&e->released, &head, t.slot + 1, memory_order_release,
	                                              memory_order_relaxed));
}

static void item_end(struct rt_engine *e, struct rt_comm_item *item)
{
	struct rt_ticket t;
	bool last = rt_engine_item_end(item, &t);
	if (last)
		release(e, t);
	atomic_fetch_sub(&e->comm_left, 1);
	item_done(e);
	if (last)
		rt_bell_ring(&e->compute_bell);
}

static const struct rt_origin nowhere = {.iteration = -1};

/* Counts and offsets of blocks that are known now. */
static enum status late_blocks(struct rt_engine *e, struct rt_comm_item *item)
{
	struct rt_collective *c = &item->c;
	size_t n = (size_t)e->transport->team[c->team].n;
	const int64_t *units[] = {c->late_counts, c->late_send_counts},
	              room[] = {c->late_room, c->late_send_room};
	item->blocks = mem_alloc(4 * n * sizeof *item->blocks);
	for (unsigned side = 0; side < 2; side++) {
		int64_t *counts = item->blocks + 2 * side * n, *offsets = counts + n, total = 0;
		for (size_t k = 0; k < n; k++) {
			int64_t u = units[side][k];
			if (u < 0 || u > room[side] - total) {
				rt_job_error_at(
				    e->job, c->at,
				    "member %zu of the team %s %lld rows; with those before it there are "
				    "%lld, and room for %lld",
				    k, side ? "gets" : "gives", (long long)u, (long long)total,
				    (long long)room[side]);
				return rt_job_fail(e->job, STATUS_DIAGNOSTICS);
			}
			counts[k] = u * c->late_unit;
			offsets[k] = total * c->late_unit;
			total += u;
		}
	}
	c->counts = item->blocks;
	c->offsets = c->counts + n;
	c->send_counts = c->counts + 2 * n;
	c->send_offsets = c->counts + 3 * n;
	c->late_counts = c->late_send_counts = NULL;
	return STATUS_OK;
}

static enum status team_step(struct rt_engine *e, struct rt_team_queue *q, bool *moved)
{
	struct rt_comm_item *item = rt_fifo_peek(&q->fifo);
	bool done = false;
	enum status status;
	if (!item)
		return STATUS_OK;
	if (q->running) {
		status = e->transport->ops->test(e->transport, q->running, &done);
	} else if (rt_engine_ready(e, &item->after)) {
		rt_board_set(e->job, q->line, RT_LINE_WAITING, item->c.at, 0);
		status = item->c.late_counts ? late_blocks(e, item) : STATUS_OK;
		if (status == STATUS_OK)
			status = rt_transport_start(e->transport, &item->c, &q->running);
		*moved = true;
		done = status == STATUS_OK && !q->running;
	} else {
		return STATUS_OK;
	}
	if (!done)
		return status;
	q->running = NULL;
	rt_board_set(e->job, q->line, RT_LINE_IDLE, nowhere, 0);
	item_end(e, item);
	rt_fifo_drop(&q->fifo);
	*moved = true;
	return STATUS_OK;
}

static void message_show(struct rt_engine *e, struct rt_message *m)
{
	m->line = 0;
	while (m->line < RT_MESSAGE_LINES && e->message_shown[m->line])
		m->line++;
	if (m->line == RT_MESSAGE_LINES) {
		m->line = -1;
		return;
	}
	e->message_shown[m->line] = true;
	rt_board_set(e->job, e->message_line[m->line], RT_LINE_WAITING, m->item.p.at, 0);
}

static void message_hide(struct rt_engine *e, struct rt_message *m)
{
	if (m->line < 0)
		return;
	e->message_shown[m->line] = false;
	rt_board_set(e->job, e->message_line[m->line], RT_LINE_IDLE, nowhere, 0);
}

static enum status message_step(struct rt_engine *e, struct rt_message *m, bool *moved, bool *done)
{
	enum status status = STATUS_OK;
	*done = false;
	if (m->running) {
		status = e->transport->ops->test(e->transport, m->running, done);
	} else if (rt_engine_ready(e, &m->item.after)) {
		status = rt_transport_start_p2p(e->transport, &m->item.p, &m->running);
		if (status == STATUS_OK)
			message_show(e, m);
		*moved = true;
	}
	return status;
}

static enum status messages_step(struct rt_engine *e, bool *moved)
{
	struct rt_message **at = &e->pending, *m;
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
		message_hide(e, m);
		item_end(e, &m->item);
		free(m);
		*moved = true;
	}
	struct rt_comm_item *item; /* at is the list's end */
	while ((item = rt_fifo_peek(&e->messages))) {
		m = mem_zalloc(sizeof *m);
		m->item = *item;
		m->line = -1;
		*at = m;
		at = &m->next;
		rt_fifo_drop(&e->messages);
		*moved = true;
	}
	return STATUS_OK;
}

static enum status communicate(struct rt_engine *e, bool *moved)
{
	enum status status = e->transport->ops->progress(e->transport, moved);
	struct rt_team_queue *q = atomic_load_explicit(&e->teams, memory_order_acquire);
	for (; q && status == STATUS_OK; q = atomic_load_explicit(&q->next, memory_order_acquire))
		status = team_step(e, q, moved);
	return status == STATUS_OK ? messages_step(e, moved) : status;
}

void *rt_lane_communicate(void *engine)
{
	struct rt_engine *e = engine;
	while (!stopped(e)) {
		uint32_t seen = e->transport->ops->read(e->transport);
		bool moved = false;
		enum status status = communicate(e, &moved);
		if (status != STATUS_OK)
			rt_job_fail(e->job, status);
		else if (moved)
			rt_job_progress(e->job);
		else
			e->transport->ops->wait(e->transport, seen, RT_LOOK_US);
	}
	rt_engine_wake_all(e);
	return NULL;
}
