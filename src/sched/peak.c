/* peak: makes an order in two ways. Each way is also tried on the result of the other.
 *
 * By need: a node that makes more bytes than it frees waits until another node needs it. A node that
 * frees at least as much as it makes goes as soon as it can.
 *
 *     a; b; use a; use b   →   a; use a; b; use b
 *
 * Greedy: the next node is the ready one that adds least to the live bytes.
 *
 * In a small problem the least peak of all orders is found (exact.h). */
#include "sched/peak.h"
#include "base/vec.h"
#include "sched/exact.h"
#include "sched/simulate.h"
#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS = 3,
	STATES = 50000, /* visited in a small problem, to find the least peak of all */
};

struct entry {
	int64_t added;
	uint32_t place; /* the least goes first among equals */
	uint32_t node;
};

struct peak {
	const struct sched_problem *p;
	const uint32_t *from; /* an order to start from */
	uint32_t *place;      /* by node: its place in `from` */
	uint32_t *order, n;   /* order: the issued nodes */
	uint32_t *left;       /* by node: the nodes that it needs and that are not issued */
	uint32_t *users;      /* by storage: its users that are not issued */
	int64_t *added;       /* by node: bytes that it makes, minus bytes that it would free now */
	bool *issued;
	VEC(struct entry) heap; /* ready nodes; entries of issued nodes and outdated entries are skipped */
	VEC(uint32_t) stack;
};

static bool is_entry_above(const struct entry *x, const struct entry *y)
{
	return x->added != y->added ? x->added < y->added : x->place < y->place;
}

static void push_entry(struct peak *k, uint32_t node)
{
	struct entry e = {k->added[node], k->place[node], node};
	vec_push(&k->heap, e);
	uint32_t i = k->heap.n - 1;
	for (; i && is_entry_above(&e, &k->heap.at[(i - 1) / 2]); i = (i - 1) / 2)
		k->heap.at[i] = k->heap.at[(i - 1) / 2];
	k->heap.at[i] = e;
}

static struct entry pop_entry(struct peak *k)
{
	struct entry top = k->heap.at[0], moved = k->heap.at[--k->heap.n];
	uint32_t i = 0, child;
	while ((child = 2 * i + 1) < k->heap.n) {
		if (child + 1 < k->heap.n && is_entry_above(&k->heap.at[child + 1], &k->heap.at[child]))
			child++;
		if (!is_entry_above(&k->heap.at[child], &moved))
			break;
		k->heap.at[i] = k->heap.at[child];
		i = child;
	}
	k->heap.at[i] = moved;
	return top;
}

/* Updates the only remaining user of a storage: issuing it would free the storage. */
static void free_by_last(struct peak *k, uint32_t storage)
{
	const struct sched_lists *users = &k->p->users;
	uint32_t i = users->at[storage];
	while (k->issued[users->item[i]])
		i++;
	uint32_t last = users->item[i];
	k->added[last] -= k->p->storage[storage].bytes;
	if (!k->left[last])
		push_entry(k, last);
}

static void order_node(struct peak *k, uint32_t x)
{
	const struct sched_problem *p = k->p;
	k->issued[x] = true;
	k->order[k->n++] = x;
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
		if (--k->users[p->uses.item[i]] == 1)
			free_by_last(k, p->uses.item[i]);
	for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++)
		if (!--k->left[p->succ.item[i]])
			push_entry(k, p->succ.item[i]);
}

/* Issues x after all nodes that it needs, each after those that it needs. */
static void issue_needed(struct peak *k, uint32_t x)
{
	const struct sched_lists *pred = &k->p->pred;
	vec_push(&k->stack, x);
	while (k->stack.n) {
		uint32_t y = k->stack.at[k->stack.n - 1], before = k->stack.n;
		for (uint32_t i = pred->end[y]; !k->issued[y] && i-- > pred->at[y];)
			if (!k->issued[pred->item[i]])
				vec_push(&k->stack, pred->item[i]);
		if (k->stack.n > before)
			continue;
		k->stack.n--;
		if (!k->issued[y])
			order_node(k, y);
	}
}

/* Issues all ready nodes that add no bytes. */
static void issue_free(struct peak *k)
{
	while (k->heap.n && k->heap.at[0].added <= 0) {
		uint32_t x = pop_entry(k).node;
		if (!k->issued[x])
			order_node(k, x);
	}
}

