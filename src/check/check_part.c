/* check_part: the elements that a view names on a rank, as a box of its tensor.
 *
 *     A: f32[64@x, 8], x = 4                       rank 1: [16, 32) × [0, 8)
 *     b = shard_by_stream(B, 2)   B: f32[64@stream(4), 8]    [32, 48) × [0, 8)
 *     C: f32[64@swizzle1d(x), 8]                   [0, 64) × [0, 8): no loop and no slice binds a block
 *
 * Where a rank stands for others, sender and receiver of a message are turned until the sender is the least
 * rank of its orbit (classes.c). The part turns with them. */
#include "check/checker.h"

/* Moves an interval back, round the end of its axis, by the turns that take a rank to the least of its
 * orbit. */
static void turn_back(const struct symmetry *s, uint32_t rank, const int64_t *by, int64_t extent,
                      struct span *x)
{
	int64_t len = x->hi - x->lo, moves = 0;
	for (unsigned k = 0; k < s->n && extent > 0; k++)
		moves += by[k] % extent * (s->turn[k].power[rank] % extent);
	if (extent > 0)
		x->lo = ((x->lo - moves) % extent + extent) % extent;
	x->hi = x->lo + len;
}

/* sender: -1 if the part is of no message. team: the team on whose members the part must be the same; NULL:
 * none. */
static spread_id find_part(struct rank_check *w, value_id v, int64_t sender, const struct membership *team,
                           int64_t *elements)
{
	const struct symmetry *s = w->c->symmetry;
	const bool turns = s && sender >= 0 && sender < w->c->o->ranks;
	const unsigned rank = value_domain(w->m, v)->rank;
	const struct cut none = {.axis = -1};
	struct span span[2 * IR_MAX_LOGICAL]; /* first the part, then the tensor */
	int64_t n = 1;
	*elements = -1;
	for (unsigned a = 0; a < rank; a++) {
		int64_t by[SYMMETRY_MOST] = {0};
		struct part_axis x;
		if (!check_view_axis(w, &w->view[v], w->m->value.at[v].type, a, none, &x,
		                     turns || (s && team) ? by : NULL) ||
		    (team && !classes_stay(w, team, by)) || __builtin_mul_overflow(n, x.to - x.from, &n))
			return 0;
		span[a] = (struct span){x.from, x.to};
		if (turns)
			turn_back(s, (uint32_t)sender, by, x.extent, &span[a]);
		span[rank + a] = (struct span){0, x.extent};
	}
	*elements = n;
	return spread_get(&w->c->spreads, span, 2 * rank);
}

spread_id check_part_find(struct rank_check *w, value_id v, int64_t sender, int64_t *elements)
{
	return find_part(w, v, sender, NULL, elements);
}

spread_id check_part_on_team(struct rank_check *w, value_id v, const struct membership *team)
{
	int64_t elements;
	return find_part(w, v, -1, team, &elements);
}

int check_part_differs(const struct spreads *s, spread_id a, spread_id b)
{
	const uint32_t n = s->spread.at[a].n;
	if (!a || !b || n != s->spread.at[b].n)
		return -1;
	for (uint32_t k = n / 2; k < n; k++)
		if (spread_span(s, a, k).hi != spread_span(s, b, k).hi)
			return -1;
	for (uint32_t k = 0; k < n / 2; k++)
		if (spread_span(s, a, k).lo != spread_span(s, b, k).lo ||
		    spread_span(s, a, k).hi != spread_span(s, b, k).hi)
			return (int)k;
	return -1;
}
