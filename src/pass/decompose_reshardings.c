/* decompose-reshardings: every operation computes on what its rank holds.
 *
 *     Y: bf16[t@stream(2), n] = linear(X, W)     X: bf16[t@stream(2), k@x], W: bf16[n, k@x]
 *  →
 *     T3: bf16[t@stream(2), n] partial(x) = linear(X, W)
 *     Y: bf16[t@stream(2), n] = set(T3)
 *
 *     Y: f32[m@x, n] = matmul(A, B)              A: f32[m@x, k], B: f32[k, n@x]
 *  →
 *     T3: f32[k, n] = set(B)
 *     Y: f32[m@x, n] = matmul(A, T3)
 *
 * decompose_plan.c chooses a layout for each dim of an operation's iteration space. Operands that are
 * spread otherwise get a `set` before, the result one after. A bias is added after a pending sum was
 * ended. A `set` that changes mesh and layout becomes two, and where a collective needs another order
 * in memory than its operand or result has (order.h), a copy in that order is made.
 *
 * Statements that write a buffer (`Y <- f(X)`) are the host level's and stay as they are.
 *
 * requires     sharded
 * establishes  decomposed: only `set`s and collectives communicate
 * keeps        the values of the source and their layouts */
#include "pass/decompose.h"
#include "ir/print.h"
#include "pass/order.h"
#include "pass/pass.h"
#include "pass/rewrite.h"
#include <string.h>

static void report_layout(struct module *m, struct pass_context *cx, op_id op, const char *reason)
{
	struct buf text = {0};
	ir_print_statement(m, op, &text);
	diag_error(cx->d, m->op.at[op].at, "cannot decompose '%s': %s", text.at, reason);
	buf_free(&text);
}

/* ---- operands */

/* The type that operand k has in the layout that was chosen. 0 after reporting. */
static type_id operand_type(struct module *m, struct pass_context *cx, const struct op_layout *l,
			    const struct decompose_plan *p, unsigned k)
{
	struct sugar s = l->o[k];
	const char *reason;
	place_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++)
		if (l->x.operand[k][a] != INFER_NONE)
			place_copy(&s.axis[a], &p->dim[l->x.operand[k][a]]);
	unsigned n = s.rank;
	for (unsigned a = s.rank; a < s.axis_n; a++)
		if (place_mesh_axes(&s.axis[a]) & p->kept[k])
			s.axis[n++] = s.axis[a];
	s.axis_n = n;
	type_id from = m->value.at[l->operand[k]].type, t = place_type(m, from, p->mesh, &s, false, &reason);
	if (!t) {
		report_layout(m, cx, l->op, reason);
		return 0;
	}
	/* in the loop of the result where that is possible, else before it */
	struct reshard r;
	reshard_classify(m, from, t, &r);
	if (r.kind != RESHARD_NONE || m->type.at[from].mesh != p->mesh)
		return t;
	for (unsigned a = 0; a < s.rank; a++)
		if (!place_same_footprint(&s.axis[a], &l->o[k].axis[a]))
			s.axis[a].place_n = (uint8_t)place_footprint(&s.axis[a]);
	type_id whole = place_type(m, from, p->mesh, &s, false, &reason);
	return whole ? whole : t;
}

static bool operand_fits(struct module *m, const struct op_layout *l, const struct decompose_plan *p, unsigned k)
{
	mesh_id mesh = value_type(m, l->operand[k])->mesh;
	if (!mesh)
		return true;
	if (mesh != p->mesh || place_partial(&l->o[k]) != p->kept[k])
		return false;
	for (unsigned a = 0; a < l->o[k].rank; a++) {
		uint8_t dim = l->x.operand[k][a];
		if (dim != INFER_NONE && !place_same_footprint(&l->o[k].axis[a], &p->dim[dim]))
			return false;
	}
	return true;
}

