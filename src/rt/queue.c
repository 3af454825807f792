/* queue: the parts that the engines share: checks, tickets, groups, numbers of messages. */
#include "base/arena.h"
#include "rt/bell.h"
#include "rt/bootstrap_shared.h"
#include "rt/cores.h"
#include "rt/queue_impl.h"
#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_INDEXED = 4096, /* streams found by their index; others are searched for */
	SPINS = 100,        /* looks for the last receives */
	YIELDS = 100,
	SLEEP_US = 100,
};

/* Tickets */

void rt_engine_too_many(struct rt_engine *e, struct rt_origin at)
{
	rt_job_error_at(e->job, at,
	                "more than %d tasks and communications are under way (the limit); nothing moves",
	                RT_LIMIT);
	rt_job_fail(e->job, STATUS_DIAGNOSTICS);
}

static bool more_slots(struct rt_engine *e, struct rt_origin at)
{
	uint32_t chunk = e->slots / RT_SLOT_CHUNK;
	if (chunk == RT_SLOT_CHUNKS) {
		rt_engine_too_many(e, at);
		return false;
	}
	struct rt_slot *s = mem_zalloc(RT_SLOT_CHUNK * sizeof *s);
	for (uint32_t i = 0; i < RT_SLOT_CHUNK; i++) {
		s[i].generation = 1;
		s[i].next = i + 1 < RT_SLOT_CHUNK ? e->slots + i + 2 : 0;
	}
	atomic_store_explicit(&e->slot_chunk[chunk], s, memory_order_release);
	e->free_slots = e->slots + 1;
	e->slots += RT_SLOT_CHUNK;
	return true;
}

/* Makes a ticket. id: of the first communication. */
static struct rt_ticket ticket_new(struct rt_engine *e, uint32_t communications, uint64_t id,
                                   struct rt_origin at)
{
	if (!e->free_slots)
		e->free_slots = atomic_exchange_explicit(&e->released, 0, memory_order_acquire);
	if (!e->free_slots && !more_slots(e, at))
		return (struct rt_ticket){0};
	uint32_t i = e->free_slots - 1;
	struct rt_slot *slot = rt_engine_slot(e, i);
	e->free_slots = slot->next;
	slot->left = communications;
	slot->blocked = NULL;
	atomic_store_explicit(&slot->label, at.label, memory_order_relaxed);
	return (struct rt_ticket){.slot = i,
	                          .generation = atomic_load_explicit(&slot->generation, memory_order_relaxed),
	                          .id = (uint32_t)id};
}

bool rt_engine_ticket_end(struct rt_engine *e, struct rt_ticket t)
{
	if (t.generation == 0)
		return false;
	struct rt_slot *slot = rt_engine_slot(e, t.slot);
	if (--slot->left > 0)
		return false;
	atomic_store_explicit(&slot->generation, t.generation + 1 ? t.generation + 1 : 1,
	                      memory_order_release);
	return true;
}

/* Steps that all engines share */

bool rt_engine_run(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task, struct rt_origin at)
{
	char why[RT_WHY_BYTES];
	struct rt_board *b = e->job->board;
	_Atomic uint32_t *computing = &b->rank[e->job->rank - b->first].computing;
	why[0] = 0;
	rt_board_line_begin(s->board, RT_LINE_RUNNING, at, 0);
	struct rt_trace_mark mark = {.kind = RT_TRACE_TASK, .lane = s->name, .at = at};
	if (e->trace)
		e->trace->event(e->trace, &mark);
	atomic_store_explicit(computing, 1, memory_order_relaxed); /* only this thread writes it */
	enum status status = rt_device_run(e->device, RT_COMPUTE_LANE, task, why);
	atomic_store_explicit(computing, 0, memory_order_relaxed);
	mark.ends = true;
	if (e->trace)
		e->trace->event(e->trace, &mark);
	if (status == STATUS_OK) {
		if (s->board)
			atomic_store_explicit(&s->board->state, RT_LINE_IDLE, memory_order_relaxed);
		rt_job_progress(e->job);
		return true;
	}
	if (why[0])
		rt_job_error_at(e->job, at, "%s", why);
	rt_job_fail(e->job, status);
	return false;
}

