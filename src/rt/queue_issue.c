/* queue_issue: the engine of a device that works on its own: the host issues to it, and waits in rt_drain
 * alone.
 *
 * A stream of the program is one of the device. A task is launched on it; a Synchronize is an event of the
 * other stream that this one waits for; a communication starts after an event of its stream, and a Wait is
 * for its own event. That event is there once the transport has given the communication to the device, for
 * which other members may have to come first. Until then what its stream is given stands in a queue on the
 * host:
 *
 *     stream 0   wait c0 · task · mark: start allreduce c1 · wait c1            c0 was not issued yet
 *     main       join with stream 0 · task                                   the join is let go by the mark
 *
 * A ticket is done once the device is done with it, as far as the host has looked; streams wait for its
 * events up to then. */
#include "base/vec.h"
#include "rt/bell.h"
#include "rt/queue_impl.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	POOL_CHUNK = 256,      /* items made at once */
	TASKS_A_BEAT = 256,    /* launches of a stream from one sign of life to the next, or */
	WORK_A_BEAT = 1 << 22, /* elements, and multiplications of products, if that is less */
	RETIRE_TICKETS = 64,   /* so many issued ones, before the host looks which are done */
	SPINS = 1000,          /* looks of rt_drain, before it sleeps between them, */
	SLEEP_US = 20,         /* for so long */
};

enum item_kind { ITEM_TASK, ITEM_JOIN, ITEM_WAIT, ITEM_COMM, ITEM_MARK };

struct item {
	struct item *next; /* in the queue, or of the free ones */
	enum item_kind kind;
	struct rt_origin at;
	union {
		const struct rt_task *task; /* TASK: lasting, or a copy that is owned */
		void *event;                /* JOIN: NULL until its mark was reached */
		struct rt_ticket ticket;    /* WAIT */
		struct comm *comm;          /* COMM */
		struct {                    /* MARK: gives the join an event of its stream */
			struct item *join;
			struct stream *stream;
		};
	};
};

struct stream {
	struct rt_stream base;
	void *device;             /* the device's stream */
	struct item *head, *last; /* NULL: what comes is issued at once */
	struct stream *next;      /* ready ones, or those blocked by one ticket */
	unsigned launched;        /* since the last beat */
	int64_t work;             /* of these */
	bool captured;            /* it is part of the graph that is being made */
};

/* A communication that the device does not have yet. */
struct comm {
	struct rt_comm_item item;
	struct rt_request *request; /* NULL: the transport does not have it either */
	bool opens, closes;         /* a group */
	uint32_t turn;              /* of a collective, among those of its team */
	void *after;                /* while it waits for its turn: the event that it starts after */
};

/* Collectives of a team start in the order in which they were submitted, whichever streams they are of. */
struct team {
	uint32_t given, started;  /* turns */
	VEC(struct comm *) early; /* whose turn has not come */
};

/* What streams wait for, by slot of a ticket. */
struct awaited {
	uint32_t unissued; /* communications */
	VEC(void *) event; /* of those that were issued */
};

struct issue_engine {
	struct rt_engine base;
	const struct rt_async_ops *device; /* of base.device */
	struct item *free_items;
	VEC(struct item *) made;
	VEC(struct awaited) awaited;
	VEC(struct comm *) unissued;   /* with the transport */
	VEC(struct comm *) free_comms; /* their blocks are kept */
	VEC(struct team) team;         /* by id */
	VEC(struct rt_ticket) issued;  /* not known to be done; oldest first from `oldest` on */
	VEC(void *) beat;              /* events of launches, oldest first from `beaten` on */
	uint32_t oldest, beaten;
	struct stream *ready, *last_ready; /* unblocked, with items */
	int64_t queued;                    /* items in queues */
	bool in_group;
	struct stream *capturing; /* the stream of the graph that is being made; NULL: none is */
	void *fork;               /* where the graph that is being made begins: an event; NULL: none is */
};

static bool failed(struct issue_engine *e, enum status status)
{
	if (status != STATUS_OK)
		rt_job_fail(e->base.job, status);
	return status != STATUS_OK;
}

/* ---- items */

