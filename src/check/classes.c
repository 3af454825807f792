/* classes: a few ranks are walked for all.
 *
 *     mesh ring(x = 4096)
 *     for i in 0..4096
 *       T = shard_by_stream(X, (axis_index(x) + i) % 4096)
 *       recv(G, peer=device(x, (axis_index(x) + i) % 4096)) …
 *
 * A turn moves every rank to another one (analysis/symmetry.h). Ranks that turns move to each other form an
 * orbit. Only the least rank of an orbit is walked; it stands for the others. This is right if three things
 * hold. Numbers that decide which statements a rank issues are the same on all ranks of the orbit. Peers turn
 * as the ranks do. Two parts of memory overlap after a turn exactly if they overlapped before:
 *
 *     index              on rank 0    on rank 1    turn by 1
 *     i                  block i      block i      moves by 0
 *     (x + i) % 4096     block i      block i + 1  moves by 1, round the end
 *
 * So all parts of one buffer along one axis must move by the same distance, round the end of the axis. If one
 * of the three fails, the turn is broken: larger steps are tried, then the turn is given up. Without turns
 * every rank is walked; this happens with a condition `rank == 0`. If the check finds errors of
 * one rank alone, such as races, every rank of its orbit has them, and they are reported for the least rank.
 * If it finds anything else, it begins again and walks every rank, so that reports name the ranks that meet. */
#include "check/classes.h"
#include "analysis/symmetry_moves.h"
#include "check/check_rank.h"
#include "check/checker.h"

/* Notes that the walk does not follow a turn. */
static bool breaks(struct checker *c, unsigned turn)
{
	c->symmetry->broken = (int)turn;
	c->asymmetric = true;
	return false;
}

bool classes_same(struct rank_check *w, expr_id e)
{
	const struct symmetry *s = w->c->symmetry;
	const struct expr_env env = walk_env(&w->walker);
	if (!s || !e || !moves_by_rank(w->m, e))
		return true;
	for (unsigned k = 0; k < s->n; k++)
		if (!moves_not(s, &s->turn[k], e, &env))
			return breaks(w->c, k);
	return true;
}

bool classes_peer(struct rank_check *w, expr_id e, int64_t peer)
{
	const struct symmetry *s = w->c->symmetry;
	const struct expr_env env = walk_env(&w->walker);
	for (unsigned k = 0; s && k < s->n; k++) {
		bool stays = peer < 0 || peer >= w->c->o->ranks || s->turn[k].to[peer] == (uint32_t)peer;
		if (e ? !moves_as_rank(s, &s->turn[k], e, &env) : !stays)
			return breaks(w->c, k);
	}
	return true;
}

/* Finds how far the index of a rank in its slice moves on a turn. Returns false if it is not the same for all
 * ranks of the slice. */
static bool membership_moves(struct rank_check *w, team_id team, const struct membership *me,
                             const struct symmetry_turn *t, uint32_t *by)
{
	const int64_t rank = w->rank;
	bool alike = true;
	for (uint32_t k = 0; k < me->n && alike; k++) {
		struct membership to;
		w->rank = t->to[me->device[k]];
		alike = check_membership(w, team, &to) && to.n == me->n;
		uint32_t moves = alike ? (to.member + me->n - k) % me->n : 0;
		alike = alike && (!k || moves == *by);
		*by = moves;
	}
	w->rank = rank;
	return alike;
}

static uint32_t **moves_of(struct checker *c, uint32_t slice)
{
	while (c->moves.n <= slice)
		vec_push(&c->moves, NULL);
	return &c->moves.at[slice];
}

/* Looks at a slice once: tests if the ranks that stand for its members are members of it, and finds how these
 * move. */
static bool check_slice(struct rank_check *w, team_id team, const struct membership *me)
{
	const struct symmetry *s = w->c->symmetry;
	uint32_t *moves = arena_new_array(w->c->arena, uint32_t, s->n + 1), standing = 0;
	if (!check_spend(w->c, (uint64_t)me->n * (s->n + 1)))
		return false;
	for (uint32_t k = 0; k < me->n; k++) {
		uint32_t least = s->least[me->device[k]], i = 0;
		while (i < me->n && me->device[i] != least) /* it is most often the first */
			i++;
		standing += i < me->n;
	}
	if (standing < me->n)
		return breaks(w->c, 0);
	for (unsigned k = 0; k < s->n; k++)
		if (!membership_moves(w, team, me, &s->turn[k], &moves[k]))
			return breaks(w->c, k);
	*moves_of(w->c, me->slice) = moves;
	return true;
}

bool classes_meet(struct rank_check *w, team_id team, const struct membership *me)
{
	return !w->c->symmetry || *moves_of(w->c, me->slice) || check_slice(w, team, me);
}

