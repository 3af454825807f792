/* cmd_import: hirc import: converts graphs of other formats to programs. */
#include "base/file.h"
#include "base/vec.h"
#include "cli/commands.h"
#include "cli/options_shared.h"
#include "cli/output.h"
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
	if (import_knows(s)) {
		m = import_read_groups(c->d, s, c->group.at, c->group.n);
	} else {
		diag_error(c->d, E_IMPORT_FORMAT, DIAG_NOWHERE, "'%s' has no format that hirc imports",
		           s->name);
		diag_note(c->d, DIAG_NOWHERE,
		          "a graph begins with the line `hircgraph 1`, an execution trace "
		          "with its metadata");
	}
	if (m)
		ir_print_hir(m, text);
	diag_set_source(c->d, outer);
	status = m ? STATUS_OK : STATUS_DIAGNOSTICS;
	module_free(m);
	source_free(s);
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
	    .usage = "[OPTION…] FILE",
	    .about = "Prints a graph that another tool recorded as a program: a .graph file, or a Chakra "
	             "execution trace, compressed by gzip or not. `-` is standard input.\n"
	             "Exit code: 0, 1 after messages about the input, 2 for a wrong command line.",
	    .table = {OPTION_TABLE("Options", rows, &c)},
	    .table_n = 1,
	    .suffixes = "",
	    .min_files = 1,
	    .max_files = 1,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		struct buf text = {0};
		c.d = diag_new(stderr, DIAG_TEXT, color_setting_find(c.color));
		status = import(&c, line.file.at[0], &text);
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
