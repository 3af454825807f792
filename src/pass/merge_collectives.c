/* merge-collectives: merges two equal communications of one value into one.
 *
 *     A: f32[64, 32] = set(W)                  A: f32[64, 32] = set(W)
 *     Y = matmul(X, A)                         Y = matmul(X, A)
 *     B: f32[64, 32] = set(W)             →    Z = matmul(V, A)
 *     Z = matmul(V, B)
 *
 * Both must be in one block, of one kind, from one value to one layout, and nothing in between may write
 * the value. The first result is then live until the last use of the second. So the change is a trial:
 * the program must not take longer, and not more memory than schedule-overlap may add. Statements of
 * recorded graphs are left alone, since schedules refer to their names.
 *
 * requires     sharded, decomposed
 * establishes  nothing
 * keeps        layouts and values */
#include "cost/block.h"
#include "ir/edit.h"
#include "pass/moves.h"
#include "pass/trial.h"

struct twins {
	op_id first, second;
};

static bool are_alike(struct module *m, op_id a, op_id b)
{
	const struct op *p = &m->op.at[a], *q = &m->op.at[b];
	return p->kind == q->kind && p->team == q->team && p->attrs == q->attrs && p->parent == q->parent &&
	       op_read(m, a, 0) == op_read(m, b, 0) &&
	       m->value.at[op_def(m, a, 0)].type == m->value.at[op_def(m, b, 0)].type;
}

/* Returns the first earlier statement that does the same as this one; 0: none. */
static op_id find_twin(struct module *m, op_id op)
{
	op_id found = 0;
	value_id from = op_read(m, op, 0);
	for (uint32_t u = m->value.at[from].first_use; u; u = m->operand.at[u].next_use) {
		op_id other = m->operand.at[u].op;
		if (m->operand.at[u].role == ROLE_READ && other != op &&
		    move_kind(m, other, NULL) != RESHARD_NONE && are_alike(m, other, op) &&
		    ir_before(m, other, op) && (!found || ir_before(m, other, found)))
			found = other;
	}
	return found;
}

static bool merge_twins(struct module *m, const void *what)
{
	const struct twins *t = what;
	value_id kept = op_def(m, t->first, 0), other = op_def(m, t->second, 0);
	if (m->value.at[other].flags & VALUE_OUTPUT) {
		move_set(m, t->second, other, kept);
		return true;
	}
	for (uint32_t u = m->value.at[other].first_use, next; u; u = next) {
		next = m->operand.at[u].next_use;
		if (m->operand.at[u].role == ROLE_READ)
			ir_operand_set(m, u, kept);
	}
	ir_remove(m, t->second);
	if (!m->value.at[kept].name)
		m->value.at[kept].name = m->value.at[other].name;
	return true;
}

static void try_twins(struct trial *t, const struct twins *twins)
{
	struct module *m = t->m;
	struct prediction after = {0};
	struct buf first = {0}, second = {0};
	int64_t before = t->now.time;
	pass_put_name(m, op_def(m, twins->first, 0), &first);
	pass_put_name(m, op_def(m, twins->second, 0), &second);
	const char *kind = move_name(move_kind(m, twins->first, NULL));
	if (move_is_written_between(m, op_read(m, twins->first, 0), twins->first, twins->second)) {
		struct buf from = {0};
		pass_put_name(m, op_read(m, twins->first, 0), &from);
		pass_remark(t->cx, m, m->op.at[twins->second].at,
		            "%s not merged with %s: %s is written in between", second.at, first.at, from.at);
		buf_free(&from);
	} else if (!trial_try(t, merge_twins, twins, &after)) {
		pass_remark(t->cx, m, m->op.at[twins->second].at,
		            "%s not merged with %s: it cannot be predicted", second.at, first.at);
	} else if (after.time > before && !t->always) {
		trial_remark_kept(t, twins->second, &after, "merged", "%s not merged with %s", second.at,
		                  first.at);
	} else if (!trial_fits(t, &after)) {
		pass_remark(t->cx, m, m->op.at[twins->second].at,
		            "%s not merged with %s: it would take %lld bytes instead of %lld", second.at,
		            first.at, (long long)after.peak, (long long)t->now.peak);
	} else if (pass_may_change(t->cx, m, m->op.at[twins->second].at, "%s by the %s of %s", second.at,
	                           kind, first.at)) {
		trial_remark(t, twins->second, &after, before, "%s by the %s of %s", second.at, kind,
		             first.at);
		trial_keep(t, merge_twins, twins, &after);
	}
	prediction_free(&after);
	buf_free(&first);
	buf_free(&second);
}

/* ---- recorded graphs */

static bool are_recorded_alike(struct module *m, op_id a, op_id b)
{
	return m->op.at[a].kind == OP_EXTERN && block_is_communication(m, a) && are_alike(m, a, b);
}

static void say_recorded(struct module *m, struct pass_context *cx)
{
	region_each (m, op, m->body) {
		value_id from = m->op.at[op].kind == OP_EXTERN ? op_read(m, op, 0) : 0;
		for (uint32_t u = from ? m->value.at[from].first_use : 0; u; u = m->operand.at[u].next_use) {
			op_id other = m->operand.at[u].op;
			if (other == op || !are_recorded_alike(m, op, other) || !ir_before(m, other, op))
				continue;
			pass_remark(cx, m, m->op.at[op].at,
			            "%s not merged with %s: statements of recorded graphs keep their names",
			            block_name(m, op), block_name(m, other));
			break;
		}
	}
}

bool pass_merge_collectives(struct module *m, struct pass_context *cx)
{
	struct trial t;
	bool open = false;
	if (trial_is_recorded(m)) {
		if (cx->remarks)
			say_recorded(m, cx);
		return true;
	}
	for (op_id op = ir_walk_first(m), next; op; op = next) {
		next = ir_walk(m, op);
		enum reshard_kind kind = move_kind(m, op, NULL);
		op_id first = move_name(kind) ? find_twin(m, op) : 0;
		if (!first)
			continue;
		if (!open && !trial_open(&t, m, cx, cx->option[PASS_MERGE_COLLECTIVES_TRIALS],
		                         cx->option[PASS_MERGE_COLLECTIVES_ALWAYS]))
			return true;
		open = true;
		try_twins(&t, &(struct twins){first, op});
	}
	if (open)
		trial_close(&t);
	return true;
}
