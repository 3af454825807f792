/* queue_issue_comm: handles communications of the engine of a device that works on its own.
 *
 *     submitted ──its stream reaches it──> early ──earlier ones of its team have begun──> unissued:
 *     with the transport ──the device has it──> issued: streams can wait for its event ──> done
 *
 * A group's ticket has an event of each member. */
#include "rt/bell.h"
#include "rt/queue_issue.h"
#include <stdlib.h>
#include <string.h>

/* ---- tickets */

struct awaited *issue_awaited(struct issue_engine *e, struct rt_ticket t)
{
	while (e->awaited.n <= t.slot)
		vec_push(&e->awaited, (struct awaited){0});
	return &e->awaited.at[t.slot];
}

void issue_await_ticket(struct issue_engine *e, struct stream *s, struct rt_ticket t, struct rt_origin at)
{
	const struct awaited *a = issue_awaited(e, t);
	issue_enter_graph(e, s, at);
	issue_trace_wait(e, s, t, at);
	for (uint32_t k = 0; k < a->event.n; k++)
		issue_failed(e, e->device->await(e->base.device, s->device, a->event.at[k], at));
}

void issue_ticket_end(struct issue_engine *e, struct rt_ticket t)
{
	struct awaited *a = issue_awaited(e, t);
	while (a->event.n)
		issue_release(e, a->event.at[--a->event.n]);
	while (!rt_engine_ticket_end(&e->base, t))
		;
	rt_engine_slot_free(&e->base, t.slot);
	rt_job_progress(e->base.job);
}

