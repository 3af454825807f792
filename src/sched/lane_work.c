/* lane_work: see lane_work.h. A node is worth asking for if it joins paths whose comms differ. Each path is known by one
 * of its comms, the last one in the original order, or backwards the first. Of the joins, `most` are asked for, evenly
 * spread. */
#include "sched/lane_work.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

struct done { /* a comm */
	int64_t key, length;
	uint32_t lane;
};

struct lane_work {
	struct lane_side side;
	struct arena *arena;
	const struct sched_lists *next;
	bool *join;        /* by node: it is asked for */
	uint32_t *met;     /* by node: the last node from which it was met, plus 1 */
	uint32_t *counted; /* by comm: likewise, for its place in the list */
	uint32_t *stack;   /* nodes that were met, and whose lists are still to be followed */
	struct done *done; /* comms that were met */
	uint32_t done_n;
};

/* Returns the comm that is on the way through a node: one that it waits for, or the node itself; SCHED_NONE if there is
 * none. */
static uint32_t comm_at(const struct lane_work *w, uint32_t x)
{
	const struct sched_node *n = &w->side.p->node[x];
	if (w->side.ahead)
		return sched_awaited(n);
	return n->kind == SCHED_COMM ? x : SCHED_NONE;
}

/* Marks the joins, and returns their number. */
static uint32_t mark_joins(struct lane_work *w)
{
	const struct sched_problem *p = w->side.p;
	uint32_t *last = mem_alloc(sizeof *last * ((size_t)p->n + 1)), n = 0; /* by node: 1 + comm; 0: none */
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = w->side.ahead ? k : p->n - 1 - k, first = 0;
		last[x] = 0;
		for (uint32_t i = w->next->at[x]; i < w->next->end[x]; i++) {
			uint32_t y = w->next->item[i], c = comm_at(w, y),
			         here = c == SCHED_NONE ? last[y] : c + 1;
			w->join[x] |= first && here && first != here;
			first = here ? here : first;
			last[x] = !last[x] || (here && (here > last[x]) == w->side.ahead) ? here : last[x];
		}
		/* nodes that need a comm without waiting for it run beside it */
		w->join[x] &= w->side.ahead || p->node[x].kind != SCHED_COMM;
		n += w->join[x];
	}
	free(last);
	return n;
}

/* Leaves out joins, so that `most` are left. */
static void thin_joins(struct lane_work *w, uint32_t n)
{
	uint64_t k = 0;
	for (uint32_t x = 0; x < w->side.p->n && n > w->side.most; x++)
		if (w->join[x]) {
			w->join[x] = (k + 1) * w->side.most / n > k * w->side.most / n;
			k++;
		}
}

struct lane_work *lane_work_new(const struct lane_side *side)
{
	struct arena *a = arena_new();
	struct lane_work *w = arena_new_array(a, struct lane_work, 1);
	w->side = *side;
	w->arena = a;
	w->next = side->ahead ? &side->p->pred : &side->p->succ;
	w->join = arena_new_array(a, bool, side->p->n);
	w->met = arena_new_array(a, uint32_t, side->p->n);
	w->counted = arena_new_array(a, uint32_t, side->p->n);
	w->stack = arena_new_array(a, uint32_t, side->p->n);
	w->done = arena_new_array(a, struct done, side->p->n);
	thin_joins(w, mark_joins(w));
	return w;
}

void lane_work_free(struct lane_work *w)
{
	arena_free(w->arena);
}

static void meet(struct lane_work *w, uint32_t from, uint32_t x, uint32_t *stack_n)
{
	if (w->met[x] == from + 1)
		return;
	w->met[x] = from + 1;
	w->stack[(*stack_n)++] = x;
	uint32_t c = comm_at(w, x);
	if (c == SCHED_NONE || w->side.key[c] < 0 || w->counted[c] == from + 1)
		return;
	w->counted[c] = from + 1;
	w->done[w->done_n++] = (struct done){w->side.key[c], w->side.length[c], w->side.p->node[c].lane};
}

static int by_key(const void *a, const void *b)
{
	const struct done *x = a, *y = b;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

/* Returns when the first lane of the list has done its comms, and takes them from the list. */
static int64_t finish_lane(const struct done *done, uint32_t *at, uint32_t n)
{
	int64_t now = 0;
	for (uint32_t lane = done[*at].lane; *at < n && done[*at].lane == lane; ++*at)
		now = (done[*at].key > now ? done[*at].key : now) + done[*at].length;
	return now;
}

int64_t lane_work_of(struct lane_work *w, uint32_t node)
{
	uint32_t n = 0;
	int64_t most = 0;
	if (!w->join[node])
		return 0;
	w->done_n = 0;
	for (uint32_t x = node;;) {
		for (uint32_t i = w->next->at[x]; i < w->next->end[x]; i++)
			meet(w, node, w->next->item[i], &n);
		if (!n)
			break;
		x = w->stack[--n];
	}
	if (w->done_n > 1)
		qsort(w->done, w->done_n, sizeof *w->done, by_key);
	for (uint32_t i = 0; i < w->done_n;) {
		int64_t end = finish_lane(w->done, &i, w->done_n);
		most = end > most ? end : most;
	}
	return most;
}
