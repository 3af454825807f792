/* plan_memory: gives each slot a place in one block of memory. Slots that are never in use together may
 * share a place.
 *
 *     T1 = exp(X)      X   0 ┐
 *     T2 = T1 + T1     T1 512│ T3 is written after all reads of T1, and gets its place
 *     T3 = sin(T2)     T2 1024
 *     Y = T3 + T3      T3 512, Y 1024
 *
 * Each slot has one place for the whole run. Slots are placed one after the other, each in the lowest
 * gap that is large enough between the slots that it meets. Two orders are tried, largest first and by
 * first use; the one that needs less memory is kept. */
#include "plan/plan_memory.h"
#include "base/checked.h"
#include "plan/plan_lifetime.h"
#include <string.h>

struct item {
	uint32_t slot, at; /* at: time of its first use */
	int64_t bytes, place;
	bool alone;
};

struct layout {
	const struct lifetimes *l;
	struct item *item; /* in the order of placing */
	uint32_t n;
	int64_t base;             /* lowest place */
	const struct item **of;   /* by slot; NULL: not placed yet */
	const struct item **near; /* scratch: placed items that an item meets */
};

static int larger_first(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->alone != y->alone)
		return x->alone ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->slot > y->slot) - (x->slot < y->slot);
}

static int earlier_first(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	if (x->alone != y->alone)
		return x->alone ? -1 : 1;
	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->slot > y->slot) - (x->slot < y->slot);
}

static int lower_first(const void *a, const void *b)
{
	const struct item *x = *(const struct item *const *)a, *y = *(const struct item *const *)b;
	return x->place != y->place ? (x->place > y->place) - (x->place < y->place)
	                            : (x->slot > y->slot) - (x->slot < y->slot);
}

/* Returns the lowest place from `low` on that is free of all placed items that x meets. */
static int64_t find_place(struct layout *y, const struct item *x, int64_t low)
{
	uint32_t n = 0;
	for (uint32_t k = y->l->first[x->slot]; k < y->l->first[x->slot + 1]; k++)
		if (y->of[y->l->with[k]])
			y->near[n++] = y->of[y->l->with[k]];
	qsort(y->near, n, sizeof *y->near, lower_first);
	for (uint32_t k = 0; k < n && y->near[k]->place - low < x->bytes; k++)
		if (y->near[k]->place + y->near[k]->bytes > low)
			low = y->near[k]->place + y->near[k]->bytes;
	return low;
}

/* Places all items. Returns the bytes that they need; INT64_MAX on overflow. */
static int64_t place_all(struct layout *y)
{
	int64_t total = y->base, low = y->base, end;
	memset(y->of, 0, sizeof *y->of * (y->l->n + 1));
	for (uint32_t k = 0; k < y->n; k++) {
		struct item *x = &y->item[k];
		x->place = x->alone ? low : find_place(y, x, low);
		if (!checked_add(x->place, x->bytes, &end))
			return INT64_MAX;
		low = x->alone ? end : low;
		total = end > total ? end : total;
		y->of[x->slot] = x->alone ? NULL : x;
	}
	return total;
}

/* Returns true if the buffer is placed here. Buffers on the heap have places already. */
static bool is_placed(const struct plan_buffer *buffer)
{
	return !buffer->symmetric && !buffer->view;
}

/* Gives every slot a place of its own. */
static void place_apart(struct plan *p)
{
	p->bytes = p->heap;
	for (uint32_t b = 0; b < p->buffer.n; b++)
		for (int64_t s = 0; s < p->buffer.at[b].slots && is_placed(&p->buffer.at[b]); s++) {
			p->slot.at[p->buffer.at[b].first_slot + s] = p->bytes;
			if (!checked_add(p->bytes, p->buffer.at[b].slot_bytes, &p->bytes))
				p->bytes = INT64_MAX;
		}
}

static void place_shared(struct plan *p, const struct lifetimes *l)
{
	struct layout y = {.l = l, .base = p->heap};
	y.item = mem_zalloc(sizeof *y.item * (l->n + 1));
	y.of = mem_zalloc(sizeof *y.of * (l->n + 1));
	y.near = mem_zalloc(sizeof *y.near * (l->n + 1));
	for (uint32_t b = 0; b < p->buffer.n; b++)
		for (uint32_t s = 0; s < (uint32_t)p->buffer.at[b].slots && is_placed(&p->buffer.at[b]);
		     s++) {
			uint32_t k = p->buffer.at[b].first_slot + s;
			if (l->used[k])
				y.item[y.n++] = (struct item){.slot = k,
				                              .at = l->at[k],
				                              .bytes = p->buffer.at[b].slot_bytes,
				                              .alone = l->alone[k]};
		}
	static int (*const order[])(const void *, const void *) = {larger_first, earlier_first};
	p->bytes = INT64_MAX;
	for (unsigned o = 0; o < 2; o++) {
		qsort(y.item, y.n, sizeof *y.item, order[o]);
		int64_t bytes = place_all(&y);
		if (bytes >= p->bytes)
			continue;
		p->bytes = bytes;
		for (uint32_t k = 0; k < y.n; k++)
			p->slot.at[y.item[k].slot] = y.item[k].place;
	}
	free(y.item);
	free(y.of);
	free(y.near);
}

/* Doubles the copies of values with late buffers. Returns false if there are any. */
static bool make_copies(const struct plan *p, const struct lifetimes *l, bool apart, uint8_t *copies,
                        uint32_t *late)
{
	bool enough = true;
	*late = UINT32_MAX;
	for (uint32_t b = 0; b < p->buffer.n; b++) {
		uint8_t *n = &copies[p->buffer.at[b].value];
		if (!l->late[b] || (apart && !p->buffer.at[b].temporary))
			continue;
		enough = false;
		if (*n >= PLAN_MAX_COPIES)
			*late = b;
		else
			*n = *n ? (uint8_t)(*n * 2) : 2;
	}
	return enough;
}

bool plan_memory(struct plan *p, const struct plan_target *target, uint8_t *copies, uint32_t *late)
{
	const bool shared = !target->as_checked && !target->unplaced;
	struct lifetimes l;
	for (uint32_t b = 0; b < p->buffer.n; b++) {
		p->buffer.at[b].first_slot = p->slot.n;
		for (int64_t s = 0; s < p->buffer.at[b].slots; s++)
			vec_push(&p->slot, p->buffer.at[b].heap_at);
	}
	lifetimes_find(p, shared, &l);
	bool enough = make_copies(p, &l, target->as_checked, copies, late);
	if (l.known && enough)
		place_shared(p, &l);
	else
		place_apart(p);
	lifetimes_free(&l);
	return enough;
}