static struct item *put(struct issue_engine *e, struct stream *s, enum item_kind kind, struct rt_origin at)
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
	if (i->kind == ITEM_TASK && !i->task->lasting)
		free((struct rt_task *)i->task);
	s->head = i->next;
	i->next = e->free_items;
	e->free_items = i;
	e->queued--;
}

static void unblock(struct issue_engine *e, struct stream *s)
{
	rt_board_line_set(s->base.board, RT_LINE_IDLE, (struct rt_origin){.iteration = -1}, 0);
	s->next = NULL;
	*(e->ready ? &e->last_ready->next : &e->ready) = s;
	e->last_ready = s;
}

/* ---- what the device is given */

/* Now and then an event tells that the device is at work. */
static void beat(struct issue_engine *e, struct stream *s, struct rt_origin at)
{
	void *event;
	s->launched = 0;
	s->work = 0;
	if (!failed(e, e->device->record(e->base.device, s->device, at, &event)))
		vec_push(&e->beat, event);
}

/* A stream that is used for the first time while a graph is made is part of it from then on. */
static void enter_graph(struct issue_engine *e, struct stream *s, struct rt_origin at)
{
	if (!e->fork || s->captured)
		return;
	s->captured = true;
	failed(e, e->device->await(e->base.device, s->device, e->fork, at));
}

/* Roughly: elements, or multiplications. */
static int64_t work_of(const struct rt_task *t)
{
	if (t->kernel == RT_TASK_UNIT)
		return t->unit->steps ? t->unit->steps * work_of(&t->unit->step[0].task) : 0;
	int64_t n = rt_view_count(&t->out);
	if (t->kernel == RT_TASK_REDUCE)
		return rt_view_count(&t->in[0]);
	return t->kernel == RT_TASK_GEMM && t->in[0].nd ? n * t->in[0].n[t->in[0].nd - 1] : n;
}

static void launch(struct issue_engine *e, struct stream *s, const struct rt_task *task, struct rt_origin at)
{
	char why[RT_WHY_BYTES];
	why[0] = 0;
	enter_graph(e, s, at);
	rt_board_line_set(s->base.board, RT_LINE_RUNNING, at, 0);
	int64_t work = work_of(task); /* a unit may be another one afterwards */
	enum status status = e->device->launch(e->base.device, s->device, task, at, why);
	if (status != STATUS_OK && why[0])
		rt_job_error_at(e->base.job, at, "%s", why);
	if (failed(e, status) || e->fork)
		return;
	s->work += work;
	if (++s->launched >= TASKS_A_BEAT || s->work >= WORK_A_BEAT)
		beat(e, s, at);
}

static void *record(struct issue_engine *e, struct stream *s, struct rt_origin at)
{
	void *event = NULL;
	enter_graph(e, s, at);
	return failed(e, e->device->record(e->base.device, s->device, at, &event)) ? NULL : event;
}

static void await_and_release(struct issue_engine *e, struct stream *s, void *event, struct rt_origin at)
{
	enter_graph(e, s, at);
	failed(e, e->device->await(e->base.device, s->device, event, at));
	e->device->release(e->base.device, event);
}

static struct awaited *awaited_by(struct issue_engine *e, struct rt_ticket t)
{
	while (e->awaited.n <= t.slot)
		vec_push(&e->awaited, (struct awaited){0});
	return &e->awaited.at[t.slot];
}

static void await_ticket(struct issue_engine *e, struct stream *s, struct rt_ticket t, struct rt_origin at)
{
	const struct awaited *a = awaited_by(e, t);
	enter_graph(e, s, at);
	for (uint32_t k = 0; k < a->event.n; k++)
		failed(e, e->device->await(e->base.device, s->device, a->event.at[k], at));
}

/* ---- communications */

static struct comm *comm_new(struct issue_engine *e, struct rt_comm_item *item)
{
	struct comm *c = e->free_comms.n ? e->free_comms.at[--e->free_comms.n] : mem_zalloc(sizeof *c);
	struct rt_comm_item old = c->item;
	c->item = *item;
	item->blocks = old.blocks; /* to be used again */
	item->room = old.room;
	c->request = NULL;
	return c;
}

