/* cmd_sim: hirc sim: what a program takes, without running it. */
#include "base/file.h"
#include "cli/commands.h"
#include "cli/compile.h"
#include "cli/output.h"
#include "sim/sim.h"
#include <errno.h>
#include <string.h>

struct sim_command {
	struct compile_options compile;
	const char *schedule, *json, *trace, *svg;
	int64_t limit;
	struct timeline_print print;
	struct diag *d;
};

static bool write_file(struct sim_command *c, const char *path, const struct buf *text)
{
	if (!strcmp(path, "-"))
		return output_write(text);
	if (file_replace(path, &(struct file_part){text->at, text->n}, 1))
		return true;
	diag_error(c->d, DIAG_NOWHERE, "cannot write '%s': %s", path, strerror(errno));
	return false;
}

/* One output to its file, if it is asked for. */
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
		sim_write_schedule(s, &text);
		ok = write_file(c, c->schedule, &text);
	}
	buf_free(&text);
	return ok;
}

static bool is_stdout(const char *path)
{
	return path && !strcmp(path, "-");
}

/* What people read, unless something else goes there. */
static bool report(struct sim_command *c, struct timeline *t)
{
	struct buf text = {0};
	bool ok = write_output(c, c->trace, t, timeline_trace) & write_output(c, c->svg, t, timeline_svg) &
	          write_output(c, c->json, t, timeline_json);
	if (!is_stdout(c->json) && !is_stdout(c->trace) && !is_stdout(c->svg) && !is_stdout(c->schedule)) {
		timeline_print(t, &c->print, &text);
		ok &= output_write(&text);
	}
	buf_free(&text);
	return ok;
}

static enum status sim(struct sim_command *c, const char *path)
{
	enum status status;
	struct sim s;
	if (!compile_options_finish(&c->compile, c->d))
		return STATUS_USAGE;
	struct module *m = compile_file(c->d, path, &c->compile, &status);
	if (!m)
		return status;
	struct arena *a = arena_new();
	struct source *outer = diag_set_source(c->d, m->source);
	const struct cluster *cluster = compile_cluster(c->d, &c->compile, &status);
	struct cost *cost = cluster ? cost_new(m, cluster, c->d) : NULL;
	bool ok = cost && sim_run(m, cost, c->d, a, &s);
	if (ok) {
		struct timeline t;
		sim_recorded_timeline(&s, &t);
		t.limit = c->limit;
		ok = write_schedule(c, &s) & report(c, &t);
		timeline_close(&t);
	}
	cost_free(cost);
	diag_set_source(c->d, outer);
	arena_free(a);
	compile_free(m);
	compile_warn_unused(c->d, &c->compile);
	return ok ? STATUS_OK : STATUS_DIAGNOSTICS;
}

int cmd_sim(int argc, char **argv)
{
	struct sim_command c = {.print = {.classes = 4}};
	compile_options_init(&c.compile);
	const struct option options[] = {
	    {.name = "schedule",
	     .kind = OPTION_TEXT,
	     .to = &c.schedule,
	     .value = "FILE",
	     .help = "write the order of the statements, a line each"},
	    {.name = "json",
	     .kind = OPTION_MAYBE,
	     .to = &c.json,
	     .value = "FILE",
	     .otherwise = "-",
	     .help = "write all figures as JSON"},
	    {.name = "trace",
	     .kind = OPTION_TEXT,
	     .to = &c.trace,
	     .value = "FILE.json",
	     .help = "write a timeline in Chrome's trace format"},
	    {.name = "svg",
	     .kind = OPTION_TEXT,
	     .to = &c.svg,
	     .value = "FILE.svg",
	     .help = "write a timeline as a picture"},
	    {.name = "memory",
	     .kind = OPTION_INT,
	     .to = &c.print.held,
	     .value = "N",
	     .min = 0,
	     .max = 1 << 20,
	     .help = "print the N largest storages that are live at the peak"},
	    {.name = "memory-limit",
	     .kind = OPTION_SIZE,
	     .to = &c.limit,
	     .value = "BYTES",
	     .min = 0,
	     .max = INT64_MAX,
	     .help = "what the peak is compared with; 0: none"},
	    {.name = "ranks",
	     .kind = OPTION_INT,
	     .to = &c.print.classes,
	     .value = "N",
	     .min = 1,
	     .max = 1 << 20,
	     .help = "print at most N classes of ranks that do alike"},
	};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE",
	    .about = "Predicts what a program takes: step time, exposed communication, memory, and what no "
	             "schedule can\nbe faster than. `-` is standard input.\n"
	             "Exit code: 0, 1 after messages about the input, 2 for a wrong command line.",
	    .table = {{.title = "Options", .at = options, .n = sizeof options / sizeof *options},
	              compile_options_table(&c.compile)},
	    .table_n = 2,
	    .min_files = 1,
	    .max_files = 1,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		c.d = compile_diag(&c.compile);
		status = sim(&c, line.file.at[0]);
		diag_finish(c.d);
		diag_free(c.d);
	}
	options_free(&line);
	compile_options_free(&c.compile);
	return status;
}
