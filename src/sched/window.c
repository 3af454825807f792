/* window: see window.h. */
#include "sched/window.h"
#include "sched/window_contended.h"
#include "sched/window_memory.h"
#include <stdlib.h>
#include <string.h>

struct clocks {
	int64_t now, lane[SCHED_MAX_LANES];
};

static bool is_event(const struct sched_node *n)
{
	return n->kind == SCHED_COMM || n->comm != SCHED_NONE;
}

/* Returns the time when the lane is free again. */
static int64_t start_comm(const struct sched_problem *p, uint32_t x, struct clocks *c)
{
	int64_t *lane = &c->lane[p->node[x].lane];
	*lane = (c->now > *lane ? c->now : *lane) + p->node[x].time + p->launch;
	return *lane;
}

static struct window_comm *comm_at(const struct window *w, uint32_t node)
{
	return &w->comm[w->p->node[node].transfer];
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

/* Finds the clocks when the host reaches event e, which may be the end. */
static void clocks_at(const struct window *w, uint32_t e, struct clocks *c)
{
	if (e < w->event_n) {
		c->now = w->now[e];
		memcpy(c->lane, w->lane + (size_t)e * w->p->lane_n, sizeof *c->lane * w->p->lane_n);
	}
}

/* Returns true if the clocks c, when the host reaches event e, make the same times from there on as the present
 * clocks do. A lane that is free by then is as good as any other free lane. */
static bool is_as_before(const struct window *w, uint32_t e, const struct clocks *c)
{
	const int64_t *lane = w->lane + (size_t)e * w->p->lane_n;
	if (c->now != w->now[e])
		return false;
	for (uint32_t l = 0; l < w->p->lane_n; l++)
		if (c->lane[l] != lane[l] && (c->lane[l] > c->now || lane[l] > c->now))
			return false;
	return true;
}

void window_set_stall(struct window *w, uint32_t e, int64_t stall)
{
	w->stalls[e / WINDOW_BLOCK] += stall - w->stall[e];
	w->stalled += stall - w->stall[e];
	w->stall[e] = stall;
}

/* Marks a comm that is over at another time. Returns the number of its waits, which are to come. */
static uint32_t shift_comm(const struct window *w, struct window_comm *comm, bool shifted)
{
	comm->shifted = shifted ? w->shifting : 0;
	return shifted ? comm->waits : 0;
}

/* Computes the times from event e on. The order has not changed from event `same` on. */
static void set_times(struct window *w, uint32_t e, uint32_t same)
{
	const struct sched_problem *p = w->p;
	if (w->contended) {
		window_contended_set(w, e);
		return;
	}
	struct clocks c = {.now = w->host[w->event_n ? w->event[0] : p->n]};
	uint32_t changed = 0; /* waits to come for comms that are over at another time */
	w->shifting++;
	if (e)
		clocks_at(w, e, &c);
	for (; e < w->event_n; e++) {
		uint32_t k = w->event[e], x = w->order[k], comm = p->node[x].comm;
		bool before = e >= same && !changed && is_as_before(w, e, &c);
		w->now[e] = c.now;
		memcpy(w->lane + (size_t)e * p->lane_n, c.lane, sizeof *c.lane * p->lane_n);
		if (before) /* the lanes of a later event were in use, or free before this one */
			return;
		int64_t stall = 0;
		if (p->node[x].kind == SCHED_COMM) {
			struct window_comm *here = comm_at(w, x);
			int64_t over = start_comm(p, x, &c);
			changed += shift_comm(w, here, here->over != over);
			here->over = over;
		} else {
			const struct window_comm *of = comm_at(w, comm);
			stall = of->over > c.now ? of->over - c.now : 0;
			changed -= of->shifted == w->shifting;
		}
		window_set_stall(w, e, stall);
		c.now += stall + w->host[e + 1 < w->event_n ? w->event[e + 1] : p->n] - w->host[k];
	}
	w->runtime = end_of(w, &c);
}

/* Finds the times from each event to the end, in the present order. */
static void find_rests(struct window *w)
{
	const struct sched_problem *p = w->p;
	int64_t lane[SCHED_MAX_LANES] = {0}, rest = 0; /* lane: from the begin of its next comm */
	uint32_t end = p->n;
	for (uint32_t e = w->event_n; e-- > 0 && !w->contended; end = w->event[e]) {
		uint32_t x = w->order[w->event[e]];
		const struct sched_node *n = &p->node[x];
		struct window_comm *c = comm_at(w, n->kind == SCHED_COMM ? x : n->comm);
		rest += w->host[end] - w->host[w->event[e]];
		if (n->kind == SCHED_COMM) {
			int64_t after = c->behind > lane[n->lane] ? c->behind : lane[n->lane];
			c->rest = lane[n->lane] = n->time + p->launch + after;
			c->behind = 0;
			rest = c->rest > rest ? c->rest : rest;
		} else {
			c->behind = rest > c->behind ? rest : c->behind;
		}
		w->rest[e] = rest;
	}
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
		for (uint32_t i = p->users.at[s]; i < p->users.end[s]; i++)
			if (w->place[p->users.item[i]] > w->last[s])
				w->last[s] = w->place[p->users.item[i]];
	}
	w->live[0] = p->fixed;
	window_memory_set(w, 0, p->n);
	memset(w->stall, 0, sizeof *w->stall * w->event_n);
	memset(w->stalls, 0, sizeof *w->stalls * (w->event_n / WINDOW_BLOCK + 1));
	w->stalled = 0;
	set_times(w, 0, w->event_n);
	find_rests(w);
}

