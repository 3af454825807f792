/* bucket: the nodes of the new problem first have draft numbers (bucket_parts.h), and then positions. */
#include "sched/bucket.h"
#include "base/vec.h"
#include "sched/bucket_parts.h"
#include <stdlib.h>
#include <string.h>

struct draft {
	const struct sched_problem *p;
	struct sched_parts parts;
	uint32_t bucket_n, total; /* total: number of draft numbers */
	struct sched_lists needs; /* by part (draft number - p->n): the draft nodes that it needs */
	uint32_t *place, *at, n;  /* place: by draft number; at: by place */
	struct arena *scratch;
};

static void gather_members(struct draft *d)
{
	for (uint32_t k = 0; k < d->bucket_n; k++)
		sched_parts_clear(&d->parts.group[k]);
	for (uint32_t x = 0; x < d->p->n; x++)
		sched_parts_join(&d->parts, x);
}

/* Finds the needs of the parts of buckets. Returns false if a member needs another member of its bucket: they cannot
 * start together. */
static bool find_needs(struct draft *d)
{
	const struct sched_problem *p = d->p;
	const struct sched_parts *t = &d->parts;
	VEC(struct sched_pair) edge = {0}; /* `from` is the needed node; `to` is a part, from 0 on */
	bool ok = true;
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t to = sched_parts_needing(t, x);
		for (uint32_t i = p->pred.at[x]; to >= p->n && i < p->pred.end[x]; i++) {
			uint32_t y = p->pred.item[i], from = t->number[y] == t->number[x] ? to : t->result[y];
			ok = ok && !(from == to && p->node[x].kind == SCHED_COMM);
			if (from != to)
				vec_push(&edge, (struct sched_pair){from, to - p->n});
		}
	}
	for (uint32_t k = 0; k < d->bucket_n; k++) {
		const struct sched_group *g = &t->group[k];
		for (enum sched_part q = sched_parts_first(g) + 1;
		     g->first != SCHED_NONE && q <= sched_parts_last(g); q++)
			vec_push(&edge,
			         (struct sched_pair){sched_part(t, k, q - 1), sched_part(t, k, q) - p->n});
	}
	d->needs = sched_lists_to(d->scratch, edge.at, edge.n, SCHED_PARTS * d->bucket_n);
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
	return (struct visit){y, l->at[k], l->end[k], l->item, y < d->p->n ? d->parts.result : NULL};
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
		if (d->place[d->parts.result[pred->item[i]]] >= OPEN)
			return false;
	return true;
}

/* Finds the positions: the original order, with each node after those it needs, and a bucket at its last
 * member. Returns false if a node needs itself. */
