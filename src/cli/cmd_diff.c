/* cmd_diff: hirc diff: compares two programs, ignoring names and numbers.
 *
 *     hirc diff before.hir after.hir
 *     hirc compile new.hir --dump | hirc diff golden.hir -                                      */
#include "analysis/differ.h"
#include "base/json_put.h"
#include "base/source_read.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/compile.h"
#include "cli/diff_report.h"
#include "cli/output.h"
#include "import/import.h"
#include <string.h>

enum { SAME, DIFFERENT, TROUBLE }; /* exit codes, as of diff(1) */
enum { DIFF_VERSION = 1 /* of --json */ };

static struct module *read_program(struct compile_options *o, struct diag *d, const char *path)
{
	struct source *s;
	enum status status = source_read_bytes(d, path, import_knows_bytes, &s);
	return status == STATUS_OK ? compile_source(d, s, o, false, &status) : NULL;
}

void diff_report(enum color_setting color, struct module *a, struct module *b, const struct difference *x)
{
	struct diag *d = diag_new(stdout, DIAG_TEXT, color);
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

/* Puts the places of a difference, an array of two. */
static void put_places(struct module *const m[2], const struct difference *x, struct buf *out)
{
	static const struct table_column column[] = {
	    {.name = "file"}, {.name = "line"}, {.name = "column"}, {.name = "text"}};
	struct table t = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	for (unsigned k = 0; k < 2; k++) {
		uint32_t line = 0, place = 0;
		if (x->at[k] != DIAG_NOWHERE)
			source_position(m[k]->source, x->at[k], &line, &place);
		table_add_text(&t, m[k]->source->name);
		for (unsigned i = 0; i < 2; i++)
			if (line)
				table_add_int(&t, i ? place : line);
			else
				table_add_none(&t);
		table_add_text(&t, x->here[k].at);
	}
	table_put(&t, out);
	table_close(&t);
}

/* Prints the result as JSON. code: TROUBLE if one of the programs could not be read. */
static int print_json(int code, struct module *const m[2], const struct difference *x,
                      const struct buf *messages)
{
	struct buf out = {0};
	json_put_start(&out, DIFF_VERSION, "diff");
	buf_printf(&out, ", \"same\": %s", code == SAME ? "true" : code == DIFFERENT ? "false" : "null");
	json_put_more(&out, "difference", code == DIFFERENT ? x->what.at : NULL);
	buf_puts(&out, ",\n\"places\": ");
	if (code == DIFFERENT)
		put_places(m, x, &out);
	else
		buf_puts(&out, "[]");
	buf_printf(&out, ",\n\"messages\": [%s]}\n", messages->n ? messages->at : "");
	bool ok = output_write(&out);
	buf_free(&out);
	return ok ? code : TROUBLE;
}

static int diff(struct compile_options *o, bool json, const char *const path[2])
{
	struct diag *d = compile_diag(o);
	struct module *m[2] = {NULL, NULL};
	struct difference x = {0};
	struct buf messages = {0};
	int code = TROUBLE;
	if (json)
		diag_set_copy(d, &messages);
	if (!strcmp(path[0], "-") && !strcmp(path[1], "-")) {
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "both programs are standard input");
		diag_note(d, DIAG_NOWHERE, "one of the two is a file");
	} else {
		m[0] = read_program(o, d, path[0]);
		m[1] = m[0] ? read_program(o, d, path[1]) : NULL;
	}
	if (m[0] && m[1]) {
		compile_warn_unused(d, o);
		code = modules_same(m[0], m[1], &x) ? SAME : DIFFERENT;
		if (code == DIFFERENT && !json)
			diff_report(color_setting_find(o->color), m[0], m[1], &x);
	}
	diag_finish(d);
	if (json)
		code = print_json(code, m, &x, &messages);
	difference_free(&x);
	compile_free(m[0]);
	compile_free(m[1]);
	diag_free(d);
	buf_free(&messages);
	return code;
}

static const struct option rows[] = {DEFINE_OPTIONS(0), COLOR_OPTION(struct compile_options, color)};

struct diff_output {
	bool json;
};
static const struct option output_rows[] = {JSON_OPTION(struct diff_output, json)};

int cmd_diff(int argc, char **argv)
{
	struct compile_options o;
	struct diff_output output;
	compile_options_init(&o);
	o.defaults_are_open = true;
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] A B",
	    .about =
	        "Compares two programs or dumps, of either surface. Ignores the names of tensors, streams "
	        "and\n"
	        "indices, and all numbers. Prints the first statement that differs, and its place in each\n"
	        "program; `-` is standard input. Exit code: 0 the same; 1 different; 2 a wrong program or\n"
	        "command line.",
	    .table = {OPTION_TABLE("Options, for both", rows, &o),
	              OPTION_TABLE("Output", output_rows, &output)},
	    .table_n = 2,
	    .min_files = 2,
	    .max_files = 2,
	};
	enum status status;
	int code = TROUBLE;
	if (options_parse(&line, argc, argv, &status))
		code = diff(&o, output.json, line.file.at);
	else
		code = status;
	options_free(&line);
	compile_options_free(&o);
	return code;
}