static void issued_all(struct issue_engine *e, struct rt_ticket t)
{
	struct rt_slot *slot = rt_engine_slot(&e->base, t.slot);
	for (struct stream *s = (struct stream *)slot->blocked, *next; s; s = next) {
		next = s->next;
		unblock(e, s);
	}
	slot->blocked = NULL;
	vec_push(&e->issued, t);
}

/* Asks the transport about communication k of those it has. */
static void look_at(struct issue_engine *e, uint32_t k, bool *moved)
{
	struct rt_transport *t = e->base.transport;
	struct comm *c = e->unissued.at[k];
	void *event = NULL;
	if (failed(e, t->ops->issued(t, c->request, &event)) || !event)
		return;
	struct awaited *a = awaited_by(e, c->item.ticket);
	*moved = true;
	vec_push(&a->event, event);
	if (--a->unissued == 0)
		issued_all(e, c->item.ticket);
	e->unissued.at[k] = NULL;
	vec_push(&e->free_comms, c);
}

/* Takes over what the transport has given to the device. */
static void poll(struct issue_engine *e, bool *moved)
{
	struct rt_transport *t = e->base.transport;
	uint32_t left = 0;
	if (!t || failed(e, t->ops->progress(t, moved)))
		return;
	for (uint32_t k = 0; k < e->unissued.n && !rt_engine_failed(&e->base); k++)
		look_at(e, k, moved);
	for (uint32_t k = 0; k < e->unissued.n; k++)
		if (e->unissued.at[k])
			e->unissued.at[left++] = e->unissued.at[k];
	e->unissued.n = left;
	if (*moved)
		rt_job_progress(e->base.job);
}

/* The lists of counts that stand in the device's memory, which the host has to wait for. They are the
 * caller's. */
static int64_t *late_counts(struct issue_engine *e, struct rt_collective *c)
{
	struct rt_device *d = e->base.device;
	struct rt_transport *t = e->base.transport;
	size_t n = (size_t)t->team[c->team].n;
	int64_t *list = mem_alloc(2 * n * sizeof *list);
	struct rt_watch watch = {0};
	for (bool over = false, moved = false; !over && !rt_engine_failed(&e->base);) {
		if (failed(e, t->ops->progress(t, &moved)) ||
		    failed(e, e->device->is_over(d, c->after, &over)) || over)
			break;
		if (rt_watch_expired(&watch, e->base.job))
			rt_engine_stuck(&e->base);
		rt_pause();
	}
	if (rt_engine_failed(&e->base) ||
	    failed(e, e->device->download(d, list, c->late_counts, n * sizeof *list)) ||
	    failed(e, e->device->download(d, list + n, c->late_send_counts, n * sizeof *list))) {
		free(list);
		return NULL;
	}
	c->late_counts = list;
	c->late_send_counts = list + n;
	return list;
}

/* Gives a communication to the transport. */
static void begin(struct issue_engine *e, struct comm *c, void *after)
{
	struct rt_transport *t = e->base.transport;
	struct rt_origin at = rt_comm_at(&c->item);
	int64_t *late = NULL;
	*(c->item.message ? &c->item.p.after : &c->item.c.after) = after;
	if (!c->item.message && c->item.c.late_counts)
		late = late_counts(e, &c->item.c);
	if (c->opens && t->ops->group_begin)
		failed(e, t->ops->group_begin(t));
	if (!rt_engine_failed(&e->base) && !failed(e, rt_engine_start(&e->base, &c->item, &c->request)))
		vec_push(&e->unissued, c);
	else
		vec_push(&e->free_comms, c);
	if (c->closes && t->ops->group_end && !rt_engine_failed(&e->base))
		failed(e, t->ops->group_end(t, at));
	free(late);
	e->device->release(e->base.device, after);
}

static struct team *team_of(struct issue_engine *e, int id)
{
	while (e->team.n <= (uint32_t)id)
		vec_push(&e->team, (struct team){0});
	return &e->team.at[id];
}

/* Begins the collectives of a team whose turn has come. */
static void take_turns(struct issue_engine *e, int id)
{
	struct team *t = team_of(e, id);
	for (uint32_t k = 0; k < t->early.n && !rt_engine_failed(&e->base);) {
		struct comm *c = t->early.at[k];
		if (c->turn != t->started) {
			k++;
			continue;
		}
		t->early.at[k] = t->early.at[--t->early.n];
		t->started++;
		begin(e, c, c->after);
		k = 0;
	}
}