static bool put_in_order(struct draft *d)
{
	const struct sched_parts *t = &d->parts;
	memset(d->place, 0xff, sizeof *d->place * d->total); /* NEW */
	uint32_t *left =
	    arena_new_array(d->scratch, uint32_t, d->total); /* by draft number: members to come */
	for (uint32_t k = 0; k < d->bucket_n; k++) {
		left[sched_part(t, k, SCHED_BUCKET_COMM)] = t->group[k].comms;
		left[sched_part(t, k, SCHED_BUCKET_WAIT)] = t->group[k].waits;
	}
	for (uint32_t x = 0; x < d->p->n; x++) {
		uint32_t y = t->number[x];
		if (y >= d->p->n && --left[y])
			continue;
		if (d->p->node[x].kind == SCHED_WAIT)
			y = t->result[x];
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

static void place_node(const struct draft *d, struct sched_bucketed *out, uint32_t k)
{
	static const enum sched_step step[] = {[SCHED_PACK] = SCHED_STEP_PACK,
	                                       [SCHED_BUCKET_COMM] = SCHED_STEP_COMM,
	                                       [SCHED_BUCKET_WAIT] = SCHED_STEP_WAIT,
	                                       [SCHED_UNPACK] = SCHED_STEP_UNPACK};
	const struct sched_problem *p = d->p;
	uint32_t x = d->at[k], b = (x - p->n) / SCHED_PARTS;
	enum sched_part which = (enum sched_part)((x - p->n) % SCHED_PARTS);
	struct sched_node *n = &out->p.node[k];
	struct sched_transfer moved = {0};
	if (x < p->n) {
		*n = p->node[x];
		moved = *sched_transfer(p, x);
		out->origin[k] = origin_alone(p, x);
	} else {
		*n = sched_parts_node(&d->parts, b, which, &moved);
		out->origin[k] = (struct sched_origin){step[which], d->parts.group[b].first, b};
	}
	if (n->kind == SCHED_COMM) {
		n->transfer = out->p.transfer_n++;
		out->p.transfer[n->transfer] = moved;
	} else if (n->comm != SCHED_NONE) {
		n->comm = d->place[x < p->n ? d->parts.number[n->comm] : n->comm];
	}
}

/* Numbers the storages: those of p keep their numbers, and bucket k adds the packed and the gathered buffer. */
static void place_storages(const struct draft *d, struct sched_bucketed *out)
{
	const struct sched_problem *p = d->p;
	struct sched_storage *storage = out->p.storage;
	for (uint32_t s = 0; s < p->storage_n; s++) {
		storage[s] = p->storage[s];
		storage[s].def = sched_parts_maker(&d->parts, s);
	}
	for (uint32_t k = 0; k < d->bucket_n; k++) {
		storage[p->storage_n + 2 * k] = sched_parts_packed(&d->parts, k);
		storage[p->storage_n + 2 * k + 1] = sched_parts_gathered(&d->parts, k);
	}
	for (uint32_t s = 0; s < out->p.storage_n; s++)
		if (storage[s].def != SCHED_NONE)
			storage[s].def = d->place[storage[s].def];
}

/* Lists the users of the packed and the gathered buffer of each bucket. */
static struct sched_lists list_buffer_users(const struct draft *d, const uint32_t *became)
{
	const struct sched_problem *p = d->p;
	VEC(struct sched_pair) use = {0};
	const struct sched_parts *t = &d->parts;
	for (uint32_t x = 0; x < p->n; x++) {
		uint32_t k = p->node[x].kind == SCHED_WAIT ? sched_parts_bucket(t, x) : SCHED_NONE;
		if (k != SCHED_NONE && t->group[k].packs)
			vec_push(&use, (struct sched_pair){became[x], 2 * k});
	}
	for (uint32_t k = 0; k < d->bucket_n; k++)
		if (t->group[k].unpacks)
			vec_push(&use,
			         (struct sched_pair){d->place[sched_part(t, k, SCHED_UNPACK)], 2 * k + 1});
	struct sched_lists l = sched_lists_to(d->scratch, use.at, use.n, 2 * d->bucket_n);
	vec_free(&use);
	return l;
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
			add_item(&m, d->place[sched_parts_user(&d->parts, old->item[i], s)]);
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
	uint32_t items = alone->at[d->p->n] + parts->at[SCHED_PARTS * d->bucket_n];
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
		out->became[x] = d->place[d->parts.number[x]];
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
	struct draft d = {.p = p,
	                  .parts = {.p = p, .bucket = bucket},
	                  .bucket_n = bucket_n,
	                  .total = p->n + SCHED_PARTS * bucket_n};
	d.scratch = arena_new();
	d.parts.group = arena_new_array(d.scratch, struct sched_group, bucket_n);
	d.parts.number = arena_new_array(d.scratch, uint32_t, p->n);
	d.parts.result = arena_new_array(d.scratch, uint32_t, p->n);
	d.place = arena_new_array(d.scratch, uint32_t, d.total);
	d.at = arena_new_array(d.scratch, uint32_t, d.total);
	gather_members(&d);
	bool ok = find_needs(&d) && put_in_order(&d);
	if (ok)
		finish_draft(&d, a, out);
	arena_free(d.scratch);
	return ok;
}
