/* window_memory: finds the memory of a draft from the few nodes that move.
 *
 *     places   a … d … b        the node at d moves to a:
 *              d a … … b        what it makes is live at all places before d, too;
 *                               what it was the last to use is freed after another user, or at once
 *
 * The other nodes keep their order, so their memory changes only by the storages that a moved node makes or uses:
 * each adds its bytes to a span of places, or takes them away. The limit counts only where the sum of these is
 * positive; there the most live bytes of the present order are found by blocks of places. Spans are in the places of
 * the present order, and those of moved nodes are left out. */
#include "sched/window_memory.h"

static int64_t high_at(const struct window *w, uint32_t k)
{
	return w->live[k] + w->made[w->order[k]];
}

/* Finds the most live bytes again for the blocks with places from … to - 1. */
static void set_blocks(struct window *w, uint32_t from, uint32_t to)
{
	for (uint32_t i = from / WINDOW_BLOCK; i * WINDOW_BLOCK < to; i++) {
		uint32_t end = (i + 1) * WINDOW_BLOCK < w->p->n ? (i + 1) * WINDOW_BLOCK : w->p->n;
		w->high[i] = 0;
		for (uint32_t k = i * WINDOW_BLOCK; k < end; k++)
			w->high[i] = high_at(w, k) > w->high[i] ? high_at(w, k) : w->high[i];
	}
}

void window_memory_set(struct window *w, uint32_t from, uint32_t to)
{
	const struct sched_problem *p = w->p;
	for (uint32_t k = from; k < to; k++) {
		uint32_t x = w->order[k];
		int64_t live = w->live[k] + w->made[x];
		for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
			if (w->last[p->uses.item[i]] == k)
				live -= p->storage[p->uses.item[i]].bytes;
		w->live[k + 1] = live;
	}
	set_blocks(w, from, to);
}

/* Returns true if no place from … to - 1 has more live bytes than `most`. */
static bool is_within(const struct window *w, uint32_t from, uint32_t to, int64_t most)
{
	for (uint32_t k = from; k < to;) {
		if (k % WINDOW_BLOCK == 0 && k + WINDOW_BLOCK <= to && w->high[k / WINDOW_BLOCK] <= most)
			k += WINDOW_BLOCK;
		else if (high_at(w, k++) > most)
			return false;
	}
	return true;
}

static bool is_moved(const struct window *w, uint32_t node)
{
	return w->marked[node] == w->marking;
}

static void add_change(struct window *w, uint32_t place, int64_t bytes)
{
	w->change[place] += bytes;
	w->changed[place / WINDOW_BLOCK] |= (uint64_t)1 << place % WINDOW_BLOCK;
}

/* Adds bytes to the live bytes at places from … to - 1. */
static void add_span(struct window *w, uint32_t from, uint32_t to, int64_t bytes)
{
	if (from >= to)
		return;
	add_change(w, from, bytes);
	add_change(w, to, -bytes);
}

/* Returns the place after the last user of the storage among the nodes that stay in the stretch, or a. */
static uint32_t end_of_others(const struct window *w, uint32_t storage, uint32_t a)
{
	const struct sched_lists *users = &w->p->users;
	uint32_t end = a;
	for (uint32_t i = users->at[storage]; i < users->end[storage]; i++) {
		uint32_t k = w->place[users->item[i]];
		if (k >= end && !is_moved(w, users->item[i]))
			end = k + 1;
	}
	return end;
}

/* Returns the place from which the storage is free in the present order, at most b. */
static uint32_t end_of(const struct window *w, uint32_t storage, uint32_t b)
{
	return w->p->storage[storage].kept || w->last[storage] >= b ? b : w->last[storage] + 1;
}

/* Notes the changes if the node at place d runs before those that stay. Returns the live bytes after it, *live before
 * it; false if they exceed the limit. */
static bool move_first(struct window *w, uint32_t d, uint32_t a, uint32_t b, int64_t *live)
{
	const struct sched_problem *p = w->p;
	uint32_t x = w->order[d];
	w->raised += *live - w->live[d];
	*live += w->made[x];
	if (*live > w->limit)
		return false;
	for (uint32_t i = p->makes.at[x]; i < p->makes.end[x]; i++) {
		uint32_t s = p->makes.item[i], end = end_of(w, s, b);
		bool moved = !p->storage[s].kept && w->last[s] < b && is_moved(w, w->order[w->last[s]]);
		add_span(w, d + 1, end, -p->storage[s].bytes);
		add_span(w, a, moved ? end_of_others(w, s, a) : end, p->storage[s].bytes);
	}
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++) {
		uint32_t s = p->uses.item[i];
		if (w->last[s] != d)
			continue;
		uint32_t end = end_of_others(w, s, a);
		*live -= end == a ? p->storage[s].bytes : 0;
		if (!is_moved(w, p->storage[s].def))
			add_span(w, end, d, -p->storage[s].bytes);
	}
	return true;
}

/* Notes the changes if the node at place d runs after those that stay. Moved nodes are looked at from the last one on:
 * *live is after the node, and then before it. Returns false if the live bytes exceed the limit. */
static bool move_last(struct window *w, uint32_t d, uint32_t a, uint32_t b, int64_t *live)
{
	const struct sched_problem *p = w->p;
	uint32_t x = w->order[d];
	for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++) {
		uint32_t s = p->uses.item[i];
		if (w->last[s] < a || w->last[s] >= b || w->met[s] == w->meeting)
			continue;
		w->met[s] = w->meeting;
		*live += p->storage[s].bytes;
		if (!is_moved(w, p->storage[s].def))
			add_span(w, w->last[s] + 1, b, p->storage[s].bytes);
	}
	if (*live > w->limit)
		return false;
	*live -= w->made[x];
	w->raised += *live - w->live[d];
	for (uint32_t i = p->makes.at[x]; i < p->makes.end[x]; i++)
		add_span(w, d + 1, end_of(w, p->makes.item[i], b), -p->storage[p->makes.item[i]].bytes);
	return true;
}

/* Adds up the changes at places a … b, and clears them. Returns false if the live bytes of the nodes that stay exceed
 * the limit; fits: those of the moved nodes do not. */
static bool sum_changes(struct window *w, uint32_t a, uint32_t b, bool fits)
{
	int64_t more = 0; /* than in the present order */
	uint32_t k = a, m = 0;
	for (uint32_t i = a / WINDOW_BLOCK; i <= b / WINDOW_BLOCK; i++)
		for (; w->changed[i]; w->changed[i] &= w->changed[i] - 1) {
			uint32_t end = i * WINDOW_BLOCK + (uint32_t)__builtin_ctzll(w->changed[i]);
			while (fits && k < end) {
				bool next = m < w->moved_n && w->moved[m] < end;
				uint32_t to = next ? w->moved[m++] : end;
				w->raised += more * (int64_t)(to - k);
				fits = more <= 0 || is_within(w, k, to, w->limit - more);
				k = to + next;
			}
			more += w->change[end];
			w->change[end] = 0;
		}
	return fits;
}

bool window_memory_fits(struct window *w, uint32_t a, uint32_t b)
{
	int64_t live = w->live[w->first ? a : b];
	bool fits = true;
	w->meeting++;
	w->raised = 0;
	for (uint32_t i = 0; i < w->moved_n && fits; i++)
		fits = w->first ? move_first(w, w->moved[i], a, b, &live)
		                : move_last(w, w->moved[w->moved_n - 1 - i], a, b, &live);
	return sum_changes(w, a, b, fits);
}
