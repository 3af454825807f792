/* pace: see pace.h. */
#include "sched/pace.h"
#include "base/vec.h"
#include "sched/role.h"
#include <stdlib.h>
#include <string.h>

static bool is_wait(const struct sched_node *n)
{
	return n->kind != SCHED_COMM && n->comm != SCHED_NONE;
}

struct sched_pace sched_pace_of(const struct sched_problem *p, const uint8_t *role, const uint32_t *order)
{
	struct sched_pace most = {0, 0};
	int64_t flying = 0, host = 0, *issued = mem_alloc(sizeof *issued * ((size_t)p->n + 1));
	bool *landed = mem_zalloc((size_t)p->n + 1);
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = order[k], c = p->node[x].comm;
		if (p->node[x].kind == SCHED_COMM) {
			issued[x] = host;
			flying += p->node[x].out;
			most.in_flight = flying > most.in_flight ? flying : most.in_flight;
		} else if (c != SCHED_NONE && !landed[c]) {
			int64_t ahead = host - issued[c] - p->node[c].time;
			landed[c] = true;
			flying -= p->node[c].out;
			if (role[c] == SCHED_SOURCE && ahead > most.prefetch)
				most.prefetch = ahead;
		}
		host += sched_host_time(p, x);
	}
	free(issued);
	free(landed);
	return most;
}

/* ---- waits that come earlier */

struct lander {
	const struct sched_problem *p;
	uint32_t *before;     /* the schedule as it was */
	uint32_t *position;   /* by node: its place there */
	uint32_t *order, n;   /* placed */
	bool *placed;         /* by node */
	uint32_t *wait;       /* by comm: its first wait there; SCHED_NONE: none */
	VEC(uint32_t) flying; /* comms as they were issued; those that landed are skipped */
	VEC(uint32_t) wanted; /* positions */
	uint32_t *met, round; /* by node: the last round in which it was wanted */
	int64_t bytes;        /* in flight */
};

static void append_node(struct lander *l, uint32_t x)
{
	const struct sched_node *n = &l->p->node[x];
	l->order[l->n++] = x;
	l->placed[x] = true;
	if (n->kind == SCHED_COMM) {
		l->bytes += n->out;
		vec_push(&l->flying, x);
	} else if (is_wait(n) && l->wait[n->comm] == x) {
		l->bytes -= l->p->node[n->comm].out;
	}
}

static int by_position(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* With what it needs. False: that are comms, too. */
static bool put_wait(struct lander *l, uint32_t wait)
{
	const struct sched_problem *p = l->p;
	l->wanted.n = 0;
	vec_push(&l->wanted, l->position[wait]);
	l->met[wait] = ++l->round;
	for (uint32_t k = 0; k < l->wanted.n; k++)
		for (uint32_t x = l->before[l->wanted.at[k]], i = p->pred.at[x]; i < p->pred.at[x + 1]; i++) {
			uint32_t y = p->pred.item[i];
			if (l->placed[y] || l->met[y] == l->round)
				continue;
			if (p->node[y].kind == SCHED_COMM)
				return false;
			l->met[y] = l->round;
			vec_push(&l->wanted, l->position[y]);
		}
	if (l->wanted.n > 1)
		qsort(l->wanted.at, l->wanted.n, sizeof *l->wanted.at, by_position);
	for (uint32_t k = 0; k < l->wanted.n; k++)
		append_node(l, l->before[l->wanted.at[k]]);
	return true;
}

/* Until another comm may fly. */
static void make_room(struct lander *l, uint32_t comm, int64_t in_flight)
{
	uint32_t kept = 0, i = 0;
	for (; i < l->flying.n && l->bytes + l->p->node[comm].out > in_flight; i++) {
		uint32_t c = l->flying.at[i], wait = l->wait[c];
		if (wait == SCHED_NONE || (!l->placed[wait] && !put_wait(l, wait)))
			l->flying.at[kept++] = c;
	}
	if (kept < i)
		memmove(l->flying.at + kept, l->flying.at + i, sizeof *l->flying.at * (l->flying.n - i));
	l->flying.n -= i - kept;
}

void sched_pace_land(const struct sched_problem *p, int64_t in_flight, uint32_t *order)
{
	struct lander l = {.p = p, .order = order};
	l.before = mem_alloc(sizeof *l.before * ((size_t)p->n + 1));
	memcpy(l.before, order, sizeof *l.before * p->n);
	l.position = mem_alloc(sizeof *l.position * ((size_t)p->n + 1));
	l.met = mem_zalloc(sizeof *l.met * ((size_t)p->n + 1));
	for (uint32_t k = 0; k < p->n; k++)
		l.position[order[k]] = k;
	l.placed = mem_zalloc((size_t)p->n + 1);
	l.wait = mem_alloc(sizeof *l.wait * ((size_t)p->n + 1));
	memset(l.wait, 0xff, sizeof *l.wait * p->n);
	for (uint32_t k = p->n; k-- > 0;)
		if (is_wait(&p->node[l.before[k]]))
			l.wait[p->node[l.before[k]].comm] = l.before[k];
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = l.before[k];
		if (!l.placed[x] && p->node[x].kind == SCHED_COMM)
			make_room(&l, x, in_flight);
		if (!l.placed[x])
			append_node(&l, x);
	}
	free(l.before);
	free(l.position);
	free(l.met);
	free(l.placed);
	free(l.wait);
	vec_free(&l.flying);
	vec_free(&l.wanted);
}

