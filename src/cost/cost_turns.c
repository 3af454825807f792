/* cost_turns: finds how often a member of a team is the root of a collective, or its own peer, in a loop.
 *
 *     for i in 0..4
 *       Y <- broadcast_from(X, axis=x, root=i)                          each is the root once in 4 iterations
 *       Z <- collective_permute(X, axis=x, send_peer=(r + i) % 4, …)    each is its own peer once */
#include "cost/model.h"
#include "ir/expr.h"

enum { ITERATIONS = 1024 /* most that are looked at */ };

struct loop {
	int64_t start, n;
	index_id index; /* 0: there is no loop */
};

/* Finds the innermost loop around a statement; without one, it is done once. */
static void find_loop(const struct module *m, op_id op, struct loop *out)
{
	const struct expr_env env = {.rank = -1};
	region_id r = m->op.at[op].parent;
	op_id owner = m->region.at[r].owner;
	int64_t stop;
	*out = (struct loop){.n = 1};
	for (; owner && m->op.at[owner].kind != OP_FOR; owner = m->region.at[r].owner)
		r = m->op.at[owner].parent;
	if (!owner || expr_eval(m, op_scalar_expr(m, owner, 0), &env, &out->start, NULL) != EXPR_OK ||
	    expr_eval(m, op_scalar_expr(m, owner, 1), &env, &stop, NULL) != EXPR_OK || stop <= out->start)
		return;
	out->n = stop - out->start < ITERATIONS ? stop - out->start : ITERATIONS;
	out->index = m->region.at[r].index;
}

/* Returns a number of the statement, a member of its team; -1: it is not known. */
static int64_t member_of(const struct cost *c, op_id op, unsigned k, const struct expr_env *env)
{
	int64_t member;
	bool known = expr_eval(c->m, op_scalar_expr(c->m, op, k), env, &member, NULL) == EXPR_OK;
	return known && member >= 0 ? member : -1;
}

void turns_find(const struct cost *c, op_id op, struct turns *out)
{
	const struct module *m = c->m;
	const struct team *team = ir_team(m, m->op.at[op].team);
	bool permutes = m->op.at[op].kind == OP_COLLECTIVE_PERMUTE;
	struct arena *scratch = arena_new();
	int64_t *index = arena_new_array(scratch, int64_t, m->index.n + 1),
	        n = team->device_n ? team->start[1] : 0, *count = arena_new_array(scratch, int64_t, n + 1);
	const struct expr_env env = {
	    .rank = n ? (int64_t)team->device[0] : -1, .streams = INT32_MAX, .index = index};
	struct loop loop;
	find_loop(m, op, &loop);
	for (int64_t i = 0; i < loop.n; i++) {
		index[loop.index] = loop.start + i;
		int64_t to = member_of(c, op, 0, &env);
		if (to >= 0 && to < n && (!permutes || member_of(c, op, 1, &env) == to))
			count[to]++;
	}
	*out = (struct turns){.most = count[0], .least = count[0], .of = loop.n};
	for (int64_t k = 1; k < n && !permutes; k++) {
		out->most = count[k] > out->most ? count[k] : out->most;
		out->least = count[k] < out->least ? count[k] : out->least;
	}
	arena_free(scratch);
}
