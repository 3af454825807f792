/* bucket: the nodes of the new problem first have draft numbers, and then positions. A draft number
 * below p->n is a node that is not in a bucket; bucket k has the four numbers from p->n + 4 * k on. */
#include "sched/bucket.h"
#include "base/vec.h"
#include <stdlib.h>
#include <string.h>

enum part { PACK, COMM, WAIT, UNPACK, PARTS };

struct group {
	uint32_t first;             /* its first member; SCHED_NONE: it has none */
	uint32_t comms, waits;      /* members that the walk has not reached yet */
	int64_t in, out, wait_time; /* sums over the members */
	bool unpacks;
};

struct draft {
	const struct sched_problem *p;
	const uint32_t *bucket;
	uint32_t bucket_n, total; /* total: number of draft numbers */
	struct group *group;
	uint32_t *number;            /* by node of p: its draft number */
	VEC(struct sched_pair) edge; /* `from` is the needed node; draft numbers, then positions */
	uint32_t *place, *at, n;     /* place: by draft number; at: by place */
};

static uint32_t number_part(const struct draft *d, uint32_t bucket, enum part which)
{
	return d->p->n + PARTS * bucket + which;
}

/* Returns the bucket of a comm, or of the comm that a wait waits for. */
static uint32_t bucket_of(const struct draft *d, uint32_t x)
{
	const struct sched_node *n = &d->p->node[x];
	if (n->kind == SCHED_COMM)
		return d->bucket[x];
	return n->comm != SCHED_NONE ? d->bucket[n->comm] : SCHED_NONE;
}

/* Returns true if a wait waits for the result of another wait of the same comm. The wait is then left
 * alone. */
static bool is_chained(const struct sched_problem *p, uint32_t wait)
{
	for (uint32_t i = p->pred.at[wait]; i < p->pred.at[wait + 1]; i++) {
		const struct sched_node *before = &p->node[p->pred.item[i]];
		if (before->kind == SCHED_WAIT && before->comm == p->node[wait].comm)
			return true;
	}
	return false;
}

static void gather_members(struct draft *d)
{
	const struct sched_problem *p = d->p;
	for (uint32_t k = 0; k < d->bucket_n; k++)
		d->group[k].first = SCHED_NONE;
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t k = bucket_of(d, x);
		const struct sched_node *n = &p->node[x];
		d->number[x] = x;
		if (k == SCHED_NONE || (n->kind == SCHED_WAIT && is_chained(p, x)))
			continue;
		struct group *g = &d->group[k];
		d->number[x] = number_part(d, k, n->kind == SCHED_COMM ? COMM : WAIT);
		if (n->kind != SCHED_COMM) {
			g->waits++;
			g->wait_time += n->time;
			continue;
		}
		if (g->first == SCHED_NONE) {
			g->first = x;
			g->unpacks =
			    !p->grouped && (p->copies || p->family[n->family].collective == SCHED_ALLGATHER);
		}
		g->comms++;
		g->in += n->in;
		g->out += n->out;
	}
}

/* Returns true if x is in a bucket whose unpack makes its result. A chained wait is in no bucket. */
static bool is_unpacked(const struct draft *d, uint32_t x)
{
	return d->number[x] >= d->p->n && d->group[bucket_of(d, x)].unpacks;
}

/* Returns the draft node with the result of x. For a wait in a bucket it is the unpack, except if `user`
 * is that wait. */
static uint32_t result_of(const struct draft *d, uint32_t x, uint32_t user)
{
	if (d->p->node[x].kind == SCHED_WAIT && is_unpacked(d, x) && user != d->number[x])
		return number_part(d, bucket_of(d, x), UNPACK);
	return d->number[x];
}

/* Drafts the edges between nodes and buckets. Returns false if a member needs another member of its
 * bucket: they cannot start together. */
static bool draft_edges(struct draft *d)
{
	const struct sched_problem *p = d->p;
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t to = d->number[x];
		bool member = p->node[x].kind == SCHED_COMM && d->bucket[x] != SCHED_NONE;
		if (member && !p->grouped)
			to = number_part(d, d->bucket[x], PACK);
		for (uint32_t i = p->pred.at[x]; i < p->pred.at[x + 1]; i++) {
			uint32_t from = result_of(d, p->pred.item[i], d->number[x]);
			if (from == to && member)
				return false;
			if (from != to)
				vec_push(&d->edge, (struct sched_pair){from, to});
		}
	}
	for (uint32_t k = 0; k < d->bucket_n; k++)
		for (enum part q = p->grouped ? WAIT : COMM;
		     d->group[k].first != SCHED_NONE && q <= (d->group[k].unpacks ? UNPACK : WAIT); q++)
			vec_push(&d->edge,
			         (struct sched_pair){number_part(d, k, q - 1), number_part(d, k, q)});
	return true;
}