/* The stream has come to the communication. */
static void start(struct issue_engine *e, struct stream *s, struct comm *c)
{
	void *after = record(e, s, rt_comm_at(&c->item));
	if (!after) {
		vec_push(&e->free_comms, c);
	} else if (c->item.message) {
		begin(e, c, after);
	} else {
		c->after = after;
		vec_push(&team_of(e, c->item.c.team)->early, c);
		take_turns(e, c->item.c.team);
	}
}

/* The ticket is done; its events may be used again. */
static void end_ticket(struct issue_engine *e, struct rt_ticket t)
{
	struct awaited *a = awaited_by(e, t);
	struct rt_slot *slot = rt_engine_slot(&e->base, t.slot);
	while (a->event.n)
		e->device->release(e->base.device, a->event.at[--a->event.n]);
	while (!rt_engine_ticket_end(&e->base, t))
		;
	slot->next = e->base.free_slots;
	e->base.free_slots = t.slot + 1;
	rt_job_progress(e->base.job);
}

/* Gives back the tickets that the device is done with. */
static void retire(struct issue_engine *e)
{
	while (e->oldest < e->issued.n && !rt_engine_failed(&e->base)) {
		struct rt_ticket t = e->issued.at[e->oldest];
		struct awaited *a = awaited_by(e, t);
		bool over = true;
		while (a->event.n && over) {
			void *last = a->event.at[a->event.n - 1];
			if (failed(e, e->device->is_over(e->base.device, last, &over)) || !over)
				break;
			e->device->release(e->base.device, last);
			a->event.n--;
		}
		if (a->event.n)
			break;
		end_ticket(e, t);
		e->oldest++;
	}
	if (e->oldest == e->issued.n)
		e->oldest = e->issued.n = 0;
	else if (e->oldest > e->issued.n / 2) {
		e->issued.n -= e->oldest;
		memmove(e->issued.at, e->issued.at + e->oldest, e->issued.n * sizeof *e->issued.at);
		e->oldest = 0;
	}
}

/* ---- queues */

/* Issues the head of a queue. False: it waits. */
static bool issue_head(struct issue_engine *e, struct stream *s)
{
	struct item *i = s->head;
	switch (i->kind) {
	case ITEM_TASK:
		launch(e, s, i->task, i->at);
		return true;
	case ITEM_JOIN:
		if (i->event)
			await_and_release(e, s, i->event, i->at);
		return i->event != NULL;
	case ITEM_WAIT:
		if (rt_engine_ticket_done(&e->base, i->ticket))
			return true;
		if (awaited_by(e, i->ticket)->unissued) {
			struct rt_slot *slot = rt_engine_slot(&e->base, i->ticket.slot);
			rt_board_line_set(s->base.board, RT_LINE_WAITING, i->at,
			                  atomic_load_explicit(&slot->label, memory_order_relaxed));
			s->next = (struct stream *)slot->blocked;
			slot->blocked = &s->base;
			return false;
		}
		await_ticket(e, s, i->ticket, i->at);
		return true;
	case ITEM_COMM:
		start(e, s, i->comm);
		return true;
	case ITEM_MARK:
		i->join->event = record(e, s, i->at);
		if (i->stream->head == i->join && i->join->event)
			unblock(e, i->stream);
		return true;
	}
	return true;
}

static void issue_queue(struct issue_engine *e, struct stream *s)
{
	while (s->head && !rt_engine_failed(&e->base) && issue_head(e, s))
		take_first(e, s);
}

static void advance(struct issue_engine *e, bool *moved)
{
	poll(e, moved);
	while (e->ready && !rt_engine_failed(&e->base)) {
		struct stream *s = e->ready;
		e->ready = s->next;
		*moved = true;
		issue_queue(e, s);
	}
	if (e->issued.n - e->oldest >= RETIRE_TICKETS && !e->fork)
		retire(e);
}

/* ---- submits */

static void issue_task(struct rt_engine *engine, struct rt_stream *stream, const struct rt_task *task,
                       struct rt_origin at)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)stream;
	if (!s->head) {
		launch(e, s, task, at);
	} else {
		struct item *item = put(e, s, ITEM_TASK, at);
		item->task = task->lasting ? task : memcpy(mem_alloc(sizeof *task), task, sizeof *task);
	}
}

