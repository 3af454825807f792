/* compile_roundtrip: see compile_roundtrip.h. */
#include "cli/compile_roundtrip.h"
#include "base/str.h"
#include "ir/print.h"
#include "parse/ast.h"
#include "parse/sema.h"
#include <string.h>

static void print_as(struct module *m, bool nvfuser, struct buf *out)
{
	if (nvfuser)
		ir_print_nvfuser(m, out);
	else
		ir_print_hir(m, out);
	buf_puts(out, "");
}

static void report_difference(struct diag *d, const char *surface, const struct buf *want,
                              const struct buf *got)
{
	const char *a = want->at, *b = got->at;
	while (*a && *b) {
		size_t n = strcspn(a, "\n"), k = strcspn(b, "\n");
		if (n != k || memcmp(a, b, n))
			break;
		a += n + (a[n] == '\n');
		b += k + (b[k] == '\n');
	}
	diag_error(d, E_ROUND_TRIP, DIAG_NOWHERE, "the program does not print and parse to itself (%s)",
	           surface);
	diag_note(d, DIAG_NOWHERE, "printed: %.*s", (int)strcspn(a, "\n"), a);
	diag_note(d, DIAG_NOWHERE, "again:   %.*s", (int)strcspn(b, "\n"), b);
}

/* Parses a printed program. Its warnings are those of the source, and are left out. */
static struct module *parse_printed(struct diag *d, struct source *s, const struct sema_options *o,
                                    struct ast **a)
{
	struct source *outer = diag_set_source(d, s);
	unsigned errors = diag_error_count(d);
	*a = ast_parse_shared(d, s);
	struct module *m = diag_error_count(d) == errors ? sema_build(d, *a, o) : NULL;
	diag_set_source(d, outer);
	return m;
}

bool compile_roundtrip(struct diag *d, struct module *m, bool nvfuser, int64_t np)
{
	static const char *const surface[] = {"concise", "nvFuser"};
	struct buf text = {0};
	struct sema_options options = {.np = np};
	print_as(m, nvfuser, &text);
	struct source *s =
	    source_from_text(nvfuser ? "<printed nvFuser>" : "<printed concise>", text.at, (uint32_t)text.n);
	struct diag *unheard = diag_new(NULL, DIAG_TEXT, 0);
	struct ast *a;
	struct module *again = parse_printed(unheard, s, &options, &a);
	diag_free(unheard);
	if (!again) {
		ast_free(a);
		again = parse_printed(d, s, &options, &a);
	}
	for (unsigned k = 0; k < 2 && again; k++) {
		struct buf want = {0}, got = {0};
		print_as(m, k, &want);
		print_as(again, k, &got);
		if (strcmp(want.at, got.at)) {
			report_difference(d,
			                  k == nvfuser ? surface[k]
			                  : nvfuser    ? "nvFuser, then concise"
			                               : "concise, then nvFuser",
			                  &want, &got);
			module_free(again);
			again = NULL;
		}
		buf_free(&want);
		buf_free(&got);
	}
	bool ok = again != NULL;
	module_free(again);
	ast_free(a);
	source_free(s);
	buf_free(&text);
	return ok;
}
