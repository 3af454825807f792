/* fit: see fit.h. Issues the nodes in the given order. A node for which memory has no room, or that needs such a node, is
 * held. Held nodes keep their order, and go as soon as they fit:
 *
 *     a; gather b; c; use a; use b   →   a; c; use a; gather b; use b       (memory has no room for a, b and c)
 */
#include "sched/fit.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_HELD = 256 }; /* with more, nothing near the order fits */

struct fitter {
	const struct sched_problem *p;
	int64_t limit, live; /* bytes */
	uint32_t *left;      /* by storage: its users to come */
	bool *issued;        /* by node */
	uint32_t held[MOST_HELD], held_n;
	uint32_t *out, n;
};

/* Returns true if no node that x needs is held, and memory has room for its results. */
static bool may_issue(const struct fitter *f, uint32_t x)
{
	const struct sched_lists *pred = &f->p->pred;
	if (f->live + sched_made(f->p, x) > f->limit)
		return false;
	for (uint32_t i = pred->at[x]; f->held_n && i < pred->end[x]; i++)
		if (!f->issued[pred->item[i]])
			return false;
	return true;
}

/* Returns true if less memory is live afterwards. */
static bool issue_node(struct fitter *f, uint32_t x)
{
	const struct sched_problem *p = f->p;
	int64_t before = f->live;
	f->issued[x] = true;
	f->out[f->n++] = x;
	f->live += sched_made(p, x);
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
		if (!--f->left[p->uses.item[i]])
			f->live -= p->storage[p->uses.item[i]].bytes;
	return f->live < before;
}

/* Issues held nodes, until none fits. */
static void issue_held(struct fitter *f)
{
	for (bool freed = true; freed;) {
		uint32_t n = 0;
		freed = false;
		for (uint32_t i = 0; i < f->held_n; i++)
			if (may_issue(f, f->held[i]))
				freed |= issue_node(f, f->held[i]);
			else
				f->held[n++] = f->held[i];
		f->held_n = n;
	}
}

/* Returns false if a node is held to the end. */
static bool issue_all(struct fitter *f, const uint32_t *order)
{
	for (uint32_t k = 0; k < f->p->n; k++)
		if (may_issue(f, order[k])) {
			if (issue_node(f, order[k]))
				issue_held(f);
		} else if (f->held_n < MOST_HELD) {
			f->held[f->held_n++] = order[k];
		} else {
			return false;
		}
	issue_held(f);
	return !f->held_n;
}

bool sched_fit(const struct sched_problem *p, int64_t limit, uint32_t *order)
{
	struct fitter f = {.p = p, .limit = limit, .live = p->fixed};
	f.left = mem_alloc(sizeof *f.left * ((size_t)p->storage_n + 1));
	f.issued = mem_zalloc((size_t)p->numbers + 1);
	f.out = mem_alloc(sizeof *f.out * ((size_t)p->n + 1));
	for (uint32_t u = 0; u < p->storage_n; u++)
		f.left[u] = p->users.end[u] - p->users.at[u];
	bool fits = issue_all(&f, order);
	if (fits)
		memcpy(order, f.out, sizeof *order * p->n);
	free(f.left);
	free(f.issued);
	free(f.out);
	return fits;
}
