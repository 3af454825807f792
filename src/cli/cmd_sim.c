/* cmd_sim: hirc sim: predicts the time of a program, without running it. */
#include "analysis/recorded_classes.h"
#include "base/file.h"
#include "base/transport_kind.h"
#include "cli/cli_progress.h"
#include "cli/commands.h"
#include "cli/compile.h"
#include "cli/options_shared.h"
#include "cli/output.h"
#include "cli/simulated.h"
#include "sim/devices.h"
#include "sim/remark.h"
#include "sim/sim.h"
#include "sim/sim_run.h"
#include <errno.h>
#include <string.h>

struct sim_rank_option {
	int64_t rank, number; /* number: ns; with slow: per mille */
	bool slow;
};

struct sim_command {
	struct compile_options compile;
	struct progress progress;
	const char *schedule, *json, *trace, *svg;
	const char *classes;
	int64_t streams;
	const char *transport;
	VEC(struct sim_rank_option) ranks;
	struct timeline_print print;
	struct diag *d;
};

static bool write_file(struct sim_command *c, const char *path, const struct buf *text)
{
	if (!strcmp(path, "-"))
		return output_write(text);
	if (file_replace(path, &(struct file_part){text->at, text->n}, 1))
		return true;
	diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", path, strerror(errno));
	return false;
}

/* Writes one output to its file, if the option is given. */
static bool write_output(struct sim_command *c, const char *path, struct timeline *t,
                         void (*put)(struct timeline *, struct buf *))
{
	struct buf text = {0};
	bool ok = true;
	if (path) {
		put(t, &text);
		ok = write_file(c, path, &text);
	}
	buf_free(&text);
	return ok;
}

