/* decompose-reshardings: makes every operation compute on the parts of its rank.
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
 * decompose_plan.c chooses a layout for each dim of an operation's iteration space. Operands with
 * another layout get a `set` before the operation, and the result gets one after it. A bias is added
 * after a pending sum has ended. A mean over a spread axis becomes a sum and a division. Then
 * decompose_transfer.c splits each `set` into steps that a single collective does. decompose_select.c
 * handles views.
 *
 * A statement that writes a buffer (`Y <- f(X)`) is only changed if ranks lack operands for their part
 * of the buffer (decompose_write.c).
 *
 * If the parts of a sum may overflow in its dtype, they are computed in a wider one:
 *
 *     Y: f16[] = sum(X)                          X: f16[n@x]
 *  →
 *     T3: f32[] partial(x) = sum(X)
 *     T2: f32[] = set(T3)
 *     Y: f16[] = cast(T2)
 *
 * requires     sharded
 * establishes  decomposed: only `set`s and collectives communicate
 * keeps        the values of the source and their layouts */
#include "ir/expr.h"
#include "ir/layout.h"
#include "ir/print.h"
#include "pass/decompose.h"
#include "pass/loop_axes.h"
#include "pass/pass.h"
#include "pass/reshard.h"
#include "pass/rewrite.h"
#include <string.h>

void decompose_report(struct module *m, struct pass_context *cx, enum diagnostic code, op_id op,
                      const char *reason)
{
	struct buf text = {0};
	ir_print_statement(m, op, &text);
	diag_error(cx->d, code, m->op.at[op].at, "cannot decompose '%s': %s", text.at, reason);
	buf_free(&text);
}

/* Notes the definition and the type of each operand. */
static void note_operands(struct module *m, struct pass_context *cx, const struct op_layout *l)
{
	for (unsigned k = 0; k < l->x.operand_n; k++) {
		struct buf name = {0}, type = {0};
		pass_put_name(m, l->operand[k], &name);
		ir_print_type(m, infer_without_reduce(m, m->value.at[l->operand[k]].type), &type);
		diag_note(cx->d, m->value.at[l->operand[k]].at, "%s is '%s'", name.at, type.at);
		buf_free(&name);
		buf_free(&type);
	}
}

/* ---- operands */

/* Returns the type of operand k in the chosen layout; 0 after reporting. */
static type_id operand_type(struct module *m, struct pass_context *cx, const struct op_layout *l,
                            const struct decompose_plan *p, unsigned k)
{
	struct sugar s = l->o[k];
	const char *reason;
	sugar_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++)
		if (l->x.operand[k][a] != INFER_NONE)
			place_copy(&s.axis[a], &p->dim[l->x.operand[k][a]]);
		else
			s.axis[a].place_n = 0;
	unsigned n = s.rank;
	for (unsigned a = s.rank; a < s.axis_n; a++)
		if (place_mesh_axes(&s.axis[a]) & p->kept[k])
			s.axis[n++] = s.axis[a];
	s.axis_n = n;
	type_id from = m->value.at[l->operand[k]].type, t = place_type(m, from, p->mesh, &s, false, &reason);
	if (!t) {
		decompose_report(m, cx, E_DECOMPOSE, l->op, reason);
		return 0;
	}
	/* in the loop of the result if possible, otherwise before it */
	struct reshard r;
	reshard_classify(m, from, t, &r);
	bool sliced =
	    r.kind != RESHARD_NONE && (r.kind != RESHARD_ALL_TO_ALLV || reshard_in_slices(m, from, t));
	if (sliced || m->type.at[from].mesh != p->mesh)
		return t;
	for (unsigned a = 0; a < s.rank; a++)
		if (!place_same_footprint(&s.axis[a], &l->o[k].axis[a]))
			s.axis[a].place_n = (uint8_t)place_footprint(&s.axis[a]);
	type_id whole = place_type(m, from, p->mesh, &s, false, &reason);
	return whole ? whole : t;
}