static bool change_operand(struct module *m, struct pass_context *cx, const struct op_layout *l,
			   const struct decompose_plan *p, unsigned k)
{
	value_id v = l->operand[k];
	if (!l->o_known[k]) {
		report_layout(m, cx, l->op, "an operand has transforms that cannot be changed to the layout it needs");
		return false;
	}
	type_id t = operand_type(m, cx, l, p, k);
	if (!t)
		return false;
	value_id made = rewrite_find_set(m, l->op, v, t);
	if (!made)
		made = rewrite_set_before(m, l->op, v, t);
	/* only operand k: the same tensor may stand in another place in another layout */
	for (unsigned i = 0, reads = 0; i < m->op.at[l->op].operand_n; i++)
		if (m->operand.at[m->op.at[l->op].operand + i].role == ROLE_READ && reads++ == k)
			ir_operand_set(m, m->op.at[l->op].operand + i, made);
	return true;
}

/* ---- results */

/* The type of what the operation itself makes. */
static type_id local_type(struct module *m, struct pass_context *cx, const struct op_layout *l,
			  const struct decompose_plan *p)
{
	struct sugar s = l->r;
	const char *reason = "a tensor has at most 16 axes, hidden ones included";
	place_drop(&s, AXIS_REDUCE);
	place_drop(&s, AXIS_PARTIAL);
	for (unsigned a = 0; a < s.rank; a++)
		if (l->x.result[a] != INFER_NONE)
			place_copy(&s.axis[a], &p->dim[l->x.result[a]]);
	type_id t = 0;
	if (place_add_partial(m, &s, p->mesh, p->partial, p->reduce))
		t = place_type(m, m->value.at[l->result].type, p->mesh, &s, false, &reason);
	if (!t)
		report_layout(m, cx, l->op, reason);
	return t;
}

static bool result_fits(struct module *m, const struct op_layout *l, const struct decompose_plan *p)
{
	if (value_type(m, l->result)->mesh != p->mesh || place_partial(&l->r) != p->partial)
		return false;
	for (unsigned a = 0; a < l->r.rank; a++)
		if (l->x.result[a] != INFER_NONE && !place_same_footprint(&l->r.axis[a], &p->dim[l->x.result[a]]))
			return false;
	return true;
}

/* `Y = linear(X, W, B)` with a pending sum: `P = linear(X, W)`, `S = set(P)`, `Y = add(S, B)`.
 * The operation is linear(X, W) already, and set the one that makes Y. */
static void add_bias(struct module *m, op_id set, value_id bias)
{
	value_id result = op_def(m, set, 0);
	uint32_t at = m->op.at[set].at;
	type_id t = rewrite_without_reduce(m, m->value.at[result].type);
	value_id sum = ir_value_new(m, t, 0, at), pending = op_read(m, set, 0);
	ir_op_set_operands(m, set, (struct ir_use[]){{ROLE_DEF, sum}, {ROLE_READ, pending}}, 2);
	type_id with = infer_reduce_axes(m, set, t);
	m->value.at[sum].type = with;
	op_id where = set;
	if (value_type(m, bias)->dtype != value_type(m, result)->dtype) {
		struct type b = *value_type(m, bias);
		type_id same = type_make(m, (enum dtype)value_type(m, result)->dtype, MEMORY_GLOBAL, b.mesh, b.domain);
		value_id wide = ir_value_new(m, same, 0, at);
		op_id cast = ir_op_new(m, OP_CAST, at, (struct ir_use[]){{ROLE_DEF, wide}, {ROLE_READ, bias}}, 2);
		ir_insert_after(m, where, cast);
		where = cast;
		bias = wide;
	}
	struct ir_use use[] = {{ROLE_DEF, result}, {ROLE_READ, sum}, {ROLE_READ, bias}};
	ir_insert_after(m, where, ir_op_new(m, OP_ADD, at, use, 3));
	m->value.at[result].type = t;
}

/* Takes the bias of a linear away and returns it. */
static value_id take_bias(struct module *m, op_id op)
{
	struct ir_use use[8];
	unsigned n = 0, reads = 0;
	value_id bias = 0;
	for (unsigned i = 0; i < m->op.at[op].operand_n; i++) {
		struct operand o = *ir_operand(m, op, i);
		if (o.role == ROLE_READ && reads++ == 2)
			bias = o.id;
		else
			use[n++] = (struct ir_use){(enum role)o.role, o.id};
	}
	ir_op_set_operands(m, op, use, n);
	return bias;
}

