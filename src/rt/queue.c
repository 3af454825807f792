/* queue: the host's side of the engine: issuing, tickets, groups, draining. */
#include "base/arena.h"
#include "rt/queue_impl.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WINDOW = 4096,      /* outstanding items, before the host lets the lanes catch up */
	CATCH_UP_US = 5000, /* how long it waits for them to move at all */
	/* So many items, and it waits while anything in the job moves, and then for so long; */
	LARGE_WINDOW = 1 << 16,
	QUIET_US = 200000,
	QUIET_UNSEEN_US = 2000000, /* ranks on other hosts: their boards cannot be seen */
	/* what then waits may need what the host has not issued yet, so it goes on, to this number. */
	LIMIT = RT_SLOT_CHUNK * RT_SLOT_CHUNKS,
};

/* Tickets */

struct rt_slot *rt_engine_slot(struct rt_engine *e, uint32_t slot)
{
	return &atomic_load_explicit(&e->slot_chunk[slot / RT_SLOT_CHUNK],
	                             memory_order_acquire)[slot % RT_SLOT_CHUNK];
}

bool rt_engine_ticket_done(struct rt_engine *e, struct rt_ticket t)
{
	return t.generation == 0 || atomic_load_explicit(&rt_engine_slot(e, t.slot)->generation,
	                                                 memory_order_acquire) != t.generation;
}

bool rt_engine_ready(struct rt_engine *e, const struct rt_dependency *d)
{
	if (d->stream)
		return atomic_load(&d->stream->completed) >= d->count;
	return rt_engine_ticket_done(e, d->ticket);
}

static void too_many(struct rt_engine *e, struct rt_origin at)
{
	rt_job_error_at(e->job, at,
	                "more than %d tasks and communications are under way (the limit); nothing moves",
	                LIMIT);
	rt_job_fail(e->job, STATUS_DIAGNOSTICS);
}

static struct rt_ticket ticket_new(struct rt_engine *e, struct rt_origin at)
{
	if (!e->free_slots)
		e->free_slots = atomic_exchange_explicit(&e->released, 0, memory_order_acquire);
	if (!e->free_slots) {
		uint32_t chunk = e->slots / RT_SLOT_CHUNK;
		if (chunk == RT_SLOT_CHUNKS) {
			too_many(e, at);
			return (struct rt_ticket){0};
		}
		struct rt_slot *s = mem_zalloc(RT_SLOT_CHUNK * sizeof *s);
		for (uint32_t i = 0; i < RT_SLOT_CHUNK; i++) {
			s[i].generation = 1;
			s[i].next = i + 1 < RT_SLOT_CHUNK ? e->slots + i + 2 : 0;
		}
		atomic_store_explicit(&e->slot_chunk[chunk], s, memory_order_release);
		e->free_slots = e->slots + 1;
		e->slots += RT_SLOT_CHUNK;
	}
	uint32_t i = e->free_slots - 1;
	struct rt_slot *slot = rt_engine_slot(e, i);
	e->free_slots = slot->next;
	atomic_store_explicit(&slot->label, at.label, memory_order_relaxed);
	return (struct rt_ticket){
	    .slot = i, .generation = atomic_load_explicit(&slot->generation, memory_order_relaxed)};
}

bool rt_engine_item_end(struct rt_comm_item *item, struct rt_ticket *out)
{
	free(item->blocks);
	if (!item->group) {
		*out = item->ticket;
		return true;
	}
	if (--item->group->left > 0)
		return false;
	*out = item->group->ticket;
	free(item->group);
	return true;
}

/* Waking and waiting */

static void wake_communication(struct rt_engine *e)
{
	if (e->transport)
		e->transport->ops->wake(e->transport);
}

void rt_engine_wake_all(struct rt_engine *e)
{
	rt_bell_ring(&e->host_bell);
	rt_bell_ring(&e->compute_bell);
	wake_communication(e);
}

static bool failed(struct rt_engine *e)
{
	return rt_job_status(e->job) != STATUS_OK;
}

/* Waits until `want` items are done; false: the job has failed, or nothing has moved for the time (-1: none).
 */
