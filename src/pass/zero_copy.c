/* zero-copy: what ranks of one host would copy to read it once, they read where it is.
 *
 *     G: f32[t, k] = set(X)                  X: f32[t@x, k]
 *     Y: f32[t, n@x] = matmul(G, W)
 *  →
 *     G: f32[t@block(x), k] = symmetric_view(X)
 *     Y: f32[t, n@x] = matmul(G, W)
 *     deallocate(G)
 *
 * and products whose sum over the ranks is wanted in parts are added up in place (turns.h).
 *
 * A gather is left alone, with a remark, where something else than an operation reads it, where the program
 * returns it, and where an operation needs it as one block and it is not. Those in loops are not looked at.
 *
 * requires     sharded, decomposed; all ranks on one host
 * establishes  nothing
 * keeps        layouts over devices, values; sums may be added up in another order */
#include "ir/edit.h"
#include "ir/infer.h"
#include "pass/rewrite.h"
#include "pass/symmetric.h"
#include "pass/turns.h"

/* Whether a value has memory of its own that nothing writes after it was made. */
static bool is_settled(struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	if (m->value.at[v].flags & VALUE_INOUT || rewrite_is_written(m, v))
		return false;
	return !def ||
	       (!ir_is_bound(m, v) && m->op.at[def].parent == m->body && m->op.at[def].kind != OP_EXTERN);
}

/* NULL: it is read in place; else why it is not. */
static const char *gather(struct module *m, op_id op, const struct reshard *r)
{
	value_id from = op_read(m, op, 0), to = op_result(m, op, 0);
	type_id type = r->axis_n == 1 ? infer_symmetric(m, m->value.at[from].type, r->axis[0]) : 0;
	op_id last = 0;
	if (!type)
		return "it is gathered along several mesh axes";
	if (!is_settled(m, from))
		return "what it gathers is written again";
	if (!m->op.at[op].def_n)
		return "it is put into a buffer";
	unsigned dim = (unsigned)r->dim;
	const char *why =
	    symmetric_unreadable(m, to, dim, symmetric_is_one(m, m->value.at[from].type, dim), false, &last);
	if (why || !last)
		return why ? why : "nothing reads it";
	type_id symmetric = symmetric_type(m, m->value.at[from].type);
	m->value.at[from].type = symmetric;
	symmetric_view_make(m, op, from, to, type);
	ir_insert_after(m, last, symmetric_view_end(m, m->op.at[last].at, to));
	return NULL;
}

bool pass_zero_copy(struct module *m, struct pass_context *cx)
{
	for (op_id op = m->region.at[m->body].first, next; op; op = next) {
		struct reshard r;
		next = m->op.at[op].next;
		if (m->op.at[op].kind != OP_SET)
			continue;
		value_id result = op_result(m, op, 0);
		reshard_classify(m, m->value.at[op_read(m, op, 0)].type, m->value.at[result].type, &r);
		bool gathers = r.kind == RESHARD_ALLGATHER;
		if (!gathers && r.kind != RESHARD_REDUCE_SCATTER && r.kind != RESHARD_ALLREDUCE)
			continue;
		struct buf name = {0};
		uint32_t at = m->op.at[op].at;
		pass_put_name(m, result, &name);
		const char *why = gathers ? gather(m, op, &r) : turns(m, cx, op, &r);
		pass_remark(cx, m, at, "%s %s%s", name.at,
		            why       ? "is a collective: "
		            : gathers ? "is read where it is"
		                      : "is added up in place, rank after rank",
		            why ? why : "");
		buf_free(&name);
	}
	return true;
}
