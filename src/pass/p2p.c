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

/* Returns the reason why a permute stays what it is; NULL: none. */
static const char *find_refusal(struct module *m, op_id op, bool has_messages)
{
	mesh_id mesh;
	uint8_t axis;
	if (has_messages)
		return "the program has messages of its own, which it would be matched with";
	if (!wait_of(m, op))
		return "its wait does not follow at once";
	if (!axis_of(m, op, &mesh, &axis))
		return "its team does not run along one mesh axis";
	if (order_clips(m, m->value.at[op_read(m, op, 0)].type) ||
	    order_clips(m, m->value.at[op_write(m, op, 0)].type))
		return "its blocks do not follow one another in memory"; /* both sides pack a part at once */
	return NULL;
}

/* Returns true if a statement may only start when a send from a buffer has ended: it writes or frees the buffer, or
 * shows it to other ranks, or sets the stream that is to wait. */
static bool ends_send(const struct module *m, op_id op, value_id buffer)
{
	const enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	bool ends = kind == OP_SET_CURRENT_STREAM ||
	            (kind == OP_SYMMETRIC_VIEW && ir_root(m, op_read(m, op, 0)) == buffer);
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_WRITE); k++)
		ends |= ir_root(m, op_write(m, op, k)) == buffer;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_FREE); k++)
		ends |= ir_root(m, op_operand_id(m, op, ROLE_FREE, k)) == buffer;
	for (region_id r = m->op.at[op].region; r && !ends; r = m->region.at[r].sibling)
		for (op_id inner = m->region.at[r].first; inner && !ends; inner = m->op.at[inner].next)
			ends = ends_send(m, inner, buffer);
	return ends;
}

/* Adds the wait for the send, as late in the block as the buffer and the stream allow. */
static void wait_for_send(struct module *m, op_id after, op_id send, expr_id is_sent)
{
	const uint32_t at = m->op.at[after].at;
	const op_id wait = if_new(m, at, is_sent);
	const value_id buffer = ir_root(m, op_read(m, send, 0));
	op_id end = m->op.at[after].next;
	while (end && !ends_send(m, end, buffer))
		end = m->op.at[end].next;
	if (end)
		ir_insert_before(m, end, wait);
	else
		ir_append(m, m->op.at[after].parent, wait);
	ir_append(m, ir_region_new(m, wait), wait_new(m, at, send));
}

static void rewrite(struct module *m, op_id op, enum p2p_order order)
{
	uint32_t at = m->op.at[op].at;
	op_id wait = wait_of(m, op);
	mesh_id mesh = 0;
	uint8_t axis = 0;
	value_id from = op_read(m, op, 0), to = op_write(m, op, 0);
	axis_of(m, op, &mesh, &axis);
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
	const struct attr *by_place = op_attr(m, op, "by_place");
	m->op.at[send].flags |= OP_ASYNC;
	m->op.at[receive].flags |= OP_ASYNC;
	if (by_place)
		m->op.at[receive].attrs = ir_attrs_with(m, m->op.at[receive].attrs, by_place);
	ir_append(m, moves,
	          ir_op_new(m, OP_SHARE_MEM_HANDLES, at,
	                    (struct ir_use[]){{ROLE_STATEMENT, receive}, {ROLE_STATEMENT, send}}, 2));
	ir_append(m, moves, order == P2P_PUT ? receive : send);
	ir_append(m, moves, order == P2P_PUT ? send : receive);
	ir_append(m, moves, wait_new(m, at, receive));
	wait_for_send(m, local, send, expr_op(m, EXPR_NE, taker, own));
}

void p2p_from_permutes(struct module *m, struct pass_context *cx, enum p2p_order order)
{
	op_id loops[1];
	VEC(op_id) found = {0};
	bool has_messages = false;
	for (op_id op = ir_walk_first(m); op && order != P2P_NO; op = ir_walk(m, op)) {
		has_messages |= (op_traits(m, op) & TRAIT_P2P) != 0;
		if (m->op.at[op].kind == OP_COLLECTIVE_PERMUTE && m->op.at[op].flags & OP_ASYNC &&
		    !(m->op.at[op].flags & OP_GROUPED) && ir_enclosing_loops(m, op, loops, 1))
			vec_push(&found, op);
	}
	for (uint32_t i = 0; i < found.n; i++) {
		struct buf name = {0};
		const char *refusal = find_refusal(m, found.at[i], has_messages);
		pass_put_name(m, op_read(m, found.at[i], 0), &name);
		if (!refusal)
			rewrite(m, found.at[i], order);
		if (refusal)
			pass_remark(cx, m, m->op.at[found.at[i]].at, "%s stays a collective_permute: %s",
			            name.at, refusal);
		else
			pass_remark(cx, m, m->op.at[found.at[i]].at,
			            "%s by send and recv, %s: each step of the ring", name.at,
			            order == P2P_PUT ? "the receiver ready first" : "the sender ready first");
		buf_free(&name);
	}
	vec_free(&found);
}
