/* lower-collectives: turns a `set` that moves data between ranks into a Communication and its wait.
 *
 *     Y: f32[64, 32] = set(P)                  P: f32[64, 32] partial(x)
 *  →
 *     Y: f32[64, 32] = allocate()
 *     Y <- allreduce(P, axis=x) as c0
 *     wait(c0)
 *
 * reshard.h chooses the Communication. In a loop, the index is the root of a step's broadcast, and
 * shifts the peers of a step's collective_permute.
 *
 * A `set` that only cuts or copies is not changed. Pure collectives (`Y = allgather(X, axis=x)`) must
 * agree with their types, and become Communications too. If storage has gaps (a slice of an inner axis)
 * or another order than the collective needs (order.h), the data goes through a copy. With p2p=get
 * (put), permutes in loops become sends and receives (p2p.h).
 *
 * requires     sharded, decomposed
 * establishes  lowered: no set changes the layout over devices
 * keeps        layouts and values; each Communication has its wait right after it */
#include "ir/expr.h"
#include "ir/layout.h"
#include "pass/order.h"
#include "pass/p2p.h"
#include "pass/pass.h"
#include "pass/place.h"
#include "pass/rewrite.h"
#include "pass/volume.h"
#include <string.h>

static bool is_view(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	return def && op_traits(m, def) & TRAIT_VIEW;
}

/* Remarks the chosen collective, the reason, and the bytes that a rank sends. */
static void remark_lowering(struct module *m, struct pass_context *cx, op_id op, const struct reshard *r)
{
	if (!cx->remarks)
		return;
	struct buf name = {0}, bytes = {0};
	int64_t most;
	type_id from = m->value.at[op_read(m, op, 0)].type, to = m->value.at[op_result(m, op, 0)].type;
	pass_put_name(m, op_result(m, op, 0), &name);
	if (volume_sent(m, from, to, r, &most))
		buf_printf(&bytes, "; a rank sends %lld bytes at most", (long long)most);
	pass_remark(cx, m, m->op.at[op].at, "%s by %s: %s%s", name.at,
	            op_info[reshard_operation(r->kind)].hir, r->reason ? r->reason : reshard_why(r->kind),
	            bytes.at ? bytes.at : "");
	buf_free(&name);
	buf_free(&bytes);
}

/* ---- one Communication */

/* Turns a set or pure collective into the Communication. scalars: its root or peers. */
static void convert_to_communication(struct module *m, struct pass_context *cx, op_id op, enum op_kind kind,
                                     team_id team, const expr_id *scalar, unsigned n)
{
	value_id from = op_read(m, op, 0);
	if (m->op.at[op].def_n) {
		value_id result = op_def(m, op, 0);
		rewrite_allocate(m, op, result);
		vec_push(&cx->allocated, result);
	}
	struct ir_use use[4] = {{ROLE_READ, from}};
	value_id to = op_write(m, op, 0);
	for (unsigned i = 0; i < n; i++)
		use[1 + i] = (struct ir_use){ROLE_SCALAR, ir_scalar_expr(m, scalar[i])};
	use[1 + n] = (struct ir_use){ROLE_WRITE, to};
	ir_op_set_operands(m, op, use, 2 + n);
	m->op.at[op].kind = (uint16_t)kind;
	m->op.at[op].flags |= OP_ASYNC;
	m->op.at[op].team = team;
	op_id wait = ir_op_new(m, OP_WAIT, m->op.at[op].at, (struct ir_use[]){{ROLE_STATEMENT, op}}, 1);
	ir_insert_after(m, op, wait);
}

/* Lowers step i of a ring. On the rank with index r, block (r + i) mod n comes from its owner, and the
 * rank's own block goes to (r - i) mod n. */
static bool lower_step(struct module *m, struct pass_context *cx, op_id op, const struct reshard *r)
{
	expr_id i = reshard_step_index(m, op, r);
	if (!i) {
		diag_error(cx->d, E_SET_PLACE, m->op.at[op].at,
		           "this set communicates in the steps of a loop, and stands in none");
		diag_note(cx->d, m->op.at[op].at, "stream-loops makes the loop");
		return false;
	}
	team_id team = ir_team_of_mesh(m, r->mesh, r->axis, r->axis_n);
	if (r->kind != RESHARD_STEP_PERMUTE) {
		convert_to_communication(m, cx, op, reshard_operation(r->kind), team, &i, 1);
		return true;
	}
	expr_id size = expr_const(m, m->mesh.at[r->mesh].size[r->axis[0]]),
	        own = expr_axis_index(m, r->mesh, r->axis[0]);
	expr_id to = expr_op(m, EXPR_MOD, expr_add(m, size, expr_op(m, EXPR_SUB, own, i)), size);
	expr_id from = expr_op(m, EXPR_MOD, expr_add(m, own, i), size);
	convert_to_communication(m, cx, op, OP_COLLECTIVE_PERMUTE, team, (expr_id[]){to, from}, 2);
	return true;
}

