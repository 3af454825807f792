/* cmd_diff: hirc diff: compares two programs, but for names and numbers.
 *
 *     hirc diff before.hir after.hir
 *     hirc compile new.hir --dump | hirc diff golden.hir -                                      */
#include "analysis/differ.h"
#include "cli/commands.h"
#include "cli/compile.h"
#include "import/import.h"
#include <string.h>

enum { SAME, DIFFERENT, TROUBLE }; /* exit codes, as diff's */

static struct module *read_program(struct compile_options *o, struct diag *d, const char *path)
{
	struct source *s;
	enum status status = source_read_bytes(d, path, import_knows_bytes, &s);
	return status == STATUS_OK ? compile_source(d, s, o, false, &status) : NULL;
}

static void report_diff(const struct compile_options *o, struct module *a, struct module *b,
                        const struct difference *x)
{
	struct diag *d = diag_new(stdout, DIAG_TEXT, color_setting_find(o->color));
	diag_set_source(d, a->source);
	if (x->at[0] == DIAG_NOWHERE)
		diag_error(d, E_DIFFERS, DIAG_NOWHERE, "%s differs: %s has %s", x->what.at, a->source->name,
		           x->here[0].at);
	else
		diag_error(d, E_DIFFERS, x->at[0], "%s differs: %s", x->what.at, x->here[0].at);
	diag_set_source(d, b->source);
	if (x->at[1] == DIAG_NOWHERE)
		diag_note(d, DIAG_NOWHERE, "%s has %s", b->source->name, x->here[1].at);
	else
		diag_note(d, x->at[1], "the other has %s", x->here[1].at);
	diag_finish(d);
	diag_free(d);
}

static int diff(struct compile_options *o, const char *const path[2])
{
	struct diag *d = compile_diag(o);
	struct module *m[2] = {NULL, NULL};
	int code = TROUBLE;
	if (!strcmp(path[0], "-") && !strcmp(path[1], "-")) {
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "both programs are standard input");
		diag_note(d, DIAG_NOWHERE, "one of the two is a file");
	} else {
		m[0] = read_program(o, d, path[0]);
		m[1] = m[0] ? read_program(o, d, path[1]) : NULL;
	}
	if (m[0] && m[1]) {
		struct difference x;
		compile_warn_unused(d, o);
		code = modules_same(m[0], m[1], &x) ? SAME : DIFFERENT;
		if (code == DIFFERENT)
			report_diff(o, m[0], m[1], &x);
		difference_free(&x);
	}
	compile_free(m[0]);
	compile_free(m[1]);
	diag_finish(d);
	diag_free(d);
	return code;
}

static const struct option rows[] = {DEFINE_OPTIONS(0), COLOR_OPTION(struct compile_options, color)};

int cmd_diff(int argc, char **argv)
{
	struct compile_options o;
	compile_options_init(&o);
	o.defaults_are_open = true;
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] A B",
	    .about =
	        "Compares two programs or dumps, of either surface, by what they mean: names of tensors, "
	        "streams and\nindices and all numbers aside. Prints the first statement that differs, where "
	        "each has it; `-` is\nstandard input. Exit code: 0 the same; 1 different; 2 a program that "
	        "is wrong, or the command line.",
	    .table = {OPTION_TABLE("Options, for both", rows, &o)},
	    .table_n = 1,
	    .min_files = 2,
	    .max_files = 2,
	};
	enum status status;
	int code = TROUBLE;
	if (options_parse(&line, argc, argv, &status))
		code = diff(&o, line.file.at);
	else
		code = status;
	options_free(&line);
	compile_options_free(&o);
	return code;
}
