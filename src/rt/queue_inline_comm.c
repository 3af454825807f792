/* queue_inline_comm: handles communications of the engine that runs on the host thread.
 *
 *     submitted ──its stream reaches it──> free to start ──earlier ones of its team are done──> in flight
 *
 * All communications in flight are in one ring; each poll tests all of them. */
#include "base/arena.h"
#include "rt/queue_inline.h"

struct comm *inline_comm_new(struct inline_engine *e)
{
	struct comm *c = e->free_comms;
	if (c) {
		e->free_comms = c->next;
		return c;
	}
	c = mem_zalloc(sizeof *c);
	vec_push(&e->comms, c);
	return c;
}

struct team *inline_team_of(struct inline_engine *e, int id)
{
	while (e->team.n <= (uint32_t)id)
		vec_push(&e->team, (struct team){0});
	struct team *t = &e->team.at[id];
	if (!t->used) {
		t->used = true;
		t->line = rt_engine_team_line(&e->base, id);
		t->board = rt_board_line_at(e->base.job, t->line);
	}
	return t;
}

static struct rt_board_line *board_of(struct inline_engine *e, const struct rt_comm_item *item)
{
	return item->message ? NULL : inline_team_of(e, item->c.team)->board;
}

/* Starts a communication. *running is NULL if it is done already. Returns false if the job has failed. */
static bool start_inline_comm(struct inline_engine *e, struct rt_comm_item *item, struct rt_request **running)
{
	struct rt_board_line *board = board_of(e, item);
	rt_board_line_begin(board, RT_LINE_WAITING, rt_comm_at(item), 0);
	rt_engine_trace_comm(&e->base, item, false, board);
	enum status status = rt_engine_start(&e->base, item, running);
	if (status != STATUS_OK)
		rt_job_fail(e->base.job, status);
	return status == STATUS_OK;
}

/* Ends a communication: continues everything that waits for it. */
static void end_inline_comm(struct inline_engine *e, struct rt_comm_item *item)
{
	struct rt_board_line *board = board_of(e, item);
	const struct comm *other = item->message ? NULL : inline_team_of(e, item->c.team)->head;
	if (other && other->running) /* one of its group */
		rt_board_line_set(board, RT_LINE_WAITING, rt_comm_at(&other->item), 0);
	else
		rt_board_line_set(board, RT_LINE_IDLE, (struct rt_origin){.iteration = -1}, 0);
	rt_engine_trace_comm(&e->base, item, true, board);
	if (rt_engine_ticket_end(&e->base, item->ticket)) {
		struct rt_slot *slot = rt_engine_slot(&e->base, item->ticket.slot);
		for (struct stream *s = (struct stream *)slot->blocked, *next; s; s = next) {
			next = s->next;
			inline_unblock(e, s);
		}
		rt_engine_slot_free(&e->base, item->ticket.slot);
	}
	rt_job_progress(e->base.job);
}

static void under_way(struct inline_engine *e, struct comm *c)
{
	c->before = e->running.before;
	c->after = &e->running;
	c->before->after = c->after->before = c;
	if (c->item.message)
		c->shown = rt_engine_message_show(&e->base, &c->item.p);
}

bool inline_at_once(struct inline_engine *e, struct rt_comm_item *item, struct rt_request **running)
{
	*running = NULL;
	if (!start_inline_comm(e, item, running))
		return true;
	if (!*running)
		end_inline_comm(e, item);
	return !*running;
}

void inline_go_on(struct inline_engine *e, struct comm *c, struct rt_request *running)
{
	c->free_to_start = true;
	c->running = running;
	under_way(e, c);
}

/* Starts c. Returns true if it is done already. */
static bool begin_team_comm(struct inline_engine *e, struct comm *c)
{
	if (!start_inline_comm(e, &c->item, &c->running))
		return false;
	if (c->running)
		under_way(e, c);
	return !c->running;
}

/* Removes c, the head or one of the head's group, from its team's queue. */
static void take_out(struct team *t, struct comm *c)
{
	struct comm *before = NULL, *k = t->head;
	while (k != c)
		before = k, k = k->next;
	if (before)
		before->next = c->next;
	else
		t->head = c->next;
	if (t->last == c)
		t->last = before;
}

/* Ends c. Does not start the next one of its team. */
static void finish_team_comm(struct inline_engine *e, struct comm *c)
{
	if (c->running) {
		c->before->after = c->after;
		c->after->before = c->before;
		c->running = NULL;
	}
	if (c->item.message)
		rt_engine_message_hide(&e->base, c->shown);
	else
		take_out(inline_team_of(e, c->item.c.team), c);
	end_inline_comm(e, &c->item);
	c->next = e->free_comms;
	e->free_comms = c;
	e->outstanding--;
}

/* Starts the heads of a team's queue, up to one that takes time and the rest of its group. */
static void team_go(struct inline_engine *e, int id)
{
	struct team *t = inline_team_of(e, id);
	for (struct comm *c = t->head, *next; c; c = next) {
		next = c->next;
		if (c->running)
			continue;
		if (!c->free_to_start || (c != t->head && !c->item.follows))
			return;
		if (begin_team_comm(e, c))
			finish_team_comm(e, c);
		else if (!c->running)
			return;
	}
}

void inline_let_start(struct inline_engine *e, struct comm *c)
{
	c->free_to_start = true;
	if (!c->item.message)
		team_go(e, c->item.c.team);
	else if (begin_team_comm(e, c))
		finish_team_comm(e, c);
}

void inline_poll(struct inline_engine *e, bool *moved)
{
	struct rt_transport *t = e->base.transport;
	if (!t)
		return;
	e->issued = 0;
	enum status status = t->ops->progress(t, moved);
	for (struct comm *c = e->running.after, *next; status == STATUS_OK && c != &e->running; c = next) {
		bool done = false;
		next = c->after;
		status = t->ops->test(t, c->running, &done);
		if (!done || status != STATUS_OK)
			continue;
		*moved = true;
		bool message = c->item.message;
		int team = c->item.c.team;
		finish_team_comm(e, c);
		if (!message)
			team_go(e, team);
	}
	if (status != STATUS_OK)
		rt_job_fail(e->base.job, status);
	else if (*moved)
		rt_job_progress(e->base.job);
}
