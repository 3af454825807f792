/* keyed: see keyed.h. */
#include "sched/keyed.h"
#include "base/vec.h"
#include <stdlib.h>
#include <string.h>

struct settler {
	const struct sched_problem *p;
	uint32_t *
	    next; /* by node on the stack: the first of its needs that was not looked at; SCHED_NONE: none was */
	bool *placed; /* by node */
	VEC(uint32_t) stack;
	uint32_t *out, n;
};

static void place(struct settler *s, uint32_t x)
{
	s->placed[x] = true;
	s->out[s->n++] = x;
}

/* Places x after all nodes that it needs. Returns false if a node needs itself. */
static bool place_needed(struct settler *s, uint32_t x)
{
	const struct sched_lists *pred = &s->p->pred;
	vec_push(&s->stack, x);
	s->next[x] = pred->at[x];
	while (s->stack.n) {
		uint32_t y = s->stack.at[s->stack.n - 1];
		if (s->next[y] == pred->end[y]) {
			s->stack.n--;
			place(s, y);
			continue;
		}
		uint32_t need = pred->item[s->next[y]++];
		if (s->placed[need])
			continue;
		if (s->next[need] != SCHED_NONE)
			return false;
		s->next[need] = pred->at[need];
		vec_push(&s->stack, need);
	}
	return true;
}

/* Returns true if all needs of a node are placed. */
static bool may_follow(const struct settler *s, uint32_t x)
{
	const struct sched_lists *pred = &s->p->pred;
	for (uint32_t i = pred->at[x]; i < pred->end[x]; i++)
		if (!s->placed[pred->item[i]])
			return false;
	return true;
}

static bool settle(struct settler *s, uint32_t x)
{
	if (s->placed[x])
		return true;
	if (!may_follow(s, x))
		return place_needed(s, x);
	place(s, x);
	return true;
}

bool sched_settle(const struct sched_problem *p, const uint32_t *wanted, uint32_t from, const bool *late,
                  uint32_t *out)
{
	struct settler s = {.p = p, .out = out};
	bool ok = true;
	s.next = mem_alloc(sizeof *s.next * ((size_t)p->numbers + 1));
	s.placed = mem_zalloc((size_t)p->numbers + 1);
	memset(s.next, 0xff, sizeof *s.next * p->numbers);
	for (uint32_t k = 0; k < from; k++)
		place(&s, wanted[k]);
	for (uint32_t k = from; k < p->n && ok; k++)
		if (!late || !late[wanted[k]])
			ok = settle(&s, wanted[k]);
	for (uint32_t k = from; k < p->n && ok && late; k++) /* late nodes that no node needs */
		ok = settle(&s, wanted[k]);
	vec_free(&s.stack);
	free(s.next);
	free(s.placed);
	return ok;
}

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

void sched_keyed(const struct sched_problem *p, const uint32_t *key, uint32_t keys, const bool *late,
                 uint32_t *out)
{
	uint32_t *sorted = mem_alloc(sizeof *sorted * ((size_t)p->n + 1));
	sort_by_key(p, key, keys, sorted);
	sched_settle(p, sorted, 0, late, out);
	free(sorted);
}

void sched_mark_late(const struct sched_problem *p, const uint32_t *order, const bool *comm, bool *late)
{
	for (uint32_t k = p->n; k-- > 0;) {
		uint32_t x = order[k];
		late[x] = !comm[x] && p->succ.at[x] < p->succ.end[x];
		for (uint32_t i = p->succ.at[x]; late[x] && i < p->succ.end[x]; i++)
			late[x] = comm[p->succ.item[i]] || late[p->succ.item[i]];
	}
}