/* ---- one operation */

/* `Y computed as 'bf16[t, h] partial(x)', then set`. */
static void remark_result(struct module *m, struct pass_context *cx, value_id result, op_id op)
{
	struct buf name = {0}, type = {0};
	if (!cx->remarks)
		return;
	if (m->value.at[result].name)
		ir_print_value_name(m, result, &name);
	else
		buf_puts(&name, op_info[m->op.at[op].kind].hir);
	ir_print_type(m, rewrite_without_reduce(m, m->value.at[op_def(m, op, 0)].type), &type);
	pass_remark(cx, m, m->op.at[op].at, "%s computed as '%s', then set", name.at, type.at);
	buf_free(&name);
	buf_free(&type);
}

static bool decompose(struct module *m, struct pass_context *cx, op_id op)
{
	struct op_layout l;
	struct decompose_plan p;
	const char *reason;
	if (op_traits(m, op) & (TRAIT_RESHARD | TRAIT_COLLECTIVE) || !m->op.at[op].def_n || !op_layout_read(m, op, &l) ||
	    !op_layout_not_local(m, &l))
		return true;
	if (!l.r_known) {
		report_layout(m, cx, op, "the result has transforms that cannot be changed to the layout it needs");
		return false;
	}
	if ((reason = decompose_choose(m, &l, &p))) {
		report_layout(m, cx, op, reason);
		return false;
	}
	bool has_bias = m->op.at[op].kind == OP_LINEAR && l.x.operand_n == 3 && p.partial;
	if (has_bias && place_partial(&l.r)) {
		report_layout(m, cx, op, "a bias cannot be added to a pending sum");
		diag_note(cx->d, m->op.at[op].at, "add it after the sum is complete");
		return false;
	}
	for (unsigned k = 0; k < l.x.operand_n; k++)
		if (!(has_bias && k == 2) && !operand_fits(m, &l, &p, k) && !change_operand(m, cx, &l, &p, k))
			return false;
	value_id bias = has_bias ? take_bias(m, op) : 0;
	if (bias || !result_fits(m, &l, &p)) {
		type_id t = local_type(m, cx, &l, &p);
		if (!t)
			return false;
		op_id set = rewrite_set_after(m, op, t);
		remark_result(m, cx, l.result, op);
		if (bias)
			add_bias(m, set, bias);
	}
	return true;
}

/* ---- `set`s and pure collectives */

/* A layout on another mesh of the same shape; loops are those of `loops` where the footprints agree. */
static type_id on_mesh(struct module *m, type_id layout, mesh_id mesh, type_id loops)
{
	struct sugar s, other;
	const char *reason;
	struct type t = m->type.at[layout], o = m->type.at[loops];
	if (!sugar_from_domain(m, t.domain, t.mesh, &s) || !sugar_from_domain(m, o.domain, o.mesh, &other) || s.rank != other.rank)
		return 0;
	place_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++)
		if (place_same_footprint(&s.axis[a], &other.axis[a]))
			place_copy(&s.axis[a], &other.axis[a]);
	return place_type(m, layout, mesh, &s, false, &reason);
}

/* A set that changes mesh and layout becomes two: sums are ended and cuts made before the move,
 * gathers made after it, so that less moves. Returns the set that makes the result. */
static op_id split_mesh_change(struct module *m, op_id op)
{
	type_id from = m->value.at[op_read(m, op, 0)].type, to = m->value.at[op_result(m, op, 0)].type;
	struct reshard r;
	reshard_classify(m, from, to, &r);
	if (r.kind != RESHARD_NONE || r.mesh == r.to || m->op.at[op].kind != OP_SET)
		return op;
	const struct mesh *a = &m->mesh.at[r.mesh], *b = &m->mesh.at[r.to];
	if (a->rank != b->rank || memcmp(a->size, b->size, sizeof *a->size * a->rank))
		return op;
	bool before = r.reduces || r.scatters;
	type_id between = before ? on_mesh(m, to, r.mesh, to) : on_mesh(m, from, r.to, to);
	if (!between || between == from || between == to)
		return op;
	value_id v = op_read(m, op, 0), made = rewrite_find_set(m, op, v, between);
	rewrite_reads(m, op, v, made ? made : rewrite_set_before(m, op, v, between));
	return op;
}

