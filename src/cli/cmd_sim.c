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
	const char *schedule;
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

static bool report(struct sim_command *c, const struct sim *s)
{
	struct buf text = {0};
	bool ok = true;
	if (c->schedule) {
		sim_write_schedule(s, &text);
		ok = write_file(c, c->schedule, &text);
		text.n = 0;
	}
	if (!c->schedule || strcmp(c->schedule, "-")) {
		sim_print(s, &text);
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
	struct cost *cost = cost_new(m, compile_cluster(c->d, &c->compile, &status), c->d);
	bool ok = cost && sim_run(m, cost, c->d, a, &s) && report(c, &s);
	cost_free(cost);
	diag_set_source(c->d, outer);
	arena_free(a);
	compile_free(m);
	compile_warn_unused(c->d, &c->compile);
	return ok ? STATUS_OK : STATUS_DIAGNOSTICS;
}

int cmd_sim(int argc, char **argv)
{
	struct sim_command c = {0};
	compile_options_init(&c.compile);
	const struct option options[] = {
	    {.name = "schedule",
	     .kind = OPTION_TEXT,
	     .to = &c.schedule,
	     .value = "FILE",
	     .help = "write the order of the statements, a line each"},
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
