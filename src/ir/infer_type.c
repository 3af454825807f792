/* infer_type: finds default result types.
 *
 * A rule computes the shape and dtype of the result from a draft. The layout of an inferred type is
 * replicated on the operands' mesh. */
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/infer_rule.h"
#include "ir/layout.h"
#include "ir/print.h"
#include <stdio.h>
#include <string.h>

const struct type *rule_operand_type(struct module *m, const struct infer_draft *f, unsigned k)
{
	return k < f->operand_n && f->operand[k] ? value_type(m, f->operand[k]) : NULL;
}

const struct domain *rule_operand_domain(struct module *m, const struct infer_draft *f, unsigned k)
{
	const struct type *t = rule_operand_type(m, f, k);
	return t ? &m->domain.at[t->domain] : NULL;
}

/* Reports `operand 2 is f32[3, 4] but operand 1 is f32[4, 4]`. */
void rule_report_pair(struct module *m, struct diag *d, enum diagnostic code, const struct infer_draft *f,
                      unsigned a, unsigned b, const char *what)
{
	struct buf x = {0}, y = {0};
	ir_print_type(m, m->value.at[f->operand[a]].type, &x);
	ir_print_type(m, m->value.at[f->operand[b]].type, &y);
	diag_error(d, code, f->at, "%s: %s: operand %u is %s, operand %u is %s", op_info[f->kind].hir, what,
	           a + 1, x.at, b + 1, y.at);
	buf_free(&x);
	buf_free(&y);
}

void rule_report(struct module *m, struct diag *d, enum diagnostic code, const struct infer_draft *f,
                 unsigned k, const char *what)
{
	struct buf x = {0};
	ir_print_type(m, m->value.at[f->operand[k]].type, &x);
	diag_error(d, code, f->at, "%s: %s, operand %u is %s", op_info[f->kind].hir, what, k + 1, x.at);
	buf_free(&x);
}

bool rule_same_dtypes(struct module *m, struct diag *d, const struct infer_draft *f, unsigned from)
{
	int first = -1;
	for (unsigned k = from; k < f->operand_n; k++) {
		const struct type *t = rule_operand_type(m, f, k);
		if (!t)
			continue;
		if (first < 0)
			first = (int)k;
		else if (t->dtype != rule_operand_type(m, f, (unsigned)first)->dtype) {
			rule_report_pair(m, d, E_OPERAND_DTYPE, f, (unsigned)first, k,
			                 "operands must have one dtype");
			diag_note(d, DIAG_NOWHERE, "there is no implicit promotion: use cast");
			return false;
		}
	}
	return true;
}

/* Broadcasts all tensor operands from `from` on, aligned at the right. */
static bool broadcast_shapes(struct module *m, struct diag *d, const struct infer_draft *f,
                             struct infer_result *r)
{
	unsigned widest = 0;
	r->rank = 0;
	for (unsigned k = 0; k < f->operand_n; k++) {
		const struct domain *o = rule_operand_domain(m, f, k);
		if (!o)
			continue;
		if (o->rank > r->rank) {
			memmove(r->extent + (o->rank - r->rank), r->extent, sizeof *r->extent * r->rank);
			for (unsigned i = 0; i < o->rank - r->rank; i++)
				r->extent[i] = expr_const(m, 1);
			o = rule_operand_domain(m, f, k);
			r->rank = o->rank;
		}
		for (unsigned i = 0; i < o->rank; i++) {
			expr_id *e = &r->extent[r->rank - o->rank + i], mine = o->axis[i].extent;
			if (expr_is_one(m, *e))
				*e = mine;
			else if (!rule_extents_agree(m, *e, mine) && !expr_is_one(m, mine)) {
				rule_report_pair(m, d, E_SHAPES_DIFFER, f, widest, k, "shapes differ");
				return false;
			}
		}
		widest = k;
	}
	return true;
}

/* Returns false after reporting that an operation does not take the dtype of an operand or of the result. stated: the
 * result's type, or NULL. */