void issue_retire(struct issue_engine *e)
{
	while (e->oldest < e->issued.n && !rt_engine_failed(&e->base)) {
		struct rt_ticket t = e->issued.at[e->oldest];
		struct awaited *a = issue_awaited(e, t);
		bool over = true;
		while (a->event.n && over) {
			void *last = a->event.at[a->event.n - 1];
			if (issue_failed(e, e->device->is_over(e->base.device, last, &over)) || !over)
				break;
			issue_release(e, last);
			a->event.n--;
		}
		if (a->event.n)
			break;
		issue_ticket_end(e, t);
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

/* ---- beginning */

struct team *issue_team(struct issue_engine *e, int id)
{
	while (e->team.n <= (uint32_t)id)
		vec_push(&e->team, (struct team){0});
	return &e->team.at[id];
}

struct comm *issue_comm_new(struct issue_engine *e, struct rt_comm_item *item, bool more)
{
	struct comm *c = e->free_comms.n ? e->free_comms.at[--e->free_comms.n] : mem_zalloc(sizeof *c);
	rt_comm_take(&c->item, item);
	c->request = NULL;
	issue_awaited(e, c->item.ticket)->unissued++;
	c->opens = more && !e->in_group;
	c->closes = !more && e->in_group;
	e->in_group = more;
	c->turn = c->item.message ? 0 : issue_team(e, c->item.c.team)->given++;
	return c;
}

/* Fetches the lists of counts from the device's memory, for which the host has to wait. The caller frees
 * them. */
static int64_t *late_counts(struct issue_engine *e, struct rt_collective *c)
{
	struct rt_device *d = e->base.device;
	struct rt_transport *t = e->base.transport;
	size_t n = (size_t)t->team[c->team].n;
	int64_t *list = mem_alloc(2 * n * sizeof *list);
	struct rt_watch watch = {0};
	int64_t since = rt_clock_us();
	for (bool over = false, moved = false; !over && !rt_engine_failed(&e->base);) {
		uint32_t seen = issue_seen(e);
		if (issue_failed(e, t->ops->progress(t, &moved)) ||
		    issue_failed(e, e->device->is_over(d, c->after, &over)) || over)
			break;
		if (rt_watch_expired(&watch, e->base.job))
			rt_engine_stuck(&e->base);
		issue_pause(e, rt_clock_us() - since, seen);
	}
	if (rt_engine_failed(&e->base) ||
	    issue_failed(e, e->device->download(d, list, c->late_counts, n * sizeof *list)) ||
	    issue_failed(e, e->device->download(d, list + n, c->late_send_counts, n * sizeof *list))) {
		free(list);
		return NULL;
	}
	c->late_counts = list;
	c->late_send_counts = list + n;
	return list;
}

/* Gives a communication to the transport. */
static void begin_issue_comm(struct issue_engine *e, struct comm *c, void *after)
{
	struct rt_transport *t = e->base.transport;
	struct rt_origin at = rt_comm_at(&c->item);
	int64_t *late = NULL;
	*(c->item.message ? &c->item.p.after : &c->item.c.after) = after;
	if (!c->item.message && c->item.c.late_counts)
		late = late_counts(e, &c->item.c);
	if (c->opens && t->ops->group_begin)
		issue_failed(e, t->ops->group_begin(t));
	if (!rt_engine_failed(&e->base) && !issue_failed(e, rt_engine_start(&e->base, &c->item, &c->request)))
		vec_push(&e->unissued, c);
	else
		vec_push(&e->free_comms, c);
	if (c->closes && t->ops->group_end && !rt_engine_failed(&e->base))
		issue_failed(e, t->ops->group_end(t, at));
	free(late);
	issue_release(e, after);
}

/* Begins the collectives of a team for which no earlier one is left. */
static void take_turns(struct issue_engine *e, int id)
{
	struct team *t = issue_team(e, id);
	for (uint32_t k = 0; k < t->early.n && !rt_engine_failed(&e->base);) {
		struct comm *c = t->early.at[k];
		if (c->turn != t->started) {
			k++;
			continue;
		}
		t->early.at[k] = t->early.at[--t->early.n];
		t->started++;
		begin_issue_comm(e, c, c->after);
		k = 0;
	}
}

void issue_comm_start(struct issue_engine *e, struct stream *s, struct comm *c)
{
	void *after = e->base.trace ? issue_trace_begin(e, s, rt_comm_at(&c->item))
	                            : issue_record(e, s, rt_comm_at(&c->item));
	c->after = after;
	rt_board_line_begin(s->base.board, RT_LINE_RUNNING, rt_comm_at(&c->item), 0);
	if (!after) {
		vec_push(&e->free_comms, c);
	} else if (c->item.message) {
		begin_issue_comm(e, c, after);
	} else {
		vec_push(&issue_team(e, c->item.c.team)->early, c);
		take_turns(e, c->item.c.team);
	}
}

/* ---- polling */

static void issued_all(struct issue_engine *e, struct rt_ticket t)
{
	struct rt_slot *slot = rt_engine_slot(&e->base, t.slot);
	for (struct stream *s = (struct stream *)slot->blocked, *next; s; s = next) {
		next = s->next;
		issue_unblock(e, s);
	}
	slot->blocked = NULL;
	vec_push(&e->issued, t);
}

/* Asks the transport about communication k of those that it has. */
static void look_at(struct issue_engine *e, uint32_t k, bool *moved)
{
	struct rt_transport *t = e->base.transport;
	struct comm *c = e->unissued.at[k];
	void *event = NULL;
	if (issue_failed(e, t->ops->issued(t, c->request, &event)) || !event)
		return;
	struct awaited *a = issue_awaited(e, c->item.ticket);
	*moved = true;
	vec_push(&a->event, event);
	issue_trace_comm(e, c, event);
	if (--a->unissued == 0)
		issued_all(e, c->item.ticket);
	e->unissued.at[k] = NULL;
	vec_push(&e->free_comms, c);
}

void issue_poll(struct issue_engine *e, bool *moved)
{
	struct rt_transport *t = e->base.transport;
	uint32_t left = 0;
	if (!t || issue_failed(e, t->ops->progress(t, moved)))
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

/* ---- the end */

void issue_comm_free(struct comm *c)
{
	if (c)
		free(c->item.blocks);
	free(c);
}

void issue_comms_free(struct issue_engine *e)
{
	for (uint32_t k = 0; k < e->unissued.n; k++)
		issue_comm_free(e->unissued.at[k]);
	for (uint32_t k = 0; k < e->team.n; k++) {
		struct team *t = &e->team.at[k];
		for (uint32_t i = 0; i < t->early.n; i++) {
			e->device->release(e->base.device, t->early.at[i]->after);
			issue_comm_free(t->early.at[i]);
		}
		vec_free(&t->early);
	}
	for (uint32_t k = 0; k < e->free_comms.n; k++)
		issue_comm_free(e->free_comms.at[k]);
	for (uint32_t k = 0; k < e->awaited.n; k++) {
		struct awaited *a = &e->awaited.at[k];
		for (uint32_t i = 0; i < a->event.n; i++)
			e->device->release(e->base.device, a->event.at[i]);
		vec_free(&a->event);
	}
	vec_free(&e->team);
	vec_free(&e->awaited);
	vec_free(&e->unissued);
	vec_free(&e->free_comms);
	vec_free(&e->issued);
}
