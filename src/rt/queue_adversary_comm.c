/* queue_adversary_comm: handles communications of the engine that delays work, from their start on. */
#include "base/arena.h"
#include "rt/queue_adversary.h"
#include <stdlib.h>

static const struct rt_origin nowhere = {.iteration = -1};

struct adverse_team *adverse_team_of(struct adverse_engine *e, int id)
{
	while (e->team.n <= (uint32_t)id)
		vec_push(&e->team, (struct adverse_team){0});
	struct adverse_team *t = &e->team.at[id];
	if (!t->used) {
		t->used = true;
		t->line = rt_engine_team_line(&e->base, id);
		t->board = rt_board_line_at(e->base.job, t->line);
	}
	return t;
}

static struct rt_board_line *board_of(struct adverse_engine *e, const struct adverse_comm *c)
{
	return c->item.message ? NULL : adverse_team_of(e, c->item.c.team)->board;
}

void adverse_comm_free(struct adverse_comm *c)
{
	free(c->shadow);
	free(c->item.blocks);
	free(c);
}

/* Ends c, which is done and in no list. */
static void comm_end(struct adverse_engine *e, struct adverse_comm *c)
{
	if (rt_engine_ticket_end(&e->base, c->item.ticket))
		rt_engine_slot_free(&e->base, c->item.ticket.slot);
	e->outstanding--;
	adverse_marked_done(e, (enum rt_mark)c->item.mark);
	rt_job_progress(e->base.job);
	adverse_comm_free(c);
}

/* Handles c when the transport is done with it; it is in no list. */
static void comm_arrive(struct adverse_engine *e, struct adverse_comm *c)
{
	struct rt_board_line *board = board_of(e, c);
	rt_board_line_set(board, RT_LINE_IDLE, nowhere, 0);
	rt_engine_trace_comm(&e->base, &c->item, true, board);
	if (c->item.message) {
		rt_engine_message_hide(&e->base, c->shown);
	} else { /* the head, or one of its group */
		struct adverse_team *t = adverse_team_of(e, c->item.c.team);
		struct adverse_comm **at = &t->head, *before = NULL;
		for (; *at != c; at = &(*at)->next)
			before = *at;
		*at = c->next;
		t->last = t->last == c ? before : t->last;
	}
	c->running = NULL;
	if (c->shadow)
		vec_push(&e->arrived, c);
	else
		comm_end(e, c);
}

bool adverse_may_start(struct adverse_engine *e, const struct adverse_comm *c)
{
	if (!c->reached)
		return false;
	if (c->item.message)
		return true;
	const struct adverse_comm *k = adverse_team_of(e, c->item.c.team)->head;
	while (k != c && k->running && k->next && k->next->item.follows)
		k = k->next;
	return k == c;
}

static uint32_t take_out(struct adverse_comm **list, uint32_t n, const struct adverse_comm *c)
{
	uint32_t kept = 0;
	for (uint32_t k = 0; k < n; k++)
		if (list[k] != c)
			list[kept++] = list[k];
	return kept;
}

void adverse_comm_start(struct adverse_engine *e, struct adverse_comm *c)
{
	struct rt_board_line *board = board_of(e, c);
	e->waiting.n = take_out(e->waiting.at, e->waiting.n, c);
	adverse_shadow(e, c);
	rt_board_line_begin(board, RT_LINE_WAITING, rt_comm_at(&c->item), 0);
	rt_engine_trace_comm(&e->base, &c->item, false, board);
	enum status status = rt_engine_start(&e->base, &c->item, &c->running);
	adverse_let_go(e);
	if (status != STATUS_OK) {
		vec_push(&e->running, c); /* its end frees it */
		rt_job_fail(e->base.job, status);
	} else if (c->running) {
		vec_push(&e->running, c);
		if (c->item.message)
			c->shown = rt_engine_message_show(&e->base, &c->item.p);
	} else {
		comm_arrive(e, c);
	}
}

void adverse_comm_land(struct adverse_engine *e, struct adverse_comm *c)
{
	e->arrived.n = take_out(e->arrived.at, e->arrived.n, c);
	adverse_land(e, c);
	adverse_let_go(e);
	comm_end(e, c);
}

void adverse_poll(struct adverse_engine *e, bool *moved)
{
	struct rt_transport *t = e->base.transport;
	bool any = false;
	uint32_t kept = 0;
	if (!t)
		return;
	enum status status = t->ops->progress(t, &any);
	for (uint32_t k = 0; k < e->running.n; k++) {
		struct adverse_comm *c = e->running.at[k];
		bool done = false;
		if (status == STATUS_OK)
			status = t->ops->test(t, c->running, &done);
		if (done)
			comm_arrive(e, c);
		else
			e->running.at[kept++] = c;
		any |= done;
	}
	e->running.n = kept;
	if (status != STATUS_OK)
		rt_job_fail(e->base.job, status);
	else if (any)
		rt_job_progress(e->base.job);
	*moved |= any;
}