/* Copies the counts and offsets of blocks, which are now known. */
static enum status late_blocks(struct rt_engine *e, struct rt_comm_item *item)
{
	struct rt_collective *c = &item->c;
	size_t n = (size_t)e->transport->team[c->team].n;
	const int64_t *units[] = {c->late_counts, c->late_send_counts},
	              room[] = {c->late_room, c->late_send_room};
	rt_comm_blocks(item, 4 * n);
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

enum status rt_engine_start(struct rt_engine *e, struct rt_comm_item *item, struct rt_request **out)
{
	if (item->message)
		return rt_transport_start_p2p(e->transport, &item->p, out);
	enum status status = item->c.late_counts ? late_blocks(e, item) : STATUS_OK;
	return status == STATUS_OK ? rt_transport_start(e->transport, &item->c, out) : status;
}

int rt_engine_message_show(struct rt_engine *e, const struct rt_p2p *p)
{
	for (int i = 0; i < RT_MESSAGE_LINES; i++)
		if (!e->message_shown[i]) {
			e->message_shown[i] = true;
			struct rt_board_line *l = rt_board_line_at(e->job, e->message_line[i]);
			if (l)
				atomic_store_explicit(&l->peer, 1 + p->peer, memory_order_relaxed);
			rt_board_line_begin(l, RT_LINE_WAITING, p->at, 0);
			return i;
		}
	return -1;
}

void rt_engine_message_hide(struct rt_engine *e, int place)
{
	if (place < 0)
		return;
	e->message_shown[place] = false;
	rt_board_set(e->job, e->message_line[place], RT_LINE_IDLE, (struct rt_origin){.iteration = -1}, 0);
}

int64_t rt_engine_quiet_us(const struct rt_engine *e)
{
	return rt_board_seen(e->job->board) < e->job->size ? RT_QUIET_UNSEEN_US : RT_QUIET_US;
}

void rt_engine_stuck(struct rt_engine *e)
{
	char why[64];
	snprintf(why, sizeof why, "nothing has moved for %.1f s", (double)e->job->timeout_ms / 1000);
	rt_job_stuck(e->job, why);
}

int rt_engine_team_line(struct rt_engine *e, int team)
{
	const struct rt_team *t = &e->transport->team[team];
	struct buf name = {0};
	buf_puts(&name, "communicator (");
	for (int i = 0; i < t->n; i++)
		buf_printf(&name, i ? " %d" : "%d", t->rank[i]);
	buf_putc(&name, ')');
	int line = rt_board_line_new(e->job, name.at);
	buf_free(&name);
	rt_board_line_members(e->job, line, t->rank, t->n);
	return line;
}

/* Streams */

struct rt_stream *rt_stream_new(struct rt_engine *e, const char *name)
{
	struct rt_stream *s = mem_zalloc(e->ops->stream_bytes), *_Atomic *at = &e->streams, *next;
	s->index = -1;
	s->line = rt_board_line_new(e->job, name);
	s->board = rt_board_line_at(e->job, s->line);
	s->name = s->board ? atomic_load_explicit(&s->board->name, memory_order_relaxed) : 0;
	e->ops->stream_start(e, s);
	while ((next = atomic_load_explicit(at, memory_order_relaxed)))
		at = &next->next;
	atomic_store_explicit(at, s, memory_order_release);
	return s;
}

static struct rt_stream *find_stream(struct rt_engine *e, int64_t index)
{
	struct rt_stream *s = atomic_load_explicit(&e->streams, memory_order_relaxed);
	while (s && s->index != index)
		s = atomic_load_explicit(&s->next, memory_order_relaxed);
	return s;
}

static struct rt_stream *make_stream(struct rt_engine *e, int64_t index)
{
	char name[32];
	snprintf(name, sizeof name, "stream %lld", (long long)index);
	struct rt_stream *s = rt_stream_new(e, name);
	s->index = index;
	if (index >= MAX_INDEXED)
		return s;
	if (index >= e->indices) {
		e->by_index = mem_realloc(e->by_index, (size_t)(index + 1) * sizeof(struct rt_stream *));
		while (e->indices <= index)
			e->by_index[e->indices++] = NULL;
	}
	return e->by_index[index] = s;
}

struct rt_stream *rt_stream_get(struct rt_engine *e, int64_t index)
{
	assert(index >= 0);
	struct rt_stream *s = index < e->indices     ? e->by_index[index]
	                      : index >= MAX_INDEXED ? find_stream(e, index)
	                                             : NULL;
	return s ? s : make_stream(e, index);
}

void rt_submit_compute(struct rt_engine *e, struct rt_stream *s, const struct rt_task *task,
                       struct rt_origin at)
{
	if (!rt_engine_failed(e))
		e->ops->task(e, s, task, at);
}

void rt_submit_sync(struct rt_engine *e, struct rt_stream *current, struct rt_stream *other,
                    struct rt_origin at)
{
	if (!rt_engine_failed(e) && current != other) /* work of a stream is ordered anyway */
		e->ops->sync(e, current, other, at);
}

void rt_submit_wait(struct rt_engine *e, struct rt_stream *current, struct rt_ticket ticket,
                    struct rt_origin at)
{
	if (rt_engine_failed(e))
		return;
	if (rt_engine_ticket_done(e, ticket))
		rt_engine_trace_wait(e, current, ticket, at);
	else
		e->ops->wait(e, current, ticket, at);
}

/* Communications */

void rt_comm_blocks(struct rt_comm_item *item, size_t n)
{
	if (item->room >= n)
		return;
	free(item->blocks);
	item->blocks = mem_alloc(n * sizeof *item->blocks);
	item->room = n;
}

static bool needs_transport(struct rt_engine *e, struct rt_origin at)
{
	if (e->transport)
		return true;
	rt_job_error_at(e->job, at, "a communication without transport");
	rt_job_fail(e->job, STATUS_INTERNAL);
	return false;
}

/* Returns the item for the next communication. */
static struct rt_comm_item *next_item(struct rt_engine *e)
{
	if (!e->grouping)
		return &e->single;
	if (e->members == e->member_room) {
		int room = e->member_room ? 2 * e->member_room : 8;
		e->member = mem_realloc(e->member, (size_t)room * sizeof *e->member);
		memset(e->member + e->member_room, 0, (size_t)(room - e->member_room) * sizeof *e->member);
		e->member_room = room;
	}
	return &e->member[e->members++];
}

static struct rt_ticket submit_communication(struct rt_engine *e, struct rt_stream *current,
                                             struct rt_comm_item *item)
{
	item->id = ++e->traced;
	item->follows = false;
	item->mark = e->mark;
	item->ticket = (struct rt_ticket){0};
	if (e->grouping)
		return item->ticket;
	struct rt_ticket ticket = item->ticket = ticket_new(e, 1, item->id, rt_comm_at(item));
	e->ops->communicate(e, current, item, false);
	return ticket;
}

struct rt_ticket rt_submit_collective(struct rt_engine *e, struct rt_stream *current,
                                      const struct rt_collective *c)
{
	if (rt_engine_failed(e) || !needs_transport(e, c->at))
		return (struct rt_ticket){0};
	assert(c->team >= 0 && c->team < e->transport->teams);
	const struct rt_team *team = &e->transport->team[c->team];
	if (team->index < 0)
		return (struct rt_ticket){0};
	struct rt_comm_item *item = next_item(e);
	item->message = false;
	item->c = *c;
	size_t n = (size_t)team->n;
	const int64_t *from[] = {c->counts, c->offsets, c->send_counts, c->send_offsets},
	              **to[] = {&item->c.counts, &item->c.offsets, &item->c.send_counts,
	                        &item->c.send_offsets};
	for (unsigned k = 0; k < 4; k++) {
		if (!from[k])
			continue;
		rt_comm_blocks(item, 4 * n);
		*to[k] = memcpy(item->blocks + k * n, from[k], n * sizeof *from[k]);
	}
	return submit_communication(e, current, item);
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
	if (rt_engine_failed(e) || !needs_transport(e, p->at))
		return (struct rt_ticket){0};
	struct rt_comm_item *item = next_item(e);
	item->message = true;
	item->p = *p;
	item->p.sequence = next_sequence(e, p);
	return submit_communication(e, current, item);
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
	if (e->members == 0 || rt_engine_failed(e))
		return (struct rt_ticket){0};
	struct rt_ticket ticket = ticket_new(e, (uint32_t)e->members, e->member[0].id, at);
	for (int i = 0; i < e->members; i++) {
		const struct rt_comm_item *before = i ? &e->member[i - 1] : NULL;
		e->member[i].ticket = ticket;
		if (before && !before->message && !e->member[i].message &&
		    before->c.team == e->member[i].c.team) {
			e->member[i].follows = true;
			e->member[i].id = before->id;
		}
		e->ops->communicate(e, current, &e->member[i], i + 1 < e->members);
	}
	return ticket;
}

/* Beginning and end */

/* Waits until each sent message has met its receive. A message that nobody receives is an error. */
static void await_receives(struct rt_engine *e)
{
	struct rt_transport *t = e->transport;
	struct rt_watch watch = {0};
	struct rt_board *b = e->job->board;
	_Atomic int32_t *receiver = &b->rank[e->job->rank - b->first].receiver;
	uint32_t messages, shown = 0;
	int peer;
	if (!t || !t->ops->unreceived)
		return;
	for (int looks = 0; !rt_engine_failed(e) && (peer = t->ops->unreceived(t, &messages)) >= 0; looks++) {
		if (looks < SPINS) {
			rt_pause();
		} else if (looks < SPINS + YIELDS) {
			sched_yield();
		} else {
			char what[64];
			snprintf(what, sizeof what, "rank %d to receive %u messages", peer,
			         (unsigned)messages);
			if (messages != shown)
				rt_job_host(e->job, what);
			atomic_store_explicit(receiver, 1 + peer, memory_order_relaxed);
			shown = messages;
			if (rt_watch_expired(&watch, e->job))
				rt_engine_stuck(e);
			usleep(SLEEP_US);
		}
	}
	if (shown) {
		rt_job_host(e->job, NULL);
		atomic_store_explicit(receiver, 0, memory_order_relaxed);
	}
}

enum status rt_drain(struct rt_engine *e)
{
	e->ops->drain(e);
	await_receives(e);
	return rt_job_status(e->job);
}

int64_t rt_engine_bytes(const struct rt_engine *e, const struct rt_comm_item *item)
{
	int64_t size = (int64_t)dtype_bytes(item->message ? item->p.dtype : item->c.dtype);
	return size * (item->message ? item->p.count
	                             : rt_collective_total(&item->c, e->transport->team[item->c.team].n));
}

enum status rt_engine_trace(struct rt_engine *e, struct rt_tracer *t)
{
	const struct rt_async_ops *async = e->device ? e->device->ops->async : NULL;
	e->trace = t;
	return async ? async->time_events(e->device) : STATUS_OK;
}

enum status rt_engine_new(struct rt_job *job, const char *name, struct rt_device *device,
                          struct rt_transport *transport, struct rt_engine **out)
{
	bool issues = device && device->ops->async, any = strcmp(name, "auto") == 0;
	const struct rt_engine_ops *ops = issues && (any || strcmp(name, "issue") == 0) ? &rt_issue_ops
	                                  : strcmp(name, "lanes") == 0                  ? &rt_lanes_ops
	                                  : strcmp(name, "adversary") == 0              ? &rt_adversary_ops
	                                  : any || strcmp(name, "inline") == 0          ? &rt_inline_ops
	                                                                                : NULL;
	if (!ops || issues != (ops == &rt_issue_ops)) {
		rt_job_error(job, "there is no engine '%s' for the device %s", name,
		             device ? device->ops->name : "none");
		return rt_job_fail(job, STATUS_ABSENT);
	}
	if (device && !issues)
		rt_cores_warn(job, device->threads + (ops == &rt_lanes_ops));
	struct rt_engine *e = mem_zalloc(ops->bytes);
	e->ops = ops;
	e->job = job;
	e->device = device;
	e->transport = transport;
	for (int i = 0; i < RT_MESSAGE_LINES; i++)
		e->message_line[i] = transport ? rt_board_line_new(job, "message") : -1;
	enum status status = ops->start(e);
	if (status != STATUS_OK)
		rt_engine_free(e);
	else
		*out = e;
	return status;
}

void rt_engine_free(struct rt_engine *e)
{
	if (!e)
		return;
	e->ops->stop(e);
	for (struct rt_stream *s = e->streams, *next; s; s = next) {
		next = s->next;
		rt_board_line_free(e->job, s->line);
		free(s);
	}
	for (int i = 0; i < RT_MESSAGE_LINES; i++)
		rt_board_line_free(e->job, e->message_line[i]);
	for (uint32_t i = 0; i < e->slots / RT_SLOT_CHUNK; i++)
		free(e->slot_chunk[i]);
	for (int i = 0; i < e->member_room; i++)
		free(e->member[i].blocks);
	free(e->single.blocks);
	free(e->member);
	free(e->sequence);
	free(e->by_index);
	free(e);
}
