/* cmd_reduce: hirc reduce: the smallest program for which a command still fails in the same way.
 *
 *     hirc reduce bug.hir -- check --strict           the same exit code and number of the first error
 *     hirc reduce bug.hir -o small.hir -- run --check
 *     hirc reduce bug.hir --match='E0601' -- check
 *
 * The candidates are those of src/reduce; each is one run of the command. */
#include "base/file.h"
#include "base/source.h"
#include "cli/attempt.h"
#include "cli/cli_progress.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "import/import.h"
#include "reduce/reduce.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NO_CODE = -1 };

struct reduce_command {
	const char *output, *match;
	int exit_code; /* to be kept; NO_CODE: that of the program as it is */
	struct attempt_command attempt;
	struct progress progress;
	struct reduce reduce;
	struct attempt wanted; /* the end of the command on the whole program */
	size_t bytes;          /* of the whole program */
};

static bool read_exit(void *to, const char *text)
{
	struct reduce_command *c = to;
	char *end;
	long code = strtol(text, &end, 10);
	if (!*text || *end || code < 0 || code > 255) {
		fprintf(stderr, "hirc reduce: error: --exit takes an exit code, 0 to 255, not '%s'\n", text);
		return false;
	}
	c->exit_code = (int)code;
	return true;
}

/* ---- the fault */

static bool has_text(const struct attempt *a, const char *text)
{
	return (a->out[0].at && strstr(a->out[0].at, text)) || (a->out[1].at && strstr(a->out[1].at, text));
}

/* Returns true if a run shows the fault that is to be kept. */
static bool is_wanted(const struct reduce_command *c, const struct attempt *a)
{
	if (a->code != (c->exit_code == NO_CODE ? c->wanted.code : c->exit_code))
		return false;
	if (c->match)
		return has_text(a, c->match);
	return c->exit_code != NO_CODE || !strcmp(a->number, c->wanted.number);
}

static bool keeps(void *to, const struct buf *candidate)
{
	struct reduce_command *c = to;
	struct attempt a;
	bool kept = attempt_run(&c->attempt, candidate, NULL, &a) && is_wanted(c, &a);
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

/* Runs the command on the whole program. Returns true if there is a fault to keep; false after reporting. */
static bool find_fault(struct reduce_command *c)
{
	struct diag *d = c->attempt.d;
	struct buf command = {0}, end = {0};
	if (!attempt_run(&c->attempt, &c->reduce.text, NULL, &c->wanted))
		return false;
	int code = c->wanted.code;
	bool usual =
	    c->exit_code != NO_CODE || c->match || (code && code != STATUS_USAGE && code != ATTEMPT_LATE);
	if (usual && is_wanted(c, &c->wanted))
		return true;
	attempt_put_command(&c->attempt, &command);
	attempt_put_end(&c->attempt, &c->wanted, &end);
	if (usual && c->match && (c->exit_code == NO_CODE || code == c->exit_code))
		diag_error(d, E_NO_FAULT, DIAG_NOWHERE, "`%s` prints no '%s'", command.at, c->match);
	else
		diag_error(d, E_NO_FAULT, DIAG_NOWHERE, "`%s` %s", command.at, end.at);
	if (code == STATUS_USAGE && c->wanted.out[1].n)
		diag_note(d, DIAG_NOWHERE, "it printed: %.*s", (int)strcspn(c->wanted.out[1].at, "\n"),
		          c->wanted.out[1].at);
	if (code == ATTEMPT_LATE)
		diag_note(d, DIAG_NOWHERE, "--timeout=SECONDS gives it more time; --exit=%d keeps this end",
		          ATTEMPT_LATE);
	else
		diag_note(d, DIAG_NOWHERE, "--exit=N and --match=TEXT name the fault that is to be kept");
	buf_free(&command);
	buf_free(&end);
	return false;
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

/* Returns true if the output is a file, and no stream. */
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
	if (find_fault(c)) {
		uint32_t statements = reduce_count_statements(&c->reduce.text);
		reduce_run(&c->reduce);
		progress_end(&c->progress);
		print_summary(c, statements);
		status = write_result(c);
		status = c->attempt.failed ? STATUS_DIAGNOSTICS : status;
	}
	if (attempt_interrupted()) {
		fputs("hirc reduce: interrupted; a longer search may find a smaller program\n", stderr);
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
	/* Before the search, which may take long. */
	if (has_file(c) && !file_try_replace(c->output))
		report_unwritable(c);
	else if (attempt_begin(&c->attempt, path, &c->reduce.text))
		status = reduce_program(c);
	attempt_end(&c->attempt);
	return status;
}

int cmd_reduce(int argc, char **argv)
{
	struct reduce_command c = {.exit_code = NO_CODE, .attempt = {.timeout = ATTEMPT_SECONDS}};
	c.reduce.keeps = keeps;
	c.reduce.stops = stops;
	c.reduce.shows = show;
	c.reduce.to = &c;
	const struct option options[] = {
	    {.letter = 'o',
	     .kind = OPTION_TEXT,
	     .to = &c.output,
	     .value = "FILE",
	     .file = FILE_WRITTEN,
	     .help = "write the program to a file"},
	    {.name = "exit",
	     .kind = OPTION_CALL,
	     .to = &c,
	     .call = read_exit,
	     .value = "N",
	     .help = "keep this exit code, and no message; 124: the command is over its time, 128 + N: it "
	             "ends by signal N"},
	    {.name = "match",
	     .kind = OPTION_TEXT,
	     .to = &c.match,
	     .value = "TEXT",
	     .help = "keep this text in the output, in place of the number of the first error"},
	    ATTEMPT_TIMEOUT_OPTION(&c.attempt.timeout),
	    PROGRESS_OPTION(&c.progress),
	};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE -- COMMAND [ARGUMENT…]",
	    .about =
	        "Finds a smaller program for which `hirc COMMAND` still ends with the same exit code and "
	        "number of\nthe first error. `%s` among the arguments is the program; without it the program "
	        "comes last.\nPrints the program; `-` is standard input.",
	    .table = {{.title = "Options", .at = options, .n = sizeof options / sizeof *options}},
	    .table_n = 1,
	    .min_files = 1,
	};
	enum status status;
	int code;
	if (!options_parse(&line, argc, argv, &status)) {
		code = status;
	} else if (line.file.n < 2) {
		fprintf(stderr,
		        "hirc %s: error: no command: `hirc %s %s -- check` reduces for `hirc check`\n",
		        argv[0], argv[0], line.file.at[0]);
		code = STATUS_USAGE;
	} else {
		c.attempt.word = line.file.at + 1;
		c.attempt.word_n = line.file.n - 1;
		c.attempt.d = diag_new(stderr, DIAG_TEXT, -1);
		code = reduce_file(&c, line.file.at[0]);
		diag_finish(c.attempt.d);
		diag_free(c.attempt.d);
	}
	attempt_free(&c.wanted);
	buf_free(&c.reduce.text);
	reduce_free(&c.reduce);
	options_free(&line);
	return code;
}
