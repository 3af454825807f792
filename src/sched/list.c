/* list: see list.h. A ready node is in one of these queues. Nodes that have been issued since are
 * skipped when they are taken out:
 *
 *     near      in the window, by tail       far        ahead of the window, in the original order
 *                                            far_idle   likewise, nodes that take no time
 *     waits     on running comms, as near    far_waits  likewise, as far
 *     arriving  waits, also late ones, by the end of their comm
 *     late      nodes that need sinks
 *     inner     comms                        sink       comms, by lane */
#include "sched/list.h"
#include "base/vec.h"
#include "sched/headroom.h"
#include "sched/heap.h"
#include "sched/role.h"
#include "sched/sched_source.h"
#include <stdlib.h>
#include <string.h>

enum {
	MOST_REFUSED = 64, /* nodes tried in one step although memory refuses them */
	MOST_FAR = 128,    /* nodes ahead of the window tried to fill a stall */
	MOST_LATE = 64,    /* late nodes tried to fill a stall */
};

struct nodes {
	uint32_t *at;
	uint32_t n, cap;
	uint32_t first; /* first entry of the queue that is left */
};

struct sched_list_base {
	struct sched_problem p; /* the caller's may move */
	const uint8_t *role;
	bool once;            /* see sched_list_read */
	struct headroom room; /* while nothing is issued */
	uint32_t *needs;      /* by node: number of nodes that it needs */
	int64_t *tail;        /* by node */
	int64_t *when;        /* by node: host time before it in the original order; at [n] the total */
	bool *counts;         /* by node: it takes time, or a node that needs it does */
	int64_t host, lane[SCHED_MAX_LANES]; /* sums over the nodes that count */
	struct sched_sources source;
};

struct list {
	const struct sched_problem *p;
	const struct sched_list_options *o;
	const uint8_t *role;
	const struct sched_list_base *base;
	struct arena *arena;
	struct headroom room;
	uint32_t *order, n; /* issued */
	uint32_t *left;     /* by node: the nodes that it needs and that are not issued */
	int64_t now, lane[SCHED_MAX_LANES];
	int64_t *over; /* by comm: time when its lane is free again; by wait: minus this time of its comm */
	int64_t host_left, lane_left[SCHED_MAX_LANES]; /* sums over the nodes that count and are not issued */
	uint32_t first;                                /* the first node that is not issued */
	uint32_t front; /* the first node that is not issued and is neither a sink nor late */
	struct heap near, far, far_idle, waits, far_waits, arriving;
	struct nodes inner, late, sink[SCHED_MAX_LANES];
	uint32_t next_source[SCHED_MAX_LANES];
	struct sched_list_same same;
	struct nodes refused, needed; /* scratch */
	uint32_t *met, meeting;       /* by node: the last round of find_needed that met it */
};

/* Returns true if ns are at most an option, and narrows the values of the option that make no difference. */
static bool is_at_most(int64_t ns, int64_t option, struct sched_range *same)
{
	bool most = ns <= option;
	if (most)
		same->from = ns > same->from ? ns : same->from;
	else
		same->to = ns - 1 < same->to ? ns - 1 : same->to;
	return most;
}

static bool in_window(struct list *l, uint32_t x)
{
	return is_at_most(l->base->when[x] - l->base->when[l->front], l->o->window, &l->same.window);
}

/* Issues x in the memory tracker, if that stays within the limit. */
static bool admit(struct list *l, uint32_t x)
{
	if (headroom_now_with(&l->room, x) > l->o->limit)
		return false;
	headroom_issue(&l->room, x);
	if (headroom_fits(&l->room, l->o->limit))
		return true;
	headroom_undo(&l->room);
	return false;
}