bool classes_member(struct rank_check *w, const struct membership *me, expr_id e)
{
	const struct symmetry *s = w->c->symmetry;
	const struct expr_env env = walk_env(&w->walker);
	for (unsigned k = 0; s && k < s->n; k++) {
		int64_t by = 0, of = 0;
		if ((e && !moves_turning(s, &s->turn[k], e, &env, &by, &of)) || (of && of != me->n) ||
		    by != (*moves_of(w->c, me->slice))[k])
			return breaks(w->c, k);
	}
	return true;
}

bool classes_stay(struct rank_check *w, const struct membership *team, const int64_t *by)
{
	const struct symmetry *s = w->c->symmetry;
	for (unsigned k = 0; s && k < s->n; k++)
		if (by[k] && (*moves_of(w->c, team->slice))[k])
			return breaks(w->c, k);
	return true;
}

uint32_t classes_roots(const struct rank_check *w, const struct membership *me, int64_t root)
{
	const struct symmetry *s = w->c->symmetry;
	uint32_t same = 0;
	if (!s || root < 0 || s->least[me->device[root]] != (uint32_t)w->rank)
		return 0;
	for (uint32_t k = 0; k < me->n; k++)
		same += s->least[me->device[k]] == (uint32_t)w->rank;
	return same > 1 ? same : 0;
}

bool classes_alone(struct rank_check *w)
{
	w->c->asymmetric |= w->c->symmetry != NULL;
	return !w->c->symmetry;
}

bool classes_stands(const struct checker *c, uint32_t device)
{
	return !c->symmetry || c->symmetry->least[device] == device;
}

/* ---- parts of memory */

static struct shift *shift_find(struct checker *c, unsigned turn, value_id v, domain_id domain, uint32_t axis)
{
	for (uint32_t k = 0; k < c->shift.n; k++) {
		struct shift *s = &c->shift.at[k];
		if (s->value == v && s->domain == domain && s->axis == axis && s->turn == turn)
			return s;
	}
	return NULL;
}

/* Notes that all parts of a buffer along an axis move by this much. */
static bool shift_add(struct rank_check *w, unsigned turn, value_id v, domain_id domain, uint32_t axis,
                      int64_t by)
{
	struct shift *s = shift_find(w->c, turn, v, domain, axis);
	if (!s)
		vec_push(&w->c->shift, (struct shift){v, domain, axis, turn, by});
	return !s || s->by == by || breaks(w->c, turn);
}

/* Finds how far the index of a slice, one of `count`, moves. */
static bool index_moves(struct rank_check *w, unsigned turn, expr_id e, int64_t count, int64_t *by)
{
	const struct symmetry *s = w->c->symmetry;
	const struct expr_env env = walk_env(&w->walker);
	int64_t of = 0;
	*by = 0;
	if (e && moves_by_rank(w->m, e) &&
	    (!moves_turning(s, &s->turn[turn], e, &env, by, &of) || (of && of != count)))
		return breaks(w->c, turn);
	return true;
}

bool classes_index(struct rank_check *w, expr_id e, int64_t count, int64_t *by)
{
	for (unsigned k = 0; w->c->symmetry && k < w->c->symmetry->n; k++)
		if (!index_moves(w, k, e, count, &by[k]))
			return false;
	return true;
}

bool classes_parts(struct rank_check *w, value_id v, domain_id domain, uint32_t axis, const int64_t *by)
{
	for (unsigned k = 0; w->c->symmetry && k < w->c->symmetry->n; k++)
		if (!shift_add(w, k, v, domain, axis, by[k]))
			return false;
	return true;
}

/* Finds how far the block of a cut moves on a turn. */
static bool block_moves(struct rank_check *w, unsigned turn, const struct classes_cut *x, int64_t *by)
{
	const struct symmetry_turn *t = &w->c->symmetry->turn[turn];
	const struct part_cut *c = x->cut;
	const struct shift *known;
	*by = 0;
	if (c->place == PLACE_MESH)
		*by = t->moves[x->mesh][c->mesh_axis];
	else if (x->slice.axis == c->axis && !index_moves(w, turn, x->slice.index, c->count, by))
		return false;
	else if (x->slice.axis != c->axis && (known = shift_find(w->c, turn, x->value, x->domain, c->axis)))
		*by = known->by;
	if (c->swizzled)
		*by += t->moves[x->mesh][c->swizzle_axis];
	*by = c->count > 0 ? *by % c->count : 0;
	return true;
}

bool classes_cut(struct rank_check *w, const struct classes_cut *x, int64_t *by)
{
	for (unsigned k = 0; w->c->symmetry && k < w->c->symmetry->n; k++) {
		int64_t blocks, whole;
		if (!block_moves(w, k, x, &blocks))
			return false;
		if (!blocks)
			continue;
		/* a part that moves goes round the end of the axis, so all parts must have one size */
		if (__builtin_mul_overflow(x->cut->count, x->cut->size, &whole) || whole != x->of ||
		    (by && (by[k] || !x->outermost)))
			return breaks(w->c, k);
		if (by)
			by[k] = blocks * x->cut->size;
	}
	return true;
}
