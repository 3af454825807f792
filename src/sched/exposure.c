/* exposure: see exposure.h. A walk along the order finds the nodes that a comm needs, and those that
 * need it. It starts at the comm and ends as soon as it has met enough other work. */
#include "sched/exposure.h"
#include "sched/window.h"
#include <stdlib.h>

enum {
	LOOKS = 50000000,   /* nodes visited for all comms together */
	LEAST_LOOKS = 1024, /* nodes visited at least for each comm */
	TRIED = 8,          /* most nodes tried before a wait */
};

struct looker {
	const struct sched_problem *p;
	const uint32_t *order, *place;
	uint32_t looks;   /* nodes visited in each direction */
	uint32_t *marked; /* by node: the last round that marked it */
	uint32_t round;
};

static void looker_open(struct looker *l, const struct sched_problem *p, const uint32_t *order,
                        const uint32_t *place)
{
	uint32_t comms = 1;
	for (uint32_t x = 0; x < p->n; x++)
		comms += p->node[x].kind == SCHED_COMM;
	*l = (struct looker){.p = p, .order = order, .place = place};
	l->looks = LOOKS / comms > LEAST_LOOKS ? LOOKS / comms : LEAST_LOOKS;
	l->marked = mem_zalloc(sizeof *l->marked * ((size_t)p->n + 1));
}

static int64_t work_of(const struct sched_problem *p, uint32_t x)
{
	return p->node[x].kind == SCHED_COMPUTE ? p->node[x].time : 0;
}

static bool is_marked(const struct looker *l, uint32_t x)
{
	return l->marked[x] == l->round;
}

/* Marks the neighbours of x if x is marked. */
static void mark_neighbours(struct looker *l, const struct sched_lists *next, uint32_t x)
{
	for (uint32_t i = next->at[x]; is_marked(l, x) && i < next->end[x]; i++)
		l->marked[next->item[i]] = l->round;
}

/* Returns the work of nodes that do not need the comm and that the comm does not need. Stops at
 * `enough`. */
static int64_t independent_work(struct looker *l, uint32_t comm, int64_t enough)
{
	uint32_t at = l->place[comm], begin = at > l->looks ? at - l->looks : 0;
	uint32_t end = l->p->n - at > l->looks ? at + l->looks : l->p->n;
	int64_t work = 0;
	l->marked[comm] = ++l->round;
	for (uint32_t k = at; k < end && work < enough; k++) {
		uint32_t x = l->order[k];
		work += is_marked(l, x) ? 0 : work_of(l->p, x);
		mark_neighbours(l, &l->p->succ, x);
	}
	l->marked[comm] = ++l->round;
	for (uint32_t k = at + 1; k-- > begin && work < enough;) {
		uint32_t x = l->order[k];
		work += is_marked(l, x) ? 0 : work_of(l->p, x);
		mark_neighbours(l, &l->p->pred, x);
	}
	return work < enough ? work : enough;
}

/* Returns true if only the memory limit keeps work after the wait from going before it. */
static bool is_for_memory(struct looker *l, struct window *w, uint32_t comm, uint32_t wait)
{
	uint32_t at = l->place[wait], end = l->p->n - at > l->looks ? at + l->looks : l->p->n;
	unsigned tried = 0;
	l->marked[comm] = ++l->round;
	for (uint32_t k = l->place[comm]; k < at; k++)
		mark_neighbours(l, &l->p->succ, l->order[k]);
	for (uint32_t k = at; k < end && tried < TRIED; k++) {
		uint32_t x = l->order[k];
		mark_neighbours(l, &l->p->succ, x);
		if (is_marked(l, x) || !work_of(l->p, x) || !window_pull(w, x, at))
			continue;
		tried++;
		if (window_runtime(w, at, k + 1, INT64_MAX) != INT64_MAX)
			return false;
	}
	return tried;
}

static enum sched_reason reason_of(struct looker *l, struct window *w, const struct sched_exposure *e)
{
	int64_t time = l->p->node[e->comm].time, queued = e->begin - e->issue,
	        waited = e->exposed + e->behind;
	if (!waited)
		return SCHED_HIDDEN;
	if (2 * queued >= waited)
		return SCHED_LANE;
	if (independent_work(l, e->comm, time) < time)
		return SCHED_CHAIN;
	if (l->p->contention_n && sched_overlap_loses(&l->p->contention[l->p->node[e->comm].contention]))
		return SCHED_SLOWED;
	return is_for_memory(l, w, e->comm, e->wait) ? SCHED_MEMORY : SCHED_WORK;
}

