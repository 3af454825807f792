/* infer_experts: finds the types of dispatch and combine, which move rows to the ranks of their experts
 * and back.
 *
 *     rows, e, w, s, to, from = dispatch(X: f32[t@x, h], E: i64[t@x, k], P: f32[t@x, k], num_experts=n)
 *
 *     rows: f32[r*t*k@x, h]    r = size(x); each rank has room for all choices of all tokens
 *     e: i64[r*t*k@x, 1]       w: f32[r*t*k@x, 1]      s: i64[r*t*k@x]
 *     to: i64[r*r@x]           from: i64[r*r@x]
 *
 *     combine(rows, w, s, to, from): f32[t@x, h] */
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/infer_rule.h"

bool infer_experts_axis(struct module *m, type_id rows, int *axis)
{
	const struct type t = m->type.at[rows];
	struct sugar s;
	*axis = -1;
	if (!sugar_from_domain(m, t.domain, t.mesh, &s) || !s.rank)
		return false;
	if (!s.axis[0].place_n)
		return true;
	if (s.axis[0].place_n > 1 || s.axis[0].place[0].kind != SUGAR_MESH)
		return false;
	*axis = s.axis[0].place[0].mesh_axis;
	return true;
}

/* Finds mesh and axis from the operands of a combine. */
static void axis_of_operands(struct module *m, const value_id *operand, mesh_id *mesh, int *axis)
{
	static const uint8_t order[] = {3, 4, 2, 1, 0};
	*mesh = 0, *axis = -1;
	for (unsigned i = 0; i < sizeof order; i++) {
		const struct type *t = value_type(m, operand[order[i]]);
		*mesh = *mesh ? *mesh : t->mesh;
	}
	for (unsigned i = 0; i < sizeof order; i++) {
		type_id t = m->value.at[operand[order[i]]].type;
		if (!infer_experts_axis(m, t, axis) || *axis < 0)
			continue;
		*mesh = m->type.at[t].mesh;
		return;
	}
	*axis = *mesh && m->mesh.at[*mesh].rank == 1 ? 0 : -1;
}

bool infer_experts(struct module *m, op_id op, mesh_id *mesh, int *axis)
{
	value_id operand[5];
	if (m->op.at[op].kind == OP_DISPATCH) {
		value_id rows = op_result(m, op, 0);
		*mesh = value_type(m, rows)->mesh;
		return infer_experts_axis(m, m->value.at[rows].type, axis);
	}
	for (unsigned k = 0; k < 5; k++)
		operand[k] = op_read(m, op, k);
	axis_of_operands(m, operand, mesh, axis);
	return true;
}

team_id infer_experts_team(struct module *m, op_id op)
{
	mesh_id mesh;
	int axis;
	uint8_t own;
	if (!infer_experts(m, op, &mesh, &axis) || axis < 0)
		return 0;
	own = (uint8_t)axis;
	return ir_team_of_mesh(m, mesh, &own, 1);
}

static bool is_same(const struct module *m, expr_id a, expr_id b)
{
	return a && b && !rule_is_less(m, a, b) && !rule_is_less(m, b, a);
}

/* Returns true if operand k has these extents; an extent 0 matches any. Reports a mismatch. */
static bool has_shape(struct module *m, struct diag *d, const struct infer_draft *f, unsigned k,
                      unsigned rank, expr_id first, expr_id second, const char *what)
{
	const struct domain *o = rule_operand_domain(m, f, k);
	bool fits = o->rank == rank;
	for (unsigned i = 0; fits && i < rank; i++) {
		expr_id want = i ? second : first;
		fits = !want || is_same(m, o->axis[i].extent, want);
	}
	if (!fits)
		rule_report(m, d, E_SHAPES_DIFFER, f, k, what);
	return fits;
}

static bool is_float(struct module *m, struct diag *d, const struct infer_draft *f, unsigned k,
                     const char *what)
{
	if (dtype_is_float(rule_operand_type(m, f, k)->dtype))
		return true;
	rule_report(m, d, E_OPERAND_DTYPE, f, k, what);
	return false;
}

static int64_t set_ranks(struct module *m, mesh_id mesh, int axis, struct infer_result *r)
{
	r->mesh = mesh;
	r->spread = (uint8_t)(axis + 1);
	return axis < 0 ? 1 : m->mesh.at[mesh].size[axis];
}

/* Finds the ranks of the experts from the layout of the rows: *r gets mesh and axis, *n the number of
 * ranks. */
static bool find_ranks(struct module *m, struct diag *d, const struct infer_draft *f, type_id t,
                       struct infer_result *r, int64_t *n)
{
	int axis;
	if (!infer_experts_axis(m, t, &axis)) {
		diag_error(
		    d, E_EXPERTS, f->at,
		    "dispatch: axis 0 of the rows must be spread over one mesh axis, that of the experts");
		return false;
	}
	*n = set_ranks(m, m->type.at[t].mesh, axis, r);
	return true;
}

