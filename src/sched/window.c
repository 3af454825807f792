/* window: see window.h. */
#include "sched/window.h"
#include <stdlib.h>
#include <string.h>

struct clocks {
	int64_t now, lane[SCHED_MAX_LANES];
};

static bool is_event(const struct sched_node *n)
{
	return n->kind == SCHED_COMM || n->comm != SCHED_NONE;
}

static void start_comm(const struct sched_problem *p, uint32_t x, struct clocks *c, int64_t *over)
{
	int64_t *lane = &c->lane[p->node[x].lane];
	*lane = (c->now > *lane ? c->now : *lane) + p->node[x].time + p->launch;
	over[x] = *lane;
}

static int64_t end_of(const struct window *w, const struct clocks *c)
{
	int64_t end = c->now;
	for (uint32_t l = 0; l < w->p->lane_n; l++)
		end = c->lane[l] > end ? c->lane[l] : end;
	return end;
}

/* ---- the present order */

/* Sets the places from … to - 1 again. The number of events before `from` has not changed. */
static void set_places(struct window *w, uint32_t from, uint32_t to)
{
	uint32_t e = w->event_before[from];
	for (uint32_t k = from; k < to; k++) {
		uint32_t x = w->order[k];
		w->place[x] = k;
		w->event_before[k] = e;
		w->host[k + 1] = w->host[k] + sched_host_time(w->p, x);
		if (is_event(&w->p->node[x]))
			w->event[e++] = k;
	}
	w->event_before[to] = e;
}

static void set_memory(struct window *w, uint32_t from, uint32_t to)
{
	const struct sched_problem *p = w->p;
	for (uint32_t k = from; k < to; k++) {
		uint32_t x = w->order[k];
		int64_t live = w->live[k];
		for (uint32_t i = p->makes.at[x]; i < p->makes.at[x + 1]; i++)
			live += p->storage[p->makes.item[i]].bytes;
		for (uint32_t i = p->uses.at[x]; i < p->uses.at[x + 1]; i++)
			if (w->last[p->uses.item[i]] == k)
				live -= p->storage[p->uses.item[i]].bytes;
		w->live[k + 1] = live;
	}
}

/* Finds the clocks when the host reaches event e, which may be the end. */
static void clocks_at(const struct window *w, uint32_t e, struct clocks *c)
{
	if (e < w->event_n) {
		c->now = w->now[e];
		memcpy(c->lane, w->lane + (size_t)e * w->p->lane_n, sizeof *c->lane * w->p->lane_n);
	}
}

/* Computes the times from event e on. */
static void set_times(struct window *w, uint32_t e)
{
	const struct sched_problem *p = w->p;
	struct clocks c = {.now = w->host[w->event_n ? w->event[0] : p->n]};
	if (e)
		clocks_at(w, e, &c);
	for (; e < w->event_n; e++) {
		uint32_t k = w->event[e], x = w->order[k];
		w->now[e] = c.now;
		memcpy(w->lane + (size_t)e * p->lane_n, c.lane, sizeof *c.lane * p->lane_n);
		w->stall[e] = 0;
		if (p->node[x].kind == SCHED_COMM) {
			start_comm(p, x, &c, w->over);
		} else if (w->over[p->node[x].comm] > c.now) {
			w->stall[e] = w->over[p->node[x].comm] - c.now;
			c.now = w->over[p->node[x].comm];
		}
		c.now += w->host[e + 1 < w->event_n ? w->event[e + 1] : p->n] - w->host[k];
	}
	w->runtime = end_of(w, &c);
}

void window_reset(struct window *w)
{
	const struct sched_problem *p = w->p;
	w->host[0] = 0;
	w->event_before[0] = 0;
	set_places(w, 0, p->n);
	w->event_n = w->event_before[p->n];
	for (uint32_t s = 0; s < p->storage_n; s++) {
		w->last[s] = 0;
		for (uint32_t i = p->users.at[s]; i < p->users.at[s + 1]; i++)
			if (w->place[p->users.item[i]] > w->last[s])
				w->last[s] = w->place[p->users.item[i]];
	}
	w->live[0] = p->fixed;
	set_memory(w, 0, p->n);
	set_times(w, 0);
}

void window_open(struct window *w, const struct sched_problem *p, int64_t limit, uint32_t *order)
{
	size_t n = (size_t)p->n + 1, storages = (size_t)p->storage_n + 1, events = 0;
	for (uint32_t x = 0; x < p->n; x++)
		events += is_event(&p->node[x]);
	*w = (struct window){.p = p, .limit = limit, .order = order};
	w->place = mem_alloc(sizeof *w->place * n);
	w->event = mem_alloc(sizeof *w->event * (events + 1));
	w->event_before = mem_alloc(sizeof *w->event_before * n);
	w->stall = mem_alloc(sizeof *w->stall * (events + 1));
	w->draft = mem_alloc(sizeof *w->draft * n);
	w->host = mem_alloc(sizeof *w->host * n);
	w->live = mem_alloc(sizeof *w->live * n);
	w->now = mem_alloc(sizeof *w->now * (events + 1));
	w->lane = mem_alloc(sizeof *w->lane * (events + 1) * (p->lane_n + 1));
	w->over = mem_zalloc(sizeof *w->over * n);
	w->over_drafted = mem_zalloc(sizeof *w->over_drafted * n);
	w->last = mem_alloc(sizeof *w->last * storages);
	w->marked = mem_zalloc(sizeof *w->marked * n);
	w->met = mem_zalloc(sizeof *w->met * storages);
	window_reset(w);
}

