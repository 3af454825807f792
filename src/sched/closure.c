/* closure: Dinic's algorithm for the minimal cut. The source has arcs to the things with gains, and the
 * things with costs have arcs to the sink. Levels are distances to the sink: most things demand nothing that
 * costs, so they have no level and no path enters them. */
#include "sched/closure.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

static const int64_t ENDLESS = INT64_MAX / 4;

struct arc {
	uint32_t to, back; /* back: the opposite arc */
	int64_t room;
};

enum { BESIDE, JOINED, DEMANDED = 3 }; /* a thing has no demands; it has some; a thing demands it */

enum { SOURCE, SINK, THINGS }; /* vertices; those of things follow */

struct flow {
	uint32_t n;      /* vertices */
	uint32_t *first; /* by vertex: begin of its arcs; at [n] their number */
	uint32_t *next;  /* by vertex: the next arc to try */
	uint32_t *level; /* by vertex: its distance to the sink + 1; 0: too far */
	uint32_t *queue;
	uint8_t *joined;  /* by thing, see above */
	uint32_t *vertex; /* by thing; 0 beside all demands */
	uint32_t *way;    /* arcs of the current path from the source */
	struct arc *arc;
};

/* Finds the levels up to that of the source. Returns false if no path leads from the source to the sink. */
static bool find_levels(struct flow *f)
{
	uint32_t head = 0, tail = 0;
	memset(f->level, 0, sizeof *f->level * f->n);
	f->level[SINK] = 1;
	f->queue[tail++] = SINK;
	while (head < tail && !f->level[SOURCE]) {
		uint32_t x = f->queue[head++];
		for (uint32_t i = f->first[x]; i < f->first[x + 1]; i++) {
			const struct arc *a = &f->arc[i];
			if (!f->level[a->to] && f->arc[a->back].room) {
				f->level[a->to] = f->level[x] + 1;
				f->queue[tail++] = a->to;
			}
		}
	}
	return f->level[SOURCE];
}

/* Sends as much as fits along the first n arcs of f->way. Returns the index of the first arc that is full then. */
static uint32_t fill_way(struct flow *f, uint32_t n, int64_t *sent)
{
	int64_t most = ENDLESS;
	uint32_t full = 0;
	for (uint32_t k = 0; k < n; k++)
		if (f->arc[f->way[k]].room < most) {
			most = f->arc[f->way[k]].room;
			full = k;
		}
	for (uint32_t k = 0; k < n; k++) {
		struct arc *a = &f->arc[f->way[k]];
		a->room -= most;
		f->arc[a->back].room += most;
	}
	*sent += most;
	return full;
}

/* Sends as much flow as fits to the sink, level by level, and returns it. */
static int64_t send_flow(struct flow *f)
{
	uint32_t x = SOURCE, n = 0;
	int64_t sent = 0;
	memcpy(f->next, f->first, sizeof *f->next * f->n);
	while (true) {
		uint32_t i = f->next[x];
		if (x == SINK) {
			n = fill_way(f, n, &sent);
			x = f->arc[f->arc[f->way[n]].back].to;
		} else if (i < f->first[x + 1]) {
			if (f->arc[i].room && f->level[f->arc[i].to] + 1 == f->level[x]) {
				f->way[n++] = i;
				x = f->arc[i].to;
			} else {
				f->next[x]++;
			}
		} else if (n) {
			x = f->arc[f->arc[f->way[--n]].back].to;
			f->next[x]++;
		} else {
			return sent;
		}
	}
}

/* Marks the things of the best set: those that paths from the source still reach, and gains beside all demands. */
static void mark_reached(struct flow *f, const struct closure *c, bool *in)
{
	uint32_t head = 0, tail = 0;
	memset(f->level, 0, sizeof *f->level * f->n);
	f->level[SOURCE] = 1;
	f->queue[tail++] = SOURCE;
	while (head < tail) {
		uint32_t x = f->queue[head++];
		for (uint32_t i = f->first[x]; i < f->first[x + 1]; i++)
			if (f->arc[i].room && !f->level[f->arc[i].to]) {
				f->level[f->arc[i].to] = 1;
				f->queue[tail++] = f->arc[i].to;
			}
	}
	for (uint32_t x = 0; x < c->n; x++)
		in[x] = f->joined[x] ? f->level[f->vertex[x]] : c->worth[x] > 0;
}

