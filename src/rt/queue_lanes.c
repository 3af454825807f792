/* queue_lanes: the host's side of the engine with two threads: issues work and waits for it. */
#include "rt/queue_lanes.h"
#include "base/arena.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
	WINDOW = 4096,      /* outstanding items, after which the host lets the lanes catch up */
	CATCH_UP_US = 5000, /* time that it waits for them to move at all */
};

/* Waking and waiting */

static void wake_communication(struct lane_engine *e)
{
	if (e->base.transport)
		e->base.transport->ops->wake(e->base.transport);
}

void lane_wake_all(struct lane_engine *e)
{
	rt_bell_ring(&e->host_bell);
	rt_bell_ring(&e->compute_bell);
	wake_communication(e);
}

/* Waits until `want` items are done. Returns false if the job has failed, or if nothing has moved for
 * the time (-1: no limit). */
static bool wait_done(struct lane_engine *e, int64_t want, int64_t patience_us, struct rt_watch *watch)
{
	int64_t last = -1, since = 0;
	for (int looks = 0;; looks++) {
		e->done_seen = lane_done(e);
		if (e->done_seen >= want)
			return true;
		if (rt_engine_failed(&e->base))
			return false;
		if (looks < LANE_SPINS) {
			rt_pause();
			continue;
		}
		if (looks < LANE_SPINS + LANE_YIELDS) {
			sched_yield();
			continue;
		}
		if (watch && rt_watch_expired(watch, e->base.job)) {
			rt_engine_stuck(&e->base);
			return false;
		}
		if (patience_us >= 0) {
			if (e->done_seen != last)
				since = rt_clock_us();
			else if (rt_clock_us() - since > patience_us)
				return false;
			last = e->done_seen;
		}
		atomic_store(&e->host_wants, want);
		uint32_t seen = rt_bell_announce(&e->host_bell);
		if (lane_done(e) >= want || rt_engine_failed(&e->base))
			rt_bell_withdraw(&e->host_bell);
		else
			rt_bell_sleep(&e->host_bell, seen, patience_us >= 0 ? CATCH_UP_US / 4 : RT_LOOK_US);
	}
}

/* Waits until `want` items are done. Returns false if nothing moves any more. */
static bool wait_quiet(struct lane_engine *e, int64_t want)
{
	int64_t quiet = rt_engine_quiet_us(&e->base);
	struct rt_watch watch = {0};
	while (!wait_done(e, want, CATCH_UP_US, NULL))
		if (rt_engine_failed(&e->base) || rt_watch_idle_us(&watch, e->base.job) >= quiet)
			return false;
	return true;
}

/* Counts an item. A host that is far ahead waits, unless the lanes need work that it has not issued yet. */
static void count_issued(struct lane_engine *e, struct rt_origin at)
{
	e->issued++;
	if (e->issued - e->done_seen < e->window)
		return;
	e->done_seen = lane_done(e);
	if (e->issued - e->done_seen < e->window)
		return;
	int64_t want = e->issued - e->window / 2;
	if (e->window < RT_LARGE_WINDOW ? wait_done(e, want, CATCH_UP_US, NULL) : wait_quiet(e, want))
		return;
	if (e->window < RT_LIMIT)
		e->window *= 2;
	else if (!rt_engine_failed(&e->base))
		rt_engine_too_many(&e->base, at);
}

static void lanes_drain(struct rt_engine *engine)
{
	struct lane_engine *e = (struct lane_engine *)engine;
	struct rt_watch watch = {0};
	wait_done(e, e->issued, -1, &watch);
}

/* Streams */

static void lanes_stream_start(struct rt_engine *e, struct rt_stream *s)
{
	(void)e;
	rt_fifo_start(&((struct lane_stream *)s)->fifo, sizeof(struct lane_item));
	rt_fifo_start(&((struct lane_stream *)s)->copies, sizeof(struct rt_task));
}

/* Publishes an item that was claimed from the fifo of s and filled in. */
static void stream_publish(struct lane_engine *e, struct lane_stream *s, struct rt_origin at)
{
	s->issued++;
	rt_fifo_publish(&s->fifo);
	rt_bell_nudge(&e->compute_bell);
	count_issued(e, at);
}

static void lanes_task(struct rt_engine *engine, struct rt_stream *stream, const struct rt_task *task,
                       struct rt_origin at)
{
	struct lane_stream *s = (struct lane_stream *)stream;
	struct lane_item *item = rt_fifo_claim(&s->fifo);
	item->wait = false;
	item->at = at;
	item->task = task->fixed ? task : NULL;
	if (!task->fixed)
		rt_fifo_put(&s->copies, task);
	stream_publish((struct lane_engine *)engine, s, at);
}

static void put_wait(struct rt_engine *e, struct rt_stream *stream, struct lane_dependency after,
                     struct rt_origin at)
{
	struct lane_stream *s = (struct lane_stream *)stream;
	struct lane_item *item = rt_fifo_claim(&s->fifo);
	item->wait = true;
	item->at = at;
	item->after = after;
	stream_publish((struct lane_engine *)e, s, at);
}

