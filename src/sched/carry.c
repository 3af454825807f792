/* carry: each node of the new problem gets a key, and goes in the order of the keys, after all nodes that it
 * needs.
 *
 *     … comm a … comm b … wait a … wait b …   →   … pack ab; comm ab … wait ab; unpack ab …
 *
 * The key is the place of the node in the old order. A new bucket is issued at the first or the last of its
 * members, and waited for at the first wait of a member. */
#include "sched/carry.h"
#include "sched/keyed.h"
#include <string.h>

enum { SPREAD = 3 }; /* keys for each old place: the parts of a new bucket fit between them */

/* Finds the pack or unpack of a bucket of the old problem, if it has so many bytes. */
static uint32_t find_part(const struct sched_bucketed *b, uint32_t comm, enum sched_step step, int64_t in)
{
	const struct sched_lists *l = step == SCHED_STEP_PACK ? &b->p.pred : &b->p.succ;
	if (b->origin[comm].bucket == SCHED_NONE || b->p.node[comm].in != in)
		return SCHED_NONE;
	for (unsigned hops = 0; hops < 2; hops++) { /* the pack, or the wait and the unpack */
		uint32_t next = SCHED_NONE;
		for (uint32_t i = l->at[comm]; i < l->at[comm + 1]; i++)
			if (b->origin[l->item[i]].bucket == b->origin[comm].bucket)
				next = l->item[i];
		if (next == SCHED_NONE || b->origin[next].step == step)
			return next;
		comm = next;
	}
	return SCHED_NONE;
}

static void find_keys(const struct sched_bucketed *from, const uint32_t *place, uint32_t n,
                      const struct sched_bucketed *to, bool first, uint32_t *key)
{
	const struct sched_problem *p = &to->p;
	memset(key, 0xff, sizeof *key * p->n);
	for (uint32_t x = 0; x < n; x++) {
		uint32_t k = to->became[x], at = SPREAD * place[from->became[x]] + 1;
		bool last = p->node[k].kind == SCHED_COMM && !first;
		if (key[k] == SCHED_NONE || (last ? at > key[k] : at < key[k]))
			key[k] = at;
	}
	for (uint32_t k = 0; k < p->n; k++) { /* a pack goes before its comm, an unpack after its wait */
		enum sched_step step = to->origin[k].step;
		if (step != SCHED_STEP_PACK && step != SCHED_STEP_UNPACK)
			continue;
		uint32_t before = find_part(from, from->became[to->origin[k].node], step, p->node[k].in);
		if (before != SCHED_NONE)
			key[k] = SPREAD * place[before] + 1;
		else if (step == SCHED_STEP_PACK)
			key[k] = key[p->succ.item[p->succ.at[k]]] - 1;
		else
			key[k] = key[p->pred.item[p->pred.at[k]]] + 1;
	}
}

void sched_carry(const struct sched_bucketed *from, const uint32_t *order, uint32_t n,
                 const struct sched_bucketed *to, const struct sched_carry_options *o, uint32_t *out)
{
	struct arena *scratch = arena_new();
	const struct sched_problem *p = &to->p;
	uint32_t *place = arena_new_array(scratch, uint32_t, from->p.n), end = SPREAD * from->p.n;
	uint32_t *key = arena_new_array(scratch, uint32_t, p->n);
	bool *late = arena_new_array(scratch, bool, p->n);
	for (uint32_t k = 0; k < from->p.n; k++)
		place[order[k]] = k;
	find_keys(from, place, n, to, o->first, key);
	if (o->late != SCHED_NONE) {
		bool *comm = arena_new_array(scratch, bool, p->n);
		comm[o->late] = true;
		sched_mark_late(p, comm, late);
	}
	if (o->late != SCHED_NONE && o->end) { /* its wait takes it along */
		late[o->late] = true;
		for (uint32_t i = p->succ.at[o->late]; i < p->succ.at[o->late + 1]; i++)
			key[p->succ.item[i]] = end;
	}
	sched_keyed(p, key, end + 1, late, out);
	arena_free(scratch);
}
