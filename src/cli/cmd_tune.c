/* cmd_tune: hirc tune: finds the chunk counts and options with which a program takes the least time. */
#include "analysis/extents.h"
#include "base/file.h"
#include "base/source_read.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/params.h"
#include "cli/tune.h"
#include "import/import.h"
#include "sim/sim.h"
#include <errno.h>
#include <string.h>

enum { DEFAULT_MEASURE = 3, DEFAULT_LIMIT = 1000, DEFAULT_ROWS = 10 };

/* ---- the source */

/* Refuses to measure recorded graphs, which can only be simulated. */
static bool check_recorded_source(struct tune *t, enum status *status)
{
	if (t->measure && options_given(t->line, "measure")) {
		diag_error(t->d, E_RECORDED_GRAPH, DIAG_NOWHERE,
		           "--measure: '%s' is a recorded graph, which cannot run", t->path);
		diag_note(t->d, DIAG_NOWHERE, "without it candidates are simulated");
		*status = STATUS_USAGE;
		return false;
	}
	t->measure = 0;
	t->recorded = true;
	return true;
}

static bool read_source(struct tune *t, enum status *status)
{
	*status = source_read_bytes(t->d, t->path, import_knows_bytes, &t->source);
	if (*status != STATUS_OK)
		return false;
	diag_set_source(t->d, t->source);
	if (import_knows(t->source))
		return check_recorded_source(t, status);
	*status = STATUS_DIAGNOSTICS;
	unsigned errors = diag_error_count(t->d);
	t->ast = ast_parse(t->d, t->source);
	return diag_error_count(t->d) == errors;
}

/* Checks that the program before any pass is right, and that all its params have values. A list of values in
 * -D is for consts, and is read later. */
static bool check_source(struct tune *t, enum status *status)
{
	struct compile_options o;
	int64_t streams;
	struct tune_candidate none = {0};
	*status = STATUS_USAGE;
	bool ok = tune_options_make(t, &none, t->d, &o, &streams);
	if (ok) {
		struct source *s = source_copy(t->source);
		struct module *m = compile_source(t->d, s, &o, false, status);
		struct source *outer = diag_set_source(t->d, m ? m->source : t->source);
		ok = m && params_check(m, t->d);
		*status = ok ? STATUS_OK : STATUS_DIAGNOSTICS;
		ok = ok && (!sim_is_recorded(m) || check_recorded_source(t, status));
		diag_set_source(t->d, outer);
		compile_free(m);
	}
	tune_options_free(t, &o);
	return ok;
}

/* ---- choosing */

/* Chooses the candidate with the least measured time, or else predicted time; the unchanged program if no
 * time is less than its own. False after reporting that no candidate can be chosen. */
static bool choose_candidate(struct tune *t)
{
	bool found = false, measured = false;
	double least = 0;
	const char *reason = NULL;
	for (uint32_t k = 0; k < t->candidate.n; k++) {
		const struct tune_candidate *c = &t->candidate.at[k];
		bool ran = c->measured >= 0;
		double time = ran ? c->measured : (double)c->predicted;
		reason = reason ? reason : c->reason;
		if (c->state != TUNE_GOOD || time < 0 || (measured && !ran))
			continue;
		if (found && ran == measured && time >= least)
			continue;
		t->chosen = k;
		least = time;
		found = true;
		measured = ran;
	}
	if (found)
		return true;
	diag_error(t->d, E_CANDIDATES_NONE, DIAG_NOWHERE, "of %u candidates none %s", t->candidate.n,
	           t->measure ? "runs" : "has a predicted time");
	if (reason)
		diag_note(t->d, DIAG_NOWHERE, "the first: %s", reason);
	if (!t->measure && !t->recorded)
		diag_note(t->d, DIAG_NOWHERE, "--measure runs them");
	return false;
}

/* ---- output */

static bool write_program(struct tune *t)
{
	struct buf text = {0};
	const struct tune_candidate *c = &t->candidate.at[t->chosen];
	bool file = t->output && strcmp(t->output, "-") != 0;
	tune_put_program(t, c, file ? t->output : t->path, &text);
	bool ok =
	    file ? file_replace(t->output, &(struct file_part){text.at, text.n}, 1) : output_write(&text);
	if (file && !ok)
		diag_error(t->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", t->output,
		           strerror(errno));
	buf_free(&text);
	return ok;
}

