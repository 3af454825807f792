/* cmd_check: hirc check: proves that a program is free of races, without running it.
 *
 *     hirc check foo.hir                  for as many ranks as its meshes have devices
 *     hirc check foo.hir --np=4 -D t=13   the program that `hirc run` with these options runs
 *     hirc check foo.hir --family=np=2..64    for each number of ranks                          */
#include "base/json_put.h"
#include "base/str.h"
#include "base/table.h"
#include "cli/check_against.h"
#include "cli/check_memory.h"
#include "cli/cli_progress.h"
#include "cli/commands.h"
#include "cli/compile.h"
#include "cli/gate.h"
#include "cli/options_shared.h"
#include "cli/output.h"
#include "cli/params.h"
#include "cli/rank_files.h"
#include "cli/split.h"
#include "cli/witness_file.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CHECK_VERSION = 1 /* of --json */ };

struct check_command {
	struct compile_options compile;
	struct check_options check;
	const struct command_line *line;
	const char *witness; /* the file; NULL: none */
	const char *against; /* a program to compare with; NULL: none */
	bool split, json;
	const char *result;   /* of the last program: "ok", or the kind of failure */
	const char *relation; /* of the last program to that of --against; NULL: they were not compared */
	struct check_result proved; /* set if result is "ok" */
	struct table programs;      /* for --json: one row per program */
	const char *family_text;
	struct family {
		char name[64]; /* np, or a name that -D defines */
		int64_t lo, hi;
	} family;
	struct progress progress;
	int64_t member; /* index in the family, from 0 on */
	struct diag *d;
};

static void show_check_progress(void *command, double done)
{
	struct check_command *c = command;
	const struct family *f = &c->family;
	if (c->family_text)
		progress_show(&c->progress, ((double)c->member + done) / (double)(f->hi - f->lo + 1),
		              "checking %s = %" PRId64, f->name, f->lo + c->member);
	else
		progress_show(&c->progress, done, "checking %" PRId64 " ranks", c->check.ranks);
}

/* Checks the program, and writes a witness if one is wanted. *wrote: no write failed. */
static enum check_status check_with_witness(struct check_command *c, struct module *m, struct diag *d,
                                            struct check_result *r, bool *wrote)
{
	struct check_options o = c->check;
	struct witness_file w = {.ranks = o.ranks, .streams = o.streams};
	*wrote = true;
	o.witness = c->witness ? &w.witness : NULL;
	if (c->witness)
		w.program = witness_program(m);
	enum check_status status = gate_check(m, d, &o, r);
	if (c->witness && status == CHECK_WRONG)
		*wrote = witness_write(d, c->witness, &w);
	witness_free(&w.witness);
	return status;
}

/* Says what the proof has left out. */
static void note_unproved(const struct module *m, struct diag *d, const struct check_result *r)
{
	if (r->unproved)
		diag_note(d, DIAG_NOWHERE,
		          "not proved: that each statement gets the elements that it needs, and that sums "
		          "are complete; %s",
		          r->unproved);
	if (r->taken_as_written)
		diag_note(d, DIAG_NOWHERE, "not proved: that %lld reads are of elements that were written",
		          (long long)r->taken_as_written);
	if (r->trusted_n == 1)
		diag_note(d, m->op.at[r->trusted].at, "taken on trust: the result of this statement");
	else if (r->trusted_n)
		diag_note(d, m->op.at[r->trusted].at,
		          "taken on trust: the results of %u statements, of which this is the first",
		          r->trusted_n);
}