/* Places the experts if no type is stated: on the mesh axis of the tokens, or on the mesh's only axis. */
static bool guess_ranks(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r,
                        int64_t *n)
{
	const struct type x = *rule_operand_type(m, f, 0);
	int axis;
	r->mesh = x.mesh ? x.mesh : f->mesh;
	if (x.mesh && infer_experts_axis(m, m->value.at[f->operand[0]].type, &axis) && axis >= 0)
		r->spread = (uint8_t)(axis + 1);
	else if (r->mesh && m->mesh.at[r->mesh].rank == 1)
		r->spread = 1;
	else if (r->mesh) {
		diag_error(d, E_RESULT_TYPE_NEEDED, f->at, "dispatch needs the type of its first result");
		diag_note(d, DIAG_NOWHERE, "it says which mesh axis has the experts: `rows: f32[…@x, h], …`");
		return false;
	}
	*n = r->spread ? m->mesh.at[r->mesh].size[r->spread - 1] : 1;
	return true;
}

static bool check_experts(struct module *m, struct diag *d, const struct infer_draft *f, int64_t ranks)
{
	int64_t n;
	if (!attrs_find(m, f->attrs, "num_experts")) {
		diag_error(d, E_ATTRIBUTE_MISSING, f->at, "dispatch needs num_experts=");
		return false;
	}
	expr_id e = rule_attr_expr(m, d, f, "num_experts", 0);
	if (!e)
		return false;
	if (!expr_is_const(m, e, &n) || (n > 0 && n % ranks == 0))
		return true;
	if (n <= 0)
		diag_error(d, E_ATTRIBUTE_VALUE, f->at, "dispatch: num_experts= must be positive");
	else
		diag_error(d, E_EXPERTS, f->at,
		           "dispatch: %lld experts cannot be spread evenly over %lld ranks", (long long)n,
		           (long long)ranks);
	return false;
}

bool rule_dispatch(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	type_id rows = f->result ? f->first : f->stated;
	int64_t ranks;
	const struct domain *x = rule_operand_domain(m, f, 0);
	if (!x->rank) {
		rule_report(m, d, E_OPERAND_RANK, f, 0, "the tokens need at least one axis");
		return false;
	}
	expr_id tokens = x->axis[0].extent;
	if (!rule_is_index(m, d, f, 1, "the experts must be integers") ||
	    !is_float(m, d, f, 2, "the weights must be floats") ||
	    !has_shape(m, d, f, 1, 2, tokens, 0, "the experts must be [tokens, choices]"))
		return false;
	expr_id choices = rule_operand_domain(m, f, 1)->axis[1].extent;
	if (!has_shape(m, d, f, 2, 2, tokens, choices, "the weights must be [tokens, choices]") ||
	    !(rows ? find_ranks(m, d, f, rows, r, &ranks) : guess_ranks(m, d, f, r, &ranks)) ||
	    !check_experts(m, d, f, ranks))
		return false;
	expr_id n = expr_mul(m, expr_const(m, ranks), expr_mul(m, tokens, choices)), one = expr_const(m, 1);
	n = n ? expr_canon(m, n) : 0;
	if (!rule_fits(m, d, f, n))
		return false;
	rule_shape_of_operand(m, f, 0, r);
	r->extent[0] = n;
	switch (f->result) {
	case 0:
		return true;
	case 1:
	case 2:
		r->dtype = f->result == 1 ? DTYPE_I64 : rule_operand_type(m, f, 2)->dtype;
		r->rank = 2;
		r->extent[1] = one;
		return true;
	case 3:
		r->dtype = DTYPE_I64;
		r->rank = 1;
		return true;
	default:
		r->dtype = DTYPE_I64;
		r->rank = 1;
		r->extent[0] = expr_const(m, ranks * ranks);
		return true;
	}
}

bool rule_combine(struct module *m, struct diag *d, const struct infer_draft *f, struct infer_result *r)
{
	const struct type *stated = f->stated ? &m->type.at[f->stated] : NULL;
	const struct domain *s = stated ? &m->domain.at[stated->domain] : NULL,
	                    *x = rule_operand_domain(m, f, 0);
	int64_t ranks;
	mesh_id mesh;
	int axis;
	if (!x->rank) {
		rule_report(m, d, E_OPERAND_RANK, f, 0, "the rows need at least one axis");
		return false;
	}
	expr_id rows = x->axis[0].extent, one = expr_const(m, 1);
	if (!is_float(m, d, f, 0, "the rows must be floats") ||
	    !is_float(m, d, f, 1, "the weights must be floats") ||
	    !has_shape(m, d, f, 1, 2, rows, one, "the weights must be [rows, 1]") ||
	    !rule_is_index(m, d, f, 2, "the sources must be integers") ||
	    !has_shape(m, d, f, 2, 1, rows, 0, "the sources must be [rows]"))
		return false;
	axis_of_operands(m, f->operand, &mesh, &axis);
	ranks = set_ranks(m, mesh, axis, r);
	expr_id square = expr_const(m, ranks * ranks);
	for (unsigned k = 3; k < 5; k++)
		if (!rule_is_index(m, d, f, k, "the counts must be integers") ||
		    !has_shape(m, d, f, k, 1, square, 0,
		               "the counts must be [ranks * ranks], as dispatch gives them"))
			return false;
	expr_id tokens = rule_attr_expr(m, d, f, "num_tokens", s && s->rank ? s->axis[0].extent : one);
	if (!tokens)
		return false;
	if (!s && !attrs_find(m, f->attrs, "num_tokens")) {
		diag_error(d, E_ATTRIBUTE_MISSING, f->at, "combine needs num_tokens= or a result type");
		return false;
	}
	rule_shape_of_operand(m, f, 0, r);
	r->extent[0] = tokens;
	return true;
}
