/* chakra_order: orders nodes so that each comes after those that it needs, by id where there is a choice.
 * Turns deps into positions. A cycle of data_deps is an error; chakra_cycles drops other cycles. */
#include "import/chakra.h"
#include "import/chakra_cycles.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	uint64_t id;
	uint32_t node;
};

struct order {
	struct diag *d;
	struct chakra *t;
	struct arena *a;
	struct entry *by_id;
	uint32_t *rank;          /* by node: its place in by_id */
	uint32_t *waits;         /* by node: number of nodes that it still needs */
	uint32_t *first, *users; /* by node: the nodes that need it */
	uint32_t *heap, heap_n;  /* a heap of ranks, the least first */
	uint32_t *made, made_n;  /* nodes in their final order */
};

static int by_id(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	return x->id != y->id ? (x->id < y->id ? -1 : 1) : (x->node > y->node) - (x->node < y->node);
}

static bool sort_ids(struct order *o)
{
	uint32_t n = o->t->node.n;
	for (uint32_t k = 0; k < n; k++)
		o->by_id[k] = (struct entry){o->t->node.at[k].id, k};
	if (n)
		qsort(o->by_id, n, sizeof *o->by_id, by_id);
	for (uint32_t k = 0; k < n; k++) {
		o->rank[o->by_id[k].node] = k;
		if (k && o->by_id[k].id == o->by_id[k - 1].id)
			return chakra_refuse(o->d, E_TRACE_ORDER, o->t, &o->t->node.at[o->by_id[k].node],
			                     "id", "the node at byte %zu has this id, too",
			                     o->t->node.at[o->by_id[k - 1].node].at);
	}
	return true;
}

static const struct entry *find_entry(const struct order *o, uint64_t id)
{
	uint32_t low = 0, high = o->t->node.n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (o->by_id[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < o->t->node.n && o->by_id[low].id == id ? &o->by_id[low] : NULL;
}

/* Replaces the ids in deps by nodes, and drops control dependencies that no order can respect. */
static bool resolve(struct order *o)
{
	struct chakra *t = o->t;
	for (uint32_t k = 0; k < t->node.n; k++) {
		struct chakra_node *n = &t->node.at[k];
		for (uint32_t i = 0; i < n->dep_n; i++) {
			const struct entry *e = find_entry(o, t->deps.at[n->dep + i]);
			if (!e && i < n->data_n)
				return chakra_refuse(o->d, E_TRACE_ORDER, t, n, "data_deps",
				                     "no node has the id %" PRIu64, t->deps.at[n->dep + i]);
			t->deps.at[n->dep + i] = e ? e->node : CHAKRA_NO_NODE;
		}
	}
	chakra_cycles_drop(o->d, t);
	return true;
}

/* Lists the users of each node. */
static void find_users(struct order *o)
{
	struct chakra *t = o->t;
	for (uint32_t k = 0; k < t->node.n; k++) {
		const struct chakra_node *n = &t->node.at[k];
		o->waits[k] = n->dep_n;
		for (uint32_t i = 0; i < n->dep_n; i++)
			o->first[t->deps.at[n->dep + i] + 1]++;
	}
	for (uint32_t k = 0; k < t->node.n; k++)
		o->first[k + 1] += o->first[k];
	uint32_t *at = arena_new_array(o->a, uint32_t, t->node.n + 1);
	memcpy(at, o->first, sizeof *at * (t->node.n + 1));
	for (uint32_t k = 0; k < t->node.n; k++)
		for (uint32_t i = 0; i < t->node.at[k].dep_n; i++)
			o->users[at[t->deps.at[t->node.at[k].dep + i]]++] = k;
}

static void heap_push(struct order *o, uint32_t rank)
{
	uint32_t k = o->heap_n++;
	for (; k && o->heap[(k - 1) / 2] > rank; k = (k - 1) / 2)
		o->heap[k] = o->heap[(k - 1) / 2];
	o->heap[k] = rank;
}

static uint32_t heap_pop(struct order *o)
{
	uint32_t least = o->heap[0], last = o->heap[--o->heap_n], k = 0;
	for (uint32_t child; (child = 2 * k + 1) < o->heap_n; k = child) {
		if (child + 1 < o->heap_n && o->heap[child + 1] < o->heap[child])
			child++;
		if (o->heap[child] >= last)
			break;
		o->heap[k] = o->heap[child];
	}
	o->heap[k] = last;
	return least;
}

/* Reports a cycle of nodes that need each other: follows needs back from any node that was not placed, until
 * a node repeats. */
static bool refuse_cycle(struct order *o)
{
	struct chakra *t = o->t;
	bool *seen = arena_new_array(o->a, bool, t->node.n);
	uint32_t k = 0, next = 0;
	while (!o->waits[k])
		k++;
	for (;; k = next) {
		const struct chakra_node *n = &t->node.at[k];
		uint32_t i = 0;
		while (!o->waits[t->deps.at[n->dep + i]])
			i++;
		next = (uint32_t)t->deps.at[n->dep + i];
		if (seen[k])
			return chakra_refuse(o->d, E_TRACE_ORDER, t, n, "data_deps",
			                     "the nodes make a cycle: this needs node %" PRIu64
			                     ", which needs this",
			                     t->node.at[next].id);
		seen[k] = true;
	}
}

static bool order_nodes(struct order *o)
{
	struct chakra *t = o->t;
	find_users(o);
	for (uint32_t k = 0; k < t->node.n; k++)
		if (!o->waits[k])
			heap_push(o, o->rank[k]);
	while (o->heap_n) {
		uint32_t k = o->by_id[heap_pop(o)].node;
		o->made[o->made_n++] = k;
		for (uint32_t u = o->first[k]; u < o->first[k + 1]; u++)
			if (!--o->waits[o->users[u]])
				heap_push(o, o->rank[o->users[u]]);
	}
	return o->made_n == t->node.n || refuse_cycle(o);
}

static void move_nodes(struct order *o)
{
	struct chakra *t = o->t;
	struct chakra_node *old = arena_new_array(o->a, struct chakra_node, t->node.n);
	uint32_t *position = arena_new_array(o->a, uint32_t, t->node.n);
	if (t->node.n)
		memcpy(old, t->node.at, sizeof *old * t->node.n);
	for (uint32_t k = 0; k < t->node.n; k++) {
		t->node.at[k] = old[o->made[k]];
		position[o->made[k]] = k;
	}
	for (uint32_t k = 0; k < t->node.n; k++)
		for (uint32_t i = 0; i < t->node.at[k].dep_n; i++) {
			uint64_t *dep = &t->deps.at[t->node.at[k].dep + i];
			*dep = position[*dep];
		}
}

bool chakra_order(struct diag *d, struct chakra *t)
{
	struct order o = {.d = d, .t = t, .a = arena_new()};
	uint32_t n = t->node.n;
	o.by_id = arena_new_array(o.a, struct entry, n);
	o.rank = arena_new_array(o.a, uint32_t, n);
	o.waits = arena_new_array(o.a, uint32_t, n);
	o.first = arena_new_array(o.a, uint32_t, n + 1);
	o.users = arena_new_array(o.a, uint32_t, t->deps.n);
	o.heap = arena_new_array(o.a, uint32_t, n);
	o.made = arena_new_array(o.a, uint32_t, n);
	bool ok = sort_ids(&o) && resolve(&o) && order_nodes(&o);
	if (ok)
		move_nodes(&o);
	arena_free(o.a);
	return ok;
}
