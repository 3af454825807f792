/* plan_comm: lowers collectives.
 *
 * A communication moves contiguous memory. Each of its buffers becomes one run of elements. The blocks
 * of an Allgather or ReduceScatter become counts and offsets in the larger buffer, by the layout of each
 * member:
 *
 *     Y: f32[10] = allgather(X: f32[10@x]), x = 4     counts 3 3 3 1, offsets 0 3 6 9
 *
 * Each slice of a team is a communicator. A rank that is in no slice skips the statement and its waits. */
#include "plan/plan_comm.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "plan/plan_exchange.h"
#include "plan/plan_order.h"
#include <string.h>

/* ---- teams */

static const struct communicator *communicator_of(const struct planner *b, op_id op)
{
	team_id team = b->m->op.at[op].team;
	name_id backend = op_backend(b->m, op);
	for (uint32_t i = 0; i < b->communicators; i++)
		if (b->communicator[i].team == team && b->communicator[i].backend == backend)
			return &b->communicator[i];
	return NULL;
}

void plan_teams(struct planner *b)
{
	const struct module *m = b->m;
	b->communicator = arena_alloc(b->scratch, sizeof *b->communicator * (m->op.n ? m->op.n : 1));
	for (op_id o = ir_walk_first(m); o; o = ir_walk(m, o)) {
		team_id id = m->op.at[o].team;
		if (!id || communicator_of(b, o))
			continue;
		const struct team *t = ir_team(m, id);
		b->communicator[b->communicators++] =
		    (struct communicator){id, op_backend(m, o), b->p->team.n};
		for (uint32_t s = 0; s < t->slice_n; s++) {
			uint32_t n = t->start[s + 1] - t->start[s];
			vec_push(&b->p->team, (struct plan_team){n, t->device + t->start[s]});
			b->p->members = n > b->p->members ? n : b->p->members;
		}
	}
}

/* Finds the slice with this rank: its number among the plan's teams, and the rank's index in it. */
bool plan_own_slice(const struct planner *b, op_id op, uint32_t *team, uint32_t *own)
{
	const struct communicator *c = communicator_of(b, op);
	const struct team *t = ir_team(b->m, b->m->op.at[op].team);
	for (uint32_t s = 0; c && s < t->slice_n; s++)
		for (uint32_t k = t->start[s]; k < t->start[s + 1]; k++)
			if (t->device[k] == b->p->rank) {
				*team = c->first + s;
				*own = k - t->start[s];
				return true;
			}
	return false;
}

/* ---- collectives */

/* Returns the extent of a tensor axis; -1: it has no value. A view on other ranks has no extents yet. */
static int64_t extent_of(struct planner *b, const struct view *v, unsigned axis)
{
	const struct domain *d = ir_domain(b->m, ir_type(b->m, v->type)->domain);
	int64_t n;
	if (!v->absent)
		return v->axis[axis].extent;
	return planner_value(b, d->axis[axis].extent, &n) ? n : -1;
}

static bool same_shape(struct planner *b, const struct view *x, const struct view *y)
{
	if (x->rank != y->rank)
		return false;
	for (unsigned i = 0; i < x->rank; i++)
		if (extent_of(b, x, i) != extent_of(b, y, i))
			return false;
	return true;
}

/* Returns the axis along which the members' blocks of `small` differ from `large`; -1: none. */
static bool block_axis(struct comm *s, const struct view *large, const struct view *small, int *out)
{
	struct planner *b = s->b;
	*out = -1;
	for (unsigned a = 0; a < large->rank; a++) {
		if (large->axis[a].pieces && small->axis[a].pieces)
			continue; /* both have the same interval */
		for (uint32_t k = 0; k < s->team->n; k++) {
			sx_id off, len;
			if (!view_interval(b, small, a, s->team->rank[k], &off, &len)) {
				planner_error(b, E_PLAN_LAYOUT,
				              "layout of '%s' is not one interval a rank; not executed yet",
				              value_text(b, small->value));
				return false;
			}
			if (off == large->axis[a].off && len == large->axis[a].len)
				continue;
			if (*out >= 0 && *out != (int)a) {
				planner_error(b, E_PLAN_LAYOUT,
				              "blocks of '%s' differ along two axes; not executed yet",
				              value_text(b, small->value));
				return false;
			}
			*out = (int)a;
		}
	}
	int64_t n;
	for (unsigned a = 0; a < large->rank && *out < 0; a++)
		if (sx_is_const(b, large->axis[a].len, &n) && n == 0)
			return true; /* this rank has no elements: all blocks are empty */
	if (*out < 0 && s->team->n > 1) {
		planner_error(b, E_PLAN_LAYOUT, "'%s' has no axis that is spread over the team",
		              value_text(b, small->value));
		return false;
	}
	return true;
}