static void add_arc(struct flow *f, uint32_t from, uint32_t to, int64_t room)
{
	uint32_t i = f->next[from]++, back = f->next[to]++;
	f->arc[i] = (struct arc){to, back, room};
	f->arc[back] = (struct arc){from, i, 0};
}

/* Returns true if the thing x needs an arc to the sink or from the source. Things beside all demands need none, nor
 * do costs that no thing demands. */
static bool is_joined(const struct flow *f, const struct closure *c, uint32_t x)
{
	return c->worth[x] > 0 ? f->joined[x] : c->worth[x] < 0 && f->joined[x] == DEMANDED;
}

static void number_vertices(struct flow *f, const struct closure *c)
{
	f->joined = mem_zalloc((size_t)c->n + 1);
	f->vertex = mem_alloc(sizeof *f->vertex * ((size_t)c->n + 1));
	for (uint32_t i = 0; i < c->demand.n; i++) {
		f->joined[c->demand.at[i].from] |= JOINED;
		f->joined[c->demand.at[i].to] = DEMANDED;
	}
	f->n = THINGS;
	for (uint32_t x = 0; x < c->n; x++)
		f->vertex[x] = f->joined[x] ? f->n++ : 0;
}

static void open_flow(struct flow *f, const struct closure *c)
{
	number_vertices(f, c);
	f->first = mem_zalloc(sizeof *f->first * (f->n + 1));
	f->next = mem_alloc(sizeof *f->next * f->n);
	f->level = mem_alloc(sizeof *f->level * f->n);
	f->queue = mem_alloc(sizeof *f->queue * f->n);
	f->way = mem_alloc(sizeof *f->way * f->n);
	for (uint32_t i = 0; i < c->demand.n; i++) {
		f->first[f->vertex[c->demand.at[i].from] + 1]++;
		f->first[f->vertex[c->demand.at[i].to] + 1]++;
	}
	for (uint32_t x = 0; x < c->n; x++)
		if (is_joined(f, c, x)) {
			f->first[f->vertex[x] + 1]++;
			f->first[(c->worth[x] > 0 ? SOURCE : SINK) + 1]++;
		}
	for (uint32_t x = 0; x < f->n; x++)
		f->first[x + 1] += f->first[x];
	memcpy(f->next, f->first, sizeof *f->next * f->n);
	f->arc = mem_alloc(sizeof *f->arc * (f->first[f->n] + 1));
	for (uint32_t i = 0; i < c->demand.n; i++)
		add_arc(f, f->vertex[c->demand.at[i].from], f->vertex[c->demand.at[i].to], ENDLESS);
	for (uint32_t x = 0; x < c->n; x++) {
		if (is_joined(f, c, x) && c->worth[x] > 0)
			add_arc(f, SOURCE, f->vertex[x], c->worth[x]);
		else if (is_joined(f, c, x))
			add_arc(f, f->vertex[x], SINK, -c->worth[x]);
	}
}

int64_t closure_most(const struct closure *c, bool *in)
{
	struct flow f;
	int64_t most = 0;
	open_flow(&f, c);
	for (uint32_t x = 0; x < c->n; x++)
		most += c->worth[x] > 0 ? c->worth[x] : 0;
	while (find_levels(&f))
		most -= send_flow(&f);
	if (in)
		mark_reached(&f, c, in);
	free(f.first);
	free(f.next);
	free(f.level);
	free(f.queue);
	free(f.joined);
	free(f.vertex);
	free(f.way);
	free(f.arc);
	return most;
}