/* ---- to another mesh */

/* Returns true if a device has different positions in two meshes. */
static bool meshes_meet(const struct mesh *a, const struct mesh *b)
{
	for (uint32_t i = 0; i < b->device_count; i++)
		for (uint32_t k = 0; k < a->device_count; k++)
			if (a->device[k] == b->device[i] && i != k)
				return true;
	return false;
}

/* Lowers a transfer in which position k of one mesh sends to position k of the other. It is one
 * statement with a team for each pair or, if a device would be in two teams, one statement for each
 * pair. */
static void lower_send_recv(struct module *m, struct pass_context *cx, op_id op, const struct reshard *r)
{
	const struct mesh a = m->mesh.at[r->mesh], b = m->mesh.at[r->to];
	bool apart = meshes_meet(&a, &b);
	uint32_t n = a.device_count, at = 0;
	uint32_t *start = mem_alloc(sizeof *start * (n + 1)), *device = mem_alloc(sizeof *device * 2 * n);
	team_id *team = mem_alloc(sizeof *team * n);
	expr_id root = expr_const(m, 0);
	for (uint32_t k = 0; k < n; k++) {
		uint32_t pair[2] = {a.device[k], b.device[k]}, length = pair[0] == pair[1] ? 1 : 2;
		start[k] = at;
		memcpy(device + at, pair, sizeof *pair * length);
		at += length;
		if (apart)
			team[k] = ir_team_make(m, 1, (uint32_t[]){0, length}, pair);
	}
	start[n] = at;
	if (!apart)
		team[0] = ir_team_make(m, n, start, device);
	convert_to_communication(m, cx, op, OP_SEND_RECV, team[0], &root, 1);
	value_id from = op_read(m, op, 0), to = op_write(m, op, 0);
	op_id last = m->op.at[op].next; /* its wait */
	for (uint32_t k = 1; k < n && apart; k++) {
		op_id set = ir_op_new(m, OP_SET, m->op.at[op].at,
		                      (struct ir_use[]){{ROLE_READ, from}, {ROLE_WRITE, to}}, 2);
		ir_insert_after(m, last, set);
		convert_to_communication(m, cx, set, OP_SEND_RECV, team[k], &root, 1);
		last = m->op.at[set].next;
	}
	free(start);
	free(device);
	free(team);
}

/* A list of devices without duplicates. */
struct devices {
	uint32_t n, *at;
};

static uint32_t devices_add(struct devices *d, uint32_t device)
{
	for (uint32_t k = 0; k < d->n; k++)
		if (d->at[k] == device)
			return k;
	d->at[d->n] = device;
	return d->n++;
}

/* Lists the devices of a mesh, in placement order along some of its axes; axes NULL: in mesh order. */
static void devices_of(struct module *m, struct devices *d, mesh_id mesh, const struct reshard *r)
{
	const struct mesh *x = &m->mesh.at[mesh];
	if (!r->axis_n || r->kind == RESHARD_ALL_TO_ALLV) {
		for (uint32_t k = 0; k < x->device_count; k++)
			devices_add(d, x->device[k]);
		return;
	}
	const struct team *t = ir_team(m, ir_team_of_mesh(m, mesh, r->axis, r->axis_n));
	for (uint32_t k = 0; k < t->device_n; k++)
		devices_add(d, t->device[k]);
}

/* Lowers a transfer between meshes to a team of one slice: the devices of one mesh in the order of their
 * blocks, then the root unless it is among them, or for an all_to_allv the devices of the other mesh.
 * The root of a broadcast comes first. */