/* Plans blocks of one size, one after the other, for shapes that differ because a select removed the
 * mesh axis. */
static bool plan_equal_blocks(struct comm *s)
{
	struct planner *b = s->b;
	bool gather = s->c.kind == COLLECTIVE_ALLGATHER;
	sx_id small = gather ? s->in_count : s->out_count, large = gather ? s->out_count : s->in_count;
	const char *text =
	    arena_printf(b->p->arena, "'%s' and '%s' do not differ in size by the %u members of the team",
	                 value_text(b, s->in->value), value_text(b, s->out->value), s->team->n);
	plan_emit_check(b, sx_op(b, EXPR_EQ, large, sx_scale(b, small, s->team->n)), E_PLAN_CHECK, text, NULL,
	                0);
	s->c.count = sx_reg(b, small);
	return true;
}

/* Plans the block of each member in the larger buffer, for Allgather and ReduceScatter. */
static bool plan_blocks(struct comm *s)
{
	struct planner *b = s->b;
	bool gather = s->c.kind == COLLECTIVE_ALLGATHER;
	const struct view *large = gather ? s->out : s->in, *small = gather ? s->in : s->out;
	int axis = s->gathered;
	if (!same_shape(b, large, small))
		return plan_equal_blocks(s);
	if (!plan_order_same(s, large, small, axis))
		return false;
	plan_reg *counts = arena_new_array(b->p->arena, plan_reg, s->team->n);
	plan_reg *offsets = arena_new_array(b->p->arena, plan_reg, s->team->n);
	for (uint32_t k = 0; k < s->team->n; k++) {
		sx_id off = sx_const(b, 0), count = gather ? s->in_count : s->out_count, len;
		if (axis >= 0) {
			view_interval(b, small, (unsigned)axis, s->team->rank[k], &off, &len);
			sx_id each = run_product(b, large, gather ? s->out_n : s->in_n, axis);
			count = sx_mul(b, len, each);
			sx_id from = sx_sub(b, off, large->axis[axis].off);
			/* an empty block may have any place; keep it inside of the buffer */
			off = sx_mul(b, sx_min(b, from, large->axis[axis].len), each);
		}
		counts[k] = sx_reg(b, count);
		offsets[k] = sx_reg(b, off);
	}
	s->c.members = s->team->n;
	s->c.counts = counts, s->c.offsets = offsets;
	return true;
}

static const char *lengths_differ(struct comm *s)
{
	return arena_printf(s->b->p->arena, "the blocks of '%s' and '%s' have different sizes",
	                    value_text(s->b, s->in->value), value_text(s->b, s->out->value));
}

/* Plans whole buffers of one size on all ranks. */
static bool plan_whole(struct comm *s)
{
	struct planner *b = s->b;
	bool rooted = s->c.kind != COLLECTIVE_ALLREDUCE;
	bool by_in = !s->out || (s->c.kind == COLLECTIVE_REDUCE && s->in);
	sx_id count = by_in ? s->in_count : s->out_count, root = 0;
	if (rooted && !sx_lower(b, op_scalar_expr(b->m, s->op, 0), &root))
		return false;
	if (s->in && s->out) {
		sx_id same = sx_op(b, EXPR_EQ, s->in_count, s->out_count);
		if (rooted) { /* only the root's input is read, or its output written */
			sx_id mine = sx_op(b, EXPR_EQ, root, sx_const(b, s->own));
			same = sx_op(b, EXPR_OR, same, sx_op(b, EXPR_NOT, mine, 0));
			if (s->c.kind == COLLECTIVE_SEND_RECV) {
				sx_id not_mine = sx_op(b, EXPR_NOT, mine, 0);
				count = sx_add(b, sx_mul(b, mine, s->in_count),
				               sx_mul(b, not_mine, s->out_count));
				same = sx_const(b, 1);
			}
		}
		if (s->c.kind == COLLECTIVE_ALLREDUCE && !s->packed && !plan_order_same(s, s->out, s->in, -1))
			return false;
		plan_emit_check(b, same, E_PLAN_CHECK, lengths_differ(s), NULL, 0);
	}
	if (rooted) {
		sx_id inside = sx_op(b, EXPR_AND, sx_op(b, EXPR_GE, root, sx_const(b, 0)),
		                     sx_op(b, EXPR_LT, root, sx_const(b, s->team->n)));
		plan_emit_check(b, inside, E_PEER, "the root is not in the team: it is " PLAN_VALUE, &root,
		                1);
		s->c.root = sx_reg(b, root);
	}
	s->c.count = sx_reg(b, count);
	return true;
}

