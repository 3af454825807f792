/* extents: every logical axis of every value, evaluated with the params' values. */
#include "analysis/extents.h"
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/print.h"

static void put_tensor(struct module *m, value_id v, struct buf *out)
{
	struct ir_numbers *saved = ir_numbers_save(m);
	ir_number(m);
	ir_print_value_name(m, v, out);
	ir_numbers_restore(m, saved);
}

/* The params in an expression, with their values: `t = 8`. */
static void note_params(struct module *m, struct diag *d, expr_id e)
{
	const struct expr x = m->expr.at[e];
	if (!(x.flags & EXPR_HAS_PARAM))
		return;
	if (x.kind == EXPR_PARAM && m->param.at[x.k].has_value && m->param.at[x.k].name) {
		const struct param *p = &m->param.at[x.k];
		const char *name = names_text(m->names, p->name);
		diag_note(d, p->at, "%s = %lld; -D %s=… gives it another value", name, (long long)p->value,
		          name);
		return;
	}
	if (x.a)
		note_params(m, d, x.a);
	if (x.b)
		note_params(m, d, x.b);
}

static bool report(struct module *m, struct diag *d, value_id v, expr_id extent, enum expr_status status,
                   int64_t value, expr_id culprit)
{
	struct buf name = {0}, text = {0}, part = {0};
	put_tensor(m, v, &name);
	expr_print_hir(m, extent, &text);
	expr_print_hir(m, culprit, &part);
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
	note_params(m, d, extent);
	buf_free(&name);
	buf_free(&text);
	buf_free(&part);
	return false;
}

/* seen: by expression; one report an extent, at the first tensor that has it. */
static bool check_value(struct module *m, struct diag *d, value_id v, uint8_t *seen)
{
	const struct expr_env env = {.rank = -1};
	bool ok = true;
	for (unsigned a = 0; a < value_domain(m, v)->logical_n; a++) {
		expr_id extent = value_domain(m, v)->axis[a].extent, culprit = 0;
		int64_t n = 0;
		if (seen[extent])
			continue;
		seen[extent] = 1;
		enum expr_status status = expr_eval(m, extent, &env, &n, &culprit);
		if (status != EXPR_UNDEFINED_PARAM && status != EXPR_UNKNOWN && (status != EXPR_OK || n < 0))
			ok = report(m, d, v, extent, status, n, culprit);
	}
	return ok;
}

bool extents_check(struct module *m, struct diag *d)
{
	bool ok = true;
	uint8_t *seen = mem_zalloc(m->expr.n);
	for (value_id v = 1; v < m->value.n; v++)
		ok &= check_value(m, d, v, seen);
	free(seen);
	return ok;
}