static void by_need(struct peak *k)
{
	const struct sched_problem *p = k->p;
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t x = k->from[i];
		issue_free(k);
		if (k->issued[x] || (k->added[x] > 0 && p->succ.at[x] < p->succ.end[x]))
			continue;
		issue_needed(k, x);
	}
	issue_free(k);
	for (uint32_t i = 0; i < p->n; i++)
		if (!k->issued[k->from[i]])
			issue_needed(k, k->from[i]);
}

static void greedily(struct peak *k)
{
	while (k->heap.n) {
		struct entry e = pop_entry(k);
		if (!k->issued[e.node] && e.added == k->added[e.node])
			order_node(k, e.node);
	}
}

/* Makes an order from another order. */
static void make_order(const struct sched_problem *p, const uint32_t *from, void (*way)(struct peak *),
                       uint32_t *order)
{
	struct arena *a = arena_new();
	struct peak k = {.p = p, .from = from, .order = order};
	k.place = arena_new_array(a, uint32_t, p->n);
	k.left = arena_new_array(a, uint32_t, p->n);
	k.users = arena_new_array(a, uint32_t, p->storage_n);
	k.added = arena_new_array(a, int64_t, p->n);
	k.issued = arena_new_array(a, bool, p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t x = from[i];
		k.place[x] = i;
		k.left[x] = p->pred.end[x] - p->pred.at[x];
		k.added[x] = sched_made(p, x);
	}
	for (uint32_t s = 0; s < p->storage_n; s++) {
		k.users[s] = p->users.end[s] - p->users.at[s];
		if (k.users[s] == 1)
			k.added[p->users.item[p->users.at[s]]] -= p->storage[s].bytes;
	}
	for (uint32_t x = 0; x < p->n; x++)
		if (!k.left[x])
			push_entry(&k, x);
	way(&k);
	vec_free(&k.heap);
	vec_free(&k.stack);
	arena_free(a);
}

int64_t sched_lower_peak(const struct sched_problem *p, int64_t limit, uint32_t *order)
{
	static void (*const ways[])(struct peak *) = {by_need, greedily};
	uint32_t *next = mem_alloc(sizeof *next * ((size_t)p->n + 1));
	uint32_t *best = mem_alloc(sizeof *best * ((size_t)p->n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		order[x] = x;
	int64_t least = sched_simulate(p, order, NULL).peak;
	uint32_t states = STATES;
	if (least > limit && sched_exact_peak(p, &states, next)) {
		memcpy(order, next, sizeof *next * p->n);
		free(next);
		free(best);
		return sched_simulate(p, order, NULL).peak;
	}
	for (unsigned round = 0; least > limit && round < ROUNDS; round++) {
		int64_t before = least;
		for (unsigned w = 0; least > limit && w < sizeof ways / sizeof *ways; w++) {
			make_order(p, order, ways[w], next);
			int64_t peak = sched_simulate(p, next, NULL).peak;
			if (peak < least) {
				least = peak;
				memcpy(best, next, sizeof *best * p->n);
			}
		}
		if (least == before)
			break;
		memcpy(order, best, sizeof *best * p->n);
	}
	free(next);
	free(best);
	return least;
}

void sched_reorder(const struct sched_problem *p, const uint32_t *order, struct arena *a,
                   struct sched_problem *out)
{
	uint32_t *place = mem_alloc(sizeof *place * ((size_t)p->n + 1)), edge_n = 0, use_n = 0;
	struct sched_pair *edge = mem_alloc(sizeof *edge * ((size_t)p->pred.at[p->n] + 1));
	struct sched_pair *use = mem_alloc(sizeof *use * ((size_t)p->uses.at[p->n] + 1));
	*out = *p;
	out->node = arena_new_array(a, struct sched_node, p->n);
	out->storage = arena_new_array(a, struct sched_storage, p->storage_n);
	for (uint32_t k = 0; k < p->n; k++)
		place[order[k]] = k;
	for (uint32_t x = 0; x < p->n; x++) {
		struct sched_node *n = &out->node[place[x]];
		*n = p->node[x];
		if (sched_awaited(n) != SCHED_NONE)
			n->comm = place[n->comm];
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
			edge[edge_n++] = (struct sched_pair){place[p->pred.item[i]], place[x]};
		for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
			use[use_n++] = (struct sched_pair){place[x], p->uses.item[i]};
	}
	for (uint32_t s = 0; s < p->storage_n; s++) {
		out->storage[s] = p->storage[s];
		if (p->storage[s].def != SCHED_NONE)
			out->storage[s].def = place[p->storage[s].def];
	}
	sched_problem_finish(out, a, edge, edge_n, use, use_n);
	free(place);
	free(edge);
	free(use);
}
