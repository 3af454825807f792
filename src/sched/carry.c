/* carry: all nodes that stay keep their order. Those that are new get a key, by which they go between them, and each
 * goes after all nodes that it needs.
 *
 *     … comm a … comm b … wait a … wait b …   →   … pack ab; comm ab … wait ab; unpack ab …
 *
 * The key is a place in the old order. A new bucket is issued at the first or the last of its members, and waited for
 * at the first wait of a member. A member that leaves its bucket goes where that was. */
#include "sched/carry.h"
#include "sched/keyed.h"
#include <stdlib.h>
#include <string.h>

enum { SPREAD = 3 }; /* keys for each old place: the parts of a new bucket fit between them */

struct entry {                      /* a node that is new in the order */
	uint32_t key, member, node; /* member: the node without buckets for which it is there */
};

struct carrier {
	const struct sched_rebucket *r;
	const struct sched_carry_options *o;
	uint32_t *place; /* by number, in the old order */
	VEC(struct entry) entry;
};

static int by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->member > y->member) - (x->member < y->member);
}

static uint32_t key_at(const struct carrier *c, uint32_t former_number)
{
	return SPREAD * c->place[former_number] + 1;
}

/* Returns the key of a pack or unpack: its place in the old order if the bucket has as many bytes as the one that its
 * first member was in, else beside its comm or wait. */
static uint32_t key_of_copy(const struct carrier *c, uint32_t slot, enum sched_part part, uint32_t beside)
{
	const struct sched_rebucket *r = c->r;
	uint32_t n = r->parts.p->n, first = r->parts.group[slot].first, was = r->former_number[first];
	uint32_t former = was < n ? SCHED_NONE : (was - n) / SCHED_PARTS;
	if (former != SCHED_NONE && r->former[former].in == r->parts.group[slot].in)
		return key_at(c, sched_part(&r->parts, former, part));
	return part == SCHED_PACK ? beside - 1 : beside + 1;
}

/* Adds the parts of a slot. key: of its comm and its wait. */
static void add_parts(struct carrier *c, uint32_t slot, const uint32_t key[2])
{
	const struct sched_parts *t = &c->r->parts;
	const struct sched_group *g = &t->group[slot];
	for (enum sched_part q = sched_parts_first(g); g->comms && q <= sched_parts_last(g); q++) {
		bool copy = q == SCHED_PACK || q == SCHED_UNPACK;
		uint32_t at = key[q >= SCHED_BUCKET_WAIT];
		vec_push(&c->entry, (struct entry){copy ? key_of_copy(c, slot, q, at) : at, g->first,
		                                   sched_part(t, slot, q)});
	}
}

/* Lists the nodes that are new: members that left their bucket, and the parts of slots that changed. */
static void list_entries(struct carrier *c)
{
	const struct sched_rebucket *r = c->r;
	const struct sched_problem *p = r->parts.p;
	uint32_t(*key)[2] = mem_alloc(sizeof *key * ((size_t)r->slot_n + 1)); /* by slot: of comm and wait */
	for (uint32_t i = 0; i < r->slots.n; i++)
		key[r->slots.at[i]][0] = key[r->slots.at[i]][1] = SCHED_NONE;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		uint32_t x = r->nodes.at[i], was = r->former_number[x], at = key_at(c, was);
		bool comm = p->node[x].kind == SCHED_COMM;
		if (r->parts.number[x] < p->n) {
			if (was != x)
				vec_push(&c->entry, (struct entry){at, x, x});
			continue;
		}
		uint32_t *k = &key[sched_parts_bucket(&r->parts, x)][!comm];
		if (*k == SCHED_NONE || (comm && !c->o->first ? at > *k : at < *k))
			*k = at;
	}
	for (uint32_t i = 0; i < r->slots.n; i++) {
		uint32_t *k = key[r->slots.at[i]];
		k[1] = k[1] == SCHED_NONE ? k[0] : k[1]; /* no wait waits for a member */
		add_parts(c, r->slots.at[i], k);
	}
	free(key);
	if (c->entry.n > 1)
		qsort(c->entry.at, c->entry.n, sizeof *c->entry.at, by_key);
}