/* Proves a program and prints the result. quiet: prints only errors. */
static enum status report_proof(struct check_command *c, struct module *m, struct diag *d, bool quiet)
{
	struct check_result r;
	bool wrote;
	switch (check_with_witness(c, m, d, &r, &wrote)) {
	case CHECK_CLEAN:
		c->result = "ok";
		c->proved = r;
		if (quiet)
			return STATUS_OK;
		progress_end(&c->progress);
		note_unproved(m, d, &r);
		printf("ok: %lld rank%s, %lld access%s, %lld Communication%s: ordered, matched, alive%s%s\n",
		       (long long)r.ranks, r.ranks == 1 ? "" : "s", (long long)r.accesses,
		       r.accesses == 1 ? "" : "es", (long long)r.communications,
		       r.communications == 1 ? "" : "s", r.taken_as_written ? "" : ", written",
		       r.unproved ? "" : ", delivered, complete");
		/* flush now: messages of the next program must come after this line */
		return output_status(output_flush());
	case CHECK_UNKNOWN:
		c->result = "unknown";
		diag_error(d, E_CHECK_UNKNOWN, r.at, "%s", r.what);
		break;
	case CHECK_TOO_LONG:
		c->result = "too long";
		diag_error(d, E_CHECK_TOO_LONG, DIAG_NOWHERE,
		           "the program is too long to be checked (limit %d statements, or %d times as many "
		           "comparisons, all ranks together)",
		           CHECK_MAX_WORK, CHECK_COMPARISONS);
		diag_note(d, DIAG_NOWHERE, "check it with fewer ranks or iterations");
		break;
	case CHECK_WRONG:
		c->result = "wrong";
		break;
	}
	return STATUS_DIAGNOSTICS;
}

/* Checks --memory-limit. */
static bool fits_memory(const struct check_command *c, const struct module *m, struct diag *d)
{
	int64_t limit;
	return !c->compile.memory_limit || !str_parse_size(c->compile.memory_limit, &limit) ||
	       check_memory(m, d, c->check.ranks, c->check.streams, limit);
}

/* Compares a proved program with that of --against, and prints the verdict. */
static enum status report_relation(struct check_command *c, struct module *m, struct diag *d)
{
	static const char *const name[] = {[VALUES_COMPUTES] = "computes",
	                                   [VALUES_DIFFERS] = "differs",
	                                   [VALUES_NOT_RELATED] = "not related"};
	enum values_relation found = VALUES_COMPUTES;
	enum status status = check_against(d, m, c->against, &c->compile, &c->check, &found);
	if (status == STATUS_OK || found == VALUES_DIFFERS)
		c->relation = name[found];
	if (status != STATUS_OK || c->json)
		return status;
	if (c->family_text)
		printf("%s = %" PRId64 ": ", c->family.name, c->family.lo + c->member);
	printf(found == VALUES_COMPUTES ? "computes %s\n" : "not related to %s\n", c->against);
	return output_status(output_flush());
}

static enum status check_ranks(struct check_command *c, struct module *m, struct diag *d)
{
	int64_t needed = module_ranks(m);
	diag_set_source(d, m->source);
	if (!params_check(m, d))
		return STATUS_DIAGNOSTICS;
	if (c->compile.np && c->compile.np < needed) {
		diag_error(d, E_RANKS, DIAG_NOWHERE, "the program needs %lld ranks, --np gives %lld",
		           (long long)needed, (long long)c->compile.np);
		return STATUS_USAGE;
	}
	if (!c->family_text)
		compile_note_ranks(&c->compile, m);
	c->check.ranks = needed; /* more ranks would be idle */
	if (!fits_memory(c, m, d))
		return STATUS_DIAGNOSTICS;
	enum status status = report_proof(c, m, d, c->family_text || c->json);
	return status == STATUS_OK && c->against ? report_relation(c, m, d) : status;
}

static const struct table_column program_column[] = {
    {.name = "program"},  {.name = "family"},         {.name = "result"}, {.name = "ranks"},
    {.name = "accesses"}, {.name = "communications"}, {.name = "against"}};

/* Adds a program's row. m: NULL if the program did not compile. */
static void add_program(struct check_command *c, const struct module *m)
{
	struct table *t = &c->programs;
	const struct check_result *r = &c->proved;
	bool ok = !strcmp(c->result, "ok");
	table_add_text(t, m ? names_text(m->names, m->name) : NULL);
	if (c->family_text)
		table_add_int(t, c->family.lo + c->member);
	else
		table_add_none(t);
	table_add_text(t, c->result);
	for (unsigned k = 0; k < 3; k++)
		if (ok)
			table_add_int(t, !k ? r->ranks : k == 1 ? r->accesses : r->communications);
		else
			table_add_none(t);
	table_add_text(t, c->relation);
}