/* Returns true if a visible axis is spread over devices. */
static bool is_spread(const struct module *m, value_id v)
{
	for (unsigned a = 0; a < value_domain(m, v)->rank; a++)
		if (layout_mesh_axes(m, m->value.at[v].type, a))
			return true;
	return false;
}

/* Reads a layout of the result that is no placements as whole. Returns NULL, or the reason why it cannot. */
static const char *read_unknown_result(struct module *m, struct op_layout *l)
{
	if (l->r_known)
		return NULL;
	sugar_extents(m, value_type(m, l->result)->domain, &l->r);
	for (unsigned a = l->r.rank; a < l->r.axis_n; a++)
		if (l->r.axis[a].kind == AXIS_PARTIAL)
			return "the result is pending and has transforms that cannot be changed";
	return NULL;
}

/* Layouts that are no placements are read as whole: such values are gathered before the operation and
 * cut after it. */
static const char *read_unknown(struct module *m, struct op_layout *l)
{
	for (unsigned k = 0; k < l->x.operand_n; k++) {
		if (l->o_known[k])
			continue;
		sugar_extents(m, value_type(m, l->operand[k])->domain, &l->o[k]);
		for (unsigned a = 0; a < l->o[k].axis_n; a++)
			if (l->o[k].axis[a].kind == AXIS_PARTIAL)
				return "an operand that is pending has transforms that cannot be changed";
	}
	return read_unknown_result(m, l);
}

static bool operand_fits(struct module *m, const struct op_layout *l, const struct decompose_plan *p,
                         unsigned k)
{
	mesh_id mesh = value_type(m, l->operand[k])->mesh;
	if (!mesh)
		return true;
	if (mesh != p->mesh || place_partial(&l->o[k]) != p->kept[k] ||
	    (!l->o_known[k] && is_spread(m, l->operand[k])))
		return false;
	for (unsigned a = 0; a < l->o[k].rank; a++) {
		uint8_t dim = l->x.operand[k][a];
		if (dim == INFER_NONE ? place_mesh_axes(&l->o[k].axis[a]) != 0
		                      : !place_same_footprint(&l->o[k].axis[a], &p->dim[dim]))
			return false;
	}
	return true;
}

static bool change_operand(struct module *m, struct pass_context *cx, const struct op_layout *l,
                           const struct decompose_plan *p, unsigned k)
{
	value_id v = l->operand[k];
	type_id t = operand_type(m, cx, l, p, k);
	if (!t)
		return false;
	value_id made = rewrite_find_set(m, l->op, v, t);
	if (!made)
		made = rewrite_set_before(m, l->op, v, t);
	/* only operand k: the same tensor may be another operand in another layout */
	rewrite_read(m, l->op, k, made);
	return true;
}

/* ---- results */

/* Returns the type of the result that the operation itself computes. */
static type_id local_type(struct module *m, struct pass_context *cx, const struct op_layout *l,
                          const struct decompose_plan *p)
{
	struct sugar s = l->r;
	const char *reason = "a tensor has at most 16 axes, hidden ones included";
	sugar_drop(&s, AXIS_REDUCE);
	sugar_drop(&s, AXIS_PARTIAL);
	for (unsigned a = 0; a < s.rank; a++)
		if (l->x.result[a] != INFER_NONE)
			place_copy(&s.axis[a], &p->dim[l->x.result[a]]);
		else
			s.axis[a].place_n = 0;
	type_id t = 0;
	if (place_add_partial(m, &s, p->mesh, p->partial, p->reduce))
		t = place_type(m, m->value.at[l->result].type, p->mesh, &s, false, &reason);
	if (!t)
		decompose_report(m, cx, E_DECOMPOSE, l->op, reason);
	return t;
}

