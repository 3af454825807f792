/* crest: see crest.h. */
#include "sched/crest.h"
#include "sched/closure.h"
#include "sched/simulate.h"
#include <stdlib.h>
#include <string.h>

enum {
	WORDS = 8, /* 64 candidates each */
	CANDIDATES = 64 * WORDS,
	MOST_NODES = 200000, /* larger problems have none */
	REACH = 256,         /* nodes on either side of a crest that may be before or after it */
};

/* ---- the chain */

struct candidates {
	uint32_t node[CANDIDATES], n;
	uint64_t (*needed)[WORDS]; /* by node: the candidates that it is or needs */
	int64_t best[CANDIDATES];  /* time of the longest chain that ends with it */
	uint32_t link[CANDIDATES]; /* the one before it in that chain, or CANDIDATES */
};

/* A comm without time may be ignored by other bounds. */
static bool is_of_lane(const struct sched_problem *p, uint32_t comm, uint32_t lane)
{
	const struct sched_node *n = &p->node[comm];
	return comm != SCHED_NONE && n->kind == SCHED_COMM && n->lane == lane && n->time > 0;
}

/* Finds the nodes that run between comms of the lane. */
static bool *find_between(const struct sched_problem *p, uint32_t lane, struct arena *a)
{
	bool *waits = arena_new_array(a, bool, p->n), *needed = arena_new_array(a, bool, p->n),
	     *between = arena_new_array(a, bool, p->n);
	for (uint32_t x = 0; x < p->n; x++)
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
			const struct sched_node *y = &p->node[p->pred.item[i]];
			waits[x] |=
			    waits[p->pred.item[i]] || (y->kind == SCHED_WAIT && is_of_lane(p, y->comm, lane));
		}
	for (uint32_t x = p->n; x-- > 0;) {
		for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++)
			needed[x] |= needed[p->succ.item[i]] || is_of_lane(p, p->succ.item[i], lane);
		between[x] = waits[x] && needed[x] && p->node[x].kind == SCHED_COMPUTE && p->node[x].time > 0;
	}
	return between;
}

static int falling(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x < y) - (x > y);
}

/* Chooses the nodes with most live bytes in the original order. */
static void choose_candidates(const struct sched_problem *p, uint32_t lane, struct arena *a,
                              struct candidates *c)
{
	const bool *between = find_between(p, lane, a);
	uint32_t *order = arena_new_array(a, uint32_t, p->n), n = 0, above = 0;
	struct sched_moment *trace = arena_new_array(a, struct sched_moment, p->n);
	int64_t *live = arena_new_array(a, int64_t, p->n);
	for (uint32_t x = 0; x < p->n; x++)
		order[x] = x;
	sched_simulate(p, order, trace);
	for (uint32_t x = 0; x < p->n; x++)
		if (between[x])
			live[n++] = trace[x].live;
	if (n)
		qsort(live, n, sizeof *live, falling);
	int64_t least = n > CANDIDATES ? live[CANDIDATES - 1] : 0;
	while (above < n && live[above] > least)
		above++;
	uint32_t equal = CANDIDATES - above; /* so many with `least` bytes have room */
	for (uint32_t x = 0; x < p->n; x++)
		if (between[x] && (trace[x].live > least || (trace[x].live == least && equal && equal--)))
			c->node[c->n++] = x;
}

static void find_needed(const struct sched_problem *p, struct arena *a, struct candidates *c)
{
	uint32_t k = 0;
	c->needed = (uint64_t(*)[WORDS])arena_new_array(a, uint64_t, (size_t)p->n * WORDS);
	for (uint32_t x = 0; x < p->n; x++) {
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
			for (unsigned w = 0; w < WORDS; w++)
				c->needed[x][w] |= c->needed[p->pred.item[i]][w];
		if (k < c->n && c->node[k] == x) {
			c->needed[x][k / 64] |= (uint64_t)1 << k % 64;
			k++;
		}
	}
}

/* Finds the longest chain. Returns its number of crests; node: receives them, and has room for all candidates. */
static uint32_t find_chain(const struct sched_problem *p, struct candidates *c, uint32_t *node)
{
	uint32_t last = CANDIDATES, n = 0;
	for (uint32_t k = 0; k < c->n; k++) {
		c->link[k] = CANDIDATES;
		for (uint32_t j = 0; j < k; j++)
			if (c->needed[c->node[k]][j / 64] >> j % 64 & 1 && c->best[j] > c->best[k]) {
				c->best[k] = c->best[j];
				c->link[k] = j;
			}
		c->best[k] += p->node[c->node[k]].time;
		last = last == CANDIDATES || c->best[k] > c->best[last] ? k : last;
	}
	for (uint32_t k = last; k < CANDIDATES; k = c->link[k])
		n++;
	for (uint32_t k = last, i = n; k < CANDIDATES; k = c->link[k])
		node[--i] = c->node[k];
	return n;
}

/* ---- least live bytes */