/* Counts the waits for each comm, and the bytes that each node makes. */
static void read_nodes(struct window *w)
{
	const struct sched_problem *p = w->p;
	for (uint32_t i = 0; i < p->transfer_n; i++)
		w->comm[i].waits = 0;
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = w->order[k];
		if (sched_awaited(&p->node[x]) != SCHED_NONE)
			comm_at(w, p->node[x].comm)->waits++;
		w->made[x] = sched_made(p, x);
	}
}

void window_read(struct window *w)
{
	read_nodes(w);
	window_reset(w);
}

void window_open(struct window *w, const struct sched_problem *p, int64_t limit, uint32_t *order)
{
	size_t n = (size_t)p->numbers + 1, storages = (size_t)p->storage_n + 1, events = 0;
	for (uint32_t x = 0; x < p->numbers; x++)
		events += is_event(&p->node[x]);
	*w = (struct window){.p = p, .limit = limit, .order = order};
	w->place = mem_alloc(sizeof *w->place * n);
	w->event = mem_alloc(sizeof *w->event * (events + 1));
	w->event_before = mem_alloc(sizeof *w->event_before * n);
	w->stall = mem_alloc(sizeof *w->stall * (events + 1));
	w->stalls = mem_alloc(sizeof *w->stalls * (events / WINDOW_BLOCK + 1));
	w->list[0] = mem_alloc(sizeof **w->list * n);
	w->list[1] = mem_alloc(sizeof **w->list * n);
	w->draft = mem_alloc(sizeof *w->draft * n);
	w->host = mem_alloc(sizeof *w->host * n);
	w->live = mem_alloc(sizeof *w->live * n);
	w->high = mem_alloc(sizeof *w->high * (n / WINDOW_BLOCK + 1));
	w->made = mem_alloc(sizeof *w->made * n);
	w->change = mem_zalloc(sizeof *w->change * n);
	w->changed = mem_zalloc(sizeof *w->changed * (n / WINDOW_BLOCK + 1));
	w->now = mem_alloc(sizeof *w->now * (events + 1));
	w->rest = mem_alloc(sizeof *w->rest * (events + 1));
	w->lane = mem_alloc(sizeof *w->lane * (events + 1) * (p->lane_n + 1));
	w->comm = mem_zalloc(sizeof *w->comm * ((size_t)p->transfer_n + 1));
	w->last = mem_alloc(sizeof *w->last * storages);
	w->marked = mem_zalloc(sizeof *w->marked * n);
	w->met = mem_zalloc(sizeof *w->met * storages);
	if (p->contention_n)
		w->contended = window_contended_new(p, (uint32_t)events);
	window_read(w);
}

bool window_fits(const struct window *w)
{
	for (uint32_t i = 0; i * WINDOW_BLOCK < w->p->n; i++)
		if (w->high[i] > w->limit)
			return false;
	return w->p->fixed <= w->limit;
}

void window_close(struct window *w)
{
	free(w->place);
	free(w->event);
	free(w->event_before);
	free(w->stall);
	free(w->stalls);
	free(w->draft);
	free(w->host);
	free(w->live);
	free(w->high);
	free(w->made);
	free(w->list[0]);
	free(w->list[1]);
	free(w->change);
	free(w->changed);
	free(w->now);
	free(w->rest);
	free(w->lane);
	free(w->comm);
	free(w->last);
	free(w->marked);
	free(w->met);
	window_contended_free(w->contended);
}