static bool result_fits(struct module *m, const struct op_layout *l, const struct decompose_plan *p)
{
	if (value_type(m, l->result)->mesh != p->mesh || place_partial(&l->r) != p->partial ||
	    (!l->r_known && is_spread(m, l->result)))
		return false;
	for (unsigned a = 0; a < l->r.rank; a++)
		if (l->x.result[a] == INFER_NONE
		        ? place_mesh_axes(&l->r.axis[a]) != 0
		        : !place_same_footprint(&l->r.axis[a], &p->dim[l->x.result[a]]))
			return false;
	return true;
}

/* `Y = linear(X, W, B)` with a pending sum becomes `P = linear(X, W)`, `S = set(P)`, `Y = add(S, B)`.
 * The linear has lost its bias already; `set` is the statement that makes Y. */
static void add_bias(struct module *m, op_id set, value_id bias)
{
	value_id result = op_def(m, set, 0);
	uint32_t at = m->op.at[set].at;
	type_id t = infer_without_reduce(m, m->value.at[result].type);
	value_id sum = ir_value_new(m, t, 0, at), pending = op_read(m, set, 0);
	ir_op_set_operands(m, set, (struct ir_use[]){{ROLE_DEF, sum}, {ROLE_READ, pending}}, 2);
	type_id with = infer_reduce_axes(m, set, t);
	m->value.at[sum].type = with;
	op_id where = set;
	if (value_type(m, bias)->dtype != value_type(m, result)->dtype) {
		struct type b = *value_type(m, bias);
		type_id same = type_make(m, value_type(m, result)->dtype, MEMORY_GLOBAL, b.mesh, b.domain);
		value_id wide = ir_value_new(m, same, 0, at);
		op_id cast =
		    ir_op_new(m, OP_CAST, at, (struct ir_use[]){{ROLE_DEF, wide}, {ROLE_READ, bias}}, 2);
		ir_insert_after(m, where, cast);
		where = cast;
		bias = wide;
	}
	struct ir_use use[] = {{ROLE_DEF, result}, {ROLE_READ, sum}, {ROLE_READ, bias}};
	ir_insert_after(m, where, ir_op_new(m, OP_ADD, at, use, 3));
	m->value.at[result].type = t;
}

/* Removes the bias of a linear and returns it. */
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

/* Remarks `Y computed as 'bf16[t, h] partial(x)', then set`. */
void decompose_remark(struct module *m, struct pass_context *cx, op_id op, value_id result, type_id made)
{
	struct buf name = {0}, type = {0};
	if (!cx->remarks)
		return;
	pass_put_name(m, result, &name);
	ir_print_type(m, made, &type);
	pass_remark(cx, m, m->op.at[op].at, "%s computed as '%s', then set", name.at, type.at);
	buf_free(&name);
	buf_free(&type);
}

/* `Y = op(X)` becomes `W = op(X)` of dtype t, and `Y = cast(W)`. */
static void widen(struct module *m, op_id op, enum dtype t)
{
	const struct type y = *value_type(m, op_def(m, op, 0));
	op_id cast = rewrite_set_after(
	    m, op, infer_without_reduce(m, type_make(m, t, MEMORY_GLOBAL, y.mesh, y.domain)));
	m->op.at[cast].kind = OP_CAST;
}

/* `Y = mean(X)` over a spread axis becomes `S = sum(X)`, `Y = div(S, n)`, in a dtype that can hold the
 * sum. The op becomes the sum. The mean of a bool becomes a sum as well. */
