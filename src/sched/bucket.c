/* bucket: the nodes of the new problem first have draft numbers, and then positions. A draft number
 * below p->n is a node that is not in a bucket; bucket k has the four numbers from p->n + 4 * k on. */
#include "sched/bucket.h"
#include "base/vec.h"
#include <stdlib.h>
#include <string.h>

enum part { PACK, COMM, WAIT, UNPACK, PARTS };

struct group {
	uint32_t first;        /* its first member; SCHED_NONE: it has none */
	uint32_t comms, waits; /* members that the walk has not reached yet */
	int64_t in, out;       /* sums over the members */
	int64_t wait_time;     /* of the bucket's wait */
	bool unpacks;
};

struct draft {
	const struct sched_problem *p;
	const uint32_t *bucket;
	uint32_t bucket_n, total; /* total: number of draft numbers */
	struct group *group;
	uint32_t *number;         /* by node of p: its draft number */
	uint32_t *result;         /* by node of p: the draft node that nodes outside its bucket need */
	struct sched_lists needs; /* by part (draft number - p->n): the draft nodes that it needs */
	uint32_t *place, *at, n;  /* place: by draft number; at: by place */
	struct arena *scratch;
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
		return d->bucket[n->transfer];
	return n->comm != SCHED_NONE ? d->bucket[d->p->node[n->comm].transfer] : SCHED_NONE;
}

/* Returns true if a wait waits for the result of another wait of the same comm. The wait is then left
 * alone. */
static bool is_chained(const struct sched_problem *p, uint32_t wait)
{
	for (uint32_t i = p->pred.at[wait]; i < p->pred.end[wait]; i++) {
		const struct sched_node *before = &p->node[p->pred.item[i]];
		if (before->kind == SCHED_WAIT && before->comm == p->node[wait].comm)
			return true;
	}
	return false;
}

/* Returns the time of one wait in place of two: it is issued once, and does the work of both. */
static int64_t merge_waits(int64_t a, int64_t b)
{
	return a > 0 && b > 0 ? a + b : a > b ? a : b;
}

static void gather_members(struct draft *d)
{
	const struct sched_problem *p = d->p;
	for (uint32_t k = 0; k < d->bucket_n; k++)
		d->group[k].first = SCHED_NONE;
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t k = bucket_of(d, x);
		const struct sched_node *n = &p->node[x];
		const struct sched_transfer *moved = sched_transfer(p, x);
		d->number[x] = d->result[x] = x;
		if (k == SCHED_NONE || (n->kind == SCHED_WAIT && is_chained(p, x)))
			continue;
		struct group *g = &d->group[k];
		d->number[x] = number_part(d, k, n->kind == SCHED_COMM ? COMM : WAIT);
		d->result[x] = n->kind == SCHED_WAIT && g->unpacks ? number_part(d, k, UNPACK) : d->number[x];
		if (n->kind != SCHED_COMM) {
			g->wait_time = g->waits++ ? merge_waits(g->wait_time, n->time) : n->time;
			continue;
		}
		if (g->first == SCHED_NONE) {
			g->first = x;
			g->unpacks = !p->grouped &&
			             (p->copies || p->family[moved->family].collective == SCHED_ALLGATHER);
		}
		g->comms++;
		g->in += moved->in;
		g->out += moved->out;
	}
}

/* Returns true if x is in a bucket whose unpack makes its result. A chained wait is in no bucket. */
static bool is_unpacked(const struct draft *d, uint32_t x)
{
	return d->number[x] >= d->p->n && d->group[bucket_of(d, x)].unpacks;
}

/* Finds the needs of the parts of buckets. Returns false if a member needs another member of its bucket: they cannot
 * start together. */
