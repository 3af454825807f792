/* headroom: a segment tree with additions to ranges and the largest of all. */
#include "sched/headroom.h"
#include <stdlib.h>

static const int64_t ISSUED = (int64_t)1 << 60; /* taken from positions that are no longer to come */

static void add_below(struct headroom *h, uint32_t node, uint32_t from, uint32_t to, uint32_t a, uint32_t b,
                      int64_t bytes)
{
	if (a <= from && to <= b) {
		h->most[node] += bytes;
		h->all[node] += bytes;
		return;
	}
	uint32_t mid = (from + to) / 2;
	if (a < mid)
		add_below(h, 2 * node, from, mid, a, b, bytes);
	if (b > mid)
		add_below(h, 2 * node + 1, mid, to, a, b, bytes);
	int64_t left = h->most[2 * node], right = h->most[2 * node + 1];
	h->most[node] = (left > right ? left : right) + h->all[node];
}

/* To the positions a … b - 1. */
static void add(struct headroom *h, uint32_t a, uint32_t b, int64_t bytes)
{
	if (a < b && bytes)
		add_below(h, 1, 0, h->leaves, a, b, bytes);
}

static int64_t bytes_made(const struct sched_problem *p, uint32_t x)
{
	int64_t bytes = 0;
	for (uint32_t i = p->makes.at[x]; i < p->makes.at[x + 1]; i++)
		bytes += p->storage[p->makes.item[i]].bytes;
	return bytes;
}

void headroom_open(struct headroom *h, const struct sched_problem *p)
{
	*h = (struct headroom){.p = p, .leaves = 1, .now = p->fixed, .peak = p->fixed};
	while (h->leaves < p->n)
		h->leaves *= 2;
	h->most = mem_alloc(sizeof *h->most * 2 * h->leaves);
	h->all = mem_zalloc(sizeof *h->all * 2 * h->leaves);
	h->last = mem_alloc(sizeof *h->last * ((size_t)p->storage_n + 1));
	h->issued = mem_zalloc((size_t)p->n + 1);
	for (uint32_t s = 0; s < p->storage_n; s++)
		h->last[s] = p->users.at[s + 1] - 1;
	int64_t live = p->fixed;
	for (uint32_t x = 0; x < h->leaves; x++) {
		h->most[h->leaves + x] = -ISSUED;
		if (x >= p->n)
			continue;
		live += bytes_made(p, x);
		h->most[h->leaves + x] = live;
		for (uint32_t i = p->uses.at[x]; i < p->uses.at[x + 1]; i++)
			if (p->users.item[h->last[p->uses.item[i]]] == x)
				live -= p->storage[p->uses.item[i]].bytes;
	}
	for (uint32_t k = h->leaves - 1; k; k--) {
		int64_t left = h->most[2 * k], right = h->most[2 * k + 1];
		h->most[k] = left > right ? left : right;
	}
}

void headroom_close(struct headroom *h)
{
	free(h->most);
	free(h->all);
	free(h->last);
	free(h->issued);
	vec_free(&h->step);
	vec_free(&h->moved);
}

/* Positions from which the storage is gone once x, its last user, is issued: those up to x. */
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
	vec_push(&h->step, (struct headroom_step){x, h->moved.n, h->now, h->peak});
	h->issued[x] = true;
	int64_t made = bytes_made(p, x);
	h->now += made;
	add(h, 0, x, made);
	if (h->now > h->peak)
		h->peak = h->now;
	for (uint32_t i = p->uses.at[x]; i < p->uses.at[x + 1]; i++) {
		uint32_t s = p->uses.item[i];
		if (p->users.item[h->last[s]] != x)
			continue;
		vec_push(&h->moved, (struct headroom_moved){s, h->last[s]});
		uint32_t from = gone_from(h, s);
		if (!from)
			h->now -= p->storage[s].bytes;
		add(h, from, x + 1, -p->storage[s].bytes);
	}
	add(h, x, x + 1, -ISSUED);
}

void headroom_undo(struct headroom *h)
{
	const struct sched_problem *p = h->p;
	struct headroom_step t = h->step.at[--h->step.n];
	add(h, t.node, t.node + 1, ISSUED);
	while (h->moved.n > t.moved_n) {
		struct headroom_moved m = h->moved.at[--h->moved.n];
		uint32_t last = h->last[m.storage];
		add(h, last == m.last ? 0 : p->users.item[last] + 1, t.node + 1, p->storage[m.storage].bytes);
		h->last[m.storage] = m.last;
	}
	add(h, 0, t.node, -bytes_made(p, t.node));
	h->issued[t.node] = false;
	h->now = t.now;
	h->peak = t.peak;
}