/* Marks the nodes of the old order that are gone. */
static void mark_gone(const struct sched_rebucket *r, bool *gone)
{
	uint32_t n = r->parts.p->n;
	for (uint32_t i = 0; i < r->nodes.n; i++) {
		uint32_t x = r->nodes.at[i];
		gone[x] = r->parts.number[x] >= n;
	}
	for (uint32_t i = 0; i < r->slots.n; i++)
		for (enum sched_part q = 0; q < SCHED_PARTS; q++)
			gone[sched_part(&r->parts, r->slots.at[i], q)] = true;
}

/* Puts the nodes in the wanted order. Returns the number of those before the first one that is gone or new. */
static uint32_t merge(const struct carrier *c, const uint32_t *order, uint32_t n, uint32_t *wanted)
{
	bool *gone = mem_zalloc((size_t)c->r->p.numbers + 1);
	uint32_t k = 0, e = 0, out = 0, same = SCHED_NONE;
	mark_gone(c->r, gone);
	for (; k < n || e < c->entry.n;) {
		bool new = e < c->entry.n && (k == n || c->entry.at[e].key < SPREAD * k + 1);
		if (same == SCHED_NONE && (new || gone[order[k]]))
			same = out;
		if (new)
			wanted[out++] = c->entry.at[e++].node;
		else if (!gone[order[k++]])
			wanted[out++] = order[k - 1];
	}
	free(gone);
	return same == SCHED_NONE ? out : same;
}

/* Moves the nodes that need x to the end. */
static void move_to_end(const struct sched_problem *p, uint32_t x, uint32_t *wanted)
{
	bool *last = mem_zalloc((size_t)p->numbers + 1);
	uint32_t n = 0, *end = mem_alloc(sizeof *end * ((size_t)p->n + 1)), ends = 0;
	for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++)
		last[p->succ.item[i]] = true;
	for (uint32_t k = 0; k < p->n; k++)
		if (last[wanted[k]])
			end[ends++] = wanted[k];
		else
			wanted[n++] = wanted[k];
	for (uint32_t k = 0; k < ends; k++)
		wanted[n++] = end[k];
	free(end);
	free(last);
}

/* Moves the nodes that only comm x needs to it. out: a schedule. */
static bool delay(const struct sched_problem *p, uint32_t x, bool end, uint32_t *wanted, uint32_t *out)
{
	bool *comm = mem_zalloc((size_t)p->numbers + 1), *late = mem_zalloc((size_t)p->numbers + 1);
	comm[x] = true;
	sched_mark_late(p, out, comm, late);
	if (end) {
		late[x] = true;
		move_to_end(p, x, wanted);
	}
	bool ok = sched_settle(p, wanted, 0, late, out);
	free(comm);
	free(late);
	return ok;
}

bool sched_carry(const struct sched_rebucket *r, const uint32_t *order, uint32_t n,
                 const struct sched_carry_options *o, uint32_t *out)
{
	const struct sched_problem *p = &r->p;
	struct carrier c = {.r = r, .o = o, .place = mem_alloc(sizeof *c.place * ((size_t)p->numbers + 1))};
	uint32_t *wanted = mem_alloc(sizeof *wanted * ((size_t)p->n + 1));
	for (uint32_t k = 0; k < n; k++)
		c.place[order[k]] = k;
	list_entries(&c);
	uint32_t same = merge(&c, order, n, wanted);
	bool ok = sched_settle(p, wanted, same, NULL, out);
	if (ok && o->late != SCHED_NONE)
		ok = delay(p, r->parts.number[o->late], o->end, wanted, out);
	vec_free(&c.entry);
	free(c.place);
	free(wanted);
	return ok;
}