static bool check_dtypes(struct module *m, struct diag *d, const struct infer_draft *f,
                         const struct type *stated)
{
	enum pointwise op;
	const char *takes;
	char what[64];
	if (!op_pointwise(f->kind, &op))
		return true;
	for (unsigned k = 0; k < f->operand_n; k++) {
		const struct type *t = rule_operand_type(m, f, k);
		takes = t ? pointwise_refuses(op, (enum dtype)t->dtype) : NULL;
		if (!takes)
			continue;
		snprintf(what, sizeof what, "operands must be %s", takes);
		rule_report(m, d, E_OPERAND_DTYPE, f, k, what);
		if (t->dtype == DTYPE_BOOL && pointwise_class(op) == CLASS_INTEGER)
			diag_note(d, DIAG_NOWHERE, "logical_and, logical_or and logical_not take bool");
		return false;
	}
	takes = f->operand_n && stated ? pointwise_refuses(op, (enum dtype)stated->dtype) : NULL;
	if (takes) {
		diag_error(d, E_OPERAND_DTYPE, f->at, "%s gives %s, not %s", op_info[f->kind].hir, takes,
		           dtype_name(stated->dtype));
		return false;
	}
	return true;
}

/* Reports an operation whose dtype no operand gives. Returns false. */
static bool report_untyped(struct diag *d, const struct infer_draft *f)
{
	diag_error(d, E_RESULT_TYPE_NEEDED, f->at, "%s needs a result type", op_info[f->kind].hir);
	diag_note(d, DIAG_NOWHERE, "write `Y: %s[…] = %s(…)`", f->kind == OP_IOTA ? "i64" : "f32",
	          op_info[f->kind].hir);
	return false;
}

static bool rule_pointwise(struct module *m, struct diag *d, const struct infer_draft *f,
                           struct infer_result *r)
{
	unsigned from = f->kind == OP_WHERE;
	if (!rule_same_dtypes(m, d, f, from) || !broadcast_shapes(m, d, f, r))
		return false;
	const struct type *first = NULL;
	for (unsigned k = from; k < f->operand_n && !first; k++)
		first = rule_operand_type(m, f, k);
	const struct type *stated = f->stated ? &m->type.at[f->stated] : NULL;
	if (!check_dtypes(m, d, f, stated))
		return false;
	if (f->kind == OP_CAST || f->kind == OP_BITCAST || f->kind == OP_FULL || !first) {
		if (!stated)
			return report_untyped(d, f);
		r->dtype = op_info[f->kind].traits & TRAIT_BOOL ? DTYPE_BOOL : stated->dtype;
		if (f->kind == OP_BITCAST)
			return rule_bitcast(m, d, f);
		if (f->kind == OP_FULL || (!first && f->kind != OP_CAST)) {
			const struct domain *s = &m->domain.at[stated->domain];
			r->rank = s->rank;
			for (unsigned i = 0; i < s->rank; i++)
				r->extent[i] = s->axis[i].extent;
		}
		return true;
	}
	if (f->kind == OP_WHERE && rule_operand_type(m, f, 0) &&
	    rule_operand_type(m, f, 0)->dtype != DTYPE_BOOL) {
		rule_report(m, d, E_OPERAND_DTYPE, f, 0, "the condition must be bool");
		return false;
	}
	r->dtype = op_info[f->kind].traits & TRAIT_BOOL ? DTYPE_BOOL : first->dtype;
	return true;
}

void rule_shape_of_operand(struct module *m, const struct infer_draft *f, unsigned k, struct infer_result *r)
{
	const struct domain *o = rule_operand_domain(m, f, k);
	r->dtype = rule_operand_type(m, f, k)->dtype;
	r->rank = o->rank;
	for (unsigned i = 0; i < o->rank; i++)
		r->extent[i] = o->axis[i].extent;
}

static bool rule_matmul(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	const struct domain *a = rule_operand_domain(m, f, 0), *b = rule_operand_domain(m, f, 1);
	if (a->rank < 2 || b->rank < 2) {
		rule_report(m, d, E_OPERAND_RANK, f, a->rank < 2 ? 0 : 1, "operands need at least two axes");
		return false;
	}
	if (!rule_extents_agree(m, a->axis[a->rank - 1].extent, b->axis[b->rank - 2].extent)) {
		rule_report_pair(m, d, E_CONTRACTION, f, 0, 1, "the contracted extents differ");
		return false;
	}
	unsigned batch = (a->rank > b->rank ? a->rank : b->rank) - 2;
	for (unsigned i = 0; i < batch; i++) {
		int ia = (int)a->rank - 2 - (int)batch + (int)i, ib = (int)b->rank - 2 - (int)batch + (int)i;
		expr_id ea = ia >= 0 ? a->axis[ia].extent : 0, eb = ib >= 0 ? b->axis[ib].extent : 0;
		if (ea && eb && !rule_extents_agree(m, ea, eb) && !expr_is_one(m, ea) &&
		    !expr_is_one(m, eb)) {
			rule_report_pair(m, d, E_CONTRACTION, f, 0, 1, "the batch extents differ");
			return false;
		}
		r->extent[i] = !ea || (eb && expr_is_one(m, ea)) ? eb : ea;
	}
	r->dtype = rule_operand_type(m, f, 0)->dtype;
	r->rank = batch + 2;
	r->extent[batch] = a->axis[a->rank - 2].extent;
	r->extent[batch + 1] = b->axis[b->rank - 1].extent;
	return true;
}