/* Checks one program; owns its source. */
static enum status check_source(void *command, struct source *source, bool first)
{
	struct check_command *c = command;
	enum status status;
	struct module *m = compile_source(c->d, source, &c->compile, true, &status);
	(void)first;
	c->result = "refused";
	c->relation = NULL;
	if (m)
		status = check_ranks(c, m, c->d);
	if (c->json)
		add_program(c, m);
	compile_free(m);
	diag_set_source(c->d, NULL);
	return status;
}

/* ---- families: np=2..64 */

static bool read_family(struct check_command *c)
{
	struct family *f = &c->family;
	int end = 0;
	if (sscanf(c->family_text, "%63[A-Za-z0-9_]=%" SCNd64 "..%" SCNd64 "%n", f->name, &f->lo, &f->hi,
	           &end) == 3 &&
	    !c->family_text[end] && f->lo >= 1 && f->lo <= f->hi && f->hi <= INT32_MAX)
		return true;
	diag_error(
	    c->d, E_OPTION_VALUE, DIAG_NOWHERE,
	    "--family takes np, or a name that -D defines, and its values from 1 on, the smallest first, as "
	    "in np=2..64, not '%s'",
	    c->family_text);
	return false;
}

static enum status check_member(struct check_command *c, const struct source *s, int64_t value)
{
	bool ranks = strcmp(c->family.name, "np") == 0;
	char text[24];
	snprintf(text, sizeof text, "%" PRId64, value);
	if (ranks)
		c->compile.np = value;
	else
		vec_push(&c->compile.define, (struct sema_define){.name = c->family.name, .text = text});
	enum status status = check_source(c, source_copy(s), true);
	if (!ranks && !c->compile.define.at[--c->compile.define.n].used && status == STATUS_OK) {
		diag_error(c->d, E_FAMILY, DIAG_NOWHERE, "--family: the program has no '%s'", c->family.name);
		status = STATUS_USAGE;
	}
	return status;
}

/* Checks the members of the family, up to the first that is wrong. */
static enum status check_family(struct check_command *c, const struct source *s)
{
	const struct family *f = &c->family;
	enum status status = STATUS_OK;
	int64_t value = f->lo;
	while (value <= f->hi && status == STATUS_OK) {
		c->member = value - f->lo;
		show_check_progress(c, 0);
		status = check_member(c, s, value);
		value += status == STATUS_OK;
	}
	progress_end(&c->progress);
	if (status == STATUS_OK && !c->json)
		printf("ok: %s = %" PRId64 " … %" PRId64
		       ": ordered, matched, alive, written, delivered, complete\n",
		       f->name, f->lo, f->hi);
	else if (status != STATUS_OK && value > f->lo)
		diag_note(c->d, DIAG_NOWHERE, "%s = %" PRId64 " … %" PRId64 " is right, %" PRId64 " is not",
		          f->name, f->lo, value - 1, value);
	else if (status != STATUS_OK)
		diag_note(c->d, DIAG_NOWHERE, "with %s = %" PRId64, f->name, value);
	return status;
}

/* Returns false, after reporting, if an option needs the program in one file. */
static bool allows_files(const struct check_command *c, const struct source *s)
{
	return rank_files_allow(c->d, s, c->witness, "--witness") &&
	       rank_files_allow(c->d, s, c->against, "--against") &&
	       rank_files_allow(c->d, s, c->split, "--split-input-file") &&
	       rank_files_allow(c->d, s, c->family_text && !strcmp(c->family.name, "np"), "--family=np");
}

static enum status check_text(struct check_command *c, struct source *s)
{
	if (!allows_files(c, s)) {
		source_free(s);
		return STATUS_USAGE;
	}
	enum status status = c->family_text ? check_family(c, s)
	                     : c->split     ? split_each(s, check_source, c)
	                                    : check_source(c, s, true);
	if (c->family_text || c->split)
		source_free(s);
	return status;
}

static bool check_witness_options(const struct check_command *c, struct diag *d)
{
	if (!c->witness || (!c->split && !c->check.strict && !c->family_text))
		return true;
	if (c->split || c->family_text)
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--witness is of one program: leave --%s away",
		           c->split ? "split-input-file" : "family");
	else
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--witness is for hirc run, which waits for all streams before it touches inputs "
		           "and outputs: leave --strict out");
	return false;
}