/* Finds the positions: the original order, with each node after those it needs, and a bucket at its last
 * member. Returns false if a node needs itself. */
static bool put_in_order(struct draft *d, const struct sched_lists *needs)
{
	enum { NEW, OPEN, PLACED };
	uint8_t *state = mem_zalloc((size_t)d->total + 1);
	uint32_t *next = mem_alloc(sizeof *next * ((size_t)d->total + 1));
	VEC(uint32_t) stack = {0};
	bool ok = true;
	memcpy(next, needs->at, sizeof *next * d->total);
	for (uint32_t x = 0; x < d->p->n && ok; x++) {
		uint32_t y = d->number[x], k = y < d->p->n ? SCHED_NONE : (y - d->p->n) / PARTS;
		if (k != SCHED_NONE) {
			struct group *g = &d->group[k];
			if (y == number_part(d, k, COMM) ? --g->comms : --g->waits)
				continue;
			if (y == number_part(d, k, WAIT) && g->unpacks)
				y = number_part(d, k, UNPACK);
		}
		if (state[y] == PLACED)
			continue;
		state[y] = OPEN;
		vec_push(&stack, y);
		while (stack.n && ok) {
			uint32_t z = stack.at[stack.n - 1];
			if (next[z] == needs->at[z + 1]) {
				stack.n--;
				state[z] = PLACED;
				d->place[z] = d->n;
				d->at[d->n++] = z;
				continue;
			}
			uint32_t need = needs->item[next[z]++];
			ok = state[need] != OPEN;
			if (state[need] == NEW) {
				state[need] = OPEN;
				vec_push(&stack, need);
			}
		}
	}
	free(state);
	free(next);
	vec_free(&stack);
	return ok;
}

/* Returns the origin of a node in no bucket. */
static struct sched_origin origin_alone(const struct sched_problem *p, uint32_t x)
{
	static const enum sched_step step[] = {[SCHED_COMPUTE] = SCHED_STEP_NODE,
	                                       [SCHED_COMM] = SCHED_STEP_COMM,
	                                       [SCHED_WAIT] = SCHED_STEP_WAIT};
	return (struct sched_origin){step[p->node[x].kind], x, SCHED_NONE};
}

static void place_node(const struct draft *d, struct sched_bucketed *out, uint32_t k)
{
	const struct sched_problem *p = d->p;
	uint32_t x = d->at[k];
	struct sched_node *n = &out->p.node[k];
	struct sched_origin *o = &out->origin[k];
	if (x < p->n) {
		*n = p->node[x];
		if (n->comm != SCHED_NONE)
			n->comm = d->place[d->number[n->comm]];
		*o = origin_alone(p, x);
		return;
	}
	static const enum sched_step step[] = {[PACK] = SCHED_STEP_PACK,
	                                       [COMM] = SCHED_STEP_COMM,
	                                       [WAIT] = SCHED_STEP_WAIT,
	                                       [UNPACK] = SCHED_STEP_UNPACK};
	uint32_t b = (x - p->n) / PARTS;
	enum part which = (enum part)((x - p->n) % PARTS);
	const struct group *g = &d->group[b];
	*n = p->node[g->first];
	*o = (struct sched_origin){step[which], g->first, b};
	n->in = g->in;
	n->out = g->out;
	if (which == COMM) {
		n->time = sched_family_time(&p->family[n->family], g->in);
		return;
	}
	n->kind = which == WAIT ? SCHED_WAIT : SCHED_COMPUTE;
	n->comm = which == WAIT ? d->place[number_part(d, b, COMM)] : SCHED_NONE;
	n->family = SCHED_NONE;
	n->time = which == WAIT ? g->wait_time : sched_copy_time(p, which == PACK ? g->in : g->out);
}

/* Numbers the storages: those of p keep their numbers, and bucket k adds the packed and the gathered
 * buffer. Drops the uses of an unpacked result by the comm and wait of its bucket, since the result does
 * not exist yet. */
