/* check_part: the elements that a view names on a rank, as a box of its tensor.
 *
 *     A: f32[64@x, 8], x = 4                       rank 1: [16, 32) × [0, 8)
 *     b = shard_by_stream(B, 2)   B: f32[64@stream(4), 8]    [32, 48) × [0, 8)
 *     C: f32[64@swizzle1d(x), 8]                   [0, 64) × [0, 8): no loop and no slice binds a block
 *
 * Where a rank stands for others, sender and receiver of a message are turned until the sender is the least
 * rank of its orbit (classes.c). The part turns with them. Both ends must name the same part, and it must move by the
 * same distance: else they would name others on the ranks for which these stand. */
#include "check/check_part.h"
#include "check/check_view.h"
#include "check/checker.h"
#include "check/classes.h"

/* The ranks that a part is of, where the walk's rank stands for others. */
struct part_turn {
	int64_t from; /* the part is turned back from this rank to the least of its orbit; -1: it is not */
	int64_t to;   /* the part is turned from the walk's rank to this one; -1: it is not */
	const struct membership *team; /* the members must name the same part; NULL: they need not */
};

/* Moves an interval round the end of its axis, by the turns from the least rank of an orbit to `rank`, or
 * back. */
static void turn_interval(const struct symmetry *s, uint32_t rank, bool back, const int64_t *by,
                          int64_t extent, struct span *x)
{
	int64_t len = x->hi - x->lo, moves = 0;
	for (unsigned k = 0; k < s->n && extent > 0; k++)
		moves += by[k] % extent * (s->turn[k].power[rank] % extent);
	if (extent > 0)
		x->lo = ((x->lo + (back ? -moves : moves)) % extent + extent) % extent;
	x->hi = x->lo + len;
}

/* Returns a number that tells how far a part moves on each turn: 0 if it stays. */
static int64_t number_moves(const struct symmetry *s, const int64_t *by, int64_t extent)
{
	uint64_t number = 0;
	for (unsigned k = 0; s && k < s->n && extent > 0; k++)
		number = number * (uint64_t)extent + (uint64_t)((by[k] % extent + extent) % extent);
	return (int64_t)number;
}

static spread_id find_part(struct rank_check *w, value_id v, const struct part_turn *turn, int64_t *elements)
{
	const struct symmetry *s = w->c->symmetry;
	const bool back = s && turn->from >= 0 && turn->from < w->c->o->ranks, on = s && turn->to >= 0;
	const unsigned rank = value_domain(w->m, v)->rank;
	const struct cut none = {.axis = -1};
	struct span span[2 * IR_MAX_LOGICAL];   /* the part, then how it moves, and the tensor */
	const bool counts = !turn->team && !on; /* as many elements on each rank of the orbit */
	bool known = true;
	int64_t n = 1;
	*elements = -1;
	if ((turn->team || turn->to >= 0) && check_view_may_follow(w, v))
		return 0;
	for (unsigned a = 0; a < rank; a++) {
		int64_t by[SYMMETRY_MOST] = {0};
		struct part_axis x;
		if (!check_view_axis(w, &w->view[v], w->m->value.at[v].type, a, none, &x,
		                     back || on || (s && turn->team) ? by : NULL)) {
			known = false;
			if (counts)
				check_view_size(w, &w->view[v], w->m->value.at[v].type, a);
		}
		if (!known)
			continue;
		if ((turn->team && !classes_stay(w, turn->team, by)) ||
		    __builtin_mul_overflow(n, x.to - x.from, &n))
			return 0;
		span[a] = (struct span){x.from, x.to};
		if (back)
			turn_interval(s, (uint32_t)turn->from, true, by, x.extent, &span[a]);
		if (on)
			turn_interval(s, (uint32_t)turn->to, false, by, x.extent, &span[a]);
		span[rank + a] = (struct span){number_moves(s, by, x.extent), x.extent};
	}
	if (!known)
		return 0;
	*elements = n;
	return spread_get(&w->c->spreads, span, 2 * rank);
}

spread_id check_part_find(struct rank_check *w, value_id v, int64_t sender, int64_t *elements)
{
	return find_part(w, v, &(struct part_turn){.from = sender, .to = -1}, elements);
}

spread_id check_part_on_team(struct rank_check *w, value_id v, const struct membership *team)
{
	int64_t elements;
	return find_part(w, v, &(struct part_turn){.from = -1, .to = -1, .team = team}, &elements);
}

spread_id check_part_at(struct rank_check *w, value_id v, uint32_t device)
{
	int64_t elements;
	return find_part(w, v, &(struct part_turn){.from = -1, .to = device}, &elements);
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
		    spread_span(s, a, k).hi != spread_span(s, b, k).hi ||
		    spread_span(s, a, n / 2 + k).lo != spread_span(s, b, n / 2 + k).lo)
			return (int)k;
	return -1;
}
