/* infer_index: finds the result types of operations on indices, of split and of bitcast.
 *
 *     gather(T: f32[v, h], I: i64[b, s])            f32[b, s, h]     the axes of the indices replace the axis
 *     gather(T: f32[b, v], I: i64[s], axis=1)       f32[b, s]
 *     scatter(A: f32[v, h], I: i64[n, h], S: f32[n, h])     f32[v, h]     S may be a number, and I i64[n]
 *     grouped_matmul(A: f32[m, k], B: f32[g, k, n], E: i64[g])     f32[m, n]
 *     split(X: f32[6, h], axis=0)                   f32[3, h], f32[3, h]     by the number of results
 *     scan(X: f32[t, e], axis=0)                    f32[t, e]
 *     topk(X: f32[t, e], k=2)                       f32[t, 2], i64[t, 2]
 *     one_hot(I: i64[b, s], num_classes=8)          i64[b, s, 8]     or the stated dtype
 *     bitcast(X: f32[8])                            i32[8]           as stated, of the same width */
#include "ir/expr.h"
#include "ir/infer_rule.h"
#include "ir/print.h"

static const char INDICES[] = "the indices must be integers";

bool rule_is_index(struct module *m, struct diag *d, const struct infer_draft *f, unsigned k,
                   const char *what)
{
	enum dtype t = rule_operand_type(m, f, k)->dtype;
	if (!dtype_is_float(t) && t != DTYPE_BOOL)
		return true;
	rule_report(m, d, E_OPERAND_DTYPE, f, k, what);
	diag_note(d, DIAG_NOWHERE, "use cast");
	return false;
}

bool rule_take(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	struct infer_result from, index;
	unsigned axis;
	rule_shape_of_operand(m, f, 0, &from);
	rule_shape_of_operand(m, f, 1, &index);
	if (!rule_is_index(m, d, f, 1, INDICES) || !rule_axis(m, d, f, from.rank, 0, &axis))
		return false;
	if (from.rank - 1 + index.rank > IR_MAX_LOGICAL) {
		rule_report_pair(m, d, E_RESULT_TOO_LARGE, f, 0, 1, "the result has too many axes");
		return false;
	}
	r->dtype = from.dtype;
	r->rank = 0;
	for (unsigned i = 0; i < axis; i++)
		r->extent[r->rank++] = from.extent[i];
	for (unsigned i = 0; i < index.rank; i++)
		r->extent[r->rank++] = index.extent[i];
	for (unsigned i = axis + 1; i < from.rank; i++)
		r->extent[r->rank++] = from.extent[i];
	return true;
}

/* Returns true if op= is a reduction without a division at the end, or absent. Otherwise reports. */
static bool has_reduction(struct module *m, struct diag *d, const struct infer_draft *f)
{
	const struct attr *op = attrs_find(m, f->attrs, "op");
	enum reduce_op reduce;
	if (!op || (op->kind == ATTR_NAME && reduce_op_parse(names_text(m->names, op->u.name), &reduce) &&
	            reduce != REDUCE_AVG))
		return true;
	diag_error(d, E_REDUCTION_UNKNOWN, f->at, "the op= of a %s is sum, prod, min or max",
	           op_info[f->kind].hir);
	return false;
}

/* Returns the shape of an operation's operand k, with the other axes of operand 0 if it has only the indexed one. */
static void shape_of_lines(struct module *m, const struct infer_draft *f, unsigned k, unsigned axis,
                           struct infer_result *o)
{
	rule_shape_of_operand(m, f, k, o);
	if (k != 1 || o->rank != 1)
		return;
	expr_id n = o->extent[0];
	rule_shape_of_operand(m, f, 0, o);
	o->extent[axis] = n;
}

