/* split-allreduces: splits an allreduce into a reduce-scatter and an allgather, with work on the shards
 * between.
 *
 *     Y: f32[64, 32] = set(P)                   S: f32[64@x, 32] = set(P)
 *     output V = tanh(Y)                   →    T: f32[64@x, 32] = tanh(S)
 *                                               output V: f32[64, 32] = set(T)
 *
 * Without the split, all ranks do the same work after the allreduce. On shards they share it, as in
 * sequence parallelism and ZeRO. Also, the allgather may run later than the reduce-scatter, beside other
 * work. The cost is the latency of one more collective. So each choice of the axis and of the work on
 * shards is a trial (shards.h). The reverse is a trial as well: a reduce-scatter whose result is only
 * gathered becomes an allreduce.
 *
 * requires     sharded, decomposed
 * establishes  nothing
 * keeps        layouts of the program's values, and values up to the order of sums */
#include "ir/edit.h"
#include "pass/moves.h"
#include "pass/rewrite.h"
#include "pass/shards.h"
#include "pass/trial.h"

/* ---- two halves are one */

struct halves {
	op_id scatter, gather;
};

static bool join_halves(struct module *m, const void *what)
{
	const struct halves *h = what;
	struct rewrite_reduce reduce;
	rewrite_reduce_begin(m, &reduce);
	move_set(m, h->gather, op_def(m, h->gather, 0), op_read(m, h->scatter, 0));
	ir_remove(m, h->scatter);
	rewrite_reduce_end(m, &reduce);
	return true;
}

/* Finds the reduce-scatter whose result only this allgather reads. */
static bool find_halves(struct module *m, op_id gather, struct halves *h)
{
	struct reshard whole;
	if (move_kind(m, gather, NULL) != RESHARD_ALLGATHER)
		return false;
	value_id shard = op_read(m, gather, 0);
	*h = (struct halves){m->value.at[shard].def, gather};
	if (!h->scatter || m->op.at[h->scatter].parent != m->op.at[gather].parent ||
	    move_kind(m, h->scatter, NULL) != RESHARD_REDUCE_SCATTER || move_reads(m, shard) != 1)
		return false;
	reshard_classify(m, m->value.at[op_read(m, h->scatter, 0)].type,
	                 m->value.at[op_def(m, gather, 0)].type, &whole);
	return whole.kind == RESHARD_ALLREDUCE;
}

static void try_join(struct trial *t, const struct halves *h)
{
	struct prediction after;
	struct buf name = {0};
	int64_t before = t->now.time;
	pass_put_name(t->m, op_def(t->m, h->gather, 0), &name);
	if (!trial_try(t, join_halves, h, &after)) {
		pass_remark(t->cx, t->m, t->m->op.at[h->gather].at,
		            "%s stays a reduce_scatter and an allgather: one allreduce cannot be predicted",
		            name.at);
	} else if (trial_gains(t, &after) && trial_fits(t, &after) &&
	           pass_may_change(t->cx, t->m, t->m->op.at[h->gather].at, "%s by one allreduce", name.at)) {
		trial_remark(t, h->gather, &after, before, "%s by one allreduce", name.at);
		trial_keep(t, join_halves, h, &after);
	} else {
		trial_remark_kept(t, h->gather, &after, "by one allreduce",
		                  "%s stays a reduce_scatter and an allgather", name.at);
	}
	prediction_free(&after);
	buf_free(&name);
}

/* ---- one is two halves */

static bool make_shards(struct module *m, const void *what)
{
	return shards_make(m, what);
}

static const char *const reach_text[SHARDS_REACHES] = {
    [SHARDS_NONE] = "",
    [SHARDS_CHAIN] = ", work on one chain of shards between",
    [SHARDS_ALL] = ", all work that can be on shards between"};

enum { MOST_AXES = 3 }; /* axes that are tried */

static void try_split(struct trial *t, op_id op)
{
	struct module *m = t->m;
	struct prediction best = {0}, after;
	struct shards chosen = {0};
	struct sugar s;
	struct buf name = {0};
	int64_t before = t->now.time;
	bool whole = move_sugar(m, op_def(m, op, 0), &s);
	unsigned axes = whole ? s.rank : 0;
	bool any = false, fits = true;
	for (unsigned a = 0; a < axes && a < MOST_AXES; a++)
		for (unsigned reach = 0; reach < SHARDS_REACHES; reach++) {
			struct shards way = {op, a, (enum shards_reach)reach};
			if (!trial_try(t, make_shards, &way, &after))
				continue;
			bool good = trial_fits(t, &after);
			fits &= good;
			if (good && (!any || after.time < best.time)) {
				prediction_free(&best);
				best = after;
				chosen = way;
				any = true;
			} else {
				prediction_free(&after);
			}
		}
	pass_put_name(m, op_def(m, op, 0), &name);
	if (!any) {
		pass_remark(t->cx, m, m->op.at[op].at, "%s stays an allreduce: %s", name.at,
		            !whole         ? "a loop or blocks cut it"
		            : !fits        ? "in halves it would not fit into memory"
		            : t->left <= 0 ? "no trials are left"
		                           : "none of its axes can be cut");
	} else if (trial_gains(t, &best) && pass_may_change(t->cx, m, m->op.at[op].at,
	                                                    "%s by reduce_scatter and allgather", name.at)) {
		trial_remark(t, op, &best, before, "%s by reduce_scatter and allgather along axis %u%s",
		             name.at, chosen.axis, reach_text[chosen.reach]);
		trial_keep(t, make_shards, &chosen, &best);
	} else {
		trial_remark_kept(t, op, &best, "in halves", "%s stays an allreduce", name.at);
	}
	prediction_free(&best);
	buf_free(&name);
}

static void say_recorded(struct module *m, struct pass_context *cx)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		const struct attr *kind = m->op.at[op].kind == OP_EXTERN ? op_attr(m, op, "kind") : NULL;
		if (kind && kind->kind == ATTR_NAME &&
		    op_by_hir(names_text(m->names, kind->u.name)) == OP_ALLREDUCE) {
			pass_remark(cx, m, m->op.at[op].at,
			            "no allreduce is split: statements of recorded graphs keep their names");
			return;
		}
	}
}

bool pass_split_allreduces(struct module *m, struct pass_context *cx)
{
	struct trial t;
	struct halves h;
	bool open = false;
	op_id made = m->op.n; /* ops from here on are new */
	if (trial_is_recorded(m)) {
		if (cx->remarks)
			say_recorded(m, cx);
		return true;
	}
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		bool halves = op < made && find_halves(m, op, &h);
		if (op >= made || (!halves && move_kind(m, op, NULL) != RESHARD_ALLREDUCE))
			continue;
		if (!open && !trial_open(&t, m, cx, cx->option[PASS_SPLIT_ALLREDUCES_TRIALS],
		                         cx->option[PASS_SPLIT_ALLREDUCES_ALWAYS]))
			return true;
		open = true;
		if (halves)
			try_join(&t, &h);
		else
			try_split(&t, op);
	}
	if (open)
		trial_close(&t);
	return true;
}
