/* params: checks values, shapes and assumptions. */
#include "cli/params.h"
#include "analysis/extents.h"
#include "ir/expr.h"
#include <stdio.h>
#include <string.h>

static bool is_unset(const struct param *x)
{
	return !x->has_value && !x->meaning;
}

/* Returns true if a param is a formula of another one that has no value, `reciprocal(d3)`: that one is reported. */
static bool is_formula(const struct module *m, const struct param *x)
{
	const char *name = x->name ? names_text(m->names, x->name) : "";
	for (param_id p = 1; p < m->param.n && strchr(name, '('); p++) {
		const struct param *of = &m->param.at[p];
		char number[24];
		snprintf(number, sizeof number, "i%d", of->number);
		if (of != x && is_unset(of) &&
		    strstr(name, of->name ? names_text(m->names, of->name) : number))
			return true;
	}
	return false;
}

/* Returns true if an expression of the program has a param. Expressions are hash-consed: it is in the table. */
static bool is_used(const struct module *m, param_id p)
{
	for (expr_id e = 1; e < m->expr.n; e++)
		if (m->expr.at[e].kind == EXPR_PARAM && m->expr.at[e].k == p)
			return true;
	return false;
}

/* Checks that every remaining scalar has a value. */
static bool check_params(const struct module *m, struct diag *d)
{
	bool ok = true;
	for (param_id p = 1; p < m->param.n; p++) {
		const struct param *x = &m->param.at[p];
		char number[24];
		if (!is_unset(x) || is_formula(m, x) || !is_used(m, p))
			continue;
		snprintf(number, sizeof number, "i%d", x->number);
		const char *name = x->name ? names_text(m->names, x->name) : number;
		diag_error(d, E_PARAM_UNSET, x->at, "'%s' has no value", name);
		diag_note(d, DIAG_NOWHERE, "-D %s=VALUE gives it one", name);
		ok = false;
	}
	return ok;
}

/* Checks the divisions that passes assumed while params had no value. */
static bool check_assumptions(const struct module *m, struct diag *d)
{
	const struct expr_env env = {.rank = -1};
	bool ok = true;
	for (uint32_t i = 0; i < m->assumption.n; i++) {
		const struct assumption *a = &m->assumption.at[i];
		int64_t divisor, dividend;
		if (expr_eval(m, a->divisor, &env, &divisor, NULL) != EXPR_OK ||
		    expr_eval(m, a->dividend, &env, &dividend, NULL) != EXPR_OK)
			continue;
		if (divisor != 0 && dividend % divisor == 0)
			continue;
		struct buf x = {0}, y = {0};
		expr_print_hir(m, a->divisor, &x);
		expr_print_hir(m, a->dividend, &y);
		diag_error(d, E_PARAM_ASSUMPTION, a->at, "'%s' (%lld) does not divide '%s' (%lld)", x.at,
		           (long long)divisor, y.at, (long long)dividend);
		diag_note(d, DIAG_NOWHERE, "give -D values with which it does, or choose another split or mesh size");
		buf_free(&x);
		buf_free(&y);
		ok = false;
	}
	return ok;
}

bool params_have_values(const struct module *m)
{
	bool all = true;
	for (param_id p = 1; p < m->param.n; p++)
		all &= !is_unset(&m->param.at[p]) || !is_used(m, p);
	return all;
}

bool params_check(struct module *m, struct diag *d)
{
	return check_params(m, d) && extents_check(m, d) && check_assumptions(m, d);
}