static void lower_across(struct module *m, struct pass_context *cx, op_id op, const struct reshard *r)
{
	struct devices d = {0};
	bool senders = r->kind == RESHARD_GATHER || r->kind == RESHARD_REDUCE;
	d.at = mem_alloc(sizeof *d.at * (m->mesh.at[r->mesh].device_count + m->mesh.at[r->to].device_count));
	expr_id root = 0;
	uint32_t position;
	if (r->kind == RESHARD_BROADCAST && !mesh_position(&m->mesh.at[r->to], r->root, &position))
		devices_add(&d, r->root);
	devices_of(m, &d, senders || r->kind == RESHARD_ALL_TO_ALLV ? r->mesh : r->to, r);
	if (r->kind == RESHARD_ALL_TO_ALLV)
		devices_of(m, &d, r->to, r);
	else
		root = expr_const(m, devices_add(&d, r->root));
	convert_to_communication(m, cx, op, reshard_operation(r->kind),
	                         ir_team_make(m, 1, (uint32_t[]){0, d.n}, d.at), &root, root != 0);
	free(d.at);
}

/* ---- statements */

static struct order_side side(struct module *m, value_id v)
{
	return (struct order_side){m->value.at[v].type, bound_of(m, v)};
}

/* Returns true if a value, or its copy of this type (0: none), is a buffer of one slice that the last
 * slice does not fill. */
static bool pads(struct module *m, op_id op, value_id v, type_id copy)
{
	if (copy)
		return order_pads(m, (struct order_side){copy, bound_beside(m, copy, op)});
	return !is_view(m, v) && order_pads(m, side(m, v));
}

/* Adds copies if storage has gaps or another order. The statement then reads and writes the copies. If
 * data moves from or to a buffer with gaps, the gaps move as well, so that both sides agree. */
static void copy_through(struct module *m, op_id op, const struct reshard *r)
{
	value_id from = op_read(m, op, 0), to = op_result(m, op, 0);
	type_id before, after;
	if (r->kind == RESHARD_ALL_TO_ALL || r->kind == RESHARD_ALL_TO_ALLV)
		return; /* these collectives pack and unpack */
	order_needs(m, side(m, from), side(m, to), r, &before, &after);
	if (!before && !order_is_dense(m, from))
		before = order_dense(m, side(m, from));
	if (!after && !order_is_dense(m, to))
		after = order_dense(m, side(m, to));
	if (!before && is_view(m, from) && pads(m, op, to, after))
		before = order_dense(m, side(m, from));
	if (!after && is_view(m, to) && pads(m, op, from, before))
		after = order_dense(m, side(m, to));
	if (before)
		rewrite_reads(m, op, from, rewrite_set_before(m, op, from, before));
	if (after)
		rewrite_set_after(m, op, after);
}

/* group: the start of the group of Communications that is open here; 0: none. */
static bool lower_set(struct module *m, struct pass_context *cx, op_id op, op_id group)
{
	value_id from = op_read(m, op, 0), to = op_result(m, op, 0);
	struct reshard r, made;
	reshard_classify(m, m->value.at[from].type, m->value.at[to].type, &r);
	if (r.kind == RESHARD_LOCAL)
		return true;
	if (r.kind == RESHARD_NONE) {
		reshard_report(m, cx->d, op, "lower", m->value.at[from].type, m->value.at[to].type, r.reason);
		if (r.ring)
			diag_note(cx->d, DIAG_NOWHERE,
			          "cut the axis by @stream, not @swizzle1d; if the program does, "
			          "leave --pipeline= and --offset-streams away");
		return false;
	}
	if (group && m->op.at[group].parent == m->op.at[op].parent) {
		diag_error(cx->d, E_SET_PLACE, m->op.at[op].at,
		           "this set communicates, and its wait would stand in a group of Communications");
		diag_note(cx->d, DIAG_NOWHERE, "write it as a Communication, or move it out of the group");
		return false;
	}
	remark_lowering(m, cx, op, &r);
	copy_through(m, op, &r);
	reshard_classify(m, m->value.at[op_read(m, op, 0)].type, m->value.at[op_result(m, op, 0)].type,
	                 &made);
	r.step = made.step; /* an axis of the copy */
	if (m->op.at[op].attrs)
		m->op.at[op].attrs = 0; /* hints are for the copy */
	switch (r.kind) {
	case RESHARD_STEP_BROADCAST:
	case RESHARD_STEP_PERMUTE:
	case RESHARD_STEP_REDUCE:
		if (!lower_step(m, cx, op, &r))
			return false;
		break;
	case RESHARD_SEND_RECV:
		lower_send_recv(m, cx, op, &r);
		return true;
	default:
		if (r.mesh != r.to)
			lower_across(m, cx, op, &r);
		else
			convert_to_communication(m, cx, op, reshard_operation(r.kind),
			                         ir_team_of_mesh(m, r.mesh, r.axis, r.axis_n), NULL, 0);
	}
	if (op_info[reshard_operation(r.kind)].traits & TRAIT_REDUCES && r.reduce != REDUCE_SUM) {
		struct attr a = {.key = names_intern_z(m->names, "op"), .kind = ATTR_NAME};
		a.u.name = names_intern_z(m->names, reduce_op_name(r.reduce));
		m->op.at[op].attrs = ir_attrs_with(m, m->op.at[op].attrs, &a);
	}
	return true;
}

