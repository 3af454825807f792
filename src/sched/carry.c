/* carry: each node of the new problem gets a key, and goes in the order of the keys, after all nodes that it
 * needs.
 *
 *     … comm a … comm b … wait a … wait b …   →   … pack ab; comm ab … wait ab; unpack ab …
 *
 * The key is the place of the node in the old order. A new bucket is issued at the first or the last of its
 * members, and waited for at the first wait of a member. */
#include "sched/carry.h"
#include "sched/keyed.h"
#include <stdlib.h>
#include <string.h>

enum { SPREAD = 3 }; /* keys for each old place: the parts of a new bucket fit between them */

void sched_carry_read(const struct sched_bucketed *b, const uint32_t *order, uint32_t n, struct arena *a,
                      struct sched_carry_places *out)
{
	uint32_t *place = mem_alloc(sizeof *place * ((size_t)b->p.n + 1)), bucket_n = 0;
	for (uint32_t k = 0; k < b->p.n; k++) {
		uint32_t bucket = b->origin[order[k]].bucket;
		place[order[k]] = k;
		bucket_n = bucket != SCHED_NONE && bucket >= bucket_n ? bucket + 1 : bucket_n;
	}
	out->n = b->p.n;
	out->at = arena_new_array(a, uint32_t, n);
	out->parts = arena_new_array(a, struct sched_carry_parts, bucket_n);
	for (uint32_t x = 0; x < n; x++)
		out->at[x] = place[b->became[x]];
	for (uint32_t k = 0; k < bucket_n; k++)
		out->parts[k].pack = out->parts[k].unpack = SCHED_NONE;
	for (uint32_t x = 0; x < b->p.n; x++) {
		const struct sched_origin *from = &b->origin[x];
		if (from->bucket == SCHED_NONE)
			continue;
		struct sched_carry_parts *parts = &out->parts[from->bucket];
		if (from->step == SCHED_STEP_COMM)
			parts->in = sched_transfer(&b->p, x)->in;
		else if (from->step == SCHED_STEP_PACK)
			parts->pack = place[x];
		else if (from->step == SCHED_STEP_UNPACK)
			parts->unpack = place[x];
	}
	free(place);
}

/* Returns the place of the pack or unpack of a bucket in the old problem, if it has so many bytes. */
static uint32_t place_of_part(const struct sched_carry_places *from, uint32_t bucket, enum sched_step step,
                              int64_t in)
{
	if (bucket == SCHED_NONE || from->parts[bucket].in != in)
		return SCHED_NONE;
	return step == SCHED_STEP_PACK ? from->parts[bucket].pack : from->parts[bucket].unpack;
}

static void find_keys(const struct sched_carry_places *from, const struct sched_problem *of,
                      const uint32_t *bucket, const struct sched_bucketed *to, bool first, uint32_t *key)
{
	const struct sched_problem *p = &to->p;
	memset(key, 0xff, sizeof *key * p->n);
	for (uint32_t x = 0; x < of->n; x++) {
		uint32_t k = to->became[x], at = SPREAD * from->at[x] + 1;
		bool last = p->node[k].kind == SCHED_COMM && !first;
		if (key[k] == SCHED_NONE || (last ? at > key[k] : at < key[k]))
			key[k] = at;
	}
	for (uint32_t k = 0; k < p->n; k++) { /* a pack goes before its comm, an unpack after its wait */
		enum sched_step step = to->origin[k].step;
		if (step != SCHED_STEP_PACK && step != SCHED_STEP_UNPACK)
			continue;
		uint32_t member = to->origin[k].node;
		int64_t in = sched_transfer(p, to->became[member])->in;
		uint32_t before = place_of_part(from, bucket[of->node[member].transfer], step, in);
		if (before != SCHED_NONE)
			key[k] = SPREAD * before + 1;
		else if (step == SCHED_STEP_PACK)
			key[k] = key[p->succ.item[p->succ.at[k]]] - 1;
		else
			key[k] = key[p->pred.item[p->pred.at[k]]] + 1;
	}
}

void sched_carry(const struct sched_carry_places *from, const struct sched_problem *of,
                 const uint32_t *bucket, const struct sched_bucketed *to, const struct sched_carry_options *o,
                 uint32_t *out)
{
	struct arena *scratch = arena_new();
	const struct sched_problem *p = &to->p;
	uint32_t *key = arena_new_array(scratch, uint32_t, p->n), end = SPREAD * from->n;
	bool *late = arena_new_array(scratch, bool, p->n);
	find_keys(from, of, bucket, to, o->first, key);
	if (o->late != SCHED_NONE) {
		bool *comm = arena_new_array(scratch, bool, p->n);
		comm[o->late] = true;
		sched_mark_late(p, comm, late);
	}
	if (o->late != SCHED_NONE && o->end) { /* its wait takes it along */
		late[o->late] = true;
		for (uint32_t i = p->succ.at[o->late]; i < p->succ.end[o->late]; i++)
			key[p->succ.item[i]] = end;
	}
	sched_keyed(p, key, end + 1, late, out);
	arena_free(scratch);
}