static enum reduce_op reduce_of(const struct planner *b, op_id op, const struct view *in)
{
	enum reduce_op r = REDUCE_SUM;
	if (op_attr_reduce(b->m, op, &r))
		return r;
	const struct domain *d = in ? ir_domain(b->m, ir_type(b->m, in->type)->domain) : NULL;
	for (unsigned i = d ? d->rank : 0; d && i < d->logical_n; i++)
		if (d->axis[i].kind == AXIS_PARTIAL)
			r = d->axis[i].reduce;
	return r;
}

/* Returns true if the collective reduces as the pending reduction of its operand says; otherwise reports. */
static bool reduces_as_pending(struct planner *b, op_id op, const struct view *in, enum reduce_op r)
{
	const mesh_id mesh = in ? ir_type(b->m, in->type)->mesh : 0;
	const struct domain *d = in ? ir_domain(b->m, ir_type(b->m, in->type)->domain) : NULL;
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n, team = 0;
	if (!mesh || !ir_team_axes((struct module *)b->m, b->m->op.at[op].team, mesh, axes, &n))
		return true;
	for (unsigned k = 0; k < n; k++)
		team |= 1u << axes[k];
	for (unsigned a = d->rank; a < d->logical_n; a++) {
		const struct axis *x = &d->axis[a];
		if (x->kind != AXIS_PARTIAL || x->reduce == r || !(team >> x->mesh_axis & 1))
			continue;
		planner_error(b, E_WRONG_SHARE, "'%s' is pending by %s, but this %s has op=%s",
		              value_text(b, in->value), reduce_op_name(x->reduce),
		              op_info[b->m->op.at[op].kind].hir, reduce_op_name(r));
		diag_note(b->d, DIAG_NOWHERE,
		          "write op=%s, or add up all parts of the operand before this statement",
		          reduce_op_name(x->reduce));
		return false;
	}
	return true;
}

bool plan_is_waited_here(const struct planner *b, op_id op)
{
	for (op_id o = b->m->op.at[op].next; o; o = b->m->op.at[o].next)
		for (unsigned k = 0;
		     b->m->op.at[o].kind == OP_WAIT && k < op_role_count(b->m, o, ROLE_STATEMENT); k++)
			if (op_operand_id(b->m, o, ROLE_STATEMENT, k) == op)
				return true;
	return false;
}

bool plan_is_never_waited(const struct planner *b, op_id op)
{
	return b->target->as_checked && b->m->op.at[op].flags & OP_ASYNC && !b->waited[op];
}

/* Emits the start of a communication. If data must be unpacked, emits a wait right after it, unless the
 * program's wait is in the same block. */
static void issue_communication(struct comm *s, struct plan_instruction i)
{
	struct planner *b = s->b;
	bool async = b->m->op.at[s->op].flags & OP_ASYNC, unpacks = false;
	if (b->m->op.at[s->op].flags & OP_GROUPED) { /* plan_coalescing plans the unpacking */
		i.b = PLAN_NO_QUEUE;
		plan_emit(b, i);
		return;
	}
	plan_emit_async(b, s->op, i);
	for (uint32_t k = 0; k < b->unpack.n; k++)
		unpacks |= b->unpack.at[k].op == s->op;
	if (!unpacks || (async && plan_is_waited_here(b, s->op)))
		return;
	if (plan_is_never_waited(
	        b, s->op)) { /* the copy runs beside the stream, which nothing makes wait for it */
		plan_emit(b, (struct plan_instruction){
		                 .code = PLAN_WAIT, .op = PLAN_WAIT_BESIDE, .a = b->queue[s->op] - 1});
		uint32_t first = b->p->code.n;
		plan_unpack_after(b, s->op);
		for (uint32_t k = first; k < b->p->code.n; k++)
			if (b->p->code.at[k].code == PLAN_TASK)
				b->p->code.at[k].op = PLAN_TASK_UNPACKS;
		return;
	}
	if (async)
		plan_emit(b, (struct plan_instruction){.code = PLAN_WAIT, .a = b->queue[s->op] - 1});
	b->settled[s->op] = true;
	plan_unpack_after(b, s->op);
}