static bool rule_linear(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	const struct domain *x = rule_operand_domain(m, f, 0), *w = rule_operand_domain(m, f, 1),
	                    *b = rule_operand_domain(m, f, 2);
	if (x->rank < 1) {
		rule_report(m, d, E_OPERAND_RANK, f, 0, "the input needs at least one axis");
		return false;
	}
	if (w->rank != 2) {
		rule_report(m, d, E_CONTRACTION, f, 1, "the weight must be [n, k]");
		return false;
	}
	if (!rule_extents_agree(m, x->axis[x->rank - 1].extent, w->axis[1].extent)) {
		rule_report_pair(m, d, E_CONTRACTION, f, 0, 1, "the contracted extents differ");
		return false;
	}
	if (b && (b->rank != 1 || !rule_extents_agree(m, b->axis[0].extent, w->axis[0].extent))) {
		rule_report_pair(m, d, E_CONTRACTION, f, 1, 2, "the bias must be [n]");
		return false;
	}
	rule_shape_of_operand(m, f, 0, r);
	r->extent[r->rank - 1] = w->axis[0].extent;
	return true;
}

static bool attr_is_true(const struct module *m, attrs_id attrs, const char *key)
{
	const struct attr *a = attrs_find(m, attrs, key);
	return a && a->kind == ATTR_NAME && !strcmp(names_text(m->names, a->u.name), "true");
}

static bool rule_reduction(struct module *m, struct diag *d, const struct infer_draft *f,
                           struct infer_result *r)
{
	const struct domain *o = rule_operand_domain(m, f, 0);
	const struct attr *a = attrs_find(m, f->attrs, "axis");
	for (unsigned i = 0; a && i < (a->kind == ATTR_INTS ? a->n : 1); i++) {
		int64_t k = a->kind == ATTR_INTS ? a->u.ints[i] : a->u.i;
		if ((a->kind != ATTR_INTS && a->kind != ATTR_INT) || k >= o->rank || k < -(int64_t)o->rank) {
			rule_report(m, d, E_AXIS_ATTRIBUTE, f, 0, "axis= must name axes of the operand");
			return false;
		}
	}
	unsigned mask = infer_reduced_axes(m, f->attrs, o->rank);
	bool keep = attr_is_true(m, f->attrs, "keepdims");
	r->dtype = rule_operand_type(m, f, 0)->dtype;
	r->rank = 0;
	for (unsigned i = 0; i < o->rank; i++)
		if (!(mask >> i & 1))
			r->extent[r->rank++] = rule_operand_domain(m, f, 0)->axis[i].extent;
		else if (keep)
			r->extent[r->rank++] = expr_const(m, 1);
	return true;
}

bool rule_axis(struct module *m, struct diag *d, const struct infer_draft *f, unsigned rank, int otherwise,
               unsigned *out)
{
	const struct attr *a = attrs_find(m, f->attrs, "axis");
	int64_t k = a && a->kind == ATTR_INT ? a->u.i : a ? (int)rank : otherwise;
	k = k < 0 ? k + rank : k;
	if (k < 0 || k >= rank) {
		rule_report(m, d, E_AXIS_ATTRIBUTE, f, 0, "axis= must name an axis of the operand");
		return false;
	}
	*out = (unsigned)k;
	return true;
}

/* Returns an integer attribute, or `otherwise` if it is absent; 0 after reporting. */
expr_id rule_attr_expr(struct module *m, struct diag *d, const struct infer_draft *f, const char *key,
                       expr_id otherwise)
{
	const struct attr *a = attrs_find(m, f->attrs, key);
	if (!a)
		return otherwise;
	if (a->kind == ATTR_INT || a->kind == ATTR_EXPR)
		return a->kind == ATTR_INT ? expr_const(m, a->u.i) : a->u.expr;
	diag_error(d, E_ATTRIBUTE_VALUE, f->at, "%s: %s= must be an integer", op_info[f->kind].hir, key);
	return 0;
}