/* ---- sources held back */

struct holder {
	const struct sched_problem *p;
	uint32_t *left;         /* by node: what needs it and is not placed */
	int64_t *latest;        /* by source that is held: host time behind it at most */
	bool *placed;           /* by node */
	int64_t host;           /* of what is placed */
	uint32_t *order, at;    /* filled from its end */
	uint32_t *held, held_n; /* sources whose first wait is placed, and they are not */
};

static void prepend_node(struct holder *h, uint32_t x)
{
	const struct sched_problem *p = h->p;
	h->order[--h->at] = x;
	h->placed[x] = true;
	h->host += sched_host_time(p, x);
	for (uint32_t i = p->pred.at[x]; i < p->pred.at[x + 1]; i++)
		h->left[p->pred.item[i]]--;
}

/* Before `next` ns more are placed: the held ones that would be too early then, with the issue of the others.
 */
static void place_held(struct holder *h, int64_t next)
{
	for (uint32_t i = 0; i < h->held_n;) {
		uint32_t c = h->held[i];
		bool late = h->host + next + h->p->launch * h->held_n > h->latest[c];
		if (!h->placed[c] && (!late || h->left[c])) {
			i++;
			continue;
		}
		if (!h->placed[c])
			prepend_node(h, c);
		h->held[i] = h->held[--h->held_n];
		i = 0;
	}
}

void sched_pace_hold(const struct sched_problem *p, const uint8_t *role, int64_t prefetch, uint32_t *order)
{
	size_t room = (size_t)p->n + 1;
	struct holder h = {.p = p, .order = order, .at = p->n};
	uint32_t *before = mem_alloc(sizeof *before * room), *first = mem_alloc(sizeof *first * room);
	h.left = mem_alloc(sizeof *h.left * room);
	h.latest = mem_alloc(sizeof *h.latest * room);
	h.placed = mem_zalloc(room);
	h.held = mem_alloc(sizeof *h.held * room);
	memcpy(before, order, sizeof *before * p->n);
	memset(first, 0xff, sizeof *first * room);
	for (uint32_t k = p->n; k-- > 0;)
		if (is_wait(&p->node[before[k]]))
			first[p->node[before[k]].comm] = before[k];
	for (uint32_t x = 0; x < p->n; x++)
		h.left[x] = p->succ.at[x + 1] - p->succ.at[x];
	for (uint32_t k = p->n; k-- > 0;) {
		uint32_t x = before[k];
		if (!h.placed[x])
			place_held(&h, sched_host_time(p, x));
		if (h.placed[x])
			continue;
		prepend_node(&h, x);
		uint32_t c = p->node[x].comm;
		if (is_wait(&p->node[x]) && role[c] == SCHED_SOURCE && first[c] == x) {
			h.latest[c] = h.host + p->node[c].time + prefetch - p->launch;
			h.held[h.held_n++] = c;
		}
	}
	free(before);
	free(first);
	free(h.left);
	free(h.latest);
	free(h.placed);
	free(h.held);
}