static void issue_collective(struct comm *s)
{
	vec_push(&s->b->p->collective, s->c);
	issue_communication(
	    s, (struct plan_instruction){.code = PLAN_COLLECTIVE, .a = s->b->p->collective.n - 1});
}

/* Plans a collective_permute: a send and a receive that start together. */
static void plan_permute_comm(struct comm *s)
{
	struct planner *b = s->b;
	struct plan_view in = s->c.in, out = s->c.out;
	uint32_t t = b->p->table.n;
	sx_id peer[2];
	if (!sx_lower(b, op_scalar_expr(b->m, s->op, 0), &peer[0]) ||
	    !sx_lower(b, op_scalar_expr(b->m, s->op, 1), &peer[1]))
		return;
	vec_push(&b->p->table, (struct plan_table){s->team->n, s->team->rank});
	if (!b->in_group)
		plan_emit(b, (struct plan_instruction){.code = PLAN_GROUP});
	for (unsigned k = 0; k < 2; k++) {
		struct plan_message m = {
		    .send = k == 0, .dtype = s->c.dtype, .channel = s->c.team + 1, .data = k ? out : in};
		m.peer = sx_reg(b, sx_lookup(b, t, peer[k]));
		b->p->buffer.at[m.data.buffer].written |= k;
		vec_push(&b->p->message, m);
		plan_emit(b, (struct plan_instruction){
		                 .code = PLAN_MESSAGE, .a = b->p->message.n - 1, .b = PLAN_NO_QUEUE});
	}
	if (!b->in_group)
		issue_communication(s, (struct plan_instruction){.code = PLAN_END_GROUP});
}

/* Plans Gather, Scatter, AllToAll and AllToAllv. */
static void plan_exchanged(struct planner *b, op_id op, struct view *in, struct view *out, struct comm *s)
{
	struct exchange x = {
	    .b = b, .op = op, .team = s->team, .own = s->own, .in = in, .out = out, .c = &s->c};
	x.giver = x.taker = -1;
	if (s->c.kind == COLLECTIVE_GATHER || s->c.kind == COLLECTIVE_SCATTER) {
		sx_id root;
		int64_t *member = s->c.kind == COLLECTIVE_GATHER ? &x.taker : &x.giver;
		if (!sx_lower(b, op_scalar_expr(b->m, op, 0), &root))
			return;
		if (!sx_is_const(b, root, member) || *member < 0 || *member >= s->team->n) {
			planner_error(b, E_PEER, "the root of %s must be a known index into the team",
			              op_info[b->m->op.at[op].kind].nvfuser);
			return;
		}
		s->c.root = sx_reg(b, root);
	}
	if (!plan_exchange(&x))
		return;
	bool gives = s->c.kind == COLLECTIVE_GATHER && x.taker != s->own,
	     takes = s->c.kind == COLLECTIVE_SCATTER && x.giver != s->own;
	if (gives) { /* one block: the one that the root takes */
		s->c.in.offset = x.send_offsets[x.taker];
		x.counts[s->own] = x.send_counts[x.taker];
	} else if (takes) {
		s->c.out.offset = x.offsets[x.giver];
		x.counts[s->own] = x.counts[x.giver];
	} else if (s->c.kind == COLLECTIVE_SCATTER) {
		s->c.counts = x.send_counts, s->c.offsets = x.send_offsets;
	}
	if (!collective_exchanges((enum collective)s->c.kind))
		s->c.send_counts = s->c.send_offsets = NULL;
	if (!out->absent)
		b->p->buffer.at[out->buffer].written = true;
	issue_collective(s);
}

/* If the root is known, drops the buffer that a rank does not use. */
static bool plan_root(struct comm *s, enum op_kind kind)
{
	sx_id root;
	int64_t k;
	if (!sx_lower(s->b, op_scalar_expr(s->b->m, s->op, 0), &root))
		return false;
	if (!sx_is_const(s->b, root, &k)) {
		s->uncertain = kind != OP_BROADCASTS;
		return true;
	}
	if (s->team->n == 1)
		return true;
	if (k != s->own && kind != OP_REDUCE)
		s->in = NULL;
	if (kind == OP_REDUCE ? k != s->own : kind == OP_SEND_RECV && k == s->own)
		s->out = NULL;
	return true;
}