/* Prints the table, unless -o sends the program to standard output. Then writes the program; without -o, only
 * if the table is text. */
static bool report_candidates(struct tune *t)
{
	struct buf text = {0};
	bool alone = t->output && !strcmp(t->output, "-"), words = !t->csv && !t->json, ok = true;
	if (t->json)
		tune_print_json(t, &text);
	else if (t->csv)
		tune_print_csv(t, &text);
	else
		tune_print(t, &text);
	if (words && !t->output)
		buf_putc(&text, '\n');
	if (!alone)
		ok = output_write(&text);
	buf_free(&text);
	return (!t->output && !words) || (write_program(t) && ok);
}

static void print_tune_remarks(const struct tune *t)
{
	struct buf text = {0};
	tune_print_remarks(t, &text);
	if (text.n)
		fputs(text.at, stderr);
	buf_free(&text);
}

/* ---- the command */

/* Predicts replays, as candidates on a GPU are measured, if the cluster states the times of nodes. */
static void predict_replays(struct tune *t)
{
	if (t->ranks.replay && rank_options_are_cuda(&t->ranks) && t->compile.cluster->node[CALL_KERNEL])
		t->compile.cluster->replayed = true;
}

static enum status tune(struct tune *t)
{
	enum status status;
	if (!read_source(t, &status))
		return status;
	if (!tune_axes_find(t))
		return STATUS_USAGE;
	if (!check_source(t, &status))
		return status;
	t->compile.replayed = t->ranks.replay && options_given(t->line, "graph");
	t->cluster = compile_cluster(t->d, &t->compile, &status);
	if (!t->cluster)
		return status;
	predict_replays(t);
	if (!tune_axes_end(t))
		return STATUS_USAGE;
	tune_search(t);
	status = tune_measure(t);
	if (t->compile.pipeline.remarks)
		print_tune_remarks(t);
	if (status != STATUS_OK)
		return status;
	if (!choose_candidate(t) || !report_candidates(t))
		return STATUS_DIAGNOSTICS;
	compile_warn_unused(t->d, &t->compile);
	return STATUS_OK;
}

static bool take_measure(struct tune *t)
{
	const char *text = t->measure_text;
	char *end;
	t->measure = options_given(t->line, "cluster") ? 0 : DEFAULT_MEASURE;
	if (!text)
		return true;
	t->measure = TUNE_ALL;
	if (!strcmp(text, "all"))
		return true;
	errno = 0;
	long long k = strtoll(text, &end, 10);
	if (errno || end == text || *end || k < 0 || k > TUNE_ALL) {
		diag_error(t->d, E_OPTION_VALUE, DIAG_NOWHERE,
		           "--measure takes a number of candidates or `all`, not '%s'", text);
		return false;
	}
	t->measure = k;
	return true;
}

/* Refuses options that show or change a single compilation. */
static bool check_given(struct tune *t)
{
	static const char *const refused[] = {"print-before", "print-after", "dump-dir", "timing",
	                                      "stop-after"};
	for (unsigned k = 0; k < sizeof refused / sizeof *refused; k++)
		if (options_given(t->line, refused[k])) {
			diag_error(t->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
			           "--%s is of one program, and many are looked at here", refused[k]);
			diag_note(t->d, DIAG_NOWHERE, "`hirc compile` has it");
			return false;
		}
	if (t->line->file.n > 1) {
		diag_error(t->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "hirc tune takes one program, not %u files", t->line->file.n);
		diag_note(
		    t->d, DIAG_NOWHERE,
		    "recorded graphs that differ from rank to rank become one: hirc import GRAPH… -o FILE");
		return false;
	}
	if (!rank_options_check(&t->ranks, t->compile.zero_copy, t->d))
		return false;
	if (t->csv && t->json) {
		diag_error(t->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "--csv and --json: one of them");
		return false;
	}
	if ((t->csv || t->json) && t->output && !strcmp(t->output, "-")) {
		diag_error(t->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--%s and -o - both print to standard output: write the program to a file with "
		           "-o FILE",
		           t->json ? "json" : "csv");
		return false;
	}
	if (t->measure && rt_boot_choose(rank_options_launch(&t->ranks).kind) == RT_BOOT_MPI) {
		diag_error(t->d, E_LAUNCHER, DIAG_NOWHERE,
		           "hirc tune starts its ranks itself, and so not under a launcher");
		diag_note(t->d, DIAG_NOWHERE, "--np says how many; --measure=0 starts none");
		return false;
	}
	return true;
}

