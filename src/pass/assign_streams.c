/* assign-streams: runs the iterations of a stream-parallel loop on streams of their own.
 *
 *     for i in 0..3 parallel(stream) { … }
 *  →
 *     main = get_current_stream()
 *     for i in 0..3 parallel(stream) {
 *       set_stream(i)
 *       synchronize(main)
 *       …
 *     }
 *     set_stream(main)
 *     for j in 0..3 {
 *       synchronize(j)
 *     }
 *
 * Loops that set streams already are left alone. In nested loops, iteration j of 3 in iteration i gets
 * stream i * 3 + j, and the main stream of the inner loop is that of iteration i. Statements after the
 * loop that deallocate its buffers go after the join.
 *
 * requires     nothing
 * establishes  streamed: stream-parallel loops set streams
 * keeps        everything else */
#include "ir/edit.h"
#include "ir/expr.h"
#include "pass/pass.h"

static op_id stream_op(struct module *m, enum op_kind kind, uint32_t at, enum role role, uint32_t id)
{
	return ir_op_new(m, kind, at, (struct ir_use[]){{role, id}}, 1);
}

static void prepend(struct module *m, region_id r, op_id op)
{
	if (m->region.at[r].first)
		ir_insert_before(m, m->region.at[r].first, op);
	else
		ir_append(m, r, op);
}

/* Returns the number of an iteration's stream. It is the index; in nested loops i * 3 + j, where 3 is
 * the end of the inner loop, so that each iteration of the outer loop has streams of its own. */
static expr_id stream_of(struct module *m, op_id loop, expr_id index)
{
	op_id loops[IR_MAX_NESTING];
	unsigned n = ir_enclosing_loops(m, loop, loops, IR_MAX_NESTING);
	expr_id outer = 0;
	for (unsigned k = 0; k < n; k++) {
		if (!(m->op.at[loops[k]].flags & OP_STREAM_LOOP))
			continue;
		expr_id i = expr_index(m, m->region.at[m->op.at[loops[k]].region].index);
		outer =
		    outer ? expr_add(m, expr_op(m, EXPR_MUL, outer, op_scalar_expr(m, loops[k], 1)), i) : i;
	}
	return outer ? expr_add(m, expr_op(m, EXPR_MUL, outer, op_scalar_expr(m, loop, 1)), index) : index;
}

static void assign(struct module *m, op_id loop)
{
	uint32_t at = m->op.at[loop].at;
	region_id body = m->op.at[loop].region;
	handle_id main = ir_handle_add(m, 0);
	scalar_id stream = ir_scalar_expr(m, stream_of(m, loop, expr_index(m, m->region.at[body].index)));
	ir_insert_before(m, loop, stream_op(m, OP_GET_CURRENT_STREAM, at, ROLE_HANDLE, main));
	prepend(m, body, stream_op(m, OP_SYNCHRONIZE, at, ROLE_HANDLE, main));
	prepend(m, body, stream_op(m, OP_SET_CURRENT_STREAM, at, ROLE_SCALAR, stream));

	struct ir_use range[] = {{ROLE_SCALAR, op_operand_id(m, loop, ROLE_SCALAR, 0)},
	                         {ROLE_SCALAR, op_operand_id(m, loop, ROLE_SCALAR, 1)}};
	op_id back = stream_op(m, OP_SET_CURRENT_STREAM, at, ROLE_HANDLE, main),
	      join = ir_op_new(m, OP_FOR, at, range, 2);
	region_id joined = ir_region_new(m, join);
	m->region.at[joined].index = ir_index_add(m, 0);
	ir_insert_after(m, loop, back);
	ir_insert_after(m, back, join);
	stream = ir_scalar_expr(m, stream_of(m, loop, expr_index(m, m->region.at[joined].index)));
	ir_append(m, joined, stream_op(m, OP_SYNCHRONIZE, at, ROLE_SCALAR, stream));
}

/* Returns the last statement of a block that waits for a Communication or contains such a wait; 0: none. */
static op_id last_wait(const struct module *m, region_id r)
{
	op_id found = 0;
	for (op_id op = m->region.at[r].first; op; op = m->op.at[op].next) {
		bool communicates = m->op.at[op].kind == OP_WAIT;
		for (region_id inner = m->op.at[op].region; inner; inner = m->region.at[inner].sibling)
			for (op_id o = m->region.at[inner].first; o; o = m->op.at[o].next)
				communicates |= m->op.at[o].flags & OP_ASYNC;
		found = communicates ? op : found;
	}
	return found;
}

/* Makes the stream of the next iteration wait for the work that this iteration has issued so far:
 *
 *     if i + 1 < 8 { set_stream(i + 1); synchronize(i); set_stream(i) }        after the step's communication
 */
static void synchronize_next_stream(struct module *m, op_id loop)
{
	uint32_t at = m->op.at[loop].at;
	region_id body = m->op.at[loop].region;
	op_id wait = last_wait(m, body);
	if (!wait)
		return;
	expr_id i = expr_index(m, m->region.at[body].index), next = expr_add(m, i, expr_const(m, 1));
	scalar_id own = ir_scalar_expr(m, stream_of(m, loop, i)),
	          other = ir_scalar_expr(m, stream_of(m, loop, next)),
	          more = ir_scalar_expr(m, expr_op(m, EXPR_LT, next, op_scalar_expr(m, loop, 1)));
	op_id step = ir_op_new(m, OP_IF, at, (struct ir_use[]){{ROLE_SCALAR, more}}, 1);
	region_id then = ir_region_new(m, step);
	ir_insert_after(m, wait, step);
	ir_append(m, then, stream_op(m, OP_SET_CURRENT_STREAM, at, ROLE_SCALAR, other));
	ir_append(m, then, stream_op(m, OP_SYNCHRONIZE, at, ROLE_SCALAR, own));
	ir_append(m, then, stream_op(m, OP_SET_CURRENT_STREAM, at, ROLE_SCALAR, own));
}

/* Assigns streams in all stream loops of a block that set none themselves, and in the loops inside them. */
static void assign_block(struct module *m, struct pass_context *cx, region_id r)
{
	op_id next;
	for (op_id op = m->region.at[r].first; op; op = next) {
		next = m->op.at[op].next;
		bool loop = m->op.at[op].kind == OP_FOR && m->op.at[op].flags & OP_STREAM_LOOP;
		if (loop && ir_sets_streams(m, m->op.at[op].region))
			continue;
		loop = loop && pass_may_change(cx, m, m->op.at[op].at, "a stream for each iteration");
		if (loop && cx->option[PASS_ASSIGN_STREAMS_INTER_STREAM_SYNC])
			synchronize_next_stream(m, op);
		if (loop)
			assign(m, op);
		for (region_id inner = m->op.at[op].region; inner; inner = m->region.at[inner].sibling)
			assign_block(m, cx, inner);
	}
}

bool pass_assign_streams(struct module *m, struct pass_context *cx)
{
	assign_block(m, cx, m->body);
	return true;
}