void plan_collective(struct planner *b, op_id op)
{
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	struct comm s = {.b = b, .op = op};
	enum collective known = COLLECTIVE_ALLGATHER; /* any, if it is a collective_permute */
	bool is_known = op_collective(kind, &known);
	uint32_t team;
	struct view *in = view_of(b, op_read(b->m, op, 0)), *out = in ? view_of_result(b, op, 0) : NULL;
	if (!in || !out)
		return;
	if (!is_known && kind != OP_COLLECTIVE_PERMUTE) {
		planner_error(b, E_PLAN_KERNEL, "a Communication of type %s is not executed yet",
		              op_info[kind].nvfuser);
		return;
	}
	if (!b->m->op.at[op].team) {
		planner_error(b, E_PLAN_MESH, "%s has no team of devices", op_info[kind].hir);
		return;
	}
	if (!plan_own_slice(b, op, &team, &s.own))
		return;
	s.team = &b->p->team.at[team];
	if (kind == OP_SEND_RECV && s.team->n > 2) {
		planner_error(
		    b, E_PLAN_MESH,
		    "send_recv takes a team of two devices, this one has %u; broadcast_from takes more",
		    s.team->n);
		return;
	}
	s.c.team = team;
	s.c.kind = (uint8_t)known;
	s.c.dtype = (uint8_t)view_dtype(b, out);
	s.in = in->absent ? NULL : in;
	s.out = out->absent ? NULL : out;
	for (unsigned k = 0; k < 2; k++)
		if ((k ? out : in)->absent)
			view_bind_by_loops(b, k ? out : in);
	if (view_dtype(b, in) != view_dtype(b, out)) {
		planner_error(b, E_OPERAND_DTYPE, "'%s' and '%s' have different dtypes",
		              value_text(b, in->value), value_text(b, out->value));
		return;
	}
	if (collective_exchanges((enum collective)s.c.kind) || kind == OP_GATHER || kind == OP_SCATTER) {
		plan_exchanged(b, op, in, out, &s);
		return;
	}
	bool both = kind == OP_ALLGATHER || kind == OP_ALLREDUCE || kind == OP_REDUCE_SCATTER ||
	            kind == OP_COLLECTIVE_PERMUTE;
	if ((!s.in && !s.out) || (both && (!s.in || !s.out))) {
		planner_error(b, E_PLAN_MESH, "rank %lld is in the team but not in the mesh of '%s'",
		              (long long)b->p->rank, value_text(b, s.in ? out->value : in->value));
		return;
	}
	bool blocks = kind == OP_ALLGATHER || kind == OP_REDUCE_SCATTER,
	     same = s.in && s.out && same_shape(b, s.in, s.out);
	s.gathered = -1;
	bool apart = view_apart(in) || view_apart(out);
	if (blocks && same && !(kind == OP_ALLGATHER && apart) &&
	    !block_axis(&s, kind == OP_ALLGATHER ? s.out : s.in, kind == OP_ALLGATHER ? s.in : s.out,
	                &s.gathered))
		return;
	if (kind == OP_ALLGATHER && same &&
	    (apart || plan_comm_has_gaps(&s, in) || plan_comm_has_gaps(&s, out))) {
		s.c.kind = COLLECTIVE_ALL_TO_ALLV; /* moves only the elements, without padding */
		s.c.counted = COLLECTIVE_ALLGATHER + 1;
		plan_exchanged(b, op, in, out, &s);
		return;
	}
	if (!blocks && kind != OP_ALLREDUCE && kind != OP_COLLECTIVE_PERMUTE && !plan_root(&s, kind))
		return;
	if (!plan_comm_runs(&s, in, out))
		return;
	if (!blocks && kind != OP_ALLREDUCE && !s.packed && !s.dense && same_shape(b, in, out) &&
	    !plan_order_same_moved(&s, kind, in, out))
		return;
	if (kind == OP_COLLECTIVE_PERMUTE) {
		plan_permute_comm(&s);
		return;
	}
	s.c.has_in = s.in != NULL, s.c.has_out = s.out != NULL;
	if (op_traits(b->m, op) & TRAIT_REDUCES) {
		const enum reduce_op r = reduce_of(b, op, s.in);
		if (!reduces_as_pending(b, op, s.in, r))
			return;
		s.c.reduce = (uint8_t)r;
	}
	if (blocks ? !plan_blocks(&s) : !plan_whole(&s))
		return;
	if (s.out)
		b->p->buffer.at[s.out->buffer].written = true;
	issue_collective(&s);
}