static void issue_sync(struct rt_engine *engine, struct rt_stream *current, struct rt_stream *other,
                       struct rt_origin at)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)current, *o = (struct stream *)other;
	if (e->fork && !o->captured && !o->head)
		return; /* it was given nothing since the last drain */
	void *event = o->head ? NULL : record(e, o, at);
	if (!s->head && event) {
		await_and_release(e, s, event, at);
		return;
	}
	struct item *join = put(e, s, ITEM_JOIN, at);
	join->event = event;
	if (!event) {
		struct item *mark = put(e, o, ITEM_MARK, at);
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
		advance(e, &(bool){false});
	bool idle = !s->head;
	if (idle && !awaited_by(e, ticket)->unissued) {
		await_ticket(e, s, ticket, at);
		return;
	}
	put(e, s, ITEM_WAIT, at)->ticket = ticket;
	if (idle)
		issue_queue(e, s);
}

static void issue_communicate(struct rt_engine *engine, struct rt_stream *current, struct rt_comm_item *item,
                              bool more)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)current;
	struct rt_origin at = rt_comm_at(item);
	struct comm *c = comm_new(e, item);
	awaited_by(e, c->item.ticket)->unissued++;
	c->opens = more && !e->in_group;
	c->closes = !more && e->in_group;
	e->in_group = more;
	c->turn = c->item.message ? 0 : team_of(e, c->item.c.team)->given++;
	if (s->head)
		put(e, s, ITEM_COMM, at)->comm = c;
	else
		start(e, s, c);
	if (!more)
		advance(e, &(bool){false});
}

/* ---- the end of a run */

static void listen_to_beats(struct issue_engine *e)
{
	bool over = true;
	while (e->beaten < e->beat.n && over) {
		if (failed(e, e->device->is_over(e->base.device, e->beat.at[e->beaten], &over)))
			return;
		if (!over)
			return;
		e->device->release(e->base.device, e->beat.at[e->beaten++]);
		rt_job_progress(e->base.job);
	}
	e->beaten = e->beat.n = 0;
}

static void issue_drain(struct rt_engine *engine)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct rt_watch watch = {0};
	for (int looks = 0; !rt_engine_failed(engine); looks++) {
		bool moved = false, idle = false;
		uint32_t seen = engine->transport ? engine->transport->ops->read(engine->transport) : 0;
		advance(e, &moved);
		retire(e);
		listen_to_beats(e);
		if (!e->queued && !e->unissued.n &&
		    (failed(e, e->device->is_idle(engine->device, &idle)) || idle))
			break;
		if (moved) {
			looks = 0;
			continue;
		}
		if (rt_watch_expired(&watch, engine->job)) {
			rt_engine_stuck(engine);
			break;
		}
		if (looks < SPINS)
			rt_pause();
		else if (engine->transport)
			engine->transport->ops->wait(engine->transport, seen, SLEEP_US);
	}
	retire(e);
	listen_to_beats(e);
	for (struct rt_stream *s = engine->streams; s && !rt_engine_failed(engine); s = s->next)
		rt_board_line_set(s->board, RT_LINE_IDLE, (struct rt_origin){.iteration = -1}, 0);
}

/* ---- graphs */

bool rt_engine_captures(const struct rt_engine *e)
{
	return e->ops == &rt_issue_ops && e->device->ops->async->capture_begin &&
	       (!e->transport || e->transport->captures);
}

enum status rt_capture_begin(struct rt_engine *engine, struct rt_stream *main)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)main;
	const struct rt_origin nowhere = {.iteration = -1};
	for (struct rt_stream *k = engine->streams; k; k = k->next)
		((struct stream *)k)->captured = k == main;
	if (!failed(e, e->device->capture_begin(engine->device, s->device))) {
		e->capturing = s;
		e->fork = record(e, s, nowhere);
	}
	return rt_job_status(engine->job);
}

