/* extents: evaluates every logical axis of every value, and the types of statements, with the values of
 * the params. */
#include "analysis/extents.h"
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/print.h"
#include "ir/verify.h"

static void put_tensor(struct module *m, value_id v, struct buf *out)
{
	struct ir_numbers *saved = ir_numbers_save(m);
	ir_number(m);
	ir_print_value_name(m, v, out);
	ir_numbers_restore(m, saved);
}

/* Adds a note with the value of each param in an expression: `t = 8`. said, by param: it has a note
 * already. */
static void note_params(struct module *m, struct diag *d, expr_id e, uint8_t *said)
{
	const struct expr x = m->expr.at[e];
	if (!(x.flags & EXPR_HAS_PARAM))
		return;
	if (x.kind == EXPR_PARAM && m->param.at[x.k].has_value && m->param.at[x.k].name) {
		const struct param *p = &m->param.at[x.k];
		const char *name = names_text(m->names, p->name);
		if (!said[x.k])
			diag_note(d, p->at, "%s = %lld; -D %s=… gives it another value", name,
			          (long long)p->value, name);
		said[x.k] = 1;
		return;
	}
	if (x.a)
		note_params(m, d, x.a, said);
	if (x.b)
		note_params(m, d, x.b, said);
}

static bool report_extent(struct module *m, struct diag *d, value_id v, expr_id extent,
                          enum expr_status status, int64_t value, expr_id offending)
{
	struct buf name = {0}, text = {0}, part = {0};
	put_tensor(m, v, &name);
	expr_print_hir(m, extent, &text);
	expr_print_hir(m, offending, &part);
	uint32_t at = m->value.at[v].at;
	if (status == EXPR_OK)
		diag_error(d, E_EXTENT_NEGATIVE, at, "an extent of '%s' is negative: %s is %lld", name.at,
		           text.at, (long long)value);
	else if (status == EXPR_INDIVISIBLE)
		diag_error(d, E_NOT_DIVISIBLE, at, "an extent of '%s' does not divide: %s in %s", name.at,
		           part.at, text.at);
	else
		diag_error(d, E_OVERFLOW, at,
		           "an extent of '%s' overflows 64 bits or divides by zero: %s in %s", name.at,
		           part.at, text.at);
	uint8_t *said = mem_zalloc(m->param.n);
	note_params(m, d, extent, said);
	free(said);
	buf_free(&name);
	buf_free(&text);
	buf_free(&part);
	return false;
}

/* seen, by expression: each extent is reported once, at the first tensor that has it. */
static bool check_value(struct module *m, struct diag *d, value_id v, uint8_t *seen)
{
	const struct expr_env env = {.rank = -1};
	bool ok = true;
	for (unsigned a = 0; a < value_domain(m, v)->logical_n; a++) {
		expr_id extent = value_domain(m, v)->axis[a].extent, offending = 0;
		int64_t n = 0;
		if (seen[extent])
			continue;
		seen[extent] = 1;
		enum expr_status status = expr_eval(m, extent, &env, &n, &offending);
		if (status != EXPR_UNDEFINED_PARAM && status != EXPR_UNKNOWN && (status != EXPR_OK || n < 0))
			ok = report_extent(m, d, v, extent, status, n, offending);
	}
	return ok;
}

/* Checks the device axes whose extents have params. */
static bool check_device_axes(struct module *m, struct diag *d, value_id v)
{
	const struct expr_env env = {.rank = -1};
	const struct type *t = value_type(m, v);
	const struct domain *x = value_domain(m, v);
	for (unsigned i = 0; i < x->loop_n; i++) {
		const struct axis *a = &x->axis[x->loop[i]];
		int64_t n;
		if (a->place != PLACE_MESH || !(m->expr.at[a->extent].flags & EXPR_HAS_PARAM) ||
		    expr_eval(m, a->extent, &env, &n, NULL) != EXPR_OK ||
		    n == m->mesh.at[t->mesh].size[a->mesh_axis])
			continue;
		struct buf name = {0};
		put_tensor(m, v, &name);
		diag_error(d, E_PLACEMENT_INVALID, m->value.at[v].at,
		           "a device axis of '%s' has %lld elements, but its mesh axis has %u", name.at,
		           (long long)n, (unsigned)m->mesh.at[t->mesh].size[a->mesh_axis]);
		buf_free(&name);
		uint8_t *said = mem_zalloc(m->param.n);
		note_params(m, d, a->extent, said);
		free(said);
		return false;
	}
	return true;
}

bool extents_check(struct module *m, struct diag *d)
{
	bool ok = true;
	uint8_t *seen = mem_zalloc(m->expr.n);
	for (value_id v = 1; v < m->value.n; v++)
		ok = check_value(m, d, v, seen) && check_device_axes(m, d, v) && ok;
	free(seen);
	return ok;
}

/* Adds notes for the params in a statement's shapes and attributes. */
static void note_statement(struct module *m, struct diag *d, op_id op)
{
	uint8_t *said = mem_zalloc(m->param.n);
	const struct op *o = &m->op.at[op];
	for (unsigned i = 0; i < o->operand_n; i++) {
		const struct operand *p = &m->operand.at[o->operand + i];
		if (p->role != ROLE_DEF && p->role != ROLE_READ && p->role != ROLE_WRITE)
			continue;
		const struct domain *x = value_domain(m, p->id);
		for (unsigned a = 0; a < x->rank; a++)
			note_params(m, d, x->axis[a].extent, said);
	}
	const struct attrs *attrs = &m->attrs.at[o->attrs];
	for (uint32_t i = 0; i < attrs->n; i++) {
		const struct attr *a = &attrs->at[i];
		for (unsigned k = 0; a->kind == ATTR_EXPRS && k < a->n; k++)
			note_params(m, d, a->u.exprs[k], said);
		if (a->kind == ATTR_EXPR)
			note_params(m, d, a->u.expr, said);
	}
	free(said);
}

bool types_check(struct module *m, struct diag *d)
{
	bool ok = true;
	for (param_id p = 1; p < m->param.n; p++)
		m->params_count |= m->param.at[p].has_value;
	if (!m->params_count)
		return true;
	for (op_id op = 1; op < m->op.n; op++)
		if (m->op.at[op].parent && !(m->op.at[op].flags & OP_DEAD) && !ir_verify_types(m, d, op)) {
			note_statement(m, d, op);
			ok = false;
		}
	m->params_count = false;
	return ok;
}
