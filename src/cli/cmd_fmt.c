/* cmd_fmt: hirc fmt: formats a program; keeps comments and consts.
 *
 * Prints to standard output; with -i rewrites the file; with --check only names the files that differ. */
#include "base/diag.h"
#include "base/file.h"
#include "base/source.h"
#include "base/source_read.h"
#include "cli/commands.h"
#include "cli/options_shared.h"
#include "cli/output.h"
#include "import/import.h"
#include "parse/ast.h"
#include <errno.h>
#include <string.h>

struct fmt_command {
	bool in_place, check;
	const char *color;
	struct diag *d;
};

static enum status write_back(struct fmt_command *c, const char *path, const struct buf *text)
{
	if (file_replace(path, &(struct file_part){text->at, text->n}, 1))
		return STATUS_OK;
	diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", path, strerror(errno));
	return STATUS_DIAGNOSTICS;
}

static enum status format(struct fmt_command *c, const char *path)
{
	struct source *s;
	struct buf text = {0};
	enum status status = source_read_bytes(c->d, path, import_knows_bytes, &s);
	if (status != STATUS_OK)
		return status;
	if (import_knows(s)) {
		diag_error(c->d, E_RECORDED_GRAPH, DIAG_NOWHERE,
		           "'%s' is a recorded graph; fmt formats programs", path);
		diag_note(c->d, DIAG_NOWHERE, "`hirc import %s` makes a program of it", path);
		source_free(s);
		return STATUS_DIAGNOSTICS;
	}
	struct source *outer = diag_set_source(c->d, s);
	unsigned errors = diag_error_count(c->d);
	struct ast *a = ast_parse(c->d, s);
	if (diag_error_count(c->d) > errors) {
		status = STATUS_DIAGNOSTICS;
	} else if (a->surface == SURFACE_NVFUSER) {
		diag_error(c->d, E_FMT_SURFACE, DIAG_NOWHERE,
		           "'%s' is in the nvFuser surface; fmt formats the concise one", path);
		diag_note(c->d, DIAG_NOWHERE, "`hirc compile %s --stop-after=parse --dump=hir` converts it",
		          path);
		status = STATUS_DIAGNOSTICS;
	} else {
		ast_format(a, &text);
		bool same = text.n == s->size && (!text.n || !memcmp(text.at, s->text, text.n));
		if (c->check && !same) {
			fprintf(stderr, "%s: not formatted\n", s->name);
			status = STATUS_DIAGNOSTICS;
		} else if (c->in_place && strcmp(path, "-")) {
			status = same ? STATUS_OK : write_back(c, path, &text);
		} else if (!c->check) {
			status = output_status(output_write(&text));
		}
	}
	diag_set_source(c->d, outer);
	ast_free(a);
	source_free(s);
	buf_free(&text);
	return status;
}

static const struct option rows[] = {
    {.letter = 'i',
     .name = "in-place",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct fmt_command, in_place),
     .help = "write the files instead of printing them"},
    {.name = "check",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct fmt_command, check),
     .help = "only name the files that are not formatted (exit code 1)"},
    COLOR_OPTION(struct fmt_command, color),
};

int cmd_fmt(int argc, char **argv)
{
	struct fmt_command c = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[-i] [--check] FILE…",
	    .about =
	        "Prints programs in canonical spelling; comments and consts are kept. `-` is standard input.",
	    .table = {OPTION_TABLE("Options", rows, &c)},
	    .table_n = 1,
	    .min_files = 1,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		c.d = diag_new(stderr, DIAG_TEXT, color_setting_find(c.color));
		for (uint32_t i = 0; i < line.file.n; i++) {
			enum status one = format(&c, line.file.at[i]);
			status = one > status ? one : status;
		}
		diag_finish(c.d);
		diag_free(c.d);
	}
	options_free(&line);
	return status;
}
