/* queue_adversary: the engine that reveals missing synchronization.
 *
 * Nothing is executed when it is issued. Streams are queues; a communication leaves its stream when it
 * starts. When the host waits for everything, or is far ahead, the engine chooses one step after the
 * other among all steps that streams, synchronizations and waits allow:
 *
 *     stream 0    task · task                  the head of a queue, if it is a task
 *     main        join with stream 0 · task    joins and waits at the head pass as soon as they can
 *     started     allreduce c0                 its stream has reached it, earlier ones of its team are done
 *
 * The host thread executes the step. So only the order differs between runs, never the time. A seed
 * decides which steps wait. Nothing is held for ever: if there is no other choice, a held step is
 * executed. */
#include "rt/queue_adversary.h"
#include "base/arena.h"
#include <sched.h>
#include <stdlib.h>

enum {
	FIRST_WINDOW = 1 << 14, /* items */
	YIELDS = 200,           /* looks for something to do before a rank sleeps */
	SLEEP_US = 500,
};

static const struct rt_origin nowhere = {.iteration = -1};

/* Marks */

static struct adverse_shared *shared_of(struct adverse_engine *e)
{
	return e->shared ? e->shared : &e->own;
}

static void look_at_awaited(struct adverse_engine *e)
{
	if (e->awaited_seen && !e->awaited && e->base.mark != RT_MARK_AWAITED && !e->base.grouping)
		atomic_store_explicit(&shared_of(e)->awaited_done, e->run, memory_order_release);
}

void adverse_marked_done(struct adverse_engine *e, enum rt_mark mark)
{
	e->awaited -= mark == RT_MARK_AWAITED;
	look_at_awaited(e);
}

/* Returns true if held items must still be held. */
static bool is_held(struct adverse_engine *e)
{
	return atomic_load_explicit(&shared_of(e)->awaited_done, memory_order_acquire) != e->run;
}

void rt_submit_mark(struct rt_engine *engine, enum rt_mark mark)
{
	struct adverse_engine *e = (struct adverse_engine *)engine;
	engine->mark = (uint8_t)mark;
	e->awaited_seen |= mark == RT_MARK_AWAITED;
	look_at_awaited(e);
}

/* Streams */

static void drop_head(struct adverse_engine *e, struct adverse_stream *s)
{
	struct adverse_item *i = s->head;
	s->head = i->next;
	s->done++;
	if (s->shown)
		rt_board_line_set(s->base.board, RT_LINE_IDLE, nowhere, 0);
	s->shown = false;
	e->outstanding--;
	free(i);
}

static void show_head(struct adverse_engine *e, struct adverse_stream *s)
{
	const struct adverse_item *i = s->head;
	if (s->shown)
		return;
	s->shown = true;
	uint32_t awaited = i->kind != ADVERSE_WAIT || !i->ticket.generation
	                       ? 0
	                       : atomic_load_explicit(&rt_engine_slot(&e->base, i->ticket.slot)->label,
	                                              memory_order_relaxed);
	rt_board_line_begin(s->base.board, RT_LINE_WAITING, i->at, awaited);
	if (i->kind == ADVERSE_WAIT)
		rt_engine_trace_wait(&e->base, &s->base, i->ticket, i->at);
}

/* Passes the joins, waits and starts at the head of a stream that can be passed. */
static bool pass_stream_head(struct adverse_engine *e, struct adverse_stream *s)
{
	bool moved = false;
	for (struct adverse_item *i; (i = s->head) && i->kind != ADVERSE_TASK; moved = true) {
		if (i->kind == ADVERSE_JOIN
		        ? i->of->done < i->count
		        : i->kind == ADVERSE_WAIT && !rt_engine_ticket_done(&e->base, i->ticket)) {
			show_head(e, s);
			return moved;
		}
		if (i->kind == ADVERSE_COMM)
			i->comm->reached = true;
		else if (i->kind == ADVERSE_WAIT && !s->shown)
			rt_engine_trace_wait(&e->base, &s->base, i->ticket, i->at);
		drop_head(e, s);
	}
	return moved;
}

static bool pass_all(struct adverse_engine *e)
{
	bool any = false;
	for (bool moved = true; moved; any |= moved) {
		moved = false;
		for (struct rt_stream *s = e->base.streams; s; s = s->next)
			moved |= pass_stream_head(e, (struct adverse_stream *)s);
	}
	return any;
}

/* Steps */

/* Returns the number by which all ranks order their withheld items: communications first, since other
 * ranks may wait for them, then the oldest. */
static uint64_t turn_of(const struct adverse_choice *c)
{
	return c->order | (c->comm ? 0 : (uint64_t)1 << 63);
}

