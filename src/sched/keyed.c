/* keyed: see keyed.h. */
#include "sched/keyed.h"
#include "base/vec.h"
#include <stdlib.h>
#include <string.h>

struct keyed {
	const struct sched_problem *p;
	uint32_t *next; /* by node: the first of its needs that was not looked at */
	bool *placed;   /* by node */
	VEC(uint32_t) stack;
	uint32_t *out, n;
};

static void sort_by_key(const struct sched_problem *p, const uint32_t *key, uint32_t keys, uint32_t *sorted)
{
	uint32_t *at = mem_zalloc(sizeof *at * ((size_t)keys + 1));
	for (uint32_t x = 0; x < p->n; x++)
		at[key[x] + 1]++;
	for (uint32_t i = 0; i < keys; i++)
		at[i + 1] += at[i];
	for (uint32_t x = 0; x < p->n; x++)
		sorted[at[key[x]]++] = x;
	free(at);
}

/* Places x after all nodes that it needs. */
static void place_needed(struct keyed *k, uint32_t x)
{
	const struct sched_lists *pred = &k->p->pred;
	vec_push(&k->stack, x);
	while (k->stack.n) {
		uint32_t y = k->stack.at[k->stack.n - 1];
		if (k->placed[y] || k->next[y] == pred->end[y]) {
			k->stack.n--;
			if (!k->placed[y])
				k->out[k->n++] = y;
			k->placed[y] = true;
		} else if (!k->placed[pred->item[k->next[y]++]]) {
			vec_push(&k->stack, pred->item[k->next[y] - 1]);
		}
	}
}

void sched_keyed(const struct sched_problem *p, const uint32_t *key, uint32_t keys, const bool *late,
                 uint32_t *out)
{
	struct keyed k = {.p = p, .out = out};
	uint32_t *sorted = mem_alloc(sizeof *sorted * ((size_t)p->n + 1));
	k.next = mem_alloc(sizeof *k.next * ((size_t)p->n + 1));
	k.placed = mem_zalloc((size_t)p->n + 1);
	sort_by_key(p, key, keys, sorted);
	memcpy(k.next, p->pred.at, sizeof *k.next * p->n);
	for (uint32_t i = 0; i < p->n; i++)
		if (!late[sorted[i]])
			place_needed(&k, sorted[i]);
	for (uint32_t i = 0; i < p->n; i++) /* late nodes that no node needs */
		if (!k.placed[sorted[i]])
			place_needed(&k, sorted[i]);
	vec_free(&k.stack);
	free(sorted);
	free(k.next);
	free(k.placed);
}

void sched_mark_late(const struct sched_problem *p, const bool *comm, bool *late)
{
	for (uint32_t x = p->n; x-- > 0;) {
		late[x] = !comm[x] && p->succ.at[x] < p->succ.end[x];
		for (uint32_t i = p->succ.at[x]; late[x] && i < p->succ.end[x]; i++)
			late[x] = comm[p->succ.item[i]] || late[p->succ.item[i]];
	}
}