/* Returns true if two operands of a scatter have the same extents, the first one but for `axis`. Otherwise reports. */
static bool has_extents(struct module *m, struct diag *d, const struct infer_draft *f, unsigned of,
                        unsigned k, unsigned axis)
{
	struct infer_result r, o;
	shape_of_lines(m, f, of, axis, &r);
	shape_of_lines(m, f, k, axis, &o);
	bool fits = r.rank == o.rank;
	for (unsigned i = 0; fits && i < r.rank; i++)
		fits = (of == 0 && i == axis) || rule_extents_agree(m, r.extent[i], o.extent[i]);
	if (!fits)
		rule_report_pair(m, d, E_SHAPES_DIFFER, f, of, k,
		                 of ? "there is one element for each index"
		                    : "along other axes the indices have the extents of the first operand");
	return fits;
}

bool rule_put(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	unsigned axis;
	const struct type *from = rule_operand_type(m, f, 2);
	rule_shape_of_operand(m, f, 0, r);
	if (!rule_is_index(m, d, f, 1, INDICES) || !rule_axis(m, d, f, r->rank, 0, &axis) ||
	    !has_reduction(m, d, f) || !has_extents(m, d, f, 0, 1, axis))
		return false;
	if (from && from->dtype != r->dtype) {
		rule_report_pair(m, d, E_OPERAND_DTYPE, f, 0, 2,
		                 "the elements have the dtype of the first operand");
		return false;
	}
	return !from || has_extents(m, d, f, 1, 2, axis);
}

bool rule_grouped(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	struct infer_result b, ends;
	rule_shape_of_operand(m, f, 0, r);
	rule_shape_of_operand(m, f, 1, &b);
	rule_shape_of_operand(m, f, 2, &ends);
	if (!rule_is_index(m, d, f, 2, "the ends of the groups must be integers"))
		return false;
	if (r->rank != 2 || b.rank != 3 || ends.rank != 1) {
		rule_report_pair(m, d, E_OPERAND_RANK, f, 0, 1,
		                 "it takes rows [m, k], matrices [g, k, n] and ends [g]");
		return false;
	}
	if (r->dtype != b.dtype) {
		rule_report_pair(m, d, E_OPERAND_DTYPE, f, 0, 1, "rows and matrices have one dtype");
		return false;
	}
	if (!rule_extents_agree(m, r->extent[1], b.extent[1])) {
		rule_report_pair(m, d, E_CONTRACTION, f, 0, 1, "the contracted extents differ");
		return false;
	}
	if (!rule_extents_agree(m, b.extent[0], ends.extent[0])) {
		rule_report_pair(m, d, E_SHAPES_DIFFER, f, 1, 2, "there is an end for each matrix");
		return false;
	}
	r->extent[1] = b.extent[2];
	return true;
}

/* Returns the extent of result number f->result for an axis of extent n; 0 after reporting. */
static expr_id part_of(struct module *m, struct diag *d, const struct infer_draft *f, expr_id n)
{
	const struct attr *sizes = attrs_find(m, f->attrs, "sizes");
	int64_t whole, parts = (int64_t)f->result_n;
	if (!sizes) {
		if (expr_is_const(m, n, &whole) && whole % parts) {
			diag_error(d, E_SPLIT_SIZES, f->at,
			           "split: %lld elements are not cut into %lld equal parts", (long long)whole,
			           (long long)parts);
			diag_note(d, DIAG_NOWHERE, "state them: sizes=[3, 4]");
			return 0;
		}
		expr_id e = expr_op(m, EXPR_DIV, n, expr_const(m, parts));
		return e ? expr_canon(m, e) : 0;
	}
	if (sizes->kind != ATTR_EXPRS || sizes->n != f->result_n) {
		diag_error(d, E_SPLIT_SIZES, f->at,
		           "split: sizes=[…] must have an extent for each of the %u results", f->result_n);
		return 0;
	}
	expr_id sum = expr_const(m, 0);
	for (unsigned k = 0; k < sizes->n && sum; k++)
		sum = expr_add(m, sum, sizes->u.exprs[k]);
	sum = sum ? expr_canon(m, sum) : 0;
	if (!sum || rule_is_less(m, sum, n) || rule_is_less(m, n, sum)) {
		rule_report(m, d, E_SPLIT_SIZES, f, 0, "sizes= must add up to the extent of the axis");
		return 0;
	}
	return sizes->u.exprs[f->result];
}