static bool find_needs(struct draft *d)
{
	const struct sched_problem *p = d->p;
	VEC(struct sched_pair) edge = {0}; /* `from` is the needed node; `to` is a part, from 0 on */
	bool ok = true;
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t to = d->number[x];
		if (to < p->n)
			continue;
		bool member = p->node[x].kind == SCHED_COMM;
		if (member && !p->grouped)
			to = number_part(d, bucket_of(d, x), PACK);
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
			uint32_t y = p->pred.item[i], from = d->number[y] == d->number[x] ? to : d->result[y];
			ok = ok && !(from == to && member);
			if (from != to)
				vec_push(&edge, (struct sched_pair){from, to - p->n});
		}
	}
	for (uint32_t k = 0; k < d->bucket_n; k++)
		for (enum part q = p->grouped ? WAIT : COMM;
		     d->group[k].first != SCHED_NONE && q <= (d->group[k].unpacks ? UNPACK : WAIT); q++)
			vec_push(&edge,
			         (struct sched_pair){number_part(d, k, q - 1), number_part(d, k, q) - p->n});
	d->needs = sched_lists_to(d->scratch, edge.at, edge.n, PARTS * d->bucket_n);
	vec_free(&edge);
	return ok;
}
enum { NEW = UINT32_MAX, OPEN = UINT32_MAX - 1 }; /* places of draft nodes without a place */

/* The needs of a draft node that are not visited yet. */
struct visit {
	uint32_t node, next, end;
	const uint32_t *need, *of; /* the draft node needs of[need[next]], or need[next] if of is NULL */
};

static struct visit visit_node(const struct draft *d, uint32_t y)
{
	const struct sched_lists *l = y < d->p->n ? &d->p->pred : &d->needs;
	uint32_t k = y < d->p->n ? y : y - d->p->n;
	return (struct visit){y, l->at[k], l->end[k], l->item, y < d->p->n ? d->result : NULL};
}

static void place_draft(struct draft *d, uint32_t y)
{
	d->place[y] = d->n;
	d->at[d->n++] = y;
}

/* Places y after all draft nodes that it needs. Returns false if a node needs itself. */
static bool place_after_needs(struct draft *d, uint32_t y)
{
	VEC(struct visit) stack = {0};
	bool ok = true;
	d->place[y] = OPEN;
	vec_push(&stack, visit_node(d, y));
	while (stack.n && ok) {
		struct visit *v = &stack.at[stack.n - 1];
		if (v->next == v->end) {
			place_draft(d, v->node);
			stack.n--;
			continue;
		}
		uint32_t need = v->need[v->next++];
		need = v->of ? v->of[need] : need;
		ok = d->place[need] != OPEN;
		if (d->place[need] == NEW) {
			d->place[need] = OPEN;
			vec_push(&stack, visit_node(d, need));
		}
	}
	vec_free(&stack);
	return ok;
}

/* Returns true if all needs of a node in no bucket have a place. */
static bool may_follow(const struct draft *d, uint32_t x)
{
	const struct sched_lists *pred = &d->p->pred;
	for (uint32_t i = pred->at[x]; i < pred->end[x]; i++)
		if (d->place[d->result[pred->item[i]]] >= OPEN)
			return false;
	return true;
}

/* Finds the positions: the original order, with each node after those it needs, and a bucket at its last
 * member. Returns false if a node needs itself. */
static bool put_in_order(struct draft *d)
{
	memset(d->place, 0xff, sizeof *d->place * d->total); /* NEW */
	for (uint32_t x = 0; x < d->p->n; x++) {
		uint32_t y = d->number[x], k = y < d->p->n ? SCHED_NONE : (y - d->p->n) / PARTS;
		if (k != SCHED_NONE) {
			struct group *g = &d->group[k];
			if (y == number_part(d, k, COMM) ? --g->comms : --g->waits)
				continue;
			if (y == number_part(d, k, WAIT) && g->unpacks)
				y = number_part(d, k, UNPACK);
		}
		if (d->place[y] != NEW)
			continue;
		if (y < d->p->n && may_follow(d, y))
			place_draft(d, y);
		else if (!place_after_needs(d, y))
			return false;
	}
	return true;
}

/* Returns the origin of a node in no bucket. */
static struct sched_origin origin_alone(const struct sched_problem *p, uint32_t x)
{
	static const enum sched_step step[] = {[SCHED_COMPUTE] = SCHED_STEP_NODE,
	                                       [SCHED_COMM] = SCHED_STEP_COMM,
	                                       [SCHED_WAIT] = SCHED_STEP_WAIT};
	return (struct sched_origin){step[p->node[x].kind], x, SCHED_NONE};
}