/* Returns true if the item may be executed in the order of issue, in which younger items wait for older
 * ones. If nothing moves on any rank, the first item of all ranks is chosen: a rank that chose another
 * one would overtake communications that others have yet to start. */
static bool is_in_order(struct adverse_engine *e, const struct adverse_choice *c)
{
	uint64_t oldest = UINT64_MAX;
	if (e->how.order != RT_OLDEST_FIRST || (!c->stream && !c->comm))
		return true;
	for (struct rt_stream *i = e->base.streams; i; i = i->next) {
		const struct adverse_item *head = ((struct adverse_stream *)i)->head;
		oldest = head && head->order < oldest ? head->order : oldest;
	}
	for (uint32_t k = 0; k < e->running.n; k++)
		oldest = e->running.at[k]->order < oldest ? e->running.at[k]->order : oldest;
	return c->order <= oldest || adverse_may_overtake(e, turn_of(c));
}

static struct adverse_choice choose_adverse(struct adverse_engine *e)
{
	struct adverse_choice best = {0};
	bool slow = adverse_is_slow(e);
	e->withheld = e->held = false;
	e->turn = UINT64_MAX;
	for (struct rt_stream *i = e->base.streams; i; i = i->next) {
		struct adverse_stream *s = (struct adverse_stream *)i;
		if (!s->head || s->head->kind != ADVERSE_TASK)
			continue;
		if (s->head->mark == RT_MARK_HELD && is_held(e))
			e->held = true;
		else
			adverse_weigh(e, &best,
			              (struct adverse_choice){.stream = s, .order = s->head->order});
	}
	for (uint32_t k = 0; k < e->waiting.n; k++) {
		struct adverse_comm *c = e->waiting.at[k];
		if (!adverse_may_start(e, c))
			continue;
		if (c->item.mark == RT_MARK_HELD && is_held(e))
			e->held = true;
		else if (slow)
			e->withheld = true;
		else
			adverse_weigh(e, &best, (struct adverse_choice){.comm = c, .order = c->order});
	}
	for (uint32_t k = 0; k < e->arrived.n; k++) {
		struct adverse_comm *c = e->arrived.at[k];
		if (c->item.mark == RT_MARK_RESULT_HELD && is_held(e))
			e->held = true;
		else
			adverse_weigh(e, &best,
			              (struct adverse_choice){.comm = c, .order = c->order, .lands = true});
	}
	bool in_order = is_in_order(e, &best);
	if ((best.lands && adverse_lands_last(e)) || !in_order) {
		e->withheld = true;
		e->turn = in_order ? UINT64_MAX : turn_of(&best);
		best = (struct adverse_choice){0};
	}
	return best;
}

static void run_head(struct adverse_engine *e, struct adverse_stream *s)
{
	struct adverse_item *i = s->head;
	if (!rt_engine_run(&e->base, &s->base, i->task, i->at))
		return;
	adverse_marked_done(e, i->mark);
	drop_head(e, s);
}

/* Executes one step, and ends finished ones. */
static void step_adversary(struct adverse_engine *e, bool *moved)
{
	if (e->running.n)
		adverse_poll(e, moved);
	*moved |= pass_all(e);
	struct adverse_choice c = choose_adverse(e);
	if (rt_engine_failed(&e->base) || (!c.stream && !c.comm))
		return;
	adverse_tell(e, ADVERSE_GOES);
	if (c.stream)
		run_head(e, c.stream);
	else if (c.lands)
		adverse_comm_land(e, c.comm);
	else
		adverse_comm_start(e, c.comm);
	*moved = true;
}

/* Fails the job: the held items cannot come after the awaited ones, so the order does not exist. */
static void give_up(struct adverse_engine *e)
{
	struct rt_origin at = nowhere;
	for (struct rt_stream *i = e->base.streams; i; i = i->next) {
		struct adverse_stream *s = (struct adverse_stream *)i;
		if (s->head && s->head->mark == RT_MARK_HELD)
			at = s->head->at;
	}
	for (uint32_t k = 0; k < e->waiting.n; k++)
		if (e->waiting.at[k]->item.mark == RT_MARK_HELD)
			at = rt_comm_at(&e->waiting.at[k]->item);
	for (uint32_t k = 0; k < e->arrived.n; k++)
		if (e->arrived.at[k]->item.mark == RT_MARK_RESULT_HELD)
			at = rt_comm_at(&e->arrived.at[k]->item);
	rt_job_error_at(e->base.job, at,
	                "a statement that is held back would have to come after one that waits for it: the "
	                "witness is of another program");
	rt_job_fail(e->base.job, STATUS_DIAGNOSTICS);
}

