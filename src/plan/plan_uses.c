/* plan_uses: keeps clocks of streams, and finds the uses of slots that they order.
 *
 * Each stream counts its own events, and the events of each other stream that it has seen:
 *
 *     stream 0    1: A = exp(X)   2: B = A + A                 has seen (2, 0)
 *     stream 1                       sync 0   1: C = sin(B)    has seen (2, 1)
 *
 * A slot keeps its last event on each stream. Its use is over for a stream that has seen all these
 * events, if no communication uses it any more. A new use is compared with two sets of slots: those used
 * since the last use in this lifetime, and those whose use may not be over for its stream; these are
 * never older than the horizon. All slots are in a list, the most recently used first, so that both sets
 * are at its front. */
#include "plan/plan_uses.h"
#include <stdlib.h>

/* ---- streams */

uint32_t uses_stream(struct uses *u, int64_t index)
{
	for (uint32_t s = 0; s < u->streams; s++)
		if (u->index[s] == index)
			return s;
	if (u->streams < USES_MAX_STREAMS)
		u->index[u->streams++] = index;
	else
		u->work = USES_MAX_WORK;
	return u->streams - 1;
}

void uses_see(struct uses *u, uint32_t current, uint32_t other)
{
	for (uint32_t s = 0; s < u->streams; s++)
		if (u->clock[current][s] < u->clock[other][s])
			u->clock[current][s] = u->clock[other][s];
}

static void add_meeting_pair(struct uses *u, uint32_t a, uint32_t b)
{
	struct uses_pair pair = a < b ? (struct uses_pair){a, b} : (struct uses_pair){b, a};
	struct hash_probe p = {.hash = hash_number(pair.a, pair.b)};
	for (uint32_t k; (k = hash_next(&u->pairs, &p));)
		if (u->pair.at[k - 1].a == pair.a && u->pair.at[k - 1].b == pair.b)
			return;
	vec_push(&u->pair, pair);
	hash_insert(&u->pairs, p.hash, u->pair.n);
	if (u->pair.n == USES_MAX_PAIRS)
		u->unpaired = true;
}

void uses_event(struct uses *u, uint32_t stream, uint32_t at)
{
	u->clock[stream][stream]++;
	uint32_t *n = &u->tail[stream].n;
	while (*n && u->tail[stream].at[*n - 1].at >= at)
		--*n;
	vec_push(&u->tail[stream], (struct uses_tail){u->clock[stream][stream], at});
}

/* Returns the horizon: all uses before it, in the order of issue, are over for the stream. */
static uint32_t horizon(struct uses *u, uint32_t stream)
{
	uint32_t least = u->now;
	if (u->horizon_now == u->now && u->horizon_stream == stream)
		return u->horizon;
	while (u->oldest < u->issued.n && u->issued.at[u->oldest] == USES_NONE)
		u->oldest++;
	if (u->oldest < u->issued.n)
		least = u->issued.at[u->oldest];
	for (uint32_t s = 0; s < u->streams; s++) {
		uint32_t low = 0, high = u->tail[s].n;
		while (low < high) {
			uint32_t middle = (low + high) / 2;
			if (u->tail[s].at[middle].t > u->clock[stream][s])
				high = middle;
			else
				low = middle + 1;
		}
		if (low < u->tail[s].n && u->tail[s].at[low].at < least)
			least = u->tail[s].at[low].at;
	}
	u->horizon_now = u->now;
	u->horizon_stream = stream;
	return u->horizon = least;
}

/* ---- uses */

/* Moves the slot to the front of the list. */
static void list_move(struct uses *u, uint32_t slot)
{
	struct slot_uses *x = &u->slot[slot];
	if (u->newest == slot)
		return;
	if (x->newer != USES_NONE)
		u->slot[x->newer].older = x->older;
	if (x->older != USES_NONE)
		u->slot[x->older].newer = x->newer;
	x->older = u->newest;
	x->newer = USES_NONE;
	if (u->newest != USES_NONE)
		u->slot[u->newest].newer = slot;
	u->newest = slot;
}

/* Returns true if the stream has seen all uses of the slot. USES_NONE stands for a stream that has seen
 * everything. */
static bool is_over(const struct uses *u, const struct slot_uses *x, uint32_t stream)
{
	for (uint32_t s = 0; s < u->streams && stream != USES_NONE; s++)
		if (x->end[s] > u->clock[stream][s])
			return false;
	return !x->pending || stream == USES_NONE;
}

void uses_touch(struct uses *u, uint32_t stream, uint32_t slot, uint32_t life)
{
	struct slot_uses *x = &u->slot[slot];
	if (x->pinned)
		return;
	if (!x->used || x->life != life) {
		u->out->late[x->buffer] |= x->used && !is_over(u, x, stream);
		if (!x->used)
			u->out->at[slot] = u->now;
		x->used = true;
		x->life = life;
		x->first = u->now;
		x->written = 0;
	}
	uint32_t since = x->first == u->now ? u->now : x->last;
	x->last = u->now;
	if (u->unpaired)
		return;
	uint32_t sure = stream == USES_NONE ? u->now : horizon(u, stream);
	list_move(u, slot);
	/* slots used before `since` were compared with this lifetime already */
	for (uint32_t k = x->older; k != USES_NONE && (u->slot[k].last >= since || u->slot[k].last >= sure);
	     k = u->slot[k].older, u->compared++)
		if (u->slot[k].last >= x->first || !is_over(u, &u->slot[k], stream))
			add_meeting_pair(u, slot, k);
	u->unpaired |= u->compared >= USES_MAX_COMPARED;
}

void uses_end(struct uses *u, uint32_t stream, uint32_t slot)
{
	u->slot[slot].end[stream] = u->clock[stream][stream];
}

uint32_t uses_issue(struct uses *u)
{
	vec_push(&u->issued, u->now);
	return u->issued.n - 1;
}

void uses_wait(struct uses *u, uint32_t stream, uint32_t issued)
{
	uses_event(u, stream, u->issued.at[issued]);
	u->issued.at[issued] = USES_NONE;
}

/* Makes a list for each slot from the pairs. */
void uses_list(const struct uses *u)
{
	struct lifetimes *l = u->out;
	l->first = mem_zalloc(sizeof *l->first * ((size_t)l->n + 2));
	l->with = mem_zalloc(sizeof *l->with * ((size_t)u->pair.n * 2 + 1));
	for (unsigned pass = 0; pass < 2;
	     pass++) { /* the first pass counts, the second one fills each list from its end */
		for (uint32_t k = 0; k < u->pair.n; k++) {
			uint32_t a = u->pair.at[k].a, b = u->pair.at[k].b;
			if (pass)
				l->with[--l->first[a]] = b, l->with[--l->first[b]] = a;
			else
				l->first[a]++, l->first[b]++;
		}
		for (uint32_t k = 1; !pass && k <= l->n; k++)
			l->first[k] += l->first[k - 1];
	}
}

void uses_free(struct uses *u)
{
	for (uint32_t s = 0; s < USES_MAX_STREAMS; s++)
		vec_free(&u->tail[s]);
	vec_free(&u->issued);
	vec_free(&u->pair);
	hash_table_free(&u->pairs);
}