static bool wait_items(struct rt_engine *e, int64_t want, int64_t patience_us, struct rt_watch *watch)
{
	int64_t last = -1, since = 0;
	for (;;) {
		uint32_t seen = rt_bell_read(&e->host_bell);
		int64_t done = atomic_load(&e->done);
		if (done >= want)
			break;
		if (failed(e))
			return false;
		if (watch && rt_watch_expired(watch, e->job)) {
			char why[64];
			snprintf(why, sizeof why, "nothing has moved for %.1f s",
			         (double)e->job->timeout_ms / 1000);
			rt_job_stuck(e->job, why);
			return false;
		}
		if (patience_us >= 0) {
			if (done != last)
				since = rt_clock_us();
			else if (rt_clock_us() - since > patience_us)
				return false;
			last = done;
		}
		rt_bell_wait(&e->host_bell, seen, patience_us >= 0 ? CATCH_UP_US / 4 : RT_LOOK_US);
	}
	return true;
}

static bool wait_done(struct rt_engine *e, int64_t want, int64_t patience_us, struct rt_watch *watch)
{
	atomic_store(&e->host_wants, want);
	bool done = wait_items(e, want, patience_us, watch);
	atomic_store(&e->host_wants, INT64_MAX);
	return done;
}

/* Waits until `want` items are done; false: nothing moves any more. */
static bool wait_quiet(struct rt_engine *e, int64_t want)
{
	int64_t quiet = e->job->board->ranks < e->job->size ? QUIET_UNSEEN_US : QUIET_US;
	struct rt_watch watch = {0};
	while (!wait_done(e, want, CATCH_UP_US, NULL))
		if (failed(e) || rt_watch_idle_us(&watch, e->job) >= quiet)
			return false;
	return true;
}

/* Counts an item; a host that is far ahead waits, unless the lanes need what it has not issued yet. */
static void issue(struct rt_engine *e, struct rt_origin at)
{
	e->issued++;
	if (e->issued - atomic_load_explicit(&e->done, memory_order_relaxed) < e->window)
		return;
	int64_t want = e->issued - e->window / 2;
	if (e->window < LARGE_WINDOW ? wait_done(e, want, CATCH_UP_US, NULL) : wait_quiet(e, want))
		return;
	if (e->window < LIMIT)
		e->window *= 2;
	else if (!failed(e))
		too_many(e, at);
}

/* Streams */

struct rt_stream *rt_stream_new(struct rt_engine *e, const char *name)
{
	struct rt_stream *s = mem_zalloc(sizeof *s), *_Atomic *at = &e->streams, *next;
	rt_fifo_start(&s->fifo, sizeof(struct rt_stream_item));
	s->index = -1;
	s->line = rt_board_line_new(e->job, name);
	while ((next = atomic_load_explicit(at, memory_order_relaxed)))
		at = &next->next;
	atomic_store_explicit(at, s, memory_order_release);
	return s;
}

struct rt_stream *rt_stream_get(struct rt_engine *e, int64_t index)
{
	assert(index >= 0);
	struct rt_stream *s = atomic_load_explicit(&e->streams, memory_order_relaxed);
	for (; s; s = atomic_load_explicit(&s->next, memory_order_relaxed))
		if (s->index == index)
			return s;
	char name[32];
	snprintf(name, sizeof name, "stream %lld", (long long)index);
	s = rt_stream_new(e, name);
	s->index = index;
	return s;
}

static void stream_put(struct rt_engine *e, struct rt_stream *s, const struct rt_stream_item *item)
{
	s->issued++;
	rt_fifo_put(&s->fifo, item);
	rt_bell_ring(&e->compute_bell);
	issue(e, item->task.at);
}

void rt_submit_compute(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task)
{
	if (failed(e))
		return;
	struct rt_stream_item item = {.task = *task};
	stream_put(e, s, &item);
}

void rt_submit_sync(struct rt_engine *e, struct rt_stream *current, struct rt_stream *other,
                    struct rt_origin at)
{
	if (failed(e) || current == other)
		return; /* a stream is in order with itself */
	struct rt_stream_item item = {
	    .wait = true, .after = {.stream = other, .count = other->issued}, .task = {.at = at}};
	stream_put(e, current, &item);
}

void rt_submit_wait(struct rt_engine *e, struct rt_stream *current, struct rt_ticket ticket,
                    struct rt_origin at)
{
	if (failed(e) || ticket.generation == 0)
		return;
	struct rt_stream_item item = {.wait = true, .after = {.ticket = ticket}, .task = {.at = at}};
	stream_put(e, current, &item);
}

