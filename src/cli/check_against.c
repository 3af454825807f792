/* check_against: see check_against.h. */
#include "cli/check_against.h"
#include "base/source_read.h"
#include "cli/missing_sets.h"
#include "import/import.h"
#include "ir/expr.h"
#include "ir/print.h"
#include <string.h>

/* Reads the other program, for as many ranks as this one. */
static struct module *read_other(struct diag *d, const struct module *m, const char *path,
                                 const struct compile_options *given, enum status *status)
{
	struct compile_options o = *given;
	struct source *s;
	o.np = o.np ? o.np : module_ranks(m);
	*status = source_read_bytes(d, path, import_knows_bytes, &s);
	struct module *other = *status == STATUS_OK ? compile_source(d, s, &o, false, status) : NULL;
	if (other && !values_can_be_logical(other))
		missing_sets_add(other);
	return other;
}

static bool has_name(const struct module *m, value_id v)
{
	return m->value.at[v].name != 0;
}

/* Sets *out to the shape of a value, as in `[5, 6]`. */
static void print_shape(const struct module *m, value_id value, struct buf *out)
{
	const struct domain *d = value_domain(m, value);
	const struct expr_env env = {.rank = -1};
	buf_putc(out, '[');
	for (unsigned a = 0; a < d->rank; a++) {
		int64_t extent;
		buf_puts(out, a ? ", " : "");
		if (expr_eval(m, d->axis[a].extent, &env, &extent, NULL) == EXPR_OK)
			buf_printf(out, "%lld", (long long)extent);
	}
	buf_putc(out, ']');
}

static bool have_equal_shapes(struct diag *d, const struct module *a, const struct module *b, uint32_t output,
                              const char *path)
{
	struct buf x = {0}, y = {0};
	print_shape(a, a->output.at[output], &x);
	print_shape(b, b->output.at[output], &y);
	const bool equal = !strcmp(x.at, y.at);
	if (!equal)
		diag_error(d, E_OUTPUTS_UNLIKE, a->value.at[a->output.at[output]].at,
		           "output %u has the shape %s, in %s it has %s", output + 1, x.at, path, y.at);
	buf_free(&x);
	buf_free(&y);
	return equal;
}

/* Names of outputs count if both programs have names; nvFuser's listings have numbers. */
static bool have_equal_outputs(struct diag *d, struct module *a, struct module *b, const char *path)
{
	bool equal = a->output.n == b->output.n;
	if (!equal)
		diag_error(d, E_OUTPUTS_UNLIKE, DIAG_NOWHERE, "the program has %u output%s, %s has %u",
		           a->output.n, a->output.n == 1 ? "" : "s", path, b->output.n);
	for (uint32_t i = 0; i < a->output.n && equal; i++) {
		struct buf x = {0}, y = {0};
		ir_print_value_name(a, a->output.at[i], &x);
		ir_print_value_name(b, b->output.at[i], &y);
		equal = !has_name(a, a->output.at[i]) || !has_name(b, b->output.at[i]) || !strcmp(x.at, y.at);
		if (!equal)
			diag_error(d, E_OUTPUTS_UNLIKE, a->value.at[a->output.at[i]].at,
			           "output %u is '%s', in %s it is '%s'", i + 1, x.at, path, y.at);
		buf_free(&x);
		buf_free(&y);
		equal = equal && have_equal_shapes(d, a, b, i, path);
	}
	return equal;
}

enum status check_against(struct diag *d, struct module *m, const char *path, const struct compile_options *o,
                          const struct check_options *check, enum values_relation *out)
{
	const struct values_options with = {.ranks = check->ranks, .streams = check->streams};
	enum status status;
	struct module *other = read_other(d, m, path, o, &status);
	diag_set_source(d, m->source);
	if (!other)
		return status;
	status = STATUS_DIAGNOSTICS;
	if (have_equal_outputs(d, m, other, path)) {
		if (values_compare(m, other, d, &with, path, out) != VALUES_PROVED)
			diag_error(d, E_CHECK_TOO_LONG, DIAG_NOWHERE, "%s cannot be walked", path);
		else if (*out != VALUES_DIFFERS)
			status = STATUS_OK;
	}
	compile_free(other);
	return status;
}