/* ---- the drafted order */

/* Lets the nodes of places a … b - 1 that do not move, which are fewer, move the other way instead. */
static void move_others(struct window *w, uint32_t a, uint32_t b)
{
	uint32_t *others = w->list[1], n = 0;
	w->marking++;
	for (uint32_t k = a, m = 0; m <= w->moved_n; k++, m++)
		for (uint32_t end = m < w->moved_n ? w->moved[m] : b; k < end; k++) {
			others[n++] = k;
			w->marked[w->order[k]] = w->marking;
		}
	w->moved = others;
	w->moved_n = n;
	w->first = !w->first;
}

/* Drafts the places a … b - 1 with the n nodes of these places moved first or last. */
static bool draft_moves(struct window *w, uint32_t a, uint32_t b, uint32_t *moved, uint32_t n, bool first)
{
	w->moved = moved;
	w->moved_n = n;
	w->first = first;
	if (n > (b - a) / 2)
		move_others(w, a, b);
	return w->moved_n;
}

bool window_pull(struct window *w, uint32_t node, uint32_t to)
{
	const struct sched_lists *pred = &w->p->pred;
	uint32_t end = w->place[node] + 1, *moved = w->list[0] + (end - to);
	w->marked[node] = ++w->marking;
	for (uint32_t k = end; k-- > to;) {
		uint32_t x = w->order[k];
		if (w->marked[x] != w->marking)
			continue;
		*--moved = k;
		for (uint32_t i = pred->at[x]; i < pred->end[x]; i++)
			if (w->place[pred->item[i]] >= to)
				w->marked[pred->item[i]] = w->marking;
	}
	return draft_moves(w, to, end, moved, (uint32_t)(w->list[0] + (end - to) - moved), true);
}

bool window_push(struct window *w, uint32_t node, uint32_t to)
{
	const struct sched_lists *succ = &w->p->succ;
	uint32_t begin = w->place[node], *moved = w->list[0], n = 0;
	w->marked[node] = ++w->marking;
	for (uint32_t k = begin; k <= to; k++) {
		uint32_t x = w->order[k];
		if (w->marked[x] != w->marking)
			continue;
		moved[n++] = k;
		/* marks behind `to` count for nothing */
		for (uint32_t i = succ->at[x]; i < succ->end[x]; i++)
			w->marked[succ->item[i]] = w->marking;
	}
	return draft_moves(w, begin, to + 1, moved, n, false);
}

const uint32_t *window_draft(struct window *w, uint32_t a, uint32_t b)
{
	uint32_t moved = w->first ? 0 : b - a - w->moved_n, stays = w->first ? w->moved_n : 0, m = 0;
	for (uint32_t k = a; k < b; k++) {
		bool moves = m < w->moved_n && w->moved[m] == k;
		w->draft[moves ? moved++ : stays++] = w->order[k];
		m += moves;
	}
	return w->draft;
}

/* Returns true if the stretch, walked from its end, meets a storage for the first time and the storage is
 * freed there. */
static bool dies(struct window *w, uint32_t storage, uint32_t a, uint32_t b)
{
	if (w->last[storage] < a || w->last[storage] >= b || w->met[storage] == w->meeting)
		return false;
	w->met[storage] = w->meeting;
	return true;
}

/* The times of a draft. */
struct run {
	struct clocks c;
	uint32_t a;       /* place of its first node */
	uint32_t changed; /* waits to come for comms that are over at another time */
	int64_t slack;    /* ns for which waits may still hold the host; negative: it ends too late */
};

/* Starts a comm, or waits for one. Comms from place a on are over as drafted. */
static void run_event(struct window *w, struct run *r, uint32_t x)
{
	const struct sched_node *n = &w->p->node[x];
	if (n->kind == SCHED_COMM) {
		struct window_comm *here = comm_at(w, x);
		here->drafted = start_comm(w->p, x, &r->c);
		r->changed += shift_comm(w, here, here->drafted != here->over);
		return;
	}
	const struct window_comm *of = comm_at(w, n->comm);
	r->changed -= of->shifted == w->shifting;
	int64_t over = w->place[n->comm] < r->a ? of->over : of->drafted;
	if (over > r->c.now) {
		r->slack -= over - r->c.now;
		r->c.now = over;
	}
}