static enum status print_json(struct check_command *c, enum status status, const struct buf *messages)
{
	struct buf out = {0};
	json_put_start(&out, CHECK_VERSION, "check");
	buf_printf(&out, ", \"ok\": %s", status == STATUS_OK ? "true" : "false");
	buf_puts(&out, ",\n\"programs\": ");
	table_put(&c->programs, &out);
	buf_printf(&out, ",\n\"messages\": [%s]}\n", messages->n ? messages->at : "");
	bool ok = output_write(&out);
	buf_free(&out);
	return status == STATUS_OK ? output_status(ok) : status;
}

static enum status check_path(struct check_command *c)
{
	struct source *s;
	struct buf messages = {0};
	enum status status = STATUS_USAGE;
	c->d = compile_diag(&c->compile);
	diag_set_before(c->d, progress_end, &c->progress);
	if (c->json) {
		c->programs =
		    table_open(TABLE_JSON, program_column, sizeof program_column / sizeof *program_column);
		diag_set_copy(c->d, &messages);
	}
	if (compile_options_finish(&c->compile, c->d) && check_witness_options(c, c->d) &&
	    (!c->family_text || read_family(c)))
		status = rank_files_read(c->d, &c->compile, c->line, &s);
	if (status == STATUS_OK) {
		status = check_text(c, s);
		compile_warn_unused(c->d, &c->compile);
	}
	diag_finish(c->d);
	if (c->json) {
		progress_end(&c->progress);
		status = print_json(c, status, &messages);
		table_close(&c->programs);
	}
	diag_free(c->d);
	buf_free(&messages);
	return status;
}

static const struct option rows[] = {
    STREAMS_OPTION(struct check_command, check.streams),
    {.name = "family",
     .kind = OPTION_TEXT,
     .at = offsetof(struct check_command, family_text),
     .value = "NAME=LO..HI",
     .help = "check the program for each value of np, or of a name that -D defines"},
    {.name = "queue",
     .kind = OPTION_INT,
     .at = offsetof(struct check_command, check.queue),
     .value = "N",
     .max = INT32_MAX,
     .init.number = CHECK_QUEUE,
     .help = "a stream holds N statements, then its host waits; 0: a host waits at each wait"},
    {.name = "each-rank",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct check_command, check.each),
     .help = "walk every rank, not only one of each class of equal ranks"},
    {.name = "strict",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct check_command, check.strict),
     .help = "the caller provides inputs and memory, and takes inputs and outputs back, on the "
             "initial stream"},
    {.name = "witness",
     .kind = OPTION_TEXT,
     .at = offsetof(struct check_command, witness),
     .value = "W.json",
     .file = FILE_WRITTEN,
     .help = "write a witness of the first error, for `hirc run --replay=W.json`"},
    {.name = "against",
     .kind = OPTION_TEXT,
     .at = offsetof(struct check_command, against),
     .value = "FILE",
     .file = FILE_READ,
     .help = "prove that the program computes the same function as FILE, before all passes"},
    PROGRESS_OPTION(struct check_command, progress),
    JSON_OPTION(struct check_command, json),
    SPLIT_OPTION(struct check_command, split),
};

int cmd_check(int argc, char **argv)
{
	struct check_command c = {.check.work = CHECK_MAX_WORK};
	c.check.progress = show_check_progress;
	c.compile.progress = &c.progress;
	c.check.to = &c;
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE…",
	    .about =
	        "Proves, without running it, that on every rank the accesses to a buffer are ordered by "
	        "streams and\nwaits, that buffers are used while they are allocated, and that the operations "
	        "of ranks on a\ncommunicator match and come to an end; `-` is standard input.\n"
	        "Several files are one program: A.hir for rank 0, B.hir for rank 1 …, or 0-3:A.hir "
	        "4-7:B.hir.\n"
	        "Exit code: 0; 1 after messages about the input; 2 wrong command line or too few ranks; "
	        "70 a bug in hirc.",
	    .table = {OPTION_TABLE("Options", rows, &c), compile_options_table(&c.compile)},
	    .table_n = 2,
	    .min_files = 1,
	    .has_ranks = true,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		c.line = &line;
		status = check_path(&c);
	}
	options_free(&line);
	compile_options_free(&c.compile);
	return status;
}