static void add_ready(struct list *l, uint32_t x)
{
	const struct sched_node *n = &l->p->node[x];
	if (n->kind == SCHED_COMM) {
		if (l->role[x] == SCHED_SINK)
			vec_push(&l->sink[n->lane], x);
		else if (l->role[x] == SCHED_INNER)
			vec_push(&l->inner, x);
	} else if (n->comm != SCHED_NONE && l->over[n->comm] > l->now) {
		l->over[x] = -l->over[n->comm];
		heap_push(&l->arriving, x);
		if (l->role[x] != SCHED_LATE)
			heap_push(in_window(l, x) ? &l->waits : &l->far_waits, x);
	} else if (l->role[x] == SCHED_LATE) {
		vec_push(&l->late, x);
	} else {
		heap_push(in_window(l, x)              ? &l->near
		          : n->time > 0 || !l->o->deep ? &l->far
		                                       : &l->far_idle,
		          x);
	}
}

/* Moves nodes that the window has reached from `far` to `near`. */
static void bring_near(struct list *l, struct heap *far, struct heap *near)
{
	while (far->n && (l->room.issued[far->at[0]] || in_window(l, far->at[0])))
		heap_push(near, heap_pop(far));
}

static void advance_front(struct list *l)
{
	const struct sched_problem *p = l->p;
	uint32_t before = l->front;
	while (l->first < p->n && l->room.issued[l->first])
		l->first++;
	while (l->front < p->n && (l->room.issued[l->front] || l->role[l->front] == SCHED_LATE ||
	                           l->role[l->front] == SCHED_SINK))
		l->front++;
	if (l->front == before)
		return;
	bring_near(l, &l->far, &l->near);
	bring_near(l, &l->far_idle, &l->near);
	bring_near(l, &l->far_waits, &l->waits);
}

/* Issues x on the host. Memory has admitted it. */
static void issue_node(struct list *l, uint32_t x)
{
	const struct sched_problem *p = l->p;
	const struct sched_node *n = &p->node[x];
	headroom_keep(&l->room);
	l->order[l->n++] = x;
	l->host_left -= l->base->counts[x] ? sched_host_time(p, x) : 0;
	if (n->kind == SCHED_COMM) {
		l->lane_left[n->lane] -= n->time > 0 ? n->time + p->launch : 0;
		int64_t begin = l->now > l->lane[n->lane] ? l->now : l->lane[n->lane];
		l->over[x] = l->lane[n->lane] = begin + n->time + p->launch;
	} else if (n->comm != SCHED_NONE && l->over[n->comm] > l->now) {
		l->now = l->over[n->comm];
	}
	l->now += sched_host_time(p, x);
	for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++)
		if (!--l->left[p->succ.item[i]])
			add_ready(l, p->succ.item[i]);
	advance_front(l);
}