static void run_moved(struct window *w, struct run *r)
{
	for (uint32_t m = 0; m < w->moved_n && r->slack >= 0; m++) {
		uint32_t x = w->order[w->moved[m]];
		if (is_event(&w->p->node[x]))
			run_event(w, r, x);
		r->c.now += sched_host_time(w->p, x);
	}
}

/* Runs the nodes at places a … b - 1 that do not move. */
static void run_others(struct window *w, struct run *r, uint32_t a, uint32_t b)
{
	uint32_t last = w->event_before[b], m = 0, k = a;
	for (uint32_t e = w->event_before[a]; e <= last && r->slack >= 0; e++) {
		uint32_t end = e < last ? w->event[e] : b;
		r->c.now += w->host[end] - w->host[k];
		for (; m < w->moved_n && w->moved[m] < end; m++)
			r->c.now -= sched_host_time(w->p, w->order[w->moved[m]]);
		k = end;
		if (e < last && w->marked[w->order[k]] != w->marking)
			run_event(w, r, w->order[k]);
	}
}

/* Returns the least time from place k to the end. */
static int64_t rest_at(const struct window *w, uint32_t k)
{
	uint32_t e = w->event_before[k];
	return e < w->event_n ? w->host[w->event[e]] - w->host[k] + w->rest[e]
	                      : w->host[w->p->n] - w->host[k];
}

/* Returns true if x, event e behind the stretch, lets the draft end above `most`. */
static bool is_too_late(const struct window *w, const struct run *r, uint32_t e, uint32_t x, int64_t most)
{
	const struct sched_node *n = &w->p->node[x];
	return r->c.now + w->rest[e] > most ||
	       (n->kind == SCHED_COMM && r->c.lane[n->lane] + comm_at(w, x)->rest > most);
}

/* Returns the runtime of the draft if comms and work do not slow each other; INT64_MAX if it is above `most`. */
static int64_t drafted_runtime(struct window *w, uint32_t a, uint32_t b, int64_t most)
{
	const struct sched_problem *p = w->p;
	struct run r = {.a = a};
	uint32_t e = w->event_before[a];
	if (e == w->event_n)
		return w->runtime;
	w->shifting++;
	clocks_at(w, e, &r.c);
	r.c.now -= w->host[w->event[e]] - w->host[a];
	r.slack = most - (r.c.now + w->host[b] - w->host[a] + rest_at(w, b));
	if (w->first)
		run_moved(w, &r);
	run_others(w, &r, a, b);
	if (!w->first)
		run_moved(w, &r);
	if (r.slack < 0)
		return INT64_MAX;
	uint32_t k = b;
	for (e = w->event_before[b]; e < w->event_n; e++) {
		r.c.now += w->host[w->event[e]] - w->host[k];
		k = w->event[e];
		if (!r.changed && is_as_before(w, e, &r.c))
			return w->runtime;
		if (is_too_late(w, &r, e, w->order[k], most))
			return INT64_MAX;
		run_event(w, &r, w->order[k]);
	}
	r.c.now += w->host[p->n] - w->host[k];
	return end_of(w, &r.c);
}

/* The time without contention comes first: it takes less work than the memory, and refuses more drafts. */
int64_t window_runtime(struct window *w, uint32_t a, uint32_t b, int64_t most)
{
	if (w->contended) {
		if (!window_memory_fits(w, a, b))
			return INT64_MAX;
		window_draft(w, a, b);
		return window_contended_runtime(w, a, b, most);
	}
	int64_t runtime = drafted_runtime(w, a, b, most);
	return runtime <= most && window_memory_fits(w, a, b) ? runtime : INT64_MAX;
}

void window_accept(struct window *w, uint32_t a, uint32_t b)
{
	const struct sched_problem *p = w->p;
	memcpy(w->order + a, window_draft(w, a, b), sizeof *w->order * (b - a));
	set_places(w, a, b);
	w->meeting++;
	for (uint32_t k = b; k-- > a;)
		for (uint32_t x = w->order[k], i = p->uses.at[x]; i < p->uses.end[x]; i++)
			if (dies(w, p->uses.item[i], a, b))
				w->last[p->uses.item[i]] = k;
	window_memory_set(w, a, b);
	uint32_t e = w->event_before[a];
	set_times(w, e ? e - 1 : 0,
	          w->event_before[b]); /* the host's work after the event before has changed */
	find_rests(w);
}
