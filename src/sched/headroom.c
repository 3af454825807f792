/* headroom: a segment tree that keeps, for each span, its sum and its largest prefix sum. */
#include "sched/headroom.h"
#include <stdlib.h>

static const int64_t ISSUED = -((int64_t)1 << 60); /* `most` of positions whose nodes are all issued */

static struct headroom_span joined(const struct headroom_span *left, const struct headroom_span *right)
{
	int64_t most = left->sum + right->most;
	return (struct headroom_span){left->sum + right->sum, left->most > most ? left->most : most};
}

/* Sums the positions of a leaf. */
static struct headroom_span read_leaf(const struct headroom *h, uint32_t leaf)
{
	struct headroom_span span = {0, ISSUED};
	uint32_t x = (leaf - h->leaves) * HEADROOM_LEAF;
	for (uint32_t end = x + HEADROOM_LEAF; x < end && x < h->p->n; x++) {
		span.sum += h->difference[x];
		if (!h->issued[x] && span.sum > span.most)
			span.most = span.sum;
	}
	return span;
}

/* Adds bytes to all positions from this one on. */
static void add_from(struct headroom *h, uint32_t position, int64_t bytes)
{
	vec_push(&h->change, (struct headroom_change){position, bytes});
}

/* Applies the changes since entry `from`, times sign, to the leaves. */
static void apply_changes(struct headroom *h, uint32_t from, int64_t sign)
{
	for (uint32_t i = from; i < h->change.n; i++) {
		struct headroom_change c = h->change.at[i];
		h->difference[c.position] += sign * c.bytes;
		vec_push(&h->dirty, h->leaves + c.position / HEADROOM_LEAF);
	}
}

/* Sets a node of the tree. Returns false if it had this value already. */
static bool set_span(struct headroom *h, uint32_t k, struct headroom_span span)
{
	bool changed = h->span[k].sum != span.sum || h->span[k].most != span.most;
	h->span[k] = span;
	return changed;
}

/* Updates the tree from the dirty leaves up, as far as something changes. If a value moves from one
 * position to a neighbour, the sum of both does not change. Neighbours of a level that share a parent
 * are next to each other in the list. */
static void settle_leaves(struct headroom *h)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < h->dirty.n; i++) {
		uint32_t leaf = h->dirty.at[i];
		if (set_span(h, leaf, read_leaf(h, leaf)))
			h->dirty.at[n++] = leaf;
	}
	for (h->dirty.n = n; h->dirty.n && h->dirty.at[0] > 1; h->dirty.n = n) {
		uint32_t last = 0;
		n = 0;
		for (uint32_t i = 0; i < h->dirty.n; i++) {
			uint32_t k = h->dirty.at[i] / 2;
			if (k == last)
				continue;
			last = k;
			if (set_span(h, k, joined(&h->span[2 * k], &h->span[2 * k + 1])))
				h->dirty.at[n++] = k;
		}
	}
	h->dirty.n = 0;
}

void headroom_open(struct headroom *h, const struct sched_problem *p, struct arena *a)
{
	*h = (struct headroom){.p = p, .leaves = 2, .now = p->fixed, .peak = p->fixed};
	while ((uint64_t)h->leaves * HEADROOM_LEAF <= p->n)
		h->leaves *= 2;
	h->difference = arena_new_array(a, int64_t, p->n + 1);
	h->span = arena_new_array(a, struct headroom_span, 2 * h->leaves);
	h->last = arena_new_array(a, uint32_t, p->storage_n);
	h->issued = arena_new_array(a, bool, p->n);
	for (uint32_t s = 0; s < p->storage_n; s++)
		h->last[s] = p->users.end[s] - 1;
	int64_t freed = 0; /* bytes freed by the position before */
	for (uint32_t x = 0; x <= p->n; x++) {
		h->difference[x] = -freed;
		freed = 0;
		if (x == p->n)
			continue;
		h->difference[x] += sched_made(h->p, x);
		for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
			if (p->users.item[h->last[p->uses.item[i]]] == x)
				freed += p->storage[p->uses.item[i]].bytes;
	}
	for (uint32_t k = h->leaves; k < 2 * h->leaves; k++)
		h->span[k] = read_leaf(h, k);
	for (uint32_t k = h->leaves - 1; k; k--)
		h->span[k] = joined(&h->span[2 * k], &h->span[2 * k + 1]);
	h->to_come = h->now + h->span[1].most;
}

void headroom_copy(struct headroom *h, const struct headroom *from, struct arena *a)
{
	const struct sched_problem *p = from->p;
	*h = *from;
	h->difference = arena_copy(a, from->difference, sizeof *h->difference * ((size_t)p->n + 1));
	h->span = arena_copy(a, from->span, sizeof *h->span * 2 * h->leaves);
	h->last = arena_copy(a, from->last, sizeof *h->last * p->storage_n);
	h->issued = arena_new_array(a, bool, p->n);
}

void headroom_close(struct headroom *h)
{
	vec_free(&h->step);
	vec_free(&h->change);
	vec_free(&h->dirty);
	vec_free(&h->moved);
}

/* Returns the position from which the storage is free once x, its last user, is issued. */
static uint32_t gone_from(struct headroom *h, uint32_t storage)
{
	const struct sched_lists *users = &h->p->users;
	uint32_t first = users->at[storage], last = h->last[storage];
	while (last > first && h->issued[users->item[last - 1]])
		last--;
	if (last == first)
		return 0;
	h->last[storage] = last - 1;
	return users->item[last - 1] + 1;
}

void headroom_issue(struct headroom *h, uint32_t x)
{
	const struct sched_problem *p = h->p;
	struct headroom_step step = {x, h->change.n, h->moved.n, h->now, h->peak, h->to_come};
	int64_t made = sched_made(h->p, x), freed = 0;
	vec_push(&h->step, step);
	h->issued[x] = true;
	h->to_come += x == h->first ? 0 : made; /* more is live at the positions before x, at no others */
	while (h->first < p->n && h->issued[h->first])
		h->first++;
	h->now += made;
	if (h->now > h->peak)
		h->peak = h->now;
	add_from(h, x, -made);
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++) {
		uint32_t s = p->uses.item[i];
		if (p->users.item[h->last[s]] != x)
			continue;
		vec_push(&h->moved, (struct headroom_moved){s, h->last[s]});
		uint32_t from = gone_from(h, s);
		freed += p->storage[s].bytes;
		if (from)
			add_from(h, from, -p->storage[s].bytes);
		else
			h->now -= p->storage[s].bytes;
	}
	if (freed)
		add_from(h, x + 1, freed);
	apply_changes(h, step.change_n, 1);
}

void headroom_undo(struct headroom *h)
{
	struct headroom_step step = h->step.at[--h->step.n];
	while (h->moved.n > step.moved_n) {
		struct headroom_moved m = h->moved.at[--h->moved.n];
		h->last[m.storage] = m.last;
	}
	h->issued[step.node] = false;
	h->first = step.node < h->first ? step.node : h->first;
	h->now = step.now;
	h->peak = step.peak;
	h->to_come = step.to_come;
	apply_changes(h, step.change_n, -1);
	h->change.n = step.change_n;
}

bool headroom_fits(struct headroom *h, int64_t limit)
{
	if (h->peak <= limit && h->to_come > limit) {
		settle_leaves(h);
		h->to_come = h->now + h->span[1].most;
	}
	return h->peak <= limit && h->to_come <= limit;
}

void headroom_keep(struct headroom *h)
{
	h->step.n = h->change.n = h->moved.n = 0;
}