/* ---- stretches */

void pace_open(struct pace *a, const struct sched_problem *p, const uint8_t *role, struct sched_pace limit,
               const uint32_t *order)
{
	size_t room = (size_t)p->n + 1;
	struct sched_pace is = sched_pace_of(p, role, order);
	*a = (struct pace){.p = p};
	a->limit.in_flight = !limit.in_flight                 ? INT64_MAX
	                     : is.in_flight > limit.in_flight ? is.in_flight
	                                                      : limit.in_flight;
	a->limit.prefetch = !limit.prefetch                ? INT64_MAX
	                    : is.prefetch > limit.prefetch ? is.prefetch
	                                                   : limit.prefetch;
	a->source = mem_zalloc(room);
	a->landing = mem_alloc(sizeof *a->landing * room);
	a->flying = mem_zalloc(sizeof *a->flying * room);
	a->issued = mem_alloc(sizeof *a->issued * room);
	a->landed = mem_zalloc(sizeof *a->landed * room);
	for (uint32_t x = 0; x < p->n; x++)
		a->source[x] = role[x] == SCHED_SOURCE;
	pace_reset(a, order);
}

void pace_reset(struct pace *a, const uint32_t *order)
{
	for (uint32_t x = 0; x < a->p->n; x++)
		a->landing[x] = a->p->n;
	pace_set(a, order, 0, a->p->n);
}

void pace_close(struct pace *a)
{
	free(a->source);
	free(a->landing);
	free(a->flying);
	free(a->issued);
	free(a->landed);
}

/* Returns true if a wait of the stretch is the first for its comm. */
static bool lands(struct pace *a, uint32_t wait, uint32_t from)
{
	uint32_t c = a->p->node[wait].comm;
	if (a->landing[c] < from || a->landed[c] == a->round)
		return false;
	a->landed[c] = a->round;
	return true;
}

void pace_set(struct pace *a, const uint32_t *order, uint32_t from, uint32_t to)
{
	const struct sched_problem *p = a->p;
	a->round++;
	for (uint32_t k = from; k < to; k++) {
		const struct sched_node *n = &p->node[order[k]];
		int64_t flying = a->flying[k];
		if (n->kind == SCHED_COMM) {
			flying += n->out;
		} else if (n->comm != SCHED_NONE && lands(a, order[k], from)) {
			a->landing[n->comm] = k;
			flying -= p->node[n->comm].out;
		}
		a->flying[k + 1] = flying;
	}
}

/* Returns true if the host comes to a wait no longer after the issue of a source than it may. */
static bool is_close(const struct pace *a, uint32_t comm, int64_t issued, int64_t wait)
{
	return !a->source[comm] || wait - issued - a->p->node[comm].time <= a->limit.prefetch;
}

bool pace_keeps(struct pace *a, const uint32_t *draft, uint32_t from, uint32_t to, const uint32_t *place,
                const int64_t *host)
{
	const struct sched_problem *p = a->p;
	int64_t flying = a->flying[from], now = host[from];
	a->round++;
	for (uint32_t k = 0; k < to - from; k++) {
		uint32_t x = draft[k], c = p->node[x].comm;
		if (p->node[x].kind == SCHED_COMM) {
			flying += p->node[x].out;
			a->issued[x] = now;
			uint32_t landing = a->landing[x];
			if (flying > a->limit.in_flight ||
			    (landing >= to && landing < p->n && !is_close(a, x, now, host[landing])))
				return false;
		} else if (c != SCHED_NONE && lands(a, x, from)) {
			flying -= p->node[c].out;
			if (!is_close(a, c, place[c] < from ? host[place[c]] : a->issued[c], now))
				return false;
		}
		now += sched_host_time(p, x);
	}
	return true;
}
