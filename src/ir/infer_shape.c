/* infer_shape: finds the types of operations that only rearrange elements, and of those without operands. */
#include "ir/expr.h"
#include "ir/infer_rule.h"

bool rule_shape_attr(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	const struct attr *a = attrs_find(m, f->attrs, "shape");
	const struct domain *s = f->stated ? &m->domain.at[m->type.at[f->stated].domain] : NULL;
	if (!s && (!a || a->kind != ATTR_EXPRS)) {
		diag_error(d, E_RESULT_TYPE_NEEDED, f->at, "%s needs its result shape", op_info[f->kind].hir);
		diag_note(d, DIAG_NOWHERE, "write `%s(%s[m, n])` or state the result type",
		          op_info[f->kind].hir, op_info[f->kind].max_reads ? "X, " : "");
		return false;
	}
	if (f->operand_n && rule_operand_type(m, f, 0))
		r->dtype = rule_operand_type(m, f, 0)->dtype;
	r->rank = a && a->kind == ATTR_EXPRS ? a->n : s->rank;
	if (r->rank > IR_MAX_LOGICAL)
		r->rank = IR_MAX_LOGICAL;
	for (unsigned i = 0; i < r->rank; i++)
		r->extent[i] = a && a->kind == ATTR_EXPRS ? a->u.exprs[i] : s->axis[i].extent;
	return true;
}

bool rule_uniform(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	r->dtype = f->stated ? m->type.at[f->stated].dtype : DTYPE_F32;
	if (dtype_is_float((enum dtype)r->dtype))
		return rule_shape_attr(m, d, f, r);
	diag_error(d, E_OPERAND_DTYPE, f->at, "uniform gives floats, not %s",
	           dtype_name((enum dtype)r->dtype));
	return false;
}

static expr_id multiply_all(struct module *m, const expr_id *e, unsigned n)
{
	expr_id p = expr_const(m, 1);
	for (unsigned i = 0; i < n && p; i++)
		p = expr_canon(m, expr_mul(m, p, e[i]));
	return p;
}

bool rule_reshape(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	struct infer_result o = {0};
	if (!rule_shape_attr(m, d, f, r))
		return false;
	rule_shape_of_operand(m, f, 0, &o);
	int64_t a, b;
	expr_id pa = multiply_all(m, o.extent, o.rank), pb = multiply_all(m, r->extent, r->rank);
	if (pa && pb && pa != pb && rule_number(m, pa, &a) && rule_number(m, pb, &b) && a != b) {
		rule_report(m, d, E_RESHAPE, f, 0, "the number of elements changes");
		return false;
	}
	return true;
}

bool rule_permute(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	const struct domain *o = rule_operand_domain(m, f, 0);
	const struct attr *a = attrs_find(m, f->attrs, "dims");
	unsigned seen = 0;
	if (!a || a->kind != ATTR_INTS || a->n != o->rank) {
		rule_report(m, d, E_PERMUTE, f, 0, "dims must list each axis once");
		return false;
	}
	r->dtype = rule_operand_type(m, f, 0)->dtype;
	r->rank = o->rank;
	for (unsigned i = 0; i < o->rank; i++) {
		int64_t k = a->u.ints[i];
		if (k < 0 || k >= o->rank || seen >> k & 1) {
			rule_report(m, d, E_PERMUTE, f, 0, "dims must list each axis once");
			return false;
		}
		seen |= 1u << k;
		r->extent[i] = o->axis[k].extent;
	}
	return true;
}

bool rule_slice(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	unsigned axis;
	rule_shape_of_operand(m, f, 0, r);
	if (!rule_axis(m, d, f, r->rank, 0, &axis))
		return false;
	expr_id zero = expr_const(m, 0), extent = r->extent[axis];
	bool pad = f->kind == OP_PAD;
	expr_id from = rule_attr_expr(m, d, f, pad ? "before" : "start", zero);
	expr_id to = from ? rule_attr_expr(m, d, f, pad ? "after" : "stop", pad ? zero : extent) : 0;
	if (!from || !to)
		return false;
	if (pad && (rule_is_less(m, from, zero) || rule_is_less(m, to, zero))) {
		rule_report(m, d, E_SLICE_BOUNDS, f, 0, "before= and after= cannot be negative");
		return false;
	}
	if (!pad &&
	    (rule_is_less(m, from, zero) || rule_is_less(m, to, from) || rule_is_less(m, extent, to))) {
		rule_report(m, d, E_SLICE_BOUNDS, f, 0, "start= and stop= must lie within the axis");
		return false;
	}
	expr_id sum = pad ? expr_add(m, extent, from) : expr_op(m, EXPR_SUB, to, from);
	r->extent[axis] = !sum ? 0 : expr_canon(m, pad ? expr_add(m, sum, to) : sum);
	if (r->extent[axis] && m->expr.at[r->extent[axis]].flags & (EXPR_HAS_INDEX | EXPR_HAS_RANK)) {
		rule_report(m, d, E_SLICE_BOUNDS, f, 0,
		            pad ? "before= + after= must be the same on all ranks and in all iterations"
		                : "stop= - start= must be the same on all ranks and in all iterations");
		return false;
	}
	return rule_fits(m, d, f, r->extent[axis]);
}

bool rule_cat(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	unsigned axis;
	if (!rule_same_dtypes(m, d, f, 0))
		return false;
	rule_shape_of_operand(m, f, 0, r);
	if (!rule_axis(m, d, f, r->rank, 0, &axis))
		return false;
	for (unsigned k = 1; k < f->operand_n; k++) {
		const struct domain *o = rule_operand_domain(m, f, k);
		for (unsigned i = 0; i < r->rank; i++)
			if (o->rank != r->rank ||
			    (i != axis && (rule_is_less(m, o->axis[i].extent, r->extent[i]) ||
			                   rule_is_less(m, r->extent[i], o->axis[i].extent)))) {
				rule_report_pair(m, d, E_SHAPES_DIFFER, f, 0, k,
				                 "shapes differ in more than the axis");
				return false;
			}
		expr_id sum = expr_add(m, r->extent[axis], rule_operand_domain(m, f, k)->axis[axis].extent);
		r->extent[axis] = sum ? expr_canon(m, sum) : 0;
		if (!rule_fits(m, d, f, r->extent[axis]))
			return false;
	}
	return true;
}
