/* closure: Dinic's algorithm for the minimal cut. The source has arcs to the things with gains, and the
 * things with costs have arcs to the sink. */
#include "sched/closure.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

static const int64_t ENDLESS = INT64_MAX / 4;

struct arc {
	uint32_t to, back; /* back: the opposite arc */
	int64_t room;
};

struct flow {
	uint32_t n, source, sink;
	uint32_t *first; /* by vertex: begin of its arcs; at [n] their number */
	uint32_t *next;  /* by vertex: the next arc to try */
	uint32_t *level; /* by vertex: its distance from the source + 1; 0: out of reach */
	uint32_t *queue;
	uint32_t *way; /* arcs of the current path from the source */
	struct arc *arc;
};

static bool find_levels(struct flow *f)
{
	uint32_t head = 0, tail = 0;
	memset(f->level, 0, sizeof *f->level * f->n);
	f->level[f->source] = 1;
	f->queue[tail++] = f->source;
	while (head < tail) {
		uint32_t x = f->queue[head++];
		for (uint32_t i = f->first[x]; i < f->first[x + 1]; i++)
			if (f->arc[i].room && !f->level[f->arc[i].to]) {
				f->level[f->arc[i].to] = f->level[x] + 1;
				f->queue[tail++] = f->arc[i].to;
			}
	}
	return f->level[f->sink];
}

/* Sends as much flow as fits along one path to the sink, level by level. Returns 0 when no path is left. */
static int64_t send_flow(struct flow *f)
{
	uint32_t x = f->source, n = 0;
	int64_t most = ENDLESS;
	while (x != f->sink) {
		uint32_t i = f->next[x];
		if (i < f->first[x + 1]) {
			if (f->arc[i].room && f->level[f->arc[i].to] == f->level[x] + 1) {
				f->way[n++] = i;
				x = f->arc[i].to;
			} else {
				f->next[x]++;
			}
			continue;
		}
		if (!n)
			return 0;
		x = f->arc[f->arc[f->way[--n]].back].to;
		f->next[x]++;
	}
	for (uint32_t k = 0; k < n; k++)
		most = f->arc[f->way[k]].room < most ? f->arc[f->way[k]].room : most;
	for (uint32_t k = 0; k < n; k++) {
		struct arc *a = &f->arc[f->way[k]];
		a->room -= most;
		f->arc[a->back].room += most;
	}
	return most;
}

static void add_arc(struct flow *f, uint32_t from, uint32_t to, int64_t room)
{
	uint32_t i = f->next[from]++, back = f->next[to]++;
	f->arc[i] = (struct arc){to, back, room};
	f->arc[back] = (struct arc){from, i, 0};
}

static void open_flow(struct flow *f, const struct closure *c)
{
	f->n = c->n + 2;
	f->source = c->n;
	f->sink = c->n + 1;
	f->first = mem_zalloc(sizeof *f->first * (f->n + 1));
	f->next = mem_alloc(sizeof *f->next * f->n);
	f->level = mem_alloc(sizeof *f->level * f->n);
	f->queue = mem_alloc(sizeof *f->queue * f->n);
	f->way = mem_alloc(sizeof *f->way * f->n);
	for (uint32_t x = 0; x < c->n; x++) {
		f->first[x + 1] += c->worth[x] != 0;
		f->first[(c->worth[x] > 0 ? f->source : f->sink) + 1] += c->worth[x] != 0;
	}
	for (uint32_t i = 0; i < c->demand.n; i++) {
		f->first[c->demand.at[i].from + 1]++;
		f->first[c->demand.at[i].to + 1]++;
	}
	for (uint32_t x = 0; x < f->n; x++)
		f->first[x + 1] += f->first[x];
	memcpy(f->next, f->first, sizeof *f->next * f->n);
	f->arc = mem_alloc(sizeof *f->arc * (f->first[f->n] + 1));
	for (uint32_t i = 0; i < c->demand.n; i++)
		add_arc(f, c->demand.at[i].from, c->demand.at[i].to, ENDLESS);
	for (uint32_t x = 0; x < c->n; x++) {
		if (c->worth[x] > 0)
			add_arc(f, f->source, x, c->worth[x]);
		else if (c->worth[x] < 0)
			add_arc(f, x, f->sink, -c->worth[x]);
	}
}

int64_t closure_most(const struct closure *c, bool *in)
{
	struct flow f;
	int64_t most = 0, sent;
	open_flow(&f, c);
	for (uint32_t x = 0; x < c->n; x++)
		most += c->worth[x] > 0 ? c->worth[x] : 0;
	while (find_levels(&f)) {
		memcpy(f.next, f.first, sizeof *f.next * f.n);
		while ((sent = send_flow(&f)))
			most -= sent;
	}
	for (uint32_t x = 0; in && x < c->n; x++)
		in[x] = f.level[x];
	free(f.first);
	free(f.next);
	free(f.level);
	free(f.queue);
	free(f.way);
	free(f.arc);
	return most;
}
