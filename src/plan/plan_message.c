/* plan_message: lowers sends, receives and their groups, and the waits of all communications.
 *
 * A send or receive that a post names is emitted at the post, with the buffer and peer of its own place.
 * Each statement has a queue of tickets; a wait takes the oldest one. */
#include "ir/coalesce.h"
#include "ir/expr.h"
#include "plan/plan_exchange.h"

static bool takes_part(const struct planner *b, op_id op)
{
	uint32_t team, own, position;
	const struct op *o = &b->m->op.at[op];
	if (o->kind == OP_SEND || o->kind == OP_RECV) {
		value_id v = op_transfer_buffer(b->m, op);
		mesh_id mesh = value_type(b->m, v)->mesh;
		return !mesh || mesh_position(ir_mesh(b->m, mesh), (uint32_t)b->p->rank, &position);
	}
	return o->kind == OP_END_COALESCING || plan_own_slice(b, op, &team, &own);
}

/* Returns the ticket queue of a statement. */
static uint32_t queue_of(struct planner *b, op_id op)
{
	if (!b->queue[op])
		b->queue[op] = ++b->p->queues;
	return b->queue[op] - 1;
}

/* Emits the instruction, and a wait if the statement has no wait of its own. */
void plan_emit_async(struct planner *b, op_id op, struct plan_instruction i)
{
	i.b = queue_of(b, op);
	plan_emit(b, i);
	if (!(b->m->op.at[op].flags & OP_ASYNC) && !(op_traits(b->m, op) & TRAIT_P2P) && !b->in_group)
		plan_emit(b, (struct plan_instruction){.code = PLAN_WAIT, .a = i.b});
}

void plan_copy_now(struct planner *b, const struct plan_view *to, const struct plan_view *from)
{
	struct plan_task t;
	plan_task_start(&t, RT_TASK_COPY);
	t.in_n = 1;
	t.out = *to;
	t.in[0] = *from;
	plan_task_emit(b, &t);
}

void plan_copy_after(struct planner *b, op_id op, const struct plan_view *to, const struct plan_view *from)
{
	vec_push(&b->unpack, (struct plan_unpack){.op = op, .from = *from, .to = *to});
}

void plan_unpack_after(struct planner *b, op_id op)
{
	uint32_t kept = 0;
	for (uint32_t k = 0; k < b->unpack.n; k++) {
		struct plan_unpack u = b->unpack.at[k];
		if (u.op == op)
			plan_copy_now(b, &u.to, &u.from);
		else
			b->unpack.at[kept++] = u;
	}
	b->unpack.n = kept;
}

void plan_p2p(struct planner *b, op_id op)
{
	bool send = b->m->op.at[op].kind == OP_SEND;
	struct view *v = send ? view_of(b, op_read(b->m, op, 0)) : view_of_result(b, op, 0);
	struct plan_message m = {.send = send};
	sx_id peer, n[IR_MAX_LOGICAL];
	if (!v || v->absent || !view_usable(b, v))
		return;
	run_extents(b, v, -1, !run_is_plain(b, v, -1), n);
	if (!sx_holds(b, run_condition(b, v, n)))
		run_extents(b, v, -1, false, n);
	if (!run_of(b, v, n, &m.data))
		return;
	if (!sx_lower(b, op_scalar_expr(b->m, op, 0), &peer))
		return;
	plan_emit_check(b,
	                sx_op(b, EXPR_AND, sx_op(b, EXPR_GE, peer, sx_const(b, 0)),
	                      sx_op(b, EXPR_LT, peer, sx_const(b, b->p->ranks))),
	                E_PEER, "the peer is no rank of this job: it is " PLAN_VALUE, &peer, 1);
	m.peer = sx_reg(b, peer);
	m.dtype = (uint8_t)view_dtype(b, v);
	b->p->buffer.at[v->buffer].written |= !send;
	vec_push(&b->p->message, m);
	b->message[op] = b->p->message.n;
	if (!b->posted[op])
		plan_emit_async(b, op,
		                (struct plan_instruction){.code = PLAN_MESSAGE, .a = b->p->message.n - 1});
}

void plan_post(struct planner *b, op_id op)
{
	for (unsigned k = 0; k < op_role_count(b->m, op, ROLE_STATEMENT); k++) {
		op_id of = op_operand_id(b->m, op, ROLE_STATEMENT, k);
		if (!takes_part(b, of))
			continue;
		if (!b->message[of]) {
			planner_error(b, E_WAIT_NOTHING, "the posted message does not stand before its post");
			continue;
		}
		plan_emit_async(
		    b, of, (struct plan_instruction){.code = PLAN_MESSAGE, .a = b->message[of] - 1, .c = of});
	}
}

/* Emits the copies that unpack the results of a group's Communications. */
static bool unpack_group(struct planner *b, op_id end, bool now)
{
	bool any = false;
	coalesce_each (b->m, op, end) {
		for (uint32_t k = 0; k < b->unpack.n; k++)
			any |= b->unpack.at[k].op == op;
		if (now)
			plan_unpack_after(b, op);
	}
	return any;
}

/* Emits the end of a group. If results must be unpacked, the group is waited for here, unless its wait
 * is in the same block. */
void plan_coalescing(struct planner *b, op_id op)
{
	b->in_group = b->m->op.at[op].kind == OP_START_COALESCING;
	if (b->in_group) {
		plan_emit(b, (struct plan_instruction){.code = PLAN_GROUP});
		return;
	}
	plan_emit(b, (struct plan_instruction){.code = PLAN_END_GROUP, .b = queue_of(b, op)});
	if (!unpack_group(b, op, false) || plan_is_waited_here(b, op) || plan_is_never_waited(b, op))
		return;
	plan_emit(b, (struct plan_instruction){.code = PLAN_WAIT, .a = queue_of(b, op)});
	b->settled[op] = true;
	unpack_group(b, op, true);
}

void plan_wait(struct planner *b, op_id op)
{
	for (unsigned k = 0; k < op_role_count(b->m, op, ROLE_STATEMENT); k++) {
		op_id of = op_operand_id(b->m, op, ROLE_STATEMENT, k);
		if (!takes_part(b, of) || b->settled[of])
			continue;
		plan_emit(b, (struct plan_instruction){.code = PLAN_WAIT, .a = queue_of(b, of)});
		plan_unpack_after(b, of);
		if (b->m->op.at[of].kind == OP_END_COALESCING)
			unpack_group(b, of, true);
	}
}