static bool write_schedule(struct sim_command *c, const struct sim *s)
{
	struct buf text = {0};
	bool ok = true;
	if (c->schedule) {
		ok = sim_write_schedule(s, c->d, &text) && write_file(c, c->schedule, &text);
	}
	buf_free(&text);
	return ok;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

static void put_json(struct timeline *t, struct buf *out)
{
	timeline_json(t, "sim", out);
}

/* Writes the timeline to its files, and as text to standard output unless one of the files is standard
 * output. */
static bool write_timeline(struct sim_command *c, struct timeline *t)
{
	struct buf text = {0};
	bool ok = write_output(c, c->trace, t, timeline_trace) & write_output(c, c->svg, t, timeline_svg) &
	          write_output(c, c->json, t, put_json);
	if (!is_stdout(c->json) && !is_stdout(c->trace) && !is_stdout(c->svg) && !is_stdout(c->schedule)) {
		timeline_print(t, &c->print, &text);
		ok &= output_write_escaped(&text);
	}
	buf_free(&text);
	return ok;
}

/* Returns --memory-limit; 0: none. */
static int64_t limit_of(const struct sim_command *c)
{
	int64_t limit = 0;
	return c->compile.memory_limit && str_parse_size(c->compile.memory_limit, &limit) ? limit : 0;
}

/* Finds the straggler of a recorded graph: --delay or --slow of one rank, which may not be faster than the
 * others. False after reporting. */
static bool find_straggler(struct sim_command *c, const struct module *m, struct sim_straggler *out)
{
	int64_t ranks = 0;
	for (group_id g = 1; g < m->group.n; g++)
		ranks = m->group.at[g].size > ranks ? m->group.at[g].size : ranks;
	*out = (struct sim_straggler){.rank = c->ranks.at[0].rank, .slow = 1000};
	for (uint32_t k = 0; k < c->ranks.n; k++) {
		const struct sim_rank_option *o = &c->ranks.at[k];
		const char *wrong = o->rank != out->rank ? "one rank of a recorded graph can be late or slow"
		                    : o->rank >= ranks   ? "no group of the graph has so many ranks"
		                    : o->slow && o->number < 1000
		                        ? "the others wait for no faster rank: the factor is 1 or more"
		                        : NULL;
		if (wrong) {
			diag_error(c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "%s: %s",
			           o->slow ? "--slow" : "--delay", wrong);
			return false;
		}
		if (o->slow)
			out->slow = o->number;
		else
			out->delay = o->number;
	}
	return true;
}

/* Simulates recorded graphs that differ from rank to rank. */
static bool sim_ranks(struct sim_command *c, struct module *m, const struct cost *cost)
{
	struct arena *a = arena_new();
	struct timeline t;
	struct sim *of;
	bool ok = false;
	if (c->ranks.n || c->schedule) {
		diag_error(c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "%s needs one recorded graph for all ranks",
		           c->ranks.n ? "--delay or --slow" : "--schedule");
	} else if (simulated_recorded(m, cost, c->d, a, &t, &of)) {
		t.limit = limit_of(c);
		ok = write_timeline(c, &t);
		timeline_close(&t);
	}
	arena_free(a);
	return ok;
}

static bool sim_recorded(struct sim_command *c, struct module *m, const struct cost *cost)
{
	if (recorded_has_classes(m))
		return sim_ranks(c, m, cost);
	struct arena *a = arena_new();
	struct sim s;
	struct sim_straggler straggler;
	struct timeline t;
	bool ok = !c->ranks.n || find_straggler(c, m, &straggler);
	ok = ok && sim_run(m, cost, c->ranks.n ? &straggler : NULL, c->d, a, &s);
	if (ok) {
		sim_recorded_timeline(&s, &t);
		t.limit = limit_of(c);
		ok = write_schedule(c, &s) & write_timeline(c, &t);
		timeline_close(&t);
	}
	arena_free(a);
	return ok;
}

/* Checks that the program has the ranks of --delay and --slow. */
static bool check_ranks(struct sim_command *c, const struct module *m)
{
	int64_t ranks = module_ranks(m);
	for (uint32_t k = 0; k < c->ranks.n; k++) {
		const struct sim_rank_option *o = &c->ranks.at[k];
		if (o->rank < ranks)
			continue;
		diag_error(c->d, E_RANK_UNKNOWN, DIAG_NOWHERE,
		           "%s: there is no rank %lld, the program has %lld", o->slow ? "--slow" : "--delay",
		           (long long)o->rank, (long long)ranks);
		return false;
	}
	return true;
}

/* Finds the values of --delay and --slow, by rank. */
static void find_ranks(struct sim_command *c, const struct module *m, struct arena *a,
                       struct sim_settings *out)
{
	int64_t ranks = module_ranks(m);
	int64_t *delay = arena_new_array(a, int64_t, ranks);
	int64_t *slow = arena_new_array(a, int64_t, ranks);
	for (int64_t r = 0; r < ranks; r++)
		slow[r] = 1000;
	for (uint32_t k = 0; k < c->ranks.n; k++) {
		const struct sim_rank_option *o = &c->ranks.at[k];
		if (o->slow)
			slow[o->rank] = o->number;
		else
			delay[o->rank] = o->number;
	}
	out->delay = delay;
	out->slow = slow;
}

static void print_remarks(struct sim_program *p, const struct sim_events *e, bool each, struct timeline *t)
{
	sim_remarks(p, e, each, t);
	for (uint32_t k = 0; k < t->remark.n; k++) {
		const char *where = timeline_where(t, t->remark.at[k].op);
		fprintf(stderr, "sim: %s%s%s%s\n", t->remark.at[k].text, *where ? " (" : "", where,
		        *where ? ")" : "");
	}
}

static bool sim_devices(struct sim_command *c, struct module *m, const struct cost *cost)
{
	bool each = !strcmp(c->classes, "no");
	struct sim_settings o = {.streams = c->streams, .each = each};
	struct sim_simulation s;
	struct timeline t;
	if (c->schedule) {
		diag_error(c->d, E_RECORDED_GRAPH, DIAG_NOWHERE,
		           "--schedule is for graphs that were recorded; --dump=hir of `hirc compile` prints "
		           "this program");
		return false;
	}
	struct arena *a = arena_new();
	find_ranks(c, m, a, &o);
	bool ok = simulated_devices(m, cost, &o, c->d, &s);
	if (ok) {
		sim_devices_timeline(&s.run.events, &s.run.classes, each, &t);
		t.limit = limit_of(c);
		if (c->compile.pipeline.remarks)
			print_remarks(&s.program, &s.run.events, each, &t);
		ok = write_timeline(c, &t);
		timeline_close(&t);
		sim_simulation_close(&s);
	}
	arena_free(a);
	return ok;
}

/* Adds RANK:NUMBER. slow: the number may have three decimals. */
static bool add_rank(struct sim_command *c, const char *text, bool slow)
{
	char *end;
	long long rank = strtoll(text, &end, 10), whole = 0, part = 0;
	bool ok = end != text && *end == ':' && rank >= 0;
	if (ok) {
		const char *from = end + 1;
		whole = strtoll(from, &end, 10);
		ok = end != from && whole >= 0 && whole <= (slow ? 1000000 : CLUSTER_MAX_TIME);
	}
	if (ok && slow && *end == '.')
		for (int k = 100; end++, *end >= '0' && *end <= '9'; k /= 10)
			part += k * (*end - '0');
	if (!ok || *end) {
		fprintf(stderr,
		        slow ? "hirc: error: --slow takes RANK:FACTOR, as in 3:1.5, not '%s'\n"
		             : "hirc: error: --delay takes RANK:NS, as in 3:250000, not '%s'\n",
		        text);
		return false;
	}
	vec_push(&c->ranks, ((struct sim_rank_option){rank, slow ? whole * 1000 + part : whole, slow}));
	return true;
}

static bool add_delay(void *to, const char *text)
{
	return add_rank(to, text, false);
}

static bool add_slow(void *to, const char *text)
{
	return add_rank(to, text, true);
}

static bool check_options(void *command, const struct module *m)
{
	return check_ranks(command, m);
}

static bool run(void *command, struct module *m, const struct cost *cost)
{
	struct sim_command *c = command;
	return sim_is_recorded(m) ? sim_recorded(c, m, cost) : sim_devices(c, m, cost);
}

static enum status sim(struct sim_command *c, const struct command_line *line)
{
	const struct simulated s = {.d = c->d,
	                            .compile = &c->compile,
	                            .streams = c->streams,
	                            .command = c,
	                            .check = check_options,
	                            .run = run};
	return compile_options_finish(&c->compile, c->d) ? simulated_run(&s, line) : STATUS_USAGE;
}

static const struct option rows[] = {
    {.name = "schedule",
     .kind = OPTION_TEXT,
     .at = offsetof(struct sim_command, schedule),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .help = "write the order of the statements, one on each line"},
    {.name = "json",
     .kind = OPTION_MAYBE,
     .at = offsetof(struct sim_command, json),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .otherwise = "-",
     .help = "write all figures as JSON"},
    {.name = "trace",
     .kind = OPTION_TEXT,
     .at = offsetof(struct sim_command, trace),
     .value = "FILE.json",
     .file = FILE_WRITTEN,
     .help = "write a timeline in Chrome's trace format"},
    {.name = "svg",
     .kind = OPTION_TEXT,
     .at = offsetof(struct sim_command, svg),
     .value = "FILE.svg",
     .file = FILE_WRITTEN,
     .help = "write a timeline as a picture"},
    {.name = "memory",
     .kind = OPTION_INT,
     .at = offsetof(struct sim_command, print.held),
     .value = "N",
     .min = 0,
     .max = 1 << 20,
     .help = "print the N largest storages that are live at the peak"},
    STREAMS_OPTION(struct sim_command, streams),
    FIGURES_OPTION(struct sim_command, transport),
    REPLAYED_OPTION(struct sim_command, compile.replayed),
    {.name = "delay",
     .kind = OPTION_CALL,
     .call = add_delay,
     .value = "RANK:NS",
     .help = "a rank begins NS later"},
    {.name = "slow",
     .kind = OPTION_CALL,
     .call = add_slow,
     .value = "RANK:FACTOR",
     .help = "the work of a rank takes FACTOR times as long"},
    {.name = "classes",
     .kind = OPTION_TEXT,
     .at = offsetof(struct sim_command, classes),
     .value = "yes|no",
     .init.text = "yes",
     .help = "simulate one rank of each class of equal ranks"},
    {.name = "ranks",
     .kind = OPTION_INT,
     .at = offsetof(struct sim_command, print.classes),
     .value = "N",
     .min = 1,
     .max = 1 << 20,
     .init.number = 4,
     .help = "print at most N classes of equal ranks"},
    PROGRESS_OPTION(struct sim_command, progress),
};

int cmd_sim(int argc, char **argv)
{
	struct sim_command c = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE…",
	    .about = "Predicts step time, exposed communication and memory of a program, and a lower bound "
	             "of the step time\nof all schedules. `-` is standard input.\n"
	             "Several files are one program: A.hir for rank 0, B.hir for rank 1 …, or 0-3:A.hir "
	             "4-7:B.hir.\n"
	             "Exit code: 0, 1 after messages about the input, 2 for a wrong command line.",
	    .table = {OPTION_TABLE("Options", rows, &c), compile_options_table(&c.compile)},
	    .table_n = 2,
	    .min_files = 1,
	    .has_ranks = true,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		if (transport_kind_find(c.transport) != TRANSPORT_AUTO)
			compile_options_transport(&c.compile, c.transport, false);
		c.d = compile_diag(&c.compile);
		c.compile.progress = &c.progress;
		diag_set_before(c.d, progress_end, &c.progress);
		status = sim(&c, &line);
		diag_finish(c.d);
		diag_free(c.d);
	}
	options_free(&line);
	vec_free(&c.ranks);
	compile_options_free(&c.compile);
	return status;
}