bool rule_split(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	unsigned axis;
	rule_shape_of_operand(m, f, 0, r);
	if (!rule_axis(m, d, f, r->rank, 0, &axis))
		return false;
	r->extent[axis] = part_of(m, d, f, r->extent[axis]);
	return r->extent[axis] != 0;
}

bool rule_scan(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	unsigned axis;
	rule_shape_of_operand(m, f, 0, r);
	return has_reduction(m, d, f) && rule_axis(m, d, f, r->rank, -1, &axis);
}

bool rule_topk(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	unsigned axis;
	expr_id zero = expr_const(m, 0);
	rule_shape_of_operand(m, f, 0, r);
	if (!rule_axis(m, d, f, r->rank, -1, &axis))
		return false;
	if (!attrs_find(m, f->attrs, "k")) {
		diag_error(d, E_ATTRIBUTE_MISSING, f->at, "topk needs k=");
		return false;
	}
	expr_id k = rule_attr_expr(m, d, f, "k", 0);
	if (!k)
		return false;
	if (rule_is_less(m, k, zero) || rule_is_less(m, r->extent[axis], k)) {
		rule_report(m, d, E_TOPK, f, 0, "k= must lie within the axis");
		return false;
	}
	r->extent[axis] = k;
	r->dtype = f->result ? DTYPE_I64 : r->dtype;
	return true;
}

bool rule_one_hot(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	const struct type *stated = f->stated ? &m->type.at[f->stated] : NULL;
	const struct domain *s = stated ? &m->domain.at[stated->domain] : NULL;
	rule_shape_of_operand(m, f, 0, r);
	if (!rule_is_index(m, d, f, 0, INDICES))
		return false;
	r->dtype = stated ? stated->dtype : DTYPE_I64;
	expr_id zero = expr_const(m, 0), last = s && s->rank ? s->axis[s->rank - 1].extent : 0,
	        n = rule_attr_expr(m, d, f, "num_classes", last ? last : zero);
	if (!n)
		return false;
	if (!last && !attrs_find(m, f->attrs, "num_classes")) {
		diag_error(d, E_ATTRIBUTE_MISSING, f->at, "one_hot needs num_classes= or a result type");
		return false;
	}
	if (rule_is_less(m, n, zero)) {
		rule_report(m, d, E_ATTRIBUTE_VALUE, f, 0, "num_classes= cannot be negative");
		return false;
	}
	if (r->rank == IR_MAX_LOGICAL) {
		rule_report(m, d, E_RESULT_TOO_LARGE, f, 0, "the result has too many axes");
		return false;
	}
	r->extent[r->rank++] = n;
	return true;
}

bool rule_bitcast(struct module *m, struct diag *d, const struct infer_draft *f)
{
	const struct type *x = rule_operand_type(m, f, 0);
	struct buf type = {0};
	const char *why = NULL;
	if (!x) {
		diag_error(d, E_OPERAND_TENSOR, f->at, "bitcast: operand 1 must be a tensor");
		return false;
	}
	enum dtype from = x->dtype, to = m->type.at[f->stated].dtype;
	if (from == DTYPE_BOOL || to == DTYPE_BOOL)
		why = "bool has no bits to share";
	else if (dtype_bytes(from) != dtype_bytes(to))
		why = "the dtypes must have the same width";
	if (!why)
		return true;
	ir_print_type(m, m->value.at[f->operand[0]].type, &type);
	diag_error(d, E_BITCAST, f->at, "bitcast: %s: operand 1 is %s, the result %s", why, type.at,
	           dtype_name(to));
	diag_note(d, DIAG_NOWHERE, "use cast to convert values");
	buf_free(&type);
	return false;
}