/* All that was captured ends in main. */
static void join_graph(struct issue_engine *e, struct stream *main)
{
	const struct rt_origin nowhere = {.iteration = -1};
	for (struct rt_stream *k = e->base.streams; k && !rt_engine_failed(&e->base); k = k->next) {
		struct stream *s = (struct stream *)k;
		void *event = s != main && s->captured ? record(e, s, nowhere) : NULL;
		if (event)
			await_and_release(e, main, event, nowhere);
	}
	for (; e->oldest < e->issued.n; e->oldest++) {
		struct rt_ticket t = e->issued.at[e->oldest];
		await_ticket(e, main, t, nowhere);
		end_ticket(e, t);
	}
	e->oldest = e->issued.n = 0;
}

enum status rt_capture_end(struct rt_engine *engine, struct rt_stream *main, void **graph)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	struct stream *s = (struct stream *)main;
	assert(!e->queued && !e->unissued.n); /* transports that capture issue at once */
	join_graph(e, s);
	if (e->fork)
		e->device->release(engine->device, e->fork);
	e->fork = NULL;
	if (!rt_engine_failed(engine) && !failed(e, e->device->capture_end(engine->device, s->device, graph)))
		e->capturing = NULL;
	return rt_job_status(engine->job);
}

enum status rt_replay(struct rt_engine *engine, struct rt_stream *main, void *graph)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	failed(e, e->device->replay(engine->device, ((struct stream *)main)->device, graph));
	return rt_job_status(engine->job);
}

void rt_graph_free(struct rt_engine *engine, void *graph)
{
	if (graph)
		engine->device->ops->async->graph_free(engine->device, graph);
}

/* ---- beginning and end */

static void issue_stream_start(struct rt_engine *engine, struct rt_stream *stream)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	failed(e, e->device->stream_new(engine->device, &((struct stream *)stream)->device));
}

static enum status issue_start(struct rt_engine *engine)
{
	((struct issue_engine *)engine)->device = engine->device->ops->async;
	return STATUS_OK;
}

static void free_comm(struct comm *c)
{
	if (c)
		free(c->item.blocks);
	free(c);
}

static void issue_stop(struct rt_engine *engine)
{
	struct issue_engine *e = (struct issue_engine *)engine;
	if (e->capturing)
		e->device->capture_drop(engine->device, e->capturing->device);
	if (e->fork)
		e->device->release(engine->device, e->fork);
	for (struct rt_stream *base = engine->streams; base; base = base->next) {
		struct stream *s = (struct stream *)base;
		while (s->head) {
			if (s->head->kind == ITEM_COMM)
				free_comm(s->head->comm);
			take_first(e, s);
		}
		if (s->device)
			e->device->stream_free(engine->device, s->device);
	}
	for (uint32_t k = 0; k < e->unissued.n; k++)
		free_comm(e->unissued.at[k]);
	for (uint32_t k = 0; k < e->team.n; k++) {
		for (uint32_t i = 0; i < e->team.at[k].early.n; i++) {
			e->device->release(engine->device, e->team.at[k].early.at[i]->after);
			free_comm(e->team.at[k].early.at[i]);
		}
		vec_free(&e->team.at[k].early);
	}
	vec_free(&e->team);
	for (uint32_t k = 0; k < e->free_comms.n; k++)
		free_comm(e->free_comms.at[k]);
	for (uint32_t k = 0; k < e->awaited.n; k++) {
		for (uint32_t i = 0; i < e->awaited.at[k].event.n; i++)
			e->device->release(engine->device, e->awaited.at[k].event.at[i]);
		vec_free(&e->awaited.at[k].event);
	}
	while (e->beaten < e->beat.n)
		e->device->release(engine->device, e->beat.at[e->beaten++]);
	for (uint32_t k = 0; k < e->made.n; k++)
		free(e->made.at[k]);
	vec_free(&e->made);
	vec_free(&e->awaited);
	vec_free(&e->unissued);
	vec_free(&e->free_comms);
	vec_free(&e->issued);
	vec_free(&e->beat);
}

const struct rt_engine_ops rt_issue_ops = {
    .name = "issue",
    .bytes = sizeof(struct issue_engine),
    .stream_bytes = sizeof(struct stream),
    .start = issue_start,
    .stream_start = issue_stream_start,
    .task = issue_task,
    .sync = issue_sync,
    .wait = issue_wait,
    .communicate = issue_communicate,
    .drain = issue_drain,
    .stop = issue_stop,
};