bool rule_number(const struct module *m, expr_id e, int64_t *out)
{
	return expr_is_const(m, e, out) ||
	       (m->params_count && !(m->expr.at[e].flags & (EXPR_HAS_INDEX | EXPR_HAS_RANK)) &&
	        expr_eval(m, e, &(struct expr_env){.rank = -1}, out, NULL) == EXPR_OK);
}

/* Returns true if an extent is a scalar that a listing uses without a declaration: nvFuser prints equal extents as
 * different scalars. */
static bool is_undeclared(const struct module *m, expr_id e)
{
	const struct expr *x = &m->expr.at[e];
	return x->kind == EXPR_PARAM && !m->param.at[x->k].name && !m->param.at[x->k].meaning;
}

bool rule_extents_agree(const struct module *m, expr_id a, expr_id b)
{
	int64_t x, y;
	if (a == b)
		return true;
	if (rule_number(m, a, &x) && rule_number(m, b, &y))
		return x == y;
	return is_undeclared(m, a) || is_undeclared(m, b);
}

bool rule_is_less(const struct module *m, expr_id a, expr_id b)
{
	int64_t x, y;
	return rule_number(m, a, &x) && rule_number(m, b, &y) && x < y;
}

bool rule_fits(struct module *m, struct diag *d, const struct infer_draft *f, expr_id extent)
{
	if (!extent)
		rule_report(m, d, E_RESULT_TOO_LARGE, f, 0, "the result's extent does not fit in 64 bits");
	return extent != 0;
}

/* softmax: axis=, if present, must name an axis. */
static bool rule_softmax(struct module *m, struct diag *d, const struct infer_draft *f,
                         struct infer_result *r)
{
	unsigned axis;
	rule_shape_of_operand(m, f, 0, r);
	return !attrs_find(m, f->attrs, "axis") || rule_axis(m, d, f, r->rank, 0, &axis);
}

/* layernorm, rmsnorm: weight and bias must be [n], where n is the extent of the last axis. */
static bool rule_norm(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	rule_shape_of_operand(m, f, 0, r);
	if (!r->rank) {
		rule_report(m, d, E_OPERAND_RANK, f, 0, "the operand needs at least one axis");
		return false;
	}
	for (unsigned k = 1; k < f->operand_n; k++) {
		const struct domain *w = rule_operand_domain(m, f, k);
		if (w->rank != 1 || rule_is_less(m, w->axis[0].extent, r->extent[r->rank - 1]) ||
		    rule_is_less(m, r->extent[r->rank - 1], w->axis[0].extent)) {
			rule_report_pair(m, d, E_SHAPES_DIFFER, f, 0, k,
			                 "weight and bias must be as long as the last axis");
			return false;
		}
	}
	return true;
}

bool rule_may_broadcast(struct module *m, expr_id extent, expr_id to)
{
	return expr_is_one(m, extent) || (!rule_is_less(m, extent, to) && !rule_is_less(m, to, extent));
}

static bool rule_broadcast(struct module *m, struct diag *d, const struct infer_draft *f,
                           struct infer_result *r)
{
	const struct domain *o = rule_operand_domain(m, f, 0);
	if (!rule_shape_attr(m, d, f, r))
		return false;
	bool fits = o->rank <= r->rank;
	for (unsigned i = 0; fits && i < o->rank; i++)
		fits = rule_may_broadcast(m, o->axis[i].extent, r->extent[r->rank - o->rank + i]);
	if (!fits)
		rule_report(m, d, E_SHAPES_DIFFER, f, 0,
		            "from the last axis on, extents must be 1 or those of the result");
	return fits;
}

static void rule_select(struct module *m, const struct infer_draft *f, struct infer_result *r)
{
	const struct attr *axis = attrs_find(m, f->attrs, "axis");
	rule_shape_of_operand(m, f, 0, r);
	r->rank--;
	for (unsigned i = axis ? (unsigned)axis->u.i : 0; i < r->rank; i++)
		r->extent[i] = r->extent[i + 1];
}

