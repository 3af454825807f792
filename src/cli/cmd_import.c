/* cmd_import: hirc import: converts graphs of other formats to programs. */
#include "analysis/recorded_classes.h"
#include "base/file.h"
#include "base/source.h"
#include "base/source_read.h"
#include "base/vec.h"
#include "cli/commands.h"
#include "cli/compile.h"
#include "cli/options_shared.h"
#include "cli/output.h"
#include "cli/rank_files.h"
#include "cli/rank_graphs.h"
#include "import/import.h"
#include "ir/print.h"
#include <errno.h>
#include <string.h>

struct import_command {
	const char *output; /* NULL: standard output */
	const char *color;
	struct diag *d;
	VEC(const char *) group;
};

static enum status import(struct import_command *c, const char *path, struct buf *text)
{
	struct source *s;
	enum status status = source_read_bytes(c->d, path, import_knows_bytes, &s);
	if (status != STATUS_OK)
		return status;
	struct source *outer = diag_set_source(c->d, s);
	struct module *m = NULL;
	source_allow_release(s);
	if (import_knows(s)) {
		m = import_read_groups(c->d, s, c->group.at, c->group.n);
	} else {
		diag_error(c->d, E_IMPORT_FORMAT, DIAG_NOWHERE, "'%s' has no format that hirc imports",
		           s->name);
		diag_note(
		    c->d, DIAG_NOWHERE,
		    "a graph begins with the line `hircgraph 1`, an execution trace with its metadata; a "
		    "trace of PyTorch's profiler is an object of JSON with `traceEvents`");
	}
	if (m)
		ir_print_hir(m, text);
	diag_set_source(c->d, outer);
	status = m ? STATUS_OK : STATUS_DIAGNOSTICS;
	module_free(m);
	source_free(s);
	return status;
}

/* Imports the graphs of several ranks as one program. */
static enum status import_ranks(struct import_command *c, const struct command_line *line, struct buf *text)
{
	struct compile_options o;
	struct source *s;
	compile_options_init(&o);
	for (uint32_t k = 0; k < c->group.n; k++)
		vec_push(&o.group, c->group.at[k]);
	enum status status = rank_files_read(c->d, &o, line, &s);
	struct module *m = status == STATUS_OK ? compile_source(c->d, s, &o, false, &status) : NULL;
	if (m && recorded_has_classes(m))
		rank_graphs_rename(m);
	if (m)
		ir_print_hir(m, text);
	compile_free(m);
	compile_options_free(&o);
	return status;
}

static enum status write_import(struct import_command *c, const struct buf *text)
{
	if (!c->output || !strcmp(c->output, "-"))
		return output_status(output_write(text));
	if (file_replace(c->output, &(struct file_part){text->at, text->n}, 1))
		return STATUS_OK;
	diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", c->output,
	           strerror(errno));
	return STATUS_DIAGNOSTICS;
}

static bool add_group(void *to, const char *text)
{
	struct import_command *c = to;
	vec_push(&c->group, text);
	return true;
}

static const struct option rows[] = {
    {.letter = 'o',
     .kind = OPTION_TEXT,
     .at = offsetof(struct import_command, output),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .help = "print to a file"},
    {.name = "group",
     .kind = OPTION_CALL,
     .call = add_group,
     .value = "NAME:N",
     .help = "number of members of a group whose size is not in the execution trace; `world`: the group "
             "without a name"},
    COLOR_OPTION(struct import_command, color),
};

int cmd_import(int argc, char **argv)
{
	struct import_command c = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] [RANKS:]FILE…",
	    .about = "Prints a graph that another tool recorded as a program: a .graph file, a Chakra "
	             "execution trace, or a trace of PyTorch's profiler, compressed by gzip or not. `-` is "
	             "standard input. Several "
	             "graphs, for the ranks 0, 1, … or as in `0-3:A.et 4-7:B.et`, become one program.\n"
	             "Exit code: 0, 1 after messages about the input, 2 for a wrong command line.",
	    .table = {OPTION_TABLE("Options", rows, &c)},
	    .table_n = 1,
	    .suffixes = "",
	    .min_files = 1,
	    .max_files = UINT32_MAX,
	    .has_ranks = true,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		struct buf text = {0};
		c.d = diag_new(stderr, DIAG_TEXT, color_setting_find(c.color));
		status = line.file.n > 1 || rank_files_name(line.file.at[0])
		             ? import_ranks(&c, &line, &text)
		             : import(&c, line.file.at[0], &text);
		if (status == STATUS_OK)
			status = write_import(&c, &text);
		buf_free(&text);
		diag_finish(c.d);
		diag_free(c.d);
	}
	options_free(&line);
	vec_free(&c.group);
	return status;
}