void window_close(struct window *w)
{
	free(w->place);
	free(w->event);
	free(w->event_before);
	free(w->stall);
	free(w->draft);
	free(w->host);
	free(w->live);
	free(w->now);
	free(w->lane);
	free(w->over);
	free(w->over_drafted);
	free(w->last);
	free(w->marked);
	free(w->met);
}

/* ---- the drafted order */

/* Drafts the places a … b - 1 with the `marked` marked nodes moved to the front or to the end. */
static bool draft_marked(struct window *w, uint32_t a, uint32_t b, uint32_t marked, bool first)
{
	if (marked == b - a)
		return false;
	uint32_t at[2] = {first ? marked : 0, first ? 0 : b - a - marked};
	for (uint32_t k = a; k < b; k++) {
		uint32_t x = w->order[k];
		w->draft[at[w->marked[x] == w->marking]++] = x;
	}
	return true;
}

bool window_pull(struct window *w, uint32_t node, uint32_t to)
{
	const struct sched_lists *pred = &w->p->pred;
	uint32_t end = w->place[node] + 1, marked = 0;
	w->marked[node] = ++w->marking;
	for (uint32_t k = end; k-- > to;) {
		uint32_t x = w->order[k];
		if (w->marked[x] != w->marking)
			continue;
		marked++;
		for (uint32_t i = pred->at[x]; i < pred->at[x + 1]; i++)
			if (w->place[pred->item[i]] >= to)
				w->marked[pred->item[i]] = w->marking;
	}
	return draft_marked(w, to, end, marked, true);
}

bool window_push(struct window *w, uint32_t node, uint32_t to)
{
	const struct sched_lists *succ = &w->p->succ;
	uint32_t begin = w->place[node], marked = 0;
	w->marked[node] = ++w->marking;
	for (uint32_t k = begin; k <= to; k++) {
		uint32_t x = w->order[k];
		if (w->marked[x] != w->marking)
			continue;
		marked++;
		for (uint32_t i = succ->at[x]; i < succ->at[x + 1]; i++)
			if (w->place[succ->item[i]] <= to)
				w->marked[succ->item[i]] = w->marking;
	}
	return draft_marked(w, begin, to + 1, marked, false);
}

/* Returns true if the draft, walked from its end, meets a storage for the first time and the storage is
 * freed in the stretch. */
static bool dies(struct window *w, uint32_t storage, uint32_t a, uint32_t b)
{
	if (w->last[storage] < a || w->last[storage] >= b || w->met[storage] == w->meeting)
		return false;
	w->met[storage] = w->meeting;
	return true;
}

/* Walks backwards, from the storages that are live after the stretch. */
static bool within_limit(struct window *w, uint32_t a, uint32_t b)
{
	const struct sched_problem *p = w->p;
	int64_t live = w->live[b];
	w->meeting++;
	w->raised = 0;
	for (uint32_t k = b - a; k-- > 0;) {
		uint32_t x = w->draft[k];
		for (uint32_t i = p->uses.at[x]; i < p->uses.at[x + 1]; i++)
			if (dies(w, p->uses.item[i], a, b))
				live += p->storage[p->uses.item[i]].bytes;
		if (live > w->limit)
			return false;
		for (uint32_t i = p->makes.at[x]; i < p->makes.at[x + 1]; i++)
			live -= p->storage[p->makes.item[i]].bytes;
		w->raised += live - w->live[a + k];
	}
	return true;
}

/* Returns the time when the lane of a comm is free again; comms from place a on are as drafted. */
static int64_t over_of(const struct window *w, uint32_t comm, uint32_t a)
{
	return w->place[comm] < a ? w->over[comm] : w->over_drafted[comm];
}

int64_t window_runtime(struct window *w, uint32_t a, uint32_t b)
{
	const struct sched_problem *p = w->p;
	uint32_t e = w->event_before[a];
	if (!within_limit(w, a, b))
		return INT64_MAX;
	if (e == w->event_n)
		return w->runtime;
	struct clocks c = {0};
	clocks_at(w, e, &c);
	c.now -= w->host[w->event[e]] - w->host[a];
	for (uint32_t k = 0; k < b - a; k++) {
		uint32_t x = w->draft[k], comm = p->node[x].comm;
		if (p->node[x].kind == SCHED_COMM)
			start_comm(p, x, &c, w->over_drafted);
		else if (comm != SCHED_NONE && over_of(w, comm, a) > c.now)
			c.now = over_of(w, comm, a);
		c.now += sched_host_time(p, x);
	}
	uint32_t k = b;
	for (e = w->event_before[b]; e < w->event_n; e++) {
		c.now += w->host[w->event[e]] - w->host[k];
		k = w->event[e];
		uint32_t x = w->order[k];
		if (p->node[x].kind == SCHED_COMM)
			start_comm(p, x, &c, w->over_drafted);
		else if (over_of(w, p->node[x].comm, a) > c.now)
			c.now = over_of(w, p->node[x].comm, a);
	}
	c.now += w->host[p->n] - w->host[k];
	return end_of(w, &c);
}

void window_accept(struct window *w, uint32_t a, uint32_t b)
{
	const struct sched_problem *p = w->p;
	memcpy(w->order + a, w->draft, sizeof *w->order * (b - a));
	set_places(w, a, b);
	w->meeting++;
	for (uint32_t k = b; k-- > a;)
		for (uint32_t x = w->order[k], i = p->uses.at[x]; i < p->uses.at[x + 1]; i++)
			if (dies(w, p->uses.item[i], a, b))
				w->last[p->uses.item[i]] = k;
	set_memory(w, a, b);
	uint32_t e = w->event_before[a];
	set_times(w, e ? e - 1 : 0); /* the host's work after the event before has changed */
}