/* Whether a value's allocation is the default one, which may become another: it is made by a statement,
 * is not returned, and, when it is read by the transfer `reader`, by nothing else. */
static bool may_reorder(struct module *m, value_id v, op_id reader)
{
	bool unstreamed;
	uint8_t perm[IR_MAX_AXES];
	const struct domain d = *value_domain(m, v);
	if (m->value.at[v].flags & (VALUE_INPUT | VALUE_OUTPUT | VALUE_INOUT) || ir_is_bound(m, v))
		return false;
	for (uint32_t u = m->value.at[v].first_use; u && reader; u = m->operand.at[u].next_use)
		if (m->operand.at[u].role != ROLE_DEF && m->operand.at[u].op != reader)
			return false;
	if (!domain_allocation_order(&d, &unstreamed, perm))
		return false;
	for (unsigned i = 0; i < d.alloc_n; i++)
		if (perm[i] != i || !d.contiguous[i])
			return false;
	return true;
}

/* The order in memory that the transfer needs: values of which nothing says how they are allocated are
 * allocated so, others go through copies. Returns the last statement. */
static op_id fix_order(struct module *m, struct pass_context *cx, op_id op)
{
	value_id v = op_read(m, op, 0), to = op_result(m, op, 0);
	type_id before, after;
	struct reshard r;
	reshard_classify(m, m->value.at[v].type, m->value.at[to].type, &r);
	order_needs(m, m->value.at[v].type, m->value.at[to].type, &r, &before, &after);
	if (before && may_reorder(m, v, op)) {
		m->value.at[v].type = before;
	} else if (before) {
		/* in the loop of the result, if it has one */
		type_id looped = on_mesh(m, before, m->type.at[before].mesh, m->value.at[to].type);
		before = looped ? order_like(m, looped, before) : before;
		value_id made = rewrite_find_set(m, op, v, before);
		rewrite_reads(m, op, v, made ? made : rewrite_set_before(m, op, v, before));
		pass_remark(cx, m, m->op.at[op].at, "copied before: what is gathered or cut must be outermost in memory");
	}
	if (after && may_reorder(m, to, 0)) {
		m->value.at[to].type = after;
	} else if (after) {
		op = rewrite_set_after(m, op, after);
		pass_remark(cx, m, m->op.at[op].at, "copied after: what was gathered or cut is outermost in memory");
	}
	return op;
}

static bool is_pure_transfer(const struct module *m, op_id op)
{
	unsigned kind = m->op.at[op].kind;
	return (kind == OP_SET || op_info[kind].traits & TRAIT_COLLECTIVE) && !(m->op.at[op].flags & OP_ASYNC) &&
	       op_role_count(m, op, ROLE_READ) == 1 && op_result(m, op, 0);
}

bool pass_decompose_reshardings(struct module *m, struct pass_context *cx)
{
	struct rewrite_reduce reduce;
	bool ok = true;
	rewrite_reduce_begin(m, &reduce);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		ok &= decompose(m, cx, op);
	for (op_id op = ir_walk_first(m); op && ok; op = ir_walk(m, op))
		if (is_pure_transfer(m, op)) {
			split_mesh_change(m, op);
			/* the first half stands before it and is looked at now */
			op_id first = m->op.at[op].prev;
			if (first && m->op.at[first].kind == OP_SET && op_def(m, first, 0) == op_read(m, op, 0))
				fix_order(m, cx, first);
			op = fix_order(m, cx, op);
		}
	rewrite_reduce_end(m, &reduce);
	for (op_id op = ir_walk_first(m); op && ok; op = ir_walk(m, op))
		op_layout_assume(m, op);
	return ok;
}