static int by_position(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Lists a source and the few nodes that it needs and that are not issued, in the original order. */
static void find_needed(struct list *l, uint32_t comm)
{
	const struct sched_problem *p = l->p;
	l->meeting++;
	l->needed.n = 0;
	vec_push(&l->needed, comm);
	for (uint32_t k = 0; k < l->needed.n; k++)
		for (uint32_t x = l->needed.at[k], i = p->pred.at[x]; i < p->pred.end[x]; i++) {
			uint32_t need = p->pred.item[i];
			if (l->room.issued[need] || l->met[need] == l->meeting)
				continue;
			l->met[need] = l->meeting;
			vec_push(&l->needed, need);
		}
	if (l->needed.n > 1)
		qsort(l->needed.at, l->needed.n, sizeof *l->needed.at, by_position);
}

static bool issue_source(struct list *l, uint32_t comm)
{
	uint32_t k = 0;
	find_needed(l, comm);
	while (k < l->needed.n && admit(l, l->needed.at[k]))
		k++;
	if (k < l->needed.n) {
		while (k-- > 0)
			headroom_undo(&l->room);
		return false;
	}
	for (k = 0; k < l->needed.n; k++)
		issue_node(l, l->needed.at[k]);
	return true;
}

static int64_t backlog(const struct list *l, uint32_t lane)
{
	return l->lane[lane] > l->now ? l->lane[lane] - l->now : 0;
}

/* Returns the lane's next source and its slack; SCHED_NONE if there is none or it is too early. */
static uint32_t next_source(struct list *l, uint32_t lane, int64_t *slack)
{
	uint32_t *k = &l->next_source[lane];
	while (*k < l->base->source.first[lane + 1] && l->room.issued[l->base->source.at[*k].comm])
		++*k;
	if (*k == l->base->source.first[lane + 1])
		return SCHED_NONE;
	const struct sched_source *s = &l->base->source.at[*k];
	*slack = s->needed - l->base->when[l->front] - backlog(l, lane) - l->p->node[s->comm].time;
	return is_at_most(*slack, l->o->prefetch, &l->same.prefetch) ? s->comm : SCHED_NONE;
}

/* Returns the lane's next ready sink; SCHED_NONE: there is none. */
static uint32_t next_sink(struct list *l, uint32_t lane)
{
	struct nodes *s = &l->sink[lane];
	while (s->first < s->n && l->room.issued[s->at[s->first]])
		s->first++;
	return s->first < s->n ? s->at[s->first] : SCHED_NONE;
}

static bool issue_sink(struct list *l, uint32_t sink)
{
	if (sink == SCHED_NONE || !admit(l, sink))
		return false;
	issue_node(l, sink);
	return true;
}

/* Gives each lane enough work for the next ns. It makes no difference if a source is urgent while no sink is ready. */
static void feed(struct list *l, int64_t ns)
{
	for (uint32_t lane = 0; lane < l->p->lane_n; lane++)
		while (backlog(l, lane) < ns) {
			int64_t slack = 0;
			uint32_t source = next_source(l, lane, &slack), sink = next_sink(l, lane);
			bool urgent = source != SCHED_NONE && sink != SCHED_NONE &&
			              is_at_most(slack + 1, l->o->urgent, &l->same.urgent);
			if (urgent && issue_source(l, source))
				continue;
			if (issue_sink(l, sink))
				continue;
			if (source == SCHED_NONE || urgent || !issue_source(l, source))
				break;
		}
}

static void issue_inner(struct list *l)
{
	uint32_t refused = 0;
	for (uint32_t i = 0; i < l->inner.n && refused < MOST_REFUSED;) {
		uint32_t x = l->inner.at[i];
		bool done = l->room.issued[x], now = !done && admit(l, x);
		if (done || now) {
			l->inner.at[i] = l->inner.at[--l->inner.n];
		} else {
			i++;
			refused++;
		}
		if (now)
			issue_node(l, x);
	}
}

static bool is_over(const struct list *l, uint32_t wait)
{
	return l->over[l->p->node[wait].comm] <= l->now;
}

/* Moves waits whose comm is over to the queues of other nodes. */
static void take_arrived(struct list *l)
{
	while (l->arriving.n && (l->room.issued[l->arriving.at[0]] || is_over(l, l->arriving.at[0]))) {
		uint32_t x = heap_pop(&l->arriving);
		if (!l->room.issued[x])
			add_ready(l, x);
	}
}

/* Picks, among the waits that would hold the host, the one with the longest tail. */
static uint32_t wanted_wait(struct list *l)
{
	while (l->waits.n && (l->room.issued[l->waits.at[0]] || is_over(l, l->waits.at[0])))
		heap_pop(&l->waits);
	return l->waits.n ? l->waits.at[0] : SCHED_NONE;
}

static uint32_t best_near(struct list *l)
{
	while (l->near.n && l->room.issued[l->near.at[0]])
		heap_pop(&l->near);
	return l->near.n ? l->near.at[0] : SCHED_NONE;
}

/* Takes the node in the window with the longest tail, among those that take at most `most` ns and fit in
 * memory. */
static uint32_t take_near(struct list *l, int64_t most)
{
	uint32_t taken = SCHED_NONE;
	l->refused.n = 0;
	while (taken == SCHED_NONE && best_near(l) != SCHED_NONE && l->refused.n < MOST_REFUSED) {
		uint32_t x = heap_pop(&l->near);
		if (l->p->node[x].time <= most && admit(l, x))
			taken = x;
		else
			vec_push(&l->refused, x);
	}
	for (uint32_t i = 0; i < l->refused.n; i++)
		heap_push(&l->near, l->refused.at[i]);
	return taken;
}

/* Takes the longest of the next nodes ahead of the window. */
static uint32_t take_far(struct list *l, int64_t most)
{
	uint32_t best = SCHED_NONE;
	for (uint32_t i = 0; i < l->far.n && i < MOST_FAR;) {
		uint32_t x = l->far.at[i];
		if (l->room.issued[x] && l->o->deep) {
			heap_remove(&l->far, i);
			continue;
		}
		if (!l->room.issued[x] && l->p->node[x].time <= most &&
		    (best == SCHED_NONE || l->p->node[x].time > l->p->node[best].time))
			best = x;
		i++;
	}
	return best != SCHED_NONE && admit(l, best) ? best : SCHED_NONE;
}

/* Takes the first late node that fits in memory. */
static uint32_t take_late(struct list *l, int64_t most)
{
	struct nodes *late = &l->late;
	while (late->first < late->n && l->room.issued[late->at[late->first]])
		late->first++;
	for (uint32_t i = late->first; i < late->n && i < late->first + MOST_LATE; i++) {
		uint32_t x = late->at[i];
		if (l->room.issued[x] || l->p->node[x].time > most || !admit(l, x))
			continue;
		memmove(late->at + late->first + 1, late->at + late->first,
		        sizeof *late->at * (i - late->first));
		late->first++;
		return x;
	}
	return SCHED_NONE;
}

/* Takes the next node. Memory has admitted it. */
static uint32_t take_node(struct list *l, uint32_t wait, uint32_t near, int64_t gap)
{
	bool stall_next =
	    wait != SCHED_NONE && (near == SCHED_NONE || l->base->tail[near] < l->base->tail[wait]);
	uint32_t x = take_near(l, stall_next ? gap + gap / 4 : INT64_MAX);
	if (x == SCHED_NONE && wait != SCHED_NONE)
		x = take_far(l, gap);
	if (x == SCHED_NONE && wait != SCHED_NONE)
		x = take_late(l, gap);
	if (x == SCHED_NONE && wait != SCHED_NONE && admit(l, wait))
		x = wait;
	if (x == SCHED_NONE && l->front == l->p->n)
		x = take_late(l, INT64_MAX);
	if (x == SCHED_NONE) { /* no other node fits in memory */
		x = l->first;
		headroom_issue(&l->room, x);
	}
	return x;
}

/* Returns true if the schedule can still end before `below`, assuming that nothing stalls any more. */
static bool may_be_below(const struct list *l)
{
	int64_t most = l->host_left ? l->now + l->host_left : 0;
	for (uint32_t lane = 0; lane < l->p->lane_n; lane++) {
		int64_t left = l->lane_left[lane], end = l->lane[lane] + left;
		if (left && l->lane[lane] < l->now)
			end = l->now + left;
		most = end > most ? end : most;
	}
	return most - l->p->launch < l->o->below;
}

static void run_step(struct list *l)
{
	const struct sched_problem *p = l->p;
	issue_inner(l);
	take_arrived(l);
	uint32_t wait = wanted_wait(l), near = best_near(l);
	int64_t gap = wait == SCHED_NONE ? p->launch : l->over[p->node[wait].comm] - l->now;
	uint32_t before = l->n;
	feed(l, l->front == p->n ? INT64_MAX : near == SCHED_NONE ? gap : p->node[near].time);
	if (l->n == p->n || (l->n > before && wait == SCHED_NONE && near == SCHED_NONE))
		return; /* the feed may have issued nodes that moved the window */
	if (l->front < p->n && l->role[l->front] == SCHED_SOURCE && issue_source(l, l->front))
		return;
	issue_node(l, take_node(l, wait, near, gap));
}

struct sched_list_base *sched_list_read(const struct sched_problem *of, const uint8_t *role, bool once,
                                        struct arena *a)
{
	struct sched_list_base *b = arena_new_object(a, struct sched_list_base);
	const struct sched_problem *p = &b->p;
	b->p = *of;
	b->role = role;
	b->once = once;
	b->needs = arena_new_array(a, uint32_t, p->n);
	b->tail = arena_new_array(a, int64_t, p->n);
	b->when = arena_new_array(a, int64_t, p->n + 1);
	b->counts = arena_new_array(a, bool, p->n);
	headroom_open(&b->room, p, a);
	for (uint32_t x = 0; x < p->n; x++) {
		b->needs[x] = p->pred.end[x] - p->pred.at[x];
		b->when[x + 1] = b->when[x] + sched_host_time(p, x);
	}
	for (uint32_t x = p->n; x-- > 0;) {
		const struct sched_node *n = &p->node[x];
		b->counts[x] = n->time > 0;
		for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++) {
			uint32_t y = p->succ.item[i];
			b->tail[x] = b->tail[y] > b->tail[x] ? b->tail[y] : b->tail[x];
			b->counts[x] |= b->counts[y];
		}
		b->tail[x] += n->time + p->launch;
		b->host += b->counts[x] ? sched_host_time(p, x) : 0;
		if (n->kind == SCHED_COMM)
			b->lane[n->lane] += n->time > 0 ? n->time + p->launch : 0;
	}
	sched_sources(p, role, b->when, a, &b->source);
	return b;
}

