/* cmd_reduce: hirc reduce: finds a smaller program for which a command still fails in the same way.
 *
 *     hirc reduce bug.hir -- check --strict           the same exit code and number of the first error
 *     hirc reduce bug.hir -o small.hir -- run --check
 *     hirc reduce bug.hir --match='E0601' -- check
 *
 * src/reduce makes the candidates; each one is one run of the command. */
#include "base/file.h"
#include "base/source.h"
#include "base/source_read.h"
#include "cli/cli_progress.h"
#include "cli/command_fault.h"
#include "cli/commands.h"
#include "cli/options_shared.h"
#include "cli/output.h"
#include "import/import.h"
#include "reduce/reduce.h"
#include <errno.h>
#include <string.h>

struct reduce_command {
	const char *output, *color;
	struct attempt_command attempt;
	struct fault fault; /* the fault to keep */
	struct progress progress;
	struct reduce reduce;
	size_t bytes; /* size of the whole program */
};

static bool keeps(void *to, const struct buf *candidate)
{
	struct reduce_command *c = to;
	struct attempt a;
	bool kept = attempt_run(&c->attempt, candidate, NULL, &a) && fault_shows(&c->fault, &a);
	attempt_free(&a);
	return kept;
}

static bool stops(void *to)
{
	struct reduce_command *c = to;
	return c->attempt.failed || attempt_interrupted();
}

static void show(void *to, const char *kind, const struct buf *text)
{
	struct reduce_command *c = to;
	double left = c->bytes ? (double)text->n / (double)c->bytes : 0;
	progress_show(&c->progress, 1 - left, "%zu of %zu bytes are left, %u candidates: %s", text->n,
	              c->bytes, c->reduce.candidates, kind);
}

/* ---- the result */

static void put_size(struct buf *out, uint32_t statements, size_t bytes)
{
	buf_printf(out, "%u statement%s, %zu bytes", statements, statements == 1 ? "" : "s", bytes);
}

static void print_summary(struct reduce_command *c, uint32_t statements)
{
	struct buf line = {0};
	put_size(&line, statements, c->bytes);
	buf_puts(&line, " → ");
	put_size(&line, reduce_count_statements(&c->reduce.text), c->reduce.text.n);
	fprintf(stderr, "%s; %u candidates\n", line.at, c->reduce.candidates);
	buf_free(&line);
}

static bool report_unwritable(struct reduce_command *c)
{
	diag_error(c->attempt.d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", c->output,
	           strerror(errno));
	return false;
}

/* Returns true if the output is a file, not standard output. */
static bool has_file(const struct reduce_command *c)
{
	return c->output && strcmp(c->output, "-") != 0;
}

static enum status write_result(struct reduce_command *c)
{
	const struct buf *text = &c->reduce.text;
	if (!has_file(c))
		return output_write(text) ? STATUS_OK : STATUS_DIAGNOSTICS;
	if (file_replace(c->output, &(struct file_part){text->at, text->n}, 1) || report_unwritable(c))
		return STATUS_OK;
	return STATUS_DIAGNOSTICS;
}

static int reduce_program(struct reduce_command *c)
{
	int status = STATUS_DIAGNOSTICS;
	c->bytes = c->reduce.text.n;
	if (fault_find(&c->fault, &c->attempt, &c->reduce.text)) {
		uint32_t statements = reduce_count_statements(&c->reduce.text);
		reduce_run(&c->reduce);
		progress_end(&c->progress);
		print_summary(c, statements);
		status = write_result(c);
		status = c->attempt.failed ? STATUS_DIAGNOSTICS : status;
	}
	if (attempt_interrupted()) {
		fprintf(stderr, "hirc reduce: interrupted%s\n",
		        c->reduce.candidates ? "; a longer search may find a smaller program" : "");
		status = 128 + attempt_interrupted();
	}
	return status;
}

static int reduce_file(struct reduce_command *c, const char *path)
{
	struct source *s;
	int status = source_read_bytes(c->attempt.d, path, import_knows_bytes, &s);
	if (status != STATUS_OK)
		return status;
	if (import_knows(s)) {
		diag_error(c->attempt.d, E_RECORDED_GRAPH, DIAG_NOWHERE,
		           "'%s' is a recorded graph; reduce takes programs", path);
		diag_note(c->attempt.d, DIAG_NOWHERE, "`hirc import %s` makes a program of it", path);
		source_free(s);
		return STATUS_DIAGNOSTICS;
	}
	buf_putn(&c->reduce.text, s->text, s->size);
	source_free(s);
	status = STATUS_DIAGNOSTICS;
	/* fail now, since the search may take long */
	if (has_file(c) && !file_try_replace(c->output))
		report_unwritable(c);
	else if (attempt_begin(&c->attempt, path, &c->reduce.text))
		status = reduce_program(c);
	attempt_end(&c->attempt);
	return status;
}

static const struct option rows[] = {
    {.letter = 'o',
     .kind = OPTION_TEXT,
     .at = offsetof(struct reduce_command, output),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .help = "write the program to a file"},
    FAULT_OPTIONS(struct reduce_command, fault),
    ATTEMPT_TIMEOUT_OPTION(struct reduce_command, attempt),
    PROGRESS_OPTION(struct reduce_command, progress),
    COLOR_OPTION(struct reduce_command, color),
};

int cmd_reduce(int argc, char **argv)
{
	struct reduce_command c = {0};
	c.reduce.keeps = keeps;
	c.reduce.stops = stops;
	c.reduce.shows = show;
	c.reduce.to = &c;
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE -- COMMAND [ARGUMENT…]",
	    .about =
	        "Finds a smaller program for which `hirc COMMAND` still ends with the same exit code and "
	        "number of\nthe first error. `%s` among the arguments is the program; without it the program "
	        "comes last.\nPrints the program; `-` is standard input.",
	    .table = {OPTION_TABLE("Options", rows, &c)},
	    .table_n = 1,
	    .min_files = 1,
	};
	enum status status;
	int code = STATUS_USAGE;
	if (!options_parse(&line, argc, argv, &status)) {
		code = status;
	} else if (attempt_read(&c.attempt, &line, "reduces for", c.color)) {
		code = reduce_file(&c, line.file.at[0]);
		attempt_close(&c.attempt);
	}
	fault_free(&c.fault);
	buf_free(&c.reduce.text);
	reduce_free(&c.reduce);
	options_free(&line);
	return code;
}