static void mean_by_sum(struct module *m, op_id op)
{
	const struct domain *d = value_domain(m, op_read(m, op, 0));
	unsigned mask = infer_reduced_axes(m, m->op.at[op].attrs, d->rank);
	enum dtype t = value_type(m, op_def(m, op, 0))->dtype, wide = dtype_of_parts(t, true);
	expr_id n = expr_const(m, 1);
	for (unsigned a = 0; a < d->rank && n; a++)
		if (mask >> a & 1)
			n = expr_canon(m, expr_mul(m, n, value_domain(m, op_read(m, op, 0))->axis[a].extent));
	if (!n)
		return;
	m->op.at[op].kind = OP_SUM;
	if (t == DTYPE_BOOL)
		return;
	if (wide != t)
		widen(m, op, wide);
	type_id sums = infer_without_reduce(m, m->value.at[op_def(m, op, 0)].type);
	op_id div = rewrite_set_after(m, op, sums);
	value_id sum = op_read(m, div, 0), result = op_def(m, div, 0);
	ir_op_set_operands(
	    m, div,
	    (struct ir_use[]){{ROLE_DEF, result}, {ROLE_READ, sum}, {ROLE_SCALAR, ir_scalar_expr(m, n)}}, 3);
	m->op.at[div].kind = OP_DIV;
}

/* Computes the parts of a sum or product in a wider dtype if they may overflow although the whole does
 * not. Returns false if that is not needed, or if the program states their dtype. */
static bool widen_parts(struct module *m, const struct op_layout *l, const struct decompose_plan *p)
{
	enum dtype t = value_type(m, l->result)->dtype, wide = dtype_of_parts(t, false);
	uint32_t traits = op_traits(m, l->op);
	bool sums = p->reduce == REDUCE_SUM || p->reduce == REDUCE_PROD;
	if (!p->partial || !sums || wide == t || place_partial(&l->r) ||
	    !(traits & (TRAIT_REDUCTION | TRAIT_CONTRACTION)))
		return false;
	widen(m, l->op, wide);
	return true;
}

static bool spread_reduced(struct module *m, const struct op_layout *l)
{
	for (unsigned a = 0; a < l->o[0].rank; a++)
		if (l->x.kind[l->x.operand[0][a]] == DIM_REDUCED &&
		    layout_mesh_axes(m, m->value.at[l->operand[0]].type, a))
			return true;
	return false;
}

/* Returns true if result number k has the layout that the plan gives to the results. p NULL: compares
 * with result 0. */
static bool result_alike(struct module *m, op_id op, unsigned k, const struct op_layout *first,
                         const struct decompose_plan *p)
{
	struct op_layout l;
	if (!op_layout_read_result(m, op, k, &l) || !l.r_known || !first->r_known ||
	    value_type(m, l.result)->mesh != (p ? p->mesh : value_type(m, first->result)->mesh) ||
	    place_partial(&l.r) != (p ? p->partial : place_partial(&first->r)))
		return false;
	for (unsigned a = 0; a < l.r.rank; a++) {
		static const struct sugar_axis none;
		bool whole = l.x.kind[l.x.result[a]] == DIM_WHOLE;
		const struct sugar_axis *like = whole ? &none
		                                : p   ? &p->dim[l.x.result[a]]
		                                      : &first->r.axis[a];
		if (l.r.axis[a].place_n != like->place_n)
			return false;
		for (unsigned i = 0; i < like->place_n; i++)
			if (!place_equal(&l.r.axis[a].place[i], &like->place[i]))
				return false;
	}
	return true;
}

/* Returns true if all results are local and in the same loops. */
static bool is_local(struct module *m, const struct op_layout *l)
{
	for (unsigned k = 1; k < op_result_count(m, l->op); k++)
		if (!result_alike(m, l->op, k, l, NULL))
			return false;
	return !op_layout_not_local(m, l);
}

/* Adds a set for each result after the first that does not have the planned layout. */
static bool other_results(struct module *m, struct pass_context *cx, const struct op_layout *first,
                          const struct decompose_plan *p)
{
	op_id op = first->op;
	for (unsigned k = 1; k < op_result_count(m, op); k++) {
		struct op_layout l;
		if (result_alike(m, op, k, first, p))
			continue;
		op_layout_read_result(m, op, k, &l);
		const char *reason = read_unknown_result(m, &l);
		if (reason)
			decompose_report(m, cx, E_DECOMPOSE, op, reason);
		type_id t = reason ? 0 : local_type(m, cx, &l, p);
		if (!t)
			return false;
		rewrite_set_after_result(m, op, k, t);
		decompose_remark(m, cx, op, l.result, t);
	}
	return true;
}

