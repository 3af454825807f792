/* queue_inline_comm: communications of the engine that runs on the host thread.
 *
 *     submitted ──its stream comes to it──> free to start ──those before it of its team are done──> under way
 *
 * All that are under way are in one ring; whoever polls tests them all. */
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

/* Starts c. True: it is done already. */
static bool begin(struct inline_engine *e, struct comm *c)
{
	struct rt_board_line *board = c->item.message ? NULL : inline_team_of(e, c->item.c.team)->board;
	rt_board_line_set(board, RT_LINE_WAITING, rt_comm_at(&c->item), 0);
	rt_engine_trace_comm(&e->base, &c->item, false, board);
	enum status status = rt_engine_start(&e->base, &c->item, &c->running);
	if (status != STATUS_OK) {
		rt_job_fail(e->base.job, status);
		return false;
	}
	if (!c->running)
		return true;
	c->before = e->running.before;
	c->after = &e->running;
	c->before->after = c->after->before = c;
	if (c->item.message)
		c->shown = rt_engine_message_show(&e->base, c->item.p.at);
	return false;
}

/* c is done: lets go on who waits for it. The next of its team is not started. */
static void finish(struct inline_engine *e, struct comm *c)
{
	struct rt_board_line *board = NULL;
	if (c->running) {
		c->before->after = c->after;
		c->after->before = c->before;
		c->running = NULL;
	}
	if (c->item.message) {
		rt_engine_message_hide(&e->base, c->shown);
	} else {
		struct team *t = inline_team_of(e, c->item.c.team);
		board = t->board;
		t->head = c->next;
		rt_board_line_set(board, RT_LINE_IDLE, (struct rt_origin){.iteration = -1}, 0);
	}
	rt_engine_trace_comm(&e->base, &c->item, true, board);
	if (rt_engine_ticket_end(&e->base, c->item.ticket)) {
		struct rt_slot *slot = rt_engine_slot(&e->base, c->item.ticket.slot);
		for (struct stream *s = (struct stream *)slot->blocked, *next; s; s = next) {
			next = s->next;
			inline_unblock(e, s);
		}
		slot->next = e->base.free_slots;
		e->base.free_slots = c->item.ticket.slot + 1;
	}
	c->next = e->free_comms;
	e->free_comms = c;
	e->outstanding--;
	rt_job_progress(e->base.job);
}

/* Starts the heads of a team's queue, up to one that takes time. */
static void team_go(struct inline_engine *e, int id)
{
	struct team *t = inline_team_of(e, id);
	while (t->head && t->head->free_to_start && !t->head->running && begin(e, t->head))
		finish(e, t->head);
}

void inline_let_start(struct inline_engine *e, struct comm *c)
{
	c->free_to_start = true;
	if (!c->item.message)
		team_go(e, c->item.c.team);
	else if (begin(e, c))
		finish(e, c);
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
		finish(e, c);
		if (!message)
			team_go(e, team);
	}
	if (status != STATUS_OK)
		rt_job_fail(e->base.job, status);
	else if (*moved)
		rt_job_progress(e->base.job);
}