/* Waits after nothing moved at the last of `looks`. */
static void rest(struct adverse_engine *e, uint32_t seen, int looks)
{
	adverse_tell(e, ADVERSE_WAITS);
	if (e->withheld || looks < YIELDS || !e->base.transport)
		sched_yield();
	else
		e->base.transport->ops->wait(e->base.transport, seen, SLEEP_US);
}

/* Returns true if nothing else will come, so that held work is never executed. */
static bool held_for_ever(const struct adverse_engine *e, bool all_issued)
{
	return e->held && e->base.job->size == 1 && !e->running.n && all_issued;
}

static uint32_t read_bell(struct adverse_engine *e)
{
	return e->base.transport ? e->base.transport->ops->read(e->base.transport) : 0;
}

/* The event for which the host waits; all 0: the end of all work. */
struct goal {
	const struct rt_ticket *ticket;    /* this ticket is done */
	const struct adverse_stream *room; /* this stream has room */
};

static bool is_full(const struct adverse_engine *e, const struct adverse_stream *s)
{
	return e->how.queue && s->issued - s->done > (uint64_t)e->how.queue;
}

static bool reached(struct adverse_engine *e, struct goal goal)
{
	return goal.ticket ? rt_engine_ticket_done(&e->base, *goal.ticket)
	       : goal.room ? !is_full(e, goal.room)
	                   : e->outstanding == 0;
}

static void await(struct adverse_engine *e, struct goal goal)
{
	struct rt_engine *engine = &e->base;
	struct rt_watch watch = {0};
	bool all_issued = !goal.ticket && !goal.room;
	for (int looks = 0; !reached(e, goal) && !rt_engine_failed(engine); looks++) {
		bool moved = false;
		uint32_t seen = read_bell(e);
		step_adversary(e, &moved);
		if (moved) {
			adverse_moved(e);
			looks = 0;
		} else if (held_for_ever(e, all_issued)) {
			give_up(e);
		} else if (rt_watch_expired(&watch, engine->job)) {
			if (e->held || (e->how.far && is_held(e) && e->how.order == RT_OLDEST_FIRST))
				give_up(e);
			else
				rt_engine_stuck(engine);
		} else {
			rest(e, seen, looks);
		}
	}
}

static void adversary_drain(struct rt_engine *engine)
{
	struct adverse_engine *e = (struct adverse_engine *)engine;
	await(e, (struct goal){0});
	e->run++;
	e->awaited_seen = false;
	adverse_tell(e, ADVERSE_IDLE);
}

/* Executes steps while anything moves, since the host is far ahead. */
static void catch_up(struct adverse_engine *e, struct rt_origin at)
{
	struct rt_watch watch = {0};
	int64_t quiet = rt_engine_quiet_us(&e->base);
	for (int looks = 0; e->outstanding > e->window / 2 && !rt_engine_failed(&e->base); looks++) {
		bool moved = false;
		uint32_t seen = read_bell(e);
		step_adversary(e, &moved);
		if (moved) {
			adverse_moved(e);
			looks = 0;
		} else if (rt_watch_idle_us(&watch, e->base.job) >= quiet) {
			if (e->window < RT_LIMIT)
				e->window *= 2;
			else
				rt_engine_too_many(&e->base, at);
			return;
		} else {
			rest(e, seen, looks);
		}
	}
}

/* Submits */

static struct adverse_item *put_adverse_item(struct adverse_engine *e, struct rt_stream *stream,
                                             enum adverse_kind kind, struct rt_origin at)
{
	struct adverse_stream *s = (struct adverse_stream *)stream;
	struct adverse_item *i = mem_zalloc(sizeof *i);
	await(e, (struct goal){.room = s});
	i->kind = kind;
	i->at = at;
	i->mark = kind == ADVERSE_TASK ? (enum rt_mark)e->base.mark : RT_MARK_NONE;
	i->order = ++e->issued;
	e->awaited += i->mark == RT_MARK_AWAITED;
	e->outstanding++;
	s->issued++;
	if (s->head)
		s->last->next = i;
	else
		s->head = i;
	s->last = i;
	return i;
}

static void issued(struct adverse_engine *e, struct rt_origin at)
{
	if (e->outstanding >= e->window)
		catch_up(e, at);
}

static void adversary_task(struct rt_engine *engine, struct rt_stream *stream, const struct rt_task *task,
                           struct rt_origin at)
{
	struct adverse_engine *e = (struct adverse_engine *)engine;
	struct adverse_item *i = put_adverse_item(e, stream, ADVERSE_TASK, at);
	if (!task->fixed)
		i->copy = *task;
	i->task = task->fixed ? task : &i->copy;
	issued(e, at);
}

