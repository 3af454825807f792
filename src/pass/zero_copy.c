/* zero-copy: lets ranks of one host read values in the memory of other ranks, without a copy.
 *
 *     G: f32[t, k] = set(X)              X: f32[t@x, k]
 *     Y: f32[t, n@x] = matmul(G, W)
 *  →
 *     G: f32[t@block(x), k] = symmetric_view(X)
 *     Y: f32[t, n@x] = matmul(G, W)
 *     deallocate(G)
 *
 * Gathers in loops are treated in the same way (gathers.h). Products are added up in place if each rank
 * needs a part of their sum (turns.h).
 *
 * A gather is left alone, with a remark, if a statement other than an operation reads it, if the program
 * returns it, or if an operation needs one block and the view is not.
 *
 * requires     sharded, decomposed; all ranks on one host
 * establishes  nothing
 * keeps        layouts over devices, values; sums may be added up in another order */
#include "ir/edit.h"
#include "pass/gathers.h"
#include "pass/turns.h"
#include "pass/turns_loop.h"

enum { SUMS_NO = 1 }; /* value of the option `sums` */
static const char SUMS_APART[] = "with sums=no none is added up in place";

/* Returns true if a statement changes a layout: a set, or a pure collective along axes of its mesh. */
static bool is_reshard(struct module *m, op_id op)
{
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n;
	const struct op *o = &m->op.at[op];
	if (o->kind == OP_ALLGATHER || o->kind == OP_ALLREDUCE || o->kind == OP_REDUCE_SCATTER)
		return !(o->flags & OP_ASYNC) &&
		       ir_team_axes(m, o->team, value_type(m, op_read(m, op, 0))->mesh, axes, &n);
	return o->kind == OP_SET;
}

/* Returns NULL if the statement now reads or adds up in place; otherwise the reason why not. */
static const char *try(struct module *m, struct pass_context *cx, struct gathers *g, op_id op,
                       const struct reshard *r)
{
	switch (r->kind) {
	case RESHARD_ALLGATHER:
	case RESHARD_STEP_BROADCAST:
	case RESHARD_STEP_PERMUTE:
		return gathers(m, cx, g, op, r);
	case RESHARD_REDUCE_SCATTER:
	case RESHARD_ALLREDUCE:
		return cx->option[PASS_ZERO_COPY_SUMS] == SUMS_NO ? SUMS_APART
		       : m->op.at[op].parent == m->body           ? turns(m, cx, op, r)
		                                        : "each step of a loop reduces a part of it";
	case RESHARD_STEP_REDUCE:
		return cx->option[PASS_ZERO_COPY_SUMS] == SUMS_NO ? SUMS_APART : turns_loop(m, cx, op, r);
	default:
		return r->mesh != r->to ? "it goes to another mesh" : "it is neither a gather nor a sum";
	}
}

static bool is_reducing(const struct reshard *r)
{
	return r->kind == RESHARD_REDUCE_SCATTER || r->kind == RESHARD_ALLREDUCE ||
	       r->kind == RESHARD_STEP_REDUCE;
}

static void remark_passed(struct module *m, struct pass_context *cx, op_id op)
{
	struct buf name = {0};
	pass_put_name(m, op_read(m, op, 0), &name);
	pass_remark(cx, m, m->op.at[op].at, "%s is a collective: the ranks pass blocks on to each other",
	            name.at);
	buf_free(&name);
}

bool pass_zero_copy(struct module *m, struct pass_context *cx)
{
	struct gathers g = {0};
	for (op_id op = ir_walk_first(m), next; op; op = next) {
		struct reshard r;
		next = ir_walk(m, op);
		if (m->op.at[op].kind == OP_COLLECTIVE_PERMUTE && !(m->op.at[op].flags & OP_ASYNC))
			remark_passed(m, cx, op);
		if (!is_reshard(m, op))
			continue;
		value_id result = op_result(m, op, 0);
		reshard_classify(m, m->value.at[op_read(m, op, 0)].type, m->value.at[result].type, &r);
		if (r.kind == RESHARD_LOCAL || r.kind == RESHARD_NONE)
			continue;
		uint32_t at = m->op.at[op].at;
		struct buf name = {0};
		pass_put_name(m, result, &name);
		bool may = pass_may_change(cx, m, at, "%s in place, if it can be", name.at);
		const char *why = may ? try(m, cx, &g, op, &r) : "--change-limit leaves it";
		pass_remark(cx, m, at, "%s %s%s", name.at,
		            why               ? "is a collective: "
		            : is_reducing(&r) ? "is added up in place, rank after rank"
		                              : "is read where it is",
		            why ? why : "");
		buf_free(&name);
	}
	vec_free(&g.view);
	return true;
}