/* Returns the mesh axes over which a type is a pending reduction. */
static unsigned pending_axes(const struct module *m, type_id t)
{
	unsigned axes = 0;
	for (unsigned k = 0; k < IR_MAX_MESH_AXES; k++)
		if (layout_partial(&m->domain.at[m->type.at[t].domain], k) >= 0)
			axes |= 1u << k;
	return axes;
}

/* Returns NULL, or the reason why a collective does not lead from one type to the other. r: their difference. */
static const char *pure_refusal(struct module *m, op_id op, type_id from, type_id to, const struct reshard *r)
{
	const struct op *o = &m->op.at[op];
	unsigned before = pending_axes(m, from), after = pending_axes(m, to);
	if (after & ~before)
		return "the result has a pending reduction, but the operand has none";
	/* rings that reduce move blocks by permutes, and add them up in other statements */
	bool may_end = op_info[o->kind].traits & TRAIT_REDUCES || o->kind == OP_COLLECTIVE_PERMUTE;
	if (before & ~after && !may_end)
		return "it cannot end a pending reduction";
	if (!reshard_is_stated_by_types((enum op_kind)o->kind))
		return NULL;
	if (op_info[o->kind].traits & TRAIT_REDUCES && !before)
		return "its operand has no pending reduction; partial(…) in its type states one";
	if (r->kind == RESHARD_NONE)
		return r->reason;
	if (reshard_operation(r->kind) != o->kind ||
	    ir_team_of_mesh(m, r->mesh, r->axis, r->axis_n) != o->team)
		return "it does not lead from the one type to the other";
	return NULL;
}

/* Lowers a pure collective. If it is over axes of a mesh, its types are checked; if it is over a group,
 * they are trusted. */
static bool lower_pure(struct module *m, struct pass_context *cx, op_id op)
{
	value_id from = op_read(m, op, 0), to = op_result(m, op, 0);
	const struct op o = m->op.at[op];
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n;
	if (ir_team_axes(m, o.team, value_type(m, from)->mesh, axes, &n)) {
		type_id before = m->value.at[from].type, after = m->value.at[to].type;
		struct reshard r;
		reshard_classify(m, before, after, &r);
		const char *reason = pure_refusal(m, op, before, after, &r);
		if (reason) {
			reshard_report(m, cx->d, op, "lower", before, after, reason);
			return false;
		}
		if (reshard_is_stated_by_types((enum op_kind)o.kind))
			copy_through(m, op, &r);
		else if (reshard_is_by_place(m, op) &&
		         value_domain(m, from)->rank == value_domain(m, to)->rank &&
		         !order_same(m, before, after))
			rewrite_reads(m, op, from,
			              rewrite_set_before(m, op, from, order_like(m, before, after)));
	}
	expr_id scalar[2];
	unsigned scalars = op_role_count(m, op, ROLE_SCALAR);
	for (unsigned i = 0; i < scalars && i < 2; i++)
		scalar[i] = op_scalar_expr(m, op, i);
	convert_to_communication(m, cx, op, (enum op_kind)o.kind, o.team, scalar, scalars < 2 ? scalars : 2);
	return true;
}

bool pass_lower_collectives(struct module *m, struct pass_context *cx)
{
	bool ok = true;
	op_id group = 0;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		const struct op *o = &m->op.at[op];
		if (o->kind == OP_START_COALESCING || o->kind == OP_END_COALESCING)
			group = o->kind == OP_START_COALESCING ? op : 0;
		else if (o->kind == OP_SET)
			ok &= lower_set(m, cx, op, group);
		else if (op_traits(m, op) & TRAIT_COLLECTIVE && !(o->flags & OP_ASYNC) && o->team)
			ok &= lower_pure(m, cx, op);
	}
	if (ok)
		p2p_from_permutes(m, cx, (enum p2p_order)cx->option[PASS_LOWER_COLLECTIVES_P2P]);
	return ok;
}