static void adversary_sync(struct rt_engine *engine, struct rt_stream *current, struct rt_stream *other,
                           struct rt_origin at)
{
	struct adverse_engine *e = (struct adverse_engine *)engine;
	struct adverse_stream *o = (struct adverse_stream *)other;
	if (o->done == o->issued)
		return;
	struct adverse_item *i = put_adverse_item(e, current, ADVERSE_JOIN, at);
	i->of = o;
	i->count = o->issued;
	issued(e, at);
}

static void adversary_wait(struct rt_engine *engine, struct rt_stream *current, struct rt_ticket ticket,
                           struct rt_origin at)
{
	struct adverse_engine *e = (struct adverse_engine *)engine;
	put_adverse_item(e, current, ADVERSE_WAIT, at)->ticket = ticket;
	issued(e, at);
}

static void adversary_communicate(struct rt_engine *engine, struct rt_stream *current,
                                  struct rt_comm_item *item, bool more)
{
	struct adverse_engine *e = (struct adverse_engine *)engine;
	struct adverse_comm *c = mem_zalloc(sizeof *c);
	rt_comm_take(&c->item, item);
	c->shown = -1;
	e->awaited += c->item.mark == RT_MARK_AWAITED;
	e->outstanding++;
	vec_push(&e->waiting, c);
	if (!c->item.message) {
		struct adverse_team *t = adverse_team_of(e, c->item.c.team);
		if (t->head)
			t->last->next = c;
		else
			t->head = c;
		t->last = c;
	}
	struct adverse_item *i = put_adverse_item(e, current, ADVERSE_COMM, rt_comm_at(&c->item));
	i->comm = c;
	c->order = i->order;
	struct rt_ticket ticket = c->item.ticket;
	if (e->how.blocking && !more && !c->item.message)
		await(e, (struct goal){.ticket = &ticket});
	else
		issued(e, rt_comm_at(item));
}

/* Beginning and end */

static void adversary_stream_start(struct rt_engine *engine, struct rt_stream *s)
{
	struct adverse_engine *e = (struct adverse_engine *)engine;
	((struct adverse_stream *)s)->number = e->streams++;
}

static enum status adversary_start(struct rt_engine *engine)
{
	struct adverse_engine *e = (struct adverse_engine *)engine;
	e->window = FIRST_WINDOW;
	e->run = 1;
	return STATUS_OK;
}

enum status rt_engine_set_adversary(struct rt_engine *engine, const struct rt_adversary *how)
{
	struct adverse_engine *e = (struct adverse_engine *)engine;
	struct rt_job *job = engine->job;
	size_t bytes = sizeof *e->shared + sizeof e->shared->rank[0] * (size_t)job->size;
	e->how = *how;
	if (how->far)
		e->window = RT_LIMIT;
	adverse_pick_start(e);
	if (job->size == 1 || !job->boot->shares(job))
		return STATUS_OK;
	enum status status = job->boot->share(job, "the adversary", bytes, &e->region);
	if (status != STATUS_OK)
		return status;
	e->shared = e->region.at;
	e->looks = mem_zalloc(sizeof *e->looks * (size_t)job->size);
	e->sweep = mem_zalloc(sizeof *e->sweep * (size_t)job->size);
	return STATUS_OK;
}

static void adversary_stop(struct rt_engine *engine)
{
	struct adverse_engine *e = (struct adverse_engine *)engine;
	for (struct rt_stream *i = engine->streams; i; i = i->next)
		for (struct adverse_item *k = ((struct adverse_stream *)i)->head, *next; k; k = next) {
			next = k->next;
			free(k);
		}
	for (uint32_t k = 0; k < e->waiting.n; k++)
		adverse_comm_free(e->waiting.at[k]);
	for (uint32_t k = 0; k < e->running.n; k++)
		adverse_comm_free(e->running.at[k]);
	for (uint32_t k = 0; k < e->arrived.n; k++)
		adverse_comm_free(e->arrived.at[k]);
	for (uint32_t k = 0; k < e->team.n; k++)
		if (e->team.at[k].used)
			rt_board_line_free(engine->job, e->team.at[k].line);
	vec_free(&e->waiting);
	vec_free(&e->running);
	vec_free(&e->arrived);
	vec_free(&e->team);
	free(e->looks);
	free(e->sweep);
	if (e->shared)
		engine->job->boot->unshare(engine->job, &e->region);
}

const struct rt_engine_ops rt_adversary_ops =
    RT_ENGINE_OPS(adversary, struct adverse_engine, struct adverse_stream);