struct cut {
	const struct sched_problem *p;
	const struct sched_crests *found;
	uint32_t k, crest;             /* the crest and its node */
	uint32_t from, end;            /* nodes that may be before or after it */
	uint32_t thing[2 * REACH + 1]; /* by node from `from` on */
	VEC(int64_t) worth;
	struct closure c;
	int64_t live;
};

static bool is_done(const struct cut *c, uint32_t x)
{
	return c->found->before[x] <= c->k && x != c->crest;
}

static bool is_left(const struct cut *c, uint32_t x)
{
	return c->found->after[x] > c->k && x != c->crest;
}

static bool is_free(const struct cut *c, uint32_t x)
{
	return x >= c->from && x < c->end && x != c->crest && !is_done(c, x) && !is_left(c, x);
}

/* The closed set has the free nodes after the crest. */
static void list_free(struct cut *c)
{
	const struct sched_problem *p = c->p;
	for (uint32_t x = c->from; x < c->end; x++)
		if (is_free(c, x)) {
			c->thing[x - c->from] = c->worth.n;
			vec_push(&c->worth, 0);
		}
	for (uint32_t x = c->from; x < c->end; x++)
		for (uint32_t i = p->succ.at[x]; is_free(c, x) && i < p->succ.end[x]; i++)
			if (is_free(c, p->succ.item[i]))
				closure_demand(&c->c, c->thing[x - c->from],
				               c->thing[p->succ.item[i] - c->from]);
}

/* Adds a storage: live in any case, or if its maker is before the crest and a user after it. */
static void add_storage(struct cut *c, uint32_t s)
{
	const struct sched_problem *p = c->p;
	const struct sched_storage *t = &p->storage[s];
	bool movable = is_free(c, t->def), used = t->kept || t->def == c->crest, some = false;
	if (!movable && !is_done(c, t->def) && t->def != c->crest)
		return;
	for (uint32_t i = p->users.at[s]; i < p->users.end[s]; i++) {
		uint32_t x = p->users.item[i];
		used |= x == c->crest || is_left(c, x);
		some |= is_free(c, x);
	}
	if (!used && !some)
		return;
	if (movable)
		c->worth.at[c->thing[t->def - c->from]] += t->bytes;
	if (used) {
		c->live += t->bytes;
		return;
	}
	for (uint32_t i = p->users.at[s]; i < p->users.end[s]; i++)
		if (is_free(c, p->users.item[i]))
			closure_demand(&c->c, c->thing[p->users.item[i] - c->from], c->worth.n);
	vec_push(&c->worth, -t->bytes);
}

static int64_t find_least(const struct sched_problem *p, const struct sched_crests *found, uint32_t k)
{
	struct cut c = {.p = p, .found = found, .k = k, .crest = found->node[k], .live = p->fixed};
	c.from = c.crest > REACH ? c.crest - REACH : 0;
	c.end = p->n - c.crest > REACH ? c.crest + REACH + 1 : p->n;
	list_free(&c);
	for (uint32_t s = 0; s < p->storage_n; s++)
		if (p->storage[s].bytes && p->storage[s].def != SCHED_NONE &&
		    p->node[p->storage[s].def].kind == SCHED_COMPUTE)
			add_storage(&c, s);
	c.c.n = c.worth.n;
	c.c.worth = c.worth.at;
	c.live -= closure_most(&c.c, NULL);
	vec_free(&c.c.demand);
	vec_free(&c.worth);
	return c.live;
}

/* Finds the crests that each node needs, and those that need it. */
static void find_sides(const struct sched_problem *p, struct sched_crests *found)
{
	for (uint32_t x = 0, k = 0; x < p->n; x++) {
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
			uint32_t there = found->after[p->pred.item[i]];
			found->after[x] = there > found->after[x] ? there : found->after[x];
		}
		if (k < found->n && found->node[k] == x)
			found->after[x] = ++k;
	}
	for (uint32_t x = p->n, k = found->n; x-- > 0;) {
		found->before[x] = found->n;
		for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++) {
			uint32_t there = found->before[p->succ.item[i]];
			found->before[x] = there < found->before[x] ? there : found->before[x];
		}
		if (k && found->node[k - 1] == x)
			found->before[x] = --k;
	}
}

struct sched_crests sched_crests(const struct sched_problem *p, uint32_t lane, struct arena *a)
{
	struct sched_crests found = {0};
	if (p->n > MOST_NODES)
		return found;
	struct arena *scratch = arena_new();
	struct candidates c = {0};
	choose_candidates(p, lane, scratch, &c);
	find_needed(p, scratch, &c);
	found.node = arena_new_array(a, uint32_t, c.n);
	found.n = find_chain(p, &c, found.node);
	arena_free(scratch);
	found.live = arena_new_array(a, int64_t, found.n);
	found.after = arena_new_array(a, uint32_t, p->n);
	found.before = arena_new_array(a, uint32_t, p->n);
	find_sides(p, &found);
	for (uint32_t k = 0; k < found.n; k++)
		found.live[k] = find_least(p, &found, k);
	return found;
}
