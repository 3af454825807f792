/* event_graph: see event_graph.h. Sets of events are rows of bits. */
#include "sched/event_graph.h"
#include <string.h>

enum { BITS = 64 };

static size_t words_of(uint32_t n)
{
	return ((size_t)n + BITS - 1) / BITS;
}

static void add_bit(uint64_t *row, uint32_t k)
{
	row[k / BITS] |= (uint64_t)1 << k % BITS;
}

static void add_row(uint64_t *row, const uint64_t *from, size_t words)
{
	for (size_t w = 0; w < words; w++)
		row[w] |= from[w];
}

void event_graph_open(struct event_graph *g, uint32_t n)
{
	*g = (struct event_graph){.n = n, .of = mem_alloc(sizeof *g->of * ((size_t)n + 1))};
	for (uint32_t e = 0; e < n; e++)
		g->of[e] = e;
}

void event_graph_close(struct event_graph *g)
{
	vec_free(&g->edge);
	free(g->of);
}

void event_graph_need(struct event_graph *g, uint32_t from, uint32_t to)
{
	vec_push(&g->edge, ((struct sched_pair){from, to}));
}

void event_graph_join(struct event_graph *g, uint32_t event, uint32_t bucket_of)
{
	g->of[event] = g->of[bucket_of];
}

void event_graph_copy(const struct event_graph *g, struct event_graph *out)
{
	event_graph_open(out, g->n);
	memcpy(out->of, g->of, sizeof *g->of * g->n);
	for (uint32_t k = 0; k < g->edge.n; k++)
		vec_push(&out->edge, g->edge.at[k]);
}

/* ---- the needs of a problem */

/* Lists the events of a problem, and numbers them. Returns how many there are. */
static uint32_t number_events(const struct sched_problem *p, const uint32_t *event, uint32_t *number,
                              uint32_t *listed)
{
	uint32_t n = 0;
	for (uint32_t x = 0; x < p->n; x++)
		if (event[x] != SCHED_NONE) {
			number[event[x]] = n;
			listed[n++] = event[x];
		}
	return n;
}

/* Fills a row for each node: the events that it needs; if through is false, not those before another event. */
static uint64_t *find_needed(const struct sched_problem *p, const uint32_t *event, const uint32_t *number,
                             uint32_t e, bool through)
{
	size_t words = words_of(e);
	uint64_t *row = mem_zalloc(sizeof *row * (words * p->n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
			uint32_t y = p->pred.item[i];
			if (event[y] != SCHED_NONE)
				add_bit(&row[words * x], number[event[y]]);
			if (event[y] == SCHED_NONE || through)
				add_row(&row[words * x], &row[words * y], words);
		}
	return row;
}

void event_graph_add(struct event_graph *g, const struct sched_problem *p, const uint32_t *event)
{
	uint32_t *number = mem_alloc(sizeof *number * ((size_t)g->n + 1)),
	         *listed = mem_alloc(sizeof *listed * ((size_t)p->n + 1));
	uint32_t e = number_events(p, event, number, listed);
	uint64_t *row = find_needed(p, event, number, e, false);
	for (uint32_t x = 0; x < p->n; x++)
		for (uint32_t k = 0; event[x] != SCHED_NONE && k < e; k++)
			if (row[words_of(e) * x + k / BITS] >> k % BITS & 1)
				event_graph_need(g, listed[k], event[x]);
	free(number);
	free(listed);
	free(row);
}

uint64_t *event_graph_reach(const struct sched_problem *p, const uint32_t *event, const uint32_t *number,
                            uint32_t e)
{
	size_t words = words_of(e);
	uint64_t *all = find_needed(p, event, number, e, true),
	         *row = mem_zalloc(sizeof *row * (words * e + 1));
	for (uint32_t x = 0; x < p->n; x++)
		if (event[x] != SCHED_NONE)
			memcpy(&row[words * number[event[x]]], &all[words * x], sizeof *row * words);
	free(all);
	return row;
}

/* ---- the needs of all */

/* Puts the events into an order. Returns false if there is none. */
static bool sort_events(const struct event_graph *g, const struct sched_lists *pred,
                        const struct sched_lists *succ, uint32_t *order)
{
	uint32_t *left = mem_alloc(sizeof *left * ((size_t)g->n + 1)), n = 0;
	for (uint32_t e = 0; e < g->n; e++) {
		left[e] = pred->end[e] - pred->at[e];
		if (!left[e])
			order[n++] = e;
	}
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = succ->at[order[k]]; i < succ->end[order[k]]; i++)
			if (!--left[succ->item[i]])
				order[n++] = succ->item[i];
	free(left);
	return n == g->n;
}

bool event_graph_project(const struct event_graph *g, const bool *wanted, struct event_pairs *out)
{
	struct arena *a = arena_new();
	uint32_t *order = arena_new_array(a, uint32_t, g->n), *number = arena_new_array(a, uint32_t, g->n),
	         *listed = arena_new_array(a, uint32_t, g->n), e = 0, edges = 0;
	struct sched_pair *edge = arena_new_array(a, struct sched_pair, g->edge.n),
	                  *back = arena_new_array(a, struct sched_pair, g->edge.n);
	bool *here = arena_new_array(a, bool, g->n);
	for (uint32_t k = 0; k < g->n; k++)
		here[g->of[k]] |= wanted[k];
	for (uint32_t k = 0; k < g->n; k++)
		if (here[k]) {
			number[k] = e;
			listed[e++] = k;
		}
	for (uint32_t k = 0; k < g->edge.n; k++) {
		struct sched_pair x = {g->of[g->edge.at[k].from], g->of[g->edge.at[k].to]};
		if (x.from == x.to)
			continue;
		edge[edges] = x;
		back[edges++] = (struct sched_pair){x.to, x.from};
	}
	struct sched_lists pred = sched_lists_to(a, edge, edges, g->n),
	                   succ = sched_lists_to(a, back, edges, g->n);
	bool ok = sort_events(g, &pred, &succ, order);
	size_t words = words_of(e);
	uint64_t *row = mem_zalloc(sizeof *row * (words * g->n + 1));
	for (uint32_t k = 0; k < g->n && ok; k++) {
		uint32_t x = order[k];
		for (uint32_t i = pred.at[x]; i < pred.end[x]; i++) {
			uint32_t y = pred.item[i];
			if (here[y])
				add_bit(&row[words * x], number[y]);
			else
				add_row(&row[words * x], &row[words * y], words);
		}
		for (uint32_t i = 0; here[x] && i < e; i++)
			if (row[words * x + i / BITS] >> i % BITS & 1)
				vec_push(&out->at, ((struct sched_pair){listed[i], x}));
	}
	free(row);
	arena_free(a);
	return ok;
}