bool rule_result(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	uint32_t traits = op_info[f->kind].traits;
	for (unsigned k = 0; k < f->operand_n && !(traits & TRAIT_POINTWISE); k++)
		if (!f->operand[k]) {
			diag_error(d, E_OPERAND_TENSOR, f->at, "%s: operand %u must be a tensor",
			           op_info[f->kind].hir, k + 1);
			return false;
		}
	if (traits & TRAIT_POINTWISE)
		return f->kind == OP_UNIFORM ? rule_uniform(m, d, f, r) : rule_pointwise(m, d, f, r);
	if (traits & TRAIT_REDUCTION)
		return rule_reduction(m, d, f, r);
	switch (f->kind) {
	case OP_MATMUL:
		return rule_same_dtypes(m, d, f, 0) && rule_matmul(m, d, f, r);
	case OP_LINEAR:
		return rule_same_dtypes(m, d, f, 0) && rule_linear(m, d, f, r);
	case OP_RESHAPE:
		return rule_reshape(m, d, f, r);
	case OP_BROADCAST:
		return rule_broadcast(m, d, f, r);
	case OP_IOTA:
		if (!f->stated)
			return report_untyped(d, f);
		r->dtype = m->type.at[f->stated].dtype;
		return rule_shape_attr(m, d, f, r);
	case OP_PERMUTE:
		return rule_permute(m, d, f, r);
	case OP_SLICE:
	case OP_PAD:
		return rule_slice(m, d, f, r);
	case OP_CAT:
		return rule_cat(m, d, f, r);
	case OP_SPLIT:
		return rule_split(m, d, f, r);
	case OP_TOPK:
		return rule_topk(m, d, f, r);
	case OP_TAKE:
		return rule_take(m, d, f, r);
	case OP_GROUPED_MATMUL:
		return rule_grouped(m, d, f, r);
	case OP_PUT:
		return rule_put(m, d, f, r);
	case OP_ONE_HOT:
		return rule_one_hot(m, d, f, r);
	case OP_SCAN:
		return rule_scan(m, d, f, r);
	case OP_SOFTMAX:
		return rule_softmax(m, d, f, r);
	case OP_LAYERNORM:
	case OP_RMSNORM:
		return rule_same_dtypes(m, d, f, 0) && rule_norm(m, d, f, r);
	case OP_SDPA:
		return rule_sdpa(m, d, f, r);
	case OP_SDPA_BACKWARD:
		return rule_sdpa_backward(m, d, f, r);
	case OP_DISPATCH:
		return rule_dispatch(m, d, f, r);
	case OP_COMBINE:
		return rule_combine(m, d, f, r);
	case OP_SELECT:
		rule_select(m, f, r);
		return true;
	default:
		if (f->operand_n && rule_operand_type(m, f, 0)) {
			rule_shape_of_operand(m, f, 0, r);
			return true;
		}
		diag_error(d, E_RESULT_TYPE_NEEDED, f->at, "%s needs a result type", op_info[f->kind].hir);
		return false;
	}
}

/* Returns the type with axis 0 spread over a mesh axis, and all other axes whole. */
static type_id spread_type(struct module *m, const struct infer_result *r)
{
	struct sugar s = {.rank = r->rank, .axis_n = r->rank};
	unsigned offending;
	domain_id d;
	for (unsigned i = 0; i < r->rank; i++)
		s.axis[i].extent = r->extent[i];
	s.axis[0].place_n = 1;
	s.axis[0].place[0] = (struct sugar_place){.kind = SUGAR_MESH, .mesh_axis = (uint8_t)(r->spread - 1)};
	return sugar_expand(m, &s, r->mesh, false, &d, &offending)
	           ? 0
	           : type_make(m, r->dtype, MEMORY_GLOBAL, r->mesh, d);
}

enum dtype infer_dtype(struct module *m, const struct infer_draft *f)
{
	struct infer_result r = {0};
	struct diag *quiet = diag_new(NULL, DIAG_TEXT, COLOR_NEVER);
	bool fits = rule_result(m, quiet, f, &r);
	diag_free(quiet);
	return fits ? r.dtype : (enum dtype)m->type.at[f->stated].dtype;
}

type_id infer_type(struct module *m, struct diag *d, const struct infer_draft *f)
{
	struct infer_result r = {0};
	if (!rule_result(m, d, f, &r))
		return 0;
	if (r.spread)
		return spread_type(m, &r);
	struct domain_builder b;
	domain_begin(&b);
	for (unsigned i = 0; i < r.rank; i++)
		if (!r.extent[i] || domain_add_axis(&b, AXIS_ITER, r.extent[i]) < 0) {
			diag_error(d, E_RESULT_TOO_LARGE, f->at,
			           "%s: the result has too many axes or an extent overflows",
			           op_info[f->kind].hir);
			return 0;
		}
	domain_allocate_default(&b, false);
	mesh_id mesh = f->mesh;
	for (unsigned k = f->operand_n; k-- > 0;)
		if (rule_operand_type(m, f, k) && rule_operand_type(m, f, k)->mesh)
			mesh = rule_operand_type(m, f, k)->mesh;
	return type_make(m, r.dtype, MEMORY_GLOBAL, mesh, domain_finish(m, &b));
}