/* Returns true if the computation of a statement is followed by several `set`s or by other statements.
 * They need a value that it defines. */
static bool needs_value(struct module *m, const struct op_layout *l, const struct decompose_plan *p)
{
	enum dtype t = value_type(m, l->result)->dtype;
	uint32_t traits = op_traits(m, l->op);
	bool sums = traits & (TRAIT_REDUCTION | TRAIT_CONTRACTION);
	for (unsigned k = 1; k < op_result_count(m, l->op); k++)
		if (!result_alike(m, l->op, k, l, p))
			return true;
	if (result_fits(m, l, p))
		return false;
	return op_result_count(m, l->op) > 1 || op_attr_is_true(m, l->op, "accumulate") ||
	       m->op.at[l->op].kind == OP_MEAN || l->x.operand_n == 3 ||
	       (sums && dtype_of_parts(t, false) != t);
}

static bool decompose(struct module *m, struct pass_context *cx, op_id op, bool sums_end)
{
	struct op_layout l;
	struct decompose_plan p;
	const char *reason;
	bool writes = !m->op.at[op].def_n;
	if (op_traits(m, op) & (TRAIT_RESHARD | TRAIT_COLLECTIVE) || !op_layout_read(m, op, &l) ||
	    (writes ? !decompose_write_lacks(m, op, sums_end) : is_local(m, &l)))
		return true;
	if (writes && !read_unknown(m, &l) && !decompose_choose(m, &l, &p) && needs_value(m, &l, &p)) {
		decompose_write_value(m, op);
		return decompose(m, cx, op, sums_end);
	}
	op_layout_read(m, op, &l);
	if (!writes && m->op.at[op].kind == OP_MEAN && spread_reduced(m, &l)) {
		mean_by_sum(m, op);
		op_layout_read(m, op, &l);
	}
	reason = read_unknown(m, &l);
	reason = reason ? reason : decompose_choose(m, &l, &p);
	if (!reason && widen_parts(m, &l, &p)) {
		op_layout_read(m, op, &l);
		reason = decompose_choose(m, &l, &p);
	}
	if (reason) {
		decompose_report(m, cx, E_DECOMPOSE, op, reason);
		if (l.r_known && place_partial(&l.r))
			note_operands(m, cx, &l);
		return false;
	}
	bool has_bias = m->op.at[op].kind == OP_LINEAR && l.x.operand_n == 3 && p.partial;
	if (has_bias && place_partial(&l.r)) {
		decompose_report(m, cx, E_BIAS_PENDING, op, "a bias cannot be added to a pending sum");
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
		decompose_remark(m, cx, op, l.result, t);
		if (bias)
			add_bias(m, set, bias);
	}
	return other_results(m, cx, &l, &p);
}

bool pass_decompose_reshardings(struct module *m, struct pass_context *cx)
{
	struct rewrite_reduce reduce;
	bool ok = true, sums_end = !decompose_has_transfers(m);
	loop_axes_order(m);
	loop_axes_place(m, cx);
	rewrite_reduce_begin(m, &reduce);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		decompose_overlap(m, op);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		ok &= decompose(m, cx, op, sums_end) && decompose_select(m, cx, op) &&
		      decompose_experts(m, cx, op);
	for (op_id op = ir_walk_first(m); op && ok; op = ir_walk(m, op))
		decompose_reduced(m, op);
	for (op_id op = ir_walk_first(m); op && ok; op = ir_walk(m, op))
		op = decompose_transfer(m, cx, op);
	for (op_id op = ir_walk_first(m); op && ok; op = ir_walk(m, op))
		decompose_reshape(m, cx, op);
	rewrite_reduce_end(m, &reduce);
	for (op_id op = ir_walk_first(m); op && ok; op = ir_walk(m, op))
		op_layout_assume(m, op);
	return ok;
}
