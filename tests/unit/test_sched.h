/* test_sched: small random problems. */
#ifndef HIRC_TESTS_SCHED_H
#define HIRC_TESTS_SCHED_H
#include "sched/simulate.h"
#include "sched/window.h"
#include <stdlib.h>
#include <string.h>

struct test_random {
	uint64_t state;
};

static inline uint32_t test_draw(struct test_random *r, uint32_t n)
{
	r->state = r->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(r->state >> 33) % n;
}

/* Draws n nodes; about a third are comms on two lanes, each with a wait and a reader of its result. */
static inline void test_problem(struct arena *a, uint32_t seed, uint32_t n, struct sched_problem *p)
{
	static const struct sched_point points[] = {
	    {1 << 20, 400}, {2 << 20, 600}, {4 << 20, 900}, {8 << 20, 1600}};
	struct test_random r = {seed * 7919u + 1};
	struct sched_family *family = arena_new_array(a, struct sched_family, 2);
	family[0] = (struct sched_family){0, SCHED_ALLGATHER, true, points, 4};
	family[1] = (struct sched_family){1, SCHED_REDUCE_SCATTER, false, points, 4};
	*p = (struct sched_problem){
	    .launch = 10, .bytes_per_ns = 1 << 18, .n = n, .lane_n = 2, .family_n = 2, .family = family};
	p->node = arena_new_array(a, struct sched_node, n);
	p->transfer = arena_new_array(a, struct sched_transfer, n);
	p->storage = arena_new_array(a, struct sched_storage, n + 1);
	struct sched_pair *edge = arena_new_array(a, struct sched_pair, 4 * n + 4),
	                  *use = arena_new_array(a, struct sched_pair, 6 * n + 4);
	uint32_t edge_n = 0, use_n = 0, open = SCHED_NONE; /* open: a comm without a wait so far */
	p->storage[p->storage_n++] = (struct sched_storage){1 << 20, SCHED_NONE, false};
	for (uint32_t x = 0; x < n; x++) {
		struct sched_node *m = &p->node[x];
		*m = (struct sched_node){.comm = SCHED_NONE, .kind = SCHED_COMPUTE};
		unsigned needs = test_draw(&r, 3);
		if (open != SCHED_NONE && test_draw(&r, 2)) {
			m->kind = SCHED_WAIT;
			m->comm = open;
			edge[edge_n++] = (struct sched_pair){open, x};
			use[use_n++] = (struct sched_pair){x, open + 1};
			open = SCHED_NONE;
		} else if (open == SCHED_NONE && x + 1 < n && test_draw(&r, 2)) {
			struct sched_transfer *moved = &p->transfer[p->transfer_n];
			m->kind = SCHED_COMM;
			m->transfer = p->transfer_n++;
			m->lane = (uint8_t)(moved->family = test_draw(&r, 2));
			moved->in = (int64_t)(1 + test_draw(&r, 8)) << 19;
			moved->out = moved->in * 2;
			m->time = sched_family_time(&family[moved->family], moved->in);
			open = x;
			needs = test_draw(&r, 2);
		} else {
			m->time = test_draw(&r, 4) ? 50 * test_draw(&r, 12) : 0;
		}
		for (unsigned k = 0; k < needs && x; k++) {
			uint32_t y = test_draw(&r, x);
			if (p->node[y].kind == SCHED_COMM)
				continue; /* its result is read after the wait */
			edge[edge_n++] = (struct sched_pair){y, x};
			use[use_n++] = (struct sched_pair){x, y + 1};
			if (p->node[y].kind == SCHED_WAIT)
				use[use_n++] = (struct sched_pair){x, p->node[y].comm + 1};
		}
		p->storage[p->storage_n++] =
		    (struct sched_storage){(int64_t)test_draw(&r, 5) << 19, x, !test_draw(&r, 8)};
	}
	if (open != SCHED_NONE) { /* a comm without a wait is not allowed */
		p->node[open].kind = SCHED_COMPUTE;
		p->node[open].comm = SCHED_NONE;
		p->transfer_n--;
	}
	sched_problem_finish(p, a, edge, edge_n, use, use_n);
}

/* Returns the bucket of a node; SCHED_NONE unless it is a comm. */
static inline uint32_t test_bucket_of(const struct sched_problem *p, const uint32_t *bucket, uint32_t node)
{
	return p->node[node].kind == SCHED_COMM ? bucket[p->node[node].transfer] : SCHED_NONE;
}

static inline uint32_t *test_original(struct arena *a, const struct sched_problem *p)
{
	uint32_t *order = arena_new_array(a, uint32_t, p->n);
	for (uint32_t x = 0; x < p->n; x++)
		order[x] = x;
	return order;
}

/* Draws a move of a node in the order of a window. Returns false if the node cannot go there. Otherwise
 * returns the new order, which the window does not have yet, and its range that changes. */
static inline bool test_move(struct window *w, struct test_random *r, uint32_t *other, uint32_t *from,
                             uint32_t *end)
{
	uint32_t n = w->p->n, x = test_draw(r, n), to = test_draw(r, n), at = w->place[x];
	if (to == at || !(to < at ? window_pull(w, x, to) : window_push(w, x, to)))
		return false;
	*from = to < at ? to : at;
	*end = (to < at ? at : to) + 1;
	memcpy(other, w->order, sizeof *other * n);
	memcpy(other + *from, window_draft(w, *from, *end), sizeof *other * (*end - *from));
	return true;
}

/* Returns the least value among all orders that begin with the n nodes of `done`. */
static inline int64_t least_from(const struct sched_problem *p, uint32_t *order, uint32_t n, uint32_t done,
                                 int64_t (*of)(struct sched_result))
{
	int64_t best = INT64_MAX;
	if (n == p->n)
		return of(sched_simulate(p, order, NULL));
	for (uint32_t x = 0; x < p->n; x++) {
		bool ready = !(done >> x & 1);
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
			ready &= done >> p->pred.item[i] & 1;
		if (!ready)
			continue;
		order[n] = x;
		int64_t t = least_from(p, order, n + 1, done | 1u << x, of);
		best = t < best ? t : best;
	}
	return best;
}

/* Returns the least runtime or peak among all orders. */
static inline int64_t least_of_orders(const struct sched_problem *p, int64_t (*of)(struct sched_result))
{
	uint32_t *order = mem_alloc(sizeof *order * ((size_t)p->n + 1));
	int64_t least = least_from(p, order, 0, 0, of);
	free(order);
	return least;
}

#endif