/* Adds a stall: a wait for a comm holds the host from time `from` on. */
static void add_stall(struct sched_exposure *e, const struct sched_exposure *all, const uint32_t *of,
                      int64_t from, int64_t stall)
{
	int64_t own = stall < e->hidden ? stall : e->hidden;
	e->exposed += own;
	e->hidden -= own;
	e->behind += stall - own;
	e->behind_others |= stall > own && all[of[e->front]].begin > from;
}

void sched_exposures(const struct sched_problem *p, const uint32_t *order, int64_t limit, struct arena *a,
                     struct sched_exposures *out)
{
	struct sched_moment *trace = mem_alloc(sizeof *trace * ((size_t)p->n + 1));
	uint32_t *of = mem_alloc(sizeof *of * ((size_t)p->n + 1)); /* by comm: its index in out */
	uint32_t *own = mem_alloc(sizeof *own * ((size_t)p->n + 1));
	uint32_t last[SCHED_MAX_LANES]; /* by lane: the comm that was issued last */
	int64_t *longest;
	struct window w;
	struct looker l;
	*out = (struct sched_exposures){0};
	for (unsigned lane = 0; lane < SCHED_MAX_LANES; lane++)
		last[lane] = SCHED_NONE;
	for (uint32_t k = 0; k < p->n; k++) {
		out->n += p->node[order[k]].kind == SCHED_COMM;
		own[k] = order[k];
	}
	out->at = arena_new_array(a, struct sched_exposure, out->n);
	longest = mem_zalloc(sizeof *longest * ((size_t)out->n + 1));
	sched_simulate(p, order, trace);
	for (uint32_t k = 0, n = 0; k < p->n; k++) {
		uint32_t x = order[k];
		const struct sched_node *node = &p->node[x];
		if (node->kind == SCHED_COMM) {
			out->at[n] = (struct sched_exposure){.comm = x,
			                                     .wait = SCHED_NONE,
			                                     .issue = trace[k].start,
			                                     .begin = trace[k].begin,
			                                     .end = trace[k].end,
			                                     .hidden = trace[k].end - trace[k].begin,
			                                     .front = last[node->lane]};
			last[node->lane] = x;
			of[x] = n++;
		} else if (node->comm != SCHED_NONE) {
			struct sched_exposure *e = &out->at[of[node->comm]];
			if (e->wait == SCHED_NONE || trace[k].stall > longest[of[node->comm]]) {
				e->wait = x;
				longest[of[node->comm]] = trace[k].stall;
			}
			add_stall(e, out->at, of, trace[k].start, trace[k].stall);
		}
	}
	window_open(&w, p, limit, own);
	looker_open(&l, p, own, w.place);
	for (uint32_t i = 0; i < out->n; i++) {
		out->at[i].reason = reason_of(&l, &w, &out->at[i]);
		out->hidden += out->at[i].reason == SCHED_HIDDEN;
	}
	window_close(&w);
	free(l.marked);
	free(longest);
	free(trace);
	free(own);
	free(of);
}

uint32_t sched_hideable(const struct sched_problem *p, const struct sched_exposures *e, unsigned percent)
{
	uint32_t *same = mem_alloc(sizeof *same * ((size_t)p->n + 1)), n = 0;
	bool *hidden = mem_zalloc((size_t)p->n + 1);
	struct looker l;
	for (uint32_t i = 0; e && i < e->n; i++)
		hidden[e->at[i].comm] = e->at[i].reason == SCHED_HIDDEN;
	for (uint32_t x = 0; x < p->n; x++)
		same[x] = x;
	looker_open(&l, p, same, same);
	for (uint32_t x = 0; x < p->n; x++) {
		int64_t enough = percent ? (p->node[x].time * 100 + percent - 1) / percent : 1;
		enough = enough > 0 ? enough : 1;
		n +=
		    p->node[x].kind == SCHED_COMM && (hidden[x] || independent_work(&l, x, enough) == enough);
	}
	free(hidden);
	free(l.marked);
	free(same);
	return n;
}
