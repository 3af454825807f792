/* p2p: see p2p.h. */
#include "pass/p2p.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "pass/order.h"

/* Returns the wait right after a Communication; 0: none. */
static op_id wait_of(const struct module *m, op_id op)
{
	op_id next = m->op.at[op].next;
	return next && m->op.at[next].kind == OP_WAIT && op_operand_id(m, next, ROLE_STATEMENT, 0) == op
	           ? next
	           : 0;
}

static op_id wait_new(struct module *m, uint32_t at, op_id statement)
{
	return ir_op_new(m, OP_WAIT, at, (struct ir_use[]){{ROLE_STATEMENT, statement}}, 1);
}

static op_id if_new(struct module *m, uint32_t at, expr_id condition)
{
	return ir_op_new(m, OP_IF, at, (struct ir_use[]){{ROLE_SCALAR, ir_scalar_expr(m, condition)}}, 1);
}

/* Finds the mesh axis along which a team's slices run. Returns false if they run along several axes, or
 * none. */
static bool axis_of(struct module *m, op_id op, mesh_id *mesh, uint8_t *axis)
{
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n;
	*mesh = value_type(m, op_read(m, op, 0))->mesh;
	if (!*mesh || !ir_team_axes(m, m->op.at[op].team, *mesh, axes, &n) || n != 1)
		return false;
	*axis = axes[0];
	return true;
}

static bool rewrite(struct module *m, op_id op, enum p2p_order order)
{
	uint32_t at = m->op.at[op].at;
	region_id body = m->op.at[op].parent;
	op_id wait = wait_of(m, op);
	mesh_id mesh;
	uint8_t axis;
	value_id from = op_read(m, op, 0), to = op_write(m, op, 0);
	if (!wait || !axis_of(m, op, &mesh, &axis) || order_clips(m, m->value.at[from].type) ||
	    order_clips(m, m->value.at[to].type))
		return false; /* both sides pack a part with room between elements at once */
	expr_id taker = op_scalar_expr(m, op, 0), giver = op_scalar_expr(m, op, 1),
	        own = expr_axis_index(m, mesh, axis);

	op_id local = if_new(m, at, expr_op(m, EXPR_EQ, taker, own));
	ir_insert_before(m, op, local);
	region_id copy = ir_region_new(m, local), moves = ir_region_new(m, local);
	ir_move_to_end(m, copy, op);
	ir_move_to_end(m, copy, wait);

	scalar_id to_peer = ir_scalar_expr(m, expr_device(m, mesh, axis, taker)),
	          from_peer = ir_scalar_expr(m, expr_device(m, mesh, axis, giver));
	op_id send =
	          ir_op_new(m, OP_SEND, at, (struct ir_use[]){{ROLE_READ, from}, {ROLE_SCALAR, to_peer}}, 2),
	      receive =
	          ir_op_new(m, OP_RECV, at, (struct ir_use[]){{ROLE_SCALAR, from_peer}, {ROLE_WRITE, to}}, 2);
	m->op.at[send].flags |= OP_ASYNC;
	m->op.at[receive].flags |= OP_ASYNC;
	ir_append(m, moves,
	          ir_op_new(m, OP_SHARE_MEM_HANDLES, at,
	                    (struct ir_use[]){{ROLE_STATEMENT, receive}, {ROLE_STATEMENT, send}}, 2));
	ir_append(m, moves, order == P2P_PUT ? receive : send);
	ir_append(m, moves, order == P2P_PUT ? send : receive);
	ir_append(m, moves, wait_new(m, at, receive));

	op_id sent = if_new(m, at, expr_op(m, EXPR_NE, taker, own));
	ir_append(m, body, sent);
	ir_append(m, ir_region_new(m, sent), wait_new(m, at, send));
	return true;
}

void p2p_from_permutes(struct module *m, struct pass_context *cx, enum p2p_order order)
{
	op_id loops[1];
	VEC(op_id) found = {0};
	for (op_id op = ir_walk_first(m); op && order != P2P_NO; op = ir_walk(m, op))
		if (m->op.at[op].kind == OP_COLLECTIVE_PERMUTE && m->op.at[op].flags & OP_ASYNC &&
		    !(m->op.at[op].flags & OP_GROUPED) && ir_enclosing_loops(m, op, loops, 1))
			vec_push(&found, op);
	for (uint32_t i = 0; i < found.n; i++) {
		struct buf name = {0};
		pass_put_name(m, op_read(m, found.at[i], 0), &name);
		bool done = rewrite(m, found.at[i], order);
		if (!done)
			pass_remark(
			    cx, m, m->op.at[found.at[i]].at,
			    "%s stays a collective_permute: its blocks do not follow one another in memory",
			    name.at);
		else
			pass_remark(cx, m, m->op.at[found.at[i]].at,
			            "%s by send and recv, %s: each step of the ring", name.at,
			            order == P2P_PUT ? "the receiver ready first" : "the sender ready first");
		buf_free(&name);
	}
	vec_free(&found);
}