static void open_list(struct list *l)
{
	const struct sched_problem *p = l->p;
	const struct sched_list_base *b = l->base;
	l->arena = arena_new();
	if (b->once) {
		l->room = b->room;
		l->left = b->needs;
	} else {
		headroom_copy(&l->room, &b->room, l->arena);
		l->left = arena_copy(l->arena, b->needs, sizeof *l->left * p->n);
	}
	l->over = arena_new_array(l->arena, int64_t, p->n);
	l->met = arena_new_array(l->arena, uint32_t, p->n);
	l->host_left = b->host;
	memcpy(l->lane_left, b->lane, sizeof l->lane_left);
	heap_open(&l->near, b->tail, p->n);
	heap_open(&l->far, NULL, p->n);
	heap_open(&l->far_idle, NULL, p->n);
	heap_open(&l->waits, b->tail, p->n);
	heap_open(&l->far_waits, NULL, p->n);
	heap_open(&l->arriving, l->over, p->n);
	memcpy(l->next_source, b->source.first, sizeof l->next_source);
	advance_front(l);
	for (uint32_t x = 0; x < p->n; x++)
		if (!l->left[x])
			add_ready(l, x);
}

bool sched_list(const struct sched_list_base *base, const struct sched_list_options *o, uint32_t *order,
                struct sched_list_same *same)
{
	static const struct sched_range all = {INT64_MIN, INT64_MAX};
	struct list l = {
	    .p = &base->p, .o = o, .role = base->role, .base = base, .order = order, .same = {all, all, all}};
	open_list(&l);
	bool below = true;
	while (l.n < l.p->n && (below = may_be_below(&l)))
		run_step(&l);
	*same = l.same;
	headroom_close(&l.room);
	heap_close(&l.near);
	heap_close(&l.far);
	heap_close(&l.far_idle);
	heap_close(&l.waits);
	heap_close(&l.far_waits);
	heap_close(&l.arriving);
	vec_free(&l.inner);
	vec_free(&l.late);
	vec_free(&l.refused);
	vec_free(&l.needed);
	for (uint32_t lane = 0; lane < l.p->lane_n; lane++)
		vec_free(&l.sink[lane]);
	arena_free(l.arena);
	return below;
}
