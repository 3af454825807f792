/* cmd_report: hirc report: writes a page about a program, for any browser.
 *
 *     hirc report foo.hir                 writes foo.html
 *     hirc report foo.hir --run -o x.html also runs it, and shows measured beside predicted times */
#include "base/file.h"
#include "cli/commands.h"
#include "cli/options_shared.h"
#include "cli/output.h"
#include "cli/rank_files.h"
#include "cli/report_command.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_REPORT, TABLE_COMPILE, TABLES };

/* Returns the page's name in the current folder: `ag_matmul.html` for examples/ag_matmul.hir or the first of several
 * files, 0-3:examples/ag_matmul.hir. */
static char *name_of_page(const char *word)
{
	const char *path = rank_files_name(word) ? rank_files_name(word) : word;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
	struct buf out = {0};
	size_t n = dot && dot > name ? (size_t)(dot - name) : strlen(name);
	if (!strcmp(path, "-"))
		buf_puts(&out, "report");
	else
		buf_putn(&out, name, n);
	buf_puts(&out, ".html");
	return out.at;
}

/* Puts the command as given, and the options with which other commands show the same program and times. */
static void put_commands(struct report_command *c, const struct command_line *line)
{
	buf_puts(&c->command, "hirc report");
	for (uint32_t k = 0; k < line->given.n; k++) {
		options_put_given(line, k, &c->command);
		if (option_table_has(&line->table[TABLE_COMPILE], line->given.at[k]))
			options_put_given(line, k, &c->program);
	}
	if (c->streams != DEFAULT_STREAMS)
		buf_printf(&c->times, " --streams=%lld", (long long)c->streams);
	for (unsigned k = 0; k < 2; k++) {
		struct buf *out = k ? &c->program : &c->command;
		for (uint32_t i = 0; i < line->file.n; i++) {
			buf_putc(out, ' ');
			options_put_word(line->file.at[i], out);
		}
	}
}

static bool reads_input(const struct command_line *line)
{
	for (uint32_t k = 0; k < line->file.n; k++)
		if (!strcmp(line->file.at[k], "-"))
			return true;
	return false;
}

static bool check_options(struct report_command *c, const struct command_line *line)
{
	const char *wrong = c->run && c->trace
	                        ? "--run and --trace=FILE.json both give measured times: take one of them"
	                    : c->trace && !strcmp(c->trace, "-") && reads_input(line)
	                        ? "the program and --trace are both standard input: one of the two is a file"
	                        : NULL;
	if (wrong)
		diag_error(c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "%s", wrong);
	return !wrong;
}

/* Checks that no option needs the program in one file. */
static bool allows_files(const struct report_command *c)
{
	return rank_files_allow(c->d, c->source, c->run, "--run") &&
	       rank_files_allow(c->d, c->source, c->trace, "--trace");
}

static bool to_stdout(const struct report_command *c)
{
	return !strcmp(c->file, "-");
}

/* Checks that the page can be written. Without -o, its name follows from the program's; see name_of_page. */
static bool can_write(struct report_command *c, const struct command_line *line)
{
	struct buf other = {0};
	if (!c->output && options_replaces(line, c->file, &other)) {
		diag_error(c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "'%s' would replace %s: -o FILE.html gives the page another name", c->file,
		           other.at);
		buf_free(&other);
		return false;
	}
	if (to_stdout(c) || file_try_replace(c->file))
		return true;
	diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", c->file, strerror(errno));
	return false;
}

static bool write_page(struct report_command *c, const struct buf *page)
{
	if (to_stdout(c))
		return output_write(page);
	if (!file_replace(c->file, &(struct file_part){page->at, page->n}, 1)) {
		diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", c->file,
		           strerror(errno));
		return false;
	}
	printf("%s\n", c->file);
	return output_flush();
}

static enum status write_report(struct report_command *c, const struct command_line *line)
{
	struct buf page = {0};
	enum status status = STATUS_USAGE;
	c->file = c->output ? mem_strdup(c->output) : name_of_page(line->file.at[0]);
	put_commands(c, line);
	if (check_options(c, line) && compile_options_finish(&c->compile, c->d))
		status = rank_files_read(c->d, &c->compile, line, &c->source);
	if (status == STATUS_OK && !allows_files(c))
		status = STATUS_USAGE;
	if (status == STATUS_OK && !can_write(c, line))
		status = STATUS_DIAGNOSTICS;
	if (status == STATUS_OK)
		status = report_make(c, &page);
	if (status == STATUS_OK && !write_page(c, &page))
		status = STATUS_DIAGNOSTICS;
	buf_free(&page);
	buf_free(&c->command);
	buf_free(&c->program);
	buf_free(&c->times);
	source_free(c->source);
	free(c->file);
	return status;
}

static const struct option rows[] = {
    {.letter = 'o',
     .kind = OPTION_TEXT,
     .at = offsetof(struct report_command, output),
     .value = "FILE.html",
     .file = FILE_WRITTEN,
     .help = "write to this file instead of NAME.html for NAME.hir; `-`: to standard output"},
    {.name = "title",
     .kind = OPTION_TEXT,
     .at = offsetof(struct report_command, title),
     .value = "TEXT",
     .help = "title of the page; default: the program's name"},
    {.name = "trace",
     .kind = OPTION_TEXT,
     .at = offsetof(struct report_command, trace),
     .value = "FILE.json",
     .file = FILE_READ,
     .help = "show the times in FILE.json, of `hirc run --trace` of this program, beside the "
             "predicted ones"},
    {.name = "run",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct report_command, run),
     .help = "run the program here, and show the measured times"},
    STREAMS_OPTION(struct report_command, streams),
    REMARKS_OPTION(struct report_command, compile.pipeline.remarks, true),
};

int cmd_report(int argc, char **argv)
{
	struct report_command c = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE…",
	    .about =
	        "Writes a page about a program that any browser shows, without a network: its source, what "
	        "each pass\nchanged, layouts, a timeline, memory, remarks and the findings of `hirc check`. "
	        "`-` "
	        "is "
	        "standard input.\nSeveral files are one program: for the ranks 0, 1, …, or as in "
	        "`0-3:A.hir 4-7:B.hir`.\nExit code: 0, 1 after messages about the input, 2 for a wrong "
	        "command "
	        "line.",
	    .table = {[TABLE_REPORT] = OPTION_TABLE("Options", rows, &c),
	              [TABLE_COMPILE] = compile_options_table(&c.compile)},
	    .table_n = TABLES,
	    .min_files = 1,
	    .has_ranks = true,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		c.d = compile_diag(&c.compile);
		status = write_report(&c, &line);
		diag_finish(c.d);
		diag_free(c.d);
	}
	options_free(&line);
	compile_options_free(&c.compile);
	return status;
}