static void place_storages(const struct draft *d, struct sched_bucketed *out, struct sched_pair **use,
                           uint32_t *use_n)
{
	const struct sched_problem *p = d->p;
	struct sched_problem *q = &out->p;
	uint32_t most = p->uses.at[p->n] + p->n + d->bucket_n, n = 0;
	struct sched_pair *pair = mem_alloc(sizeof *pair * ((size_t)most + 1));
	if (p->storage_n)
		memcpy(q->storage, p->storage, sizeof *q->storage * p->storage_n);
	for (uint32_t s = 0; s < p->storage_n; s++) {
		uint32_t def = p->storage[s].def;
		if (def != SCHED_NONE)
			q->storage[s].def = is_unpacked(d, def)
			                        ? d->place[number_part(d, bucket_of(d, def), UNPACK)]
			                        : out->became[def];
	}
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t user = out->became[x], k = bucket_of(d, x);
		for (uint32_t i = p->uses.at[x]; i < p->uses.at[x + 1]; i++) {
			uint32_t storage = p->uses.item[i], def = q->storage[storage].def;
			bool early = is_unpacked(d, x) && def == d->place[number_part(d, k, UNPACK)];
			pair[n++] = (struct sched_pair){early ? def : user, storage};
		}
		if (p->node[x].comm != SCHED_NONE && k != SCHED_NONE && !p->grouped)
			pair[n++] = (struct sched_pair){user, p->storage_n + 2 * k};
	}
	for (uint32_t k = 0; k < d->bucket_n; k++) {
		struct sched_storage *s = &q->storage[p->storage_n + 2 * k];
		s[0] = s[1] = (struct sched_storage){.def = SCHED_NONE};
		if (d->group[k].first == SCHED_NONE || p->grouped)
			continue;
		s[0] = (struct sched_storage){d->group[k].in, d->place[number_part(d, k, PACK)], false};
		if (!d->group[k].unpacks)
			continue;
		s[1] = (struct sched_storage){d->group[k].out, d->place[number_part(d, k, COMM)], false};
		pair[n++] =
		    (struct sched_pair){d->place[number_part(d, k, UNPACK)], p->storage_n + 2 * k + 1};
	}
	*use = pair;
	*use_n = n;
}

static void finish_draft(struct draft *d, struct arena *a, struct sched_bucketed *out)
{
	const struct sched_problem *p = d->p;
	out->p = *p;
	out->p.n = d->n;
	out->p.node = arena_new_array(a, struct sched_node, d->n);
	out->origin = arena_new_array(a, struct sched_origin, d->n);
	out->became = arena_new_array(a, uint32_t, p->n);
	for (uint32_t k = 0; k < d->n; k++)
		place_node(d, out, k);
	for (uint32_t x = 0; x < p->n; x++)
		out->became[x] = d->place[d->number[x]];
	for (uint32_t e = 0; e < d->edge.n; e++)
		d->edge.at[e] = (struct sched_pair){d->place[d->edge.at[e].from], d->place[d->edge.at[e].to]};
	out->p.storage_n = p->storage_n + 2 * d->bucket_n;
	out->p.storage = arena_new_array(a, struct sched_storage, out->p.storage_n);
	struct sched_pair *use;
	uint32_t use_n;
	place_storages(d, out, &use, &use_n);
	sched_problem_finish(&out->p, a, d->edge.at, d->edge.n, use, use_n);
	free(use);
}

/* Returns true if the numbers of the nodes are a schedule. */
static bool is_in_order(const struct sched_problem *p)
{
	for (uint32_t x = 0; x < p->n; x++)
		for (uint32_t i = p->pred.at[x]; i < p->pred.at[x + 1]; i++)
			if (p->pred.item[i] >= x)
				return false;
	return true;
}

/* Makes the problem without buckets: each node becomes itself. */
static void share_problem(const struct sched_problem *p, struct arena *a, struct sched_bucketed *out)
{
	out->p = *p;
	out->origin = arena_new_array(a, struct sched_origin, p->n);
	out->became = arena_new_array(a, uint32_t, p->n);
	for (uint32_t x = 0; x < p->n; x++) {
		out->origin[x] = origin_alone(p, x);
		out->became[x] = x;
	}
}

bool sched_bucket(const struct sched_problem *p, const uint32_t *bucket, uint32_t bucket_n, struct arena *a,
                  struct sched_bucketed *out)
{
	if (!bucket_n && is_in_order(p)) {
		share_problem(p, a, out);
		return true;
	}
	struct arena *scratch = arena_new();
	struct draft d = {.p = p, .bucket = bucket, .bucket_n = bucket_n, .total = p->n + PARTS * bucket_n};
	d.group = arena_new_array(scratch, struct group, bucket_n);
	d.number = arena_new_array(scratch, uint32_t, p->n);
	d.place = arena_new_array(scratch, uint32_t, d.total);
	d.at = arena_new_array(scratch, uint32_t, d.total);
	gather_members(&d);
	bool ok = draft_edges(&d);
	struct sched_lists needs = sched_lists_to(scratch, d.edge.at, d.edge.n, d.total);
	ok = ok && put_in_order(&d, &needs);
	if (ok)
		finish_draft(&d, a, out);
	vec_free(&d.edge);
	arena_free(scratch);
	return ok;
}
