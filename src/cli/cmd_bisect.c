/* cmd_bisect: hirc bisect: finds the pass, and the change in it, that makes a program fail.
 *
 *     hirc bisect bug.hir -- run --check
 *     hirc bisect bug.hir --match=HostUnit -- compile --dump                                     */
#include "base/source.h"
#include "base/source_read.h"
#include "cli/bisect.h"
#include "cli/commands.h"
#include "cli/options_shared.h"
#include "import/import.h"
#include <stdlib.h>

/* Searches the changes if the program is good without them, else the passes. */
static int search_program(struct bisect *b)
{
	struct bisect_step s;
	if (!fault_find(&b->fault, &b->attempt, &b->text) || !bisect_list(b))
		return STATUS_DIAGNOSTICS;
	b->runs++;
	if (!b->pass.n || bisect_ask(b, false, 0) == BISECT_BAD) {
		progress_end(&b->progress);
		puts("no pass: the command fails in this way on the program as it is written");
		return STATUS_OK;
	}
	enum bisect_verdict none = b->change.n ? bisect_ask(b, true, 0) : BISECT_UNCLEAR;
	b->without_changes = none == BISECT_BAD;
	if (!bisect_search(b, none == BISECT_GOOD, &s))
		return STATUS_DIAGNOSTICS;
	progress_end(&b->progress);
	return bisect_report(b, &s);
}

static int bisect_file(struct bisect *b, const char *path)
{
	struct source *s;
	int status = source_read_bytes(b->attempt.d, path, import_knows_bytes, &s);
	if (status != STATUS_OK)
		return status;
	buf_putn(&b->text, s->text, s->size);
	source_free(s);
	status = STATUS_DIAGNOSTICS;
	if (attempt_begin(&b->attempt, path, &b->text))
		status = search_program(b);
	attempt_end(&b->attempt);
	if (!attempt_interrupted())
		return status;
	fputs("hirc bisect: interrupted\n", stderr);
	return 128 + attempt_interrupted();
}

static void free_texts(struct bisect *b)
{
	for (uint32_t i = 0; i < b->pass.n; i++)
		free(b->pass.at[i]);
	for (uint32_t i = 0; i < b->change.n; i++)
		free(b->change.at[i]);
	vec_free(&b->pass);
	vec_free(&b->change);
	buf_free(&b->text);
}

static const struct option rows[] = {
    {.name = "dump-dir",
     .kind = OPTION_TEXT,
     .at = offsetof(struct bisect, folder),
     .value = "DIR",
     .help = "write the last good program as good.hir and the first bad one as bad.hir"},
    FAULT_OPTIONS(struct bisect, fault),
    ATTEMPT_TIMEOUT_OPTION(struct bisect, attempt),
    PROGRESS_OPTION(struct bisect, progress),
    COLOR_OPTION(struct bisect, color),
};

int cmd_bisect(int argc, char **argv)
{
	struct bisect b = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE -- COMMAND [ARGUMENT…]",
	    .about =
	        "Finds the pass that makes `hirc COMMAND` fail, and where the pass could have left the "
	        "change out, the\nchange with its statement. Prints the first difference of the program "
	        "before and after. `%s` among the\narguments is the program; without it the program comes "
	        "last; `-` is "
	        "standard input.",
	    .table = {OPTION_TABLE("Options", rows, &b)},
	    .table_n = 1,
	    .min_files = 1,
	};
	enum status status;
	int code = STATUS_USAGE;
	if (!options_parse(&line, argc, argv, &status)) {
		code = status;
	} else if (attempt_read(&b.attempt, &line, "searches with", b.color)) {
		diag_set_before(b.attempt.d, progress_end, &b.progress);
		code = bisect_file(&b, line.file.at[0]);
		attempt_close(&b.attempt);
	}
	free_texts(&b);
	fault_free(&b.fault);
	options_free(&line);
	return code;
}
