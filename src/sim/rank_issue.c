/* rank_issue: the time in which the host of a rank issues a statement. A root has other calls than the other ranks.
 *
 *     for i in 0..4
 *       Y <- broadcast_from(X, axis=x, root=i)                        rank i takes the time of the root
 *       Z <- collective_permute(X, axis=x, send_peer=(axis_index(x) + i) % 4, …)    in iteration 0 each is its own peer
 *
 * If the rank stands for others, these must be roots where it is one: a turn must move the root as it moves the places of
 * ranks in their team. */
#include "analysis/symmetry_moves.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include "sim/rank_walk.h"

/* ---- places in teams */

static const uint32_t *members_of(struct sim_program *p, team_id team)
{
	const struct team *t = ir_team(p->m, team);
	if (p->member[team])
		return p->member[team];
	uint32_t *member = arena_new_array(p->arena, uint32_t, p->ranks);
	for (uint32_t s = 0; s < t->slice_n; s++)
		for (uint32_t k = t->start[s]; k < t->start[s + 1]; k++)
			if (t->device[k] < p->ranks)
				member[t->device[k]] = k - t->start[s] + 1;
	return p->member[team] = member;
}

/* Finds how a turn moves the places of ranks in a team whose slices have equal sizes. */
static struct rank_shift find_shift(struct sim_program *p, team_id team, const struct symmetry_turn *turn)
{
	const struct team *t = ir_team(p->m, team);
	const uint32_t *member = members_of(p, team);
	struct rank_shift x = {.state = SHIFT_NONE, .by = -1, .n = t->slice_n ? t->start[1] : 0};
	for (uint32_t s = 0; s < t->slice_n; s++)
		if (t->start[s + 1] - t->start[s] != x.n)
			return x;
	for (uint32_t r = 0; r < p->ranks; r++) {
		if (!member[r] != !member[turn->to[r]])
			return x;
		if (!member[r])
			continue;
		int64_t by = ((int64_t)member[turn->to[r]] - member[r] + x.n) % x.n;
		if (x.by >= 0 && by != x.by)
			return x;
		x.by = by;
	}
	x.state = SHIFT_FOUND;
	return x;
}

/* Proves that a number names a member of a slice that turns as the ranks do. */
static bool turns_as_members(struct rank_walk *w, team_id team, expr_id e)
{
	struct symmetry *s = w->p->symmetry;
	const struct expr_env env = walk_env(&w->walker);
	w->out->by_rank = true;
	for (unsigned k = 0; s && k < s->n; k++) {
		struct rank_shift *x = &w->shift[team * s->n + k];
		int64_t by = 0, of = 0;
		if (x->state == SHIFT_UNKNOWN)
			*x = find_shift(w->p, team, &s->turn[k]);
		if (x->state == SHIFT_FOUND && (!e || moves_turning(s, &s->turn[k], e, &env, &by, &of)) &&
		    (of ? of == x->n && by == x->by : x->by == 0))
			continue;
		s->broken = (int)k;
		return false;
	}
	return true;
}

/* ---- roots */

/* Finds out if the rank is the root of a collective, or its own peer. Returns false if this breaks a turn. */
static bool find_root(struct rank_walk *w, op_id op, bool *out)
{
	const struct op *o = &w->m->op.at[op];
	const struct expr_env env = walk_env(&w->walker);
	unsigned n = o->kind == OP_COLLECTIVE_PERMUTE ? 2 : 1;
	uint32_t member = o->team ? members_of(w->p, o->team)[w->rank] : 0;
	*out = member != 0;
	for (unsigned k = 0; k < n && o->team; k++) {
		expr_id e = op_scalar_expr(w->m, op, k);
		int64_t root;
		*out &= expr_eval(w->m, e, &env, &root, NULL) == EXPR_OK && root == (int64_t)member - 1;
		if (!turns_as_members(w, o->team, e))
			return false;
	}
	return true;
}

/* Adds the time that a root takes longer. */
static bool add_root(struct rank_walk *w, op_id op, int64_t *time)
{
	bool root = false;
	if (!w->p->issue[op].root)
		return true;
	if (!find_root(w, op, &root))
		return false;
	*time += root ? w->p->issue[op].root : 0;
	return true;
}

bool rank_issue(struct rank_walk *w, op_id op)
{
	w->host = 0;
	if (w->p->left_out[op] || w->m->op.at[op].flags & OP_GROUPED)
		return true;
	w->host = w->p->issue[op].other;
	if (w->m->op.at[op].kind == OP_END_COALESCING) {
		coalesce_each (w->m, member, op)
			if (!add_root(w, member, &w->host))
				return false;
	} else if (!add_root(w, op, &w->host)) {
		return false;
	}
	w->now += w->host;
	return true;
}