static const struct option rows[] = {
    {.name = "search",
     .kind = OPTION_TEXT,
     .at = offsetof(struct tune, search),
     .value = "A,B",
     .words = "chunks|pipeline|offset-streams|zero-copy|fuse|overlap|streams|transform",
     .several = true,
     .init.text = "all",
     .help = "the options to vary: chunks, pipeline, offset-streams, zero-copy, fuse, overlap, streams, "
             "transform"},
    {.name = "measure",
     .kind = OPTION_MAYBE,
     .at = offsetof(struct tune, measure_text),
     .value = "K",
     .otherwise = "all",
     .help = "run the K best, without `=K` all; by default 3, with --cluster 0"},
    {.name = "limit",
     .kind = OPTION_INT,
     .at = offsetof(struct tune, limit),
     .value = "N",
     .min = 1,
     .max = 1 << 20,
     .init.number = DEFAULT_LIMIT,
     .help = "most candidates that differ"},
    {.name = "check",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct tune, check),
     .init.on = true,
     .help = "compare the outputs of candidates that run with a reference evaluation"},
    {.name = "rows",
     .kind = OPTION_INT,
     .at = offsetof(struct tune, rows),
     .value = "N",
     .min = 1,
     .max = 1 << 20,
     .init.number = DEFAULT_ROWS,
     .help = "print the N best candidates, and those that ran"},
    PROGRESS_OPTION(struct tune, progress),
    CSV_OPTION(struct tune, csv),
    JSON_OPTION(struct tune, json),
    {.letter = 'o',
     .kind = OPTION_TEXT,
     .at = offsetof(struct tune, output),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .help = "write the chosen program there; `-`: print it alone"},
};

int cmd_tune(int argc, char **argv)
{
	struct tune t = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE",
	    .about =
	        "Searches chunk counts, kinds of pipelines and other options for the program that takes the\n"
	        "least time: each candidate is compiled and simulated, the best are run, and the program\n"
	        "that is chosen is printed under the command line that runs it. `-` is standard input.\n"
	        "`-D s=2,4` gives the numbers of chunks; options that are given are not varied.\n"
	        "Exit code: 0, 1 after messages about the input, 2 for a wrong command line, 3 if a\n"
	        "candidate computes other outputs.",
	    .table = {OPTION_TABLE("Options", rows, &t), rank_options_table(&t.ranks),
	              gpu_options_table(&t.ranks.gpu), compile_options_table(&t.compile)},
	    .table_n = 4,
	    .min_files = 1,
	    .max_files = UINT32_MAX,
	};
	enum status status;
	t.line = &line;
	if (options_parse(&line, argc, argv, &status)) {
		compile_options_target(&t.compile, &line, t.ranks.target);
		compile_options_transport(&t.compile, t.ranks.transport,
		                          rank_options_launch(&t.ranks).kind == RT_BOOT_THREAD);
		t.d = compile_diag(&t.compile);
		diag_set_before(t.d, progress_end, &t.progress);
		t.arena = arena_new();
		t.path = line.file.at[0];
		status = take_measure(&t) && check_given(&t) ? tune(&t) : STATUS_USAGE;
		ast_free(t.ast);
		diag_finish(t.d);
		diag_free(t.d);
		source_free(t.source);
		vec_free(&t.candidate);
		vec_free(&t.remark);
		arena_free(t.arena);
	}
	options_free(&line);
	rank_options_free(&t.ranks);
	compile_options_free(&t.compile);
	return status;
}