static void lanes_sync(struct rt_engine *e, struct rt_stream *current, struct rt_stream *other,
                       struct rt_origin at)
{
	struct lane_stream *o = (struct lane_stream *)other;
	put_wait(e, current, (struct lane_dependency){.stream = o, .count = o->issued}, at);
}

static void lanes_wait(struct rt_engine *e, struct rt_stream *current, struct rt_ticket ticket,
                       struct rt_origin at)
{
	put_wait(e, current, (struct lane_dependency){.ticket = ticket}, at);
}

/* Communications */

static struct lane_team *team_queue(struct lane_engine *e, int team)
{
	struct lane_team *_Atomic *at = &e->teams, *q;
	while ((q = atomic_load_explicit(at, memory_order_relaxed))) {
		if (q->team == team)
			return q;
		at = &q->next;
	}
	q = mem_zalloc(sizeof *q);
	rt_fifo_start(&q->fifo, sizeof(struct lane_comm));
	q->team = team;
	q->line = rt_engine_team_line(&e->base, team);
	q->board = rt_board_line_at(e->base.job, q->line);
	atomic_store_explicit(at, q, memory_order_release);
	return q;
}

static void lanes_communicate(struct rt_engine *engine, struct rt_stream *current, struct rt_comm_item *item,
                              bool more)
{
	struct lane_engine *e = (struct lane_engine *)engine;
	struct lane_stream *s = (struct lane_stream *)current;
	struct rt_origin at = rt_comm_at(item);
	struct rt_fifo *fifo = item->message ? &e->messages : &team_queue(e, item->c.team)->fifo;
	struct lane_comm *c = rt_fifo_claim(fifo);
	(void)more;
	c->item = *item;
	c->after = (struct lane_dependency){.stream = s, .count = s->issued};
	const struct lane_blocks *b = rt_fifo_peek(&e->blocks);
	item->blocks = b ? b->at : NULL;
	item->room = b ? b->room : 0;
	if (b)
		rt_fifo_drop(&e->blocks);
	atomic_fetch_add(&e->comm_left, 1);
	rt_fifo_publish(fifo);
	wake_communication(e);
	count_issued(e, at);
}

/* Beginning and end */

static bool lane_start(struct lane_engine *e, pthread_t *thread, void *(*lane)(void *))
{
	int error = pthread_create(thread, NULL, lane, e);
	if (!error)
		return true;
	rt_job_error(e->base.job, "cannot start a lane: pthread_create: %s", strerror(error));
	rt_job_fail(e->base.job, STATUS_DIAGNOSTICS);
	return false;
}

static enum status lanes_start(struct rt_engine *engine)
{
	struct lane_engine *e = (struct lane_engine *)engine;
	e->window = WINDOW;
	rt_fifo_start(&e->messages, sizeof(struct lane_comm));
	rt_fifo_start(&e->blocks, sizeof(struct lane_blocks));
	e->computes = lane_start(e, &e->compute, lane_compute);
	if (e->computes && engine->transport)
		e->communicates = lane_start(e, &e->communicate, lane_communicate);
	return rt_job_status(engine->job);
}

static void comm_fifo_free(struct rt_fifo *f)
{
	struct lane_comm *c;
	while ((c = rt_fifo_peek(f))) {
		free(c->item.blocks);
		rt_fifo_drop(f);
	}
	rt_fifo_end(f);
}

static void messages_free(struct lane_message *m)
{
	for (struct lane_message *next; m; m = next) {
		next = m->next;
		free(m->comm.item.blocks);
		free(m);
	}
}

static void blocks_free(struct rt_fifo *f)
{
	const struct lane_blocks *b;
	while ((b = rt_fifo_peek(f))) {
		free(b->at);
		rt_fifo_drop(f);
	}
	rt_fifo_end(f);
}

static void lanes_stop(struct rt_engine *engine)
{
	struct lane_engine *e = (struct lane_engine *)engine;
	atomic_store_explicit(&e->stop, 1, memory_order_release);
	lane_wake_all(e);
	if (e->computes)
		pthread_join(e->compute, NULL);
	if (e->communicates)
		pthread_join(e->communicate, NULL);
	for (struct rt_stream *s = engine->streams; s; s = s->next) {
		rt_fifo_end(&((struct lane_stream *)s)->fifo);
		rt_fifo_end(&((struct lane_stream *)s)->copies);
	}
	for (struct lane_team *q = e->teams, *next; q; q = next) {
		next = q->next;
		rt_board_line_free(engine->job, q->line);
		comm_fifo_free(&q->fifo);
		for (uint32_t k = 0; k < q->running.n; k++)
			free(q->running.at[k].comm.item.blocks);
		vec_free(&q->running);
		free(q);
	}
	messages_free(e->pending);
	messages_free(e->unused);
	comm_fifo_free(&e->messages);
	blocks_free(&e->blocks);
}

const struct rt_engine_ops rt_lanes_ops = RT_ENGINE_OPS(lanes, struct lane_engine, struct lane_stream);