/* Adds the transfer of a comm. */
static void place_transfer(struct sched_problem *p, struct sched_node *comm, struct sched_transfer moved)
{
	comm->transfer = p->transfer_n++;
	p->transfer[comm->transfer] = moved;
}

static void place_node(const struct draft *d, struct sched_bucketed *out, uint32_t k)
{
	const struct sched_problem *p = d->p;
	uint32_t x = d->at[k];
	struct sched_node *n = &out->p.node[k];
	struct sched_origin *o = &out->origin[k];
	if (x < p->n) {
		*n = p->node[x];
		if (n->kind == SCHED_COMM)
			place_transfer(&out->p, n, *sched_transfer(p, x));
		else if (n->comm != SCHED_NONE)
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
	if (which == COMM) {
		uint32_t family = sched_transfer(p, g->first)->family;
		place_transfer(&out->p, n, (struct sched_transfer){g->in, g->out, family});
		n->time = sched_family_time(&p->family[family], g->in);
		return;
	}
	n->kind = which == WAIT ? SCHED_WAIT : SCHED_COMPUTE;
	n->comm = which == WAIT ? d->place[number_part(d, b, COMM)] : SCHED_NONE;
	n->time = which == WAIT ? g->wait_time : sched_copy_time(p, which == PACK ? g->in : g->out);
}

/* Numbers the storages: those of p keep their numbers, and bucket k adds the packed and the gathered buffer. */
static void place_storages(const struct draft *d, struct sched_bucketed *out)
{
	const struct sched_problem *p = d->p;
	struct sched_storage *storage = out->p.storage;
	if (p->storage_n)
		memcpy(storage, p->storage, sizeof *storage * p->storage_n);
	for (uint32_t s = 0; s < p->storage_n; s++) {
		uint32_t def = p->storage[s].def;
		if (def != SCHED_NONE)
			storage[s].def = is_unpacked(d, def)
			                     ? d->place[number_part(d, bucket_of(d, def), UNPACK)]
			                     : out->became[def];
	}
	for (uint32_t k = 0; k < d->bucket_n; k++) {
		struct sched_storage *s = &storage[p->storage_n + 2 * k];
		s[0] = s[1] = (struct sched_storage){.def = SCHED_NONE};
		if (d->group[k].first == SCHED_NONE || p->grouped)
			continue;
		s[0] = (struct sched_storage){d->group[k].in, d->place[number_part(d, k, PACK)], false};
		if (d->group[k].unpacks)
			s[1] =
			    (struct sched_storage){d->group[k].out, d->place[number_part(d, k, COMM)], false};
	}
}

/* Lists the users of the packed and the gathered buffer of each bucket. */
static struct sched_lists list_buffer_users(const struct draft *d, const uint32_t *became)
{
	const struct sched_problem *p = d->p;
	VEC(struct sched_pair) use = {0};
	for (uint32_t x = 0; x < p->n && !p->grouped; x++)
		if (p->node[x].kind == SCHED_WAIT && bucket_of(d, x) != SCHED_NONE)
			vec_push(&use, (struct sched_pair){became[x], 2 * bucket_of(d, x)});
	for (uint32_t k = 0; k < d->bucket_n; k++)
		if (d->group[k].first != SCHED_NONE && d->group[k].unpacks)
			vec_push(&use, (struct sched_pair){d->place[number_part(d, k, UNPACK)], 2 * k + 1});
	struct sched_lists l = sched_lists_to(d->scratch, use.at, use.n, 2 * d->bucket_n);
	vec_free(&use);
	return l;
}

/* Returns the new user of a storage that node x uses. The comm and the wait of a bucket do not use its unpacked
 * result, since it does not exist yet. */
static uint32_t user_of(const struct draft *d, const struct sched_bucketed *out, uint32_t x, uint32_t storage)
{
	uint32_t def = out->p.storage[storage].def;
	bool early = is_unpacked(d, x) && def == d->place[number_part(d, bucket_of(d, x), UNPACK)];
	return early ? def : out->became[x];
}

/* Lists that are made one after the other, with items that mostly ascend. */
struct maker {
	struct sched_lists l;
	uint32_t k, n; /* the present list, and the items so far */
	bool mixed;    /* the items of the present list do not ascend */
};

static void add_item(struct maker *m, uint32_t item)
{
	m->mixed |= m->n > m->l.at[m->k] && m->l.item[m->n - 1] >= item;
	m->l.item[m->n++] = item;
}

static void end_list(struct maker *m)
{
	uint32_t from = m->l.at[m->k];
	if (m->mixed)
		m->n = from + sched_list_tidy(m->l.item + from, m->n - from);
	m->l.at[++m->k] = m->n;
	m->mixed = false;
}

static struct sched_lists list_users(const struct draft *d, struct arena *a, const struct sched_bucketed *out)
{
	const struct sched_lists *old = &d->p->users, buffer = list_buffer_users(d, out->became);
	uint32_t storages = d->p->storage_n, buffers = 2 * d->bucket_n;
	struct maker m = {.l = sched_lists_new(a, out->p.storage_n, old->at[storages] + buffer.at[buffers])};
	for (uint32_t s = 0; s < storages; s++) {
		for (uint32_t i = old->at[s]; i < old->end[s]; i++)
			add_item(&m, user_of(d, out, old->item[i], s));
		end_list(&m);
	}
	for (uint32_t k = 0; k < buffers; k++) {
		for (uint32_t i = buffer.at[k]; i < buffer.end[k]; i++)
			add_item(&m, buffer.item[i]);
		end_list(&m);
	}
	return m.l;
}

/* Lists the needed nodes by place. */
static struct sched_lists list_needs(const struct draft *d, struct arena *a)
{
	const struct sched_lists *alone = &d->p->pred, *parts = &d->needs;
	uint32_t items = alone->at[d->p->n] + parts->at[PARTS * d->bucket_n];
	struct maker m = {.l = sched_lists_new(a, d->n, items)};
	for (uint32_t k = 0; k < d->n; k++) {
		struct visit v = visit_node(d, d->at[k]);
		for (; v.next < v.end; v.next++)
			add_item(&m, d->place[v.of ? v.of[v.need[v.next]] : v.need[v.next]]);
		end_list(&m);
	}
	return m.l;
}

static void finish_draft(const struct draft *d, struct arena *a, struct sched_bucketed *out)
{
	const struct sched_problem *p = d->p;
	out->p = *p;
	out->p.n = d->n;
	out->p.node = arena_new_array(a, struct sched_node, d->n);
	out->p.transfer = arena_new_array(a, struct sched_transfer, p->transfer_n);
	out->p.transfer_n = 0;
	out->origin = arena_new_array(a, struct sched_origin, d->n);
	out->became = arena_new_array(a, uint32_t, p->n);
	for (uint32_t k = 0; k < d->n; k++)
		place_node(d, out, k);
	for (uint32_t x = 0; x < p->n; x++)
		out->became[x] = d->place[d->number[x]];
	out->p.storage_n = p->storage_n + 2 * d->bucket_n;
	out->p.storage = arena_new_array(a, struct sched_storage, out->p.storage_n);
	place_storages(d, out);
	out->p.pred = list_needs(d, a);
	out->p.users = list_users(d, a, out);
	sched_problem_complete(&out->p, a);
}

/* Returns true if the numbers of the nodes are a schedule. */
static bool is_in_order(const struct sched_problem *p)
{
	for (uint32_t x = 0; x < p->n; x++)
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
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
	struct draft d = {.p = p, .bucket = bucket, .bucket_n = bucket_n, .total = p->n + PARTS * bucket_n};
	d.scratch = arena_new();
	d.group = arena_new_array(d.scratch, struct group, bucket_n);
	d.number = arena_new_array(d.scratch, uint32_t, p->n);
	d.result = arena_new_array(d.scratch, uint32_t, p->n);
	d.place = arena_new_array(d.scratch, uint32_t, d.total);
	d.at = arena_new_array(d.scratch, uint32_t, d.total);
	gather_members(&d);
	bool ok = find_needs(&d) && put_in_order(&d);
	if (ok)
		finish_draft(&d, a, out);
	arena_free(d.scratch);
	return ok;
}