/* Communications */

static struct rt_team_queue *team_queue(struct rt_engine *e, int team)
{
	struct rt_team_queue *_Atomic *at = &e->teams, *q;
	while ((q = atomic_load_explicit(at, memory_order_relaxed))) {
		if (q->team == team)
			return q;
		at = &q->next;
	}
	const struct rt_team *t = &e->transport->team[team];
	struct buf name = {0};
	buf_puts(&name, "communicator (");
	for (int i = 0; i < t->n; i++)
		buf_printf(&name, i ? " %d" : "%d", t->rank[i]);
	buf_putc(&name, ')');
	q = mem_zalloc(sizeof *q);
	rt_fifo_start(&q->fifo, sizeof(struct rt_comm_item));
	q->team = team;
	q->line = rt_board_line_new(e->job, name.at);
	buf_free(&name);
	atomic_store_explicit(at, q, memory_order_release);
	return q;
}

/* Into its queue; the item starts after what current was given. */
static void comm_put(struct rt_engine *e, struct rt_stream *current, struct rt_comm_item *item)
{
	item->after = (struct rt_dependency){.stream = current, .count = current->issued};
	atomic_fetch_add(&e->comm_left, 1);
	rt_fifo_put(item->message ? &e->messages : &team_queue(e, item->c.team)->fifo, item);
	wake_communication(e);
	issue(e, item->message ? item->p.at : item->c.at);
}

/* A single item, or one more of the group being built. */
static struct rt_ticket comm_submit(struct rt_engine *e, struct rt_stream *current, struct rt_comm_item *item)
{
	if (e->grouping) {
		if (e->members == e->member_room) {
			e->member_room = e->member_room ? 2 * e->member_room : 8;
			e->member = mem_realloc(e->member, (size_t)e->member_room * sizeof *e->member);
		}
		e->member[e->members++] = *item;
		return (struct rt_ticket){0};
	}
	item->ticket = ticket_new(e, item->message ? item->p.at : item->c.at);
	comm_put(e, current, item);
	return item->ticket;
}

static bool needs_transport(struct rt_engine *e, struct rt_origin at)
{
	if (e->transport)
		return true;
	rt_job_error_at(e->job, at, "a communication without transport");
	rt_job_fail(e->job, STATUS_INTERNAL);
	return false;
}

struct rt_ticket rt_submit_collective(struct rt_engine *e, struct rt_stream *current,
                                      const struct rt_collective *c)
{
	if (failed(e) || !needs_transport(e, c->at))
		return (struct rt_ticket){0};
	assert(c->team >= 0 && c->team < e->transport->teams);
	const struct rt_team *team = &e->transport->team[c->team];
	if (team->index < 0)
		return (struct rt_ticket){0};
	struct rt_comm_item item = {.c = *c};
	size_t n = (size_t)team->n;
	const int64_t *from[] = {c->counts, c->offsets, c->send_counts, c->send_offsets},
	              **to[] = {&item.c.counts, &item.c.offsets, &item.c.send_counts, &item.c.send_offsets};
	for (unsigned k = 0; k < 4; k++) {
		if (!from[k])
			continue;
		if (!item.blocks)
			item.blocks = mem_alloc(4 * n * sizeof *item.blocks);
		*to[k] = memcpy(item.blocks + k * n, from[k], n * sizeof *from[k]);
	}
	return comm_submit(e, current, &item);
}

static uint64_t next_sequence(struct rt_engine *e, const struct rt_p2p *p)
{
	int i = 0;
	while (i < e->sequences && (e->sequence[i].send != p->send || e->sequence[i].peer != p->peer ||
	                            e->sequence[i].channel != p->channel))
		i++;
	if (i == e->sequences) {
		e->sequence = mem_realloc(e->sequence, (size_t)++e->sequences * sizeof *e->sequence);
		e->sequence[i] =
		    (struct rt_sequence){.send = p->send, .peer = p->peer, .channel = p->channel};
	}
	return e->sequence[i].next++;
}

struct rt_ticket rt_submit_p2p(struct rt_engine *e, struct rt_stream *current, const struct rt_p2p *p)
{
	if (failed(e) || !needs_transport(e, p->at))
		return (struct rt_ticket){0};
	struct rt_comm_item item = {.message = true, .p = *p};
	item.p.sequence = next_sequence(e, p);
	return comm_submit(e, current, &item);
}

void rt_group_begin(struct rt_engine *e)
{
	assert(!e->grouping);
	e->grouping = true;
	e->members = 0;
}

struct rt_ticket rt_group_end(struct rt_engine *e, struct rt_stream *current, struct rt_origin at)
{
	assert(e->grouping);
	e->grouping = false;
	if (e->members == 0)
		return (struct rt_ticket){0};
	struct rt_group *g = mem_alloc(sizeof *g);
	*g = (struct rt_group){.left = e->members, .ticket = ticket_new(e, at)};
	struct rt_ticket ticket = g->ticket; /* g is gone once the last member is done */
	for (int i = 0; i < e->members; i++) {
		e->member[i].group = g;
		comm_put(e, current, &e->member[i]);
	}
	return ticket;
}

enum status rt_drain(struct rt_engine *e)
{
	struct rt_watch watch = {0};
	wait_done(e, e->issued, -1, &watch);
	return rt_job_status(e->job);
}

/* Beginning and end */

static bool lane_start(struct rt_engine *e, pthread_t *thread, void *(*lane)(void *))
{
	int error = pthread_create(thread, NULL, lane, e);
	if (!error)
		return true;
	rt_job_error(e->job, "cannot start a lane: pthread_create: %s", strerror(error));
	rt_job_fail(e->job, STATUS_INTERNAL);
	return false;
}

enum status rt_engine_new(struct rt_job *job, struct rt_device *device, struct rt_transport *transport,
                          struct rt_engine **out)
{
	struct rt_engine *e = mem_zalloc(sizeof *e);
	e->job = job;
	e->device = device;
	e->transport = transport;
	e->window = WINDOW;
	e->host_wants = INT64_MAX;
	rt_fifo_start(&e->messages, sizeof(struct rt_comm_item));
	for (int i = 0; i < RT_MESSAGE_LINES; i++)
		e->message_line[i] = transport ? rt_board_line_new(job, "message") : -1;
	e->computes = lane_start(e, &e->compute, rt_lane_compute);
	e->communicates = e->computes && transport && lane_start(e, &e->communicate, rt_lane_communicate);
	if (!e->computes || (transport && !e->communicates)) {
		rt_engine_free(e);
		return rt_job_status(job);
	}
	*out = e;
	return STATUS_OK;
}

static void comm_fifo_free(struct rt_fifo *f)
{
	struct rt_comm_item *item;
	struct rt_ticket unused;
	while ((item = rt_fifo_peek(f))) {
		rt_engine_item_end(item, &unused);
		rt_fifo_drop(f);
	}
	rt_fifo_end(f);
}

void rt_engine_free(struct rt_engine *e)
{
	if (!e)
		return;
	atomic_store_explicit(&e->stop, 1, memory_order_release);
	rt_engine_wake_all(e);
	if (e->computes)
		pthread_join(e->compute, NULL);
	if (e->communicates)
		pthread_join(e->communicate, NULL);
	for (struct rt_stream *s = e->streams, *next; s; s = next) {
		next = s->next;
		rt_board_line_free(e->job, s->line);
		rt_fifo_end(&s->fifo);
		free(s);
	}
	for (struct rt_team_queue *q = e->teams, *next; q; q = next) {
		next = q->next;
		rt_board_line_free(e->job, q->line);
		comm_fifo_free(&q->fifo);
		free(q);
	}
	for (struct rt_message *m = e->pending, *next; m; m = next) {
		struct rt_ticket unused;
		next = m->next;
		rt_engine_item_end(&m->item, &unused);
		free(m);
	}
	comm_fifo_free(&e->messages);
	for (int i = 0; i < RT_MESSAGE_LINES; i++)
		rt_board_line_free(e->job, e->message_line[i]);
	for (int i = 0; i < e->members && e->grouping; i++)
		free(e->member[i].blocks);
	for (uint32_t i = 0; i < e->slots / RT_SLOT_CHUNK; i++)
		free(e->slot_chunk[i]);
	free(e->member);
	free(e->sequence);
	free(e);
}
