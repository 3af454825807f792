/* cmd_export: hirc export: writes the predicted step of a program in formats of other tools. */
#include "base/file.h"
#include "base/transport_kind.h"
#include "cli/commands.h"
#include "cli/compile.h"
#include "cli/options_shared.h"
#include "cli/output.h"
#include "cli/simulated.h"
#include "sim/devices.h"
#include "sim/sim.h"
#include "sim/sim_peers.h"
#include "sim/sim_run.h"
#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct export_command {
	struct compile_options compile;
	bool chakra;
	const char *output; /* NULL: standard output */
	int64_t rank;       /* -1: the rank that ends last */
	int64_t streams;
	const char *transport;
	struct diag *d;
};

/* Finds the class of --rank, or the one that ends last. */
static bool find_class(struct export_command *c, const struct timeline *t, uint32_t *out)
{
	*out = timeline_last_class(t);
	for (uint32_t k = 0; k < t->class.n && c->rank >= 0; k++)
		for (uint32_t i = 0; i < t->class.at[k].ranks.n; i++)
			if (t->class.at[k].ranks.at[i].first <= c->rank &&
			    t->class.at[k].ranks.at[i].last >= c->rank) {
				*out = k;
				return true;
			}
	if (c->rank < 0 || (t->class.n == 1 && !t->class.at[0].ranks.n))
		return true; /* all ranks of a recorded graph do the same */
	diag_error(c->d, E_RANK_UNKNOWN, DIAG_NOWHERE, "--rank: there is no rank %" PRId64, c->rank);
	return false;
}

/* Returns the rank of the trace. */
static int64_t find_rank(const struct export_command *c, const struct timeline_class *class)
{
	return c->rank >= 0 ? c->rank : class->ranks.n ? class->ranks.at[0].first : 0;
}

static bool write_trace(struct export_command *c, struct timeline *t, uint32_t class)
{
	struct buf text = {0};
	bool ok = timeline_chakra(t, class, find_rank(c, &t->class.at[class]), c->d, &text);
	if (ok && (!c->output || !strcmp(c->output, "-"))) {
		ok = output_write(&text);
	} else if (ok && !file_replace(c->output, &(struct file_part){text.at, text.n}, 1)) {
		diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", c->output,
		           strerror(errno));
		ok = false;
	}
	buf_free(&text);
	return ok;
}

static bool export_recorded(struct export_command *c, struct module *m, const struct cost *cost)
{
	struct arena *a = arena_new();
	struct sim *of;
	struct timeline t;
	uint32_t class;
	bool simulated = simulated_recorded(m, cost, c->d, a, &t, &of), ok = false;
	if (simulated && find_class(c, &t, &class)) {
		sim_recorded_tensors(&of[class], &t.class.at[class]);
		ok = write_trace(c, &t, class);
	}
	if (simulated)
		timeline_close(&t);
	arena_free(a);
	return ok;
}

static bool export_devices(struct export_command *c, struct module *m, const struct cost *cost)
{
	struct sim_simulation s;
	struct timeline t;
	uint32_t class;
	if (!simulated_devices(m, cost, &(struct sim_settings){.streams = c->streams}, c->d, &s))
		return false;
	sim_devices_timeline(&s.run.events, &s.run.classes, false, &t);
	bool ok = find_class(c, &t, &class) &&
	          sim_peers_find(&s, (uint32_t)find_rank(c, &t.class.at[class]), &t.class.at[class]) &&
	          write_trace(c, &t, class);
	timeline_close(&t);
	sim_simulation_close(&s);
	return ok;
}

static bool run(void *command, struct module *m, const struct cost *cost)
{
	return sim_is_recorded(m) ? export_recorded(command, m, cost) : export_devices(command, m, cost);
}

static enum status export(struct export_command *c, const struct command_line *line) {
	const struct simulated s =
	    {.d = c->d, .compile = &c->compile, .streams = c->streams, .command = c, .run = run};
	if (!compile_options_finish(&c->compile, c->d)) return STATUS_USAGE;
	if (!c->chakra){diag_error(c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "name the format: --chakra");
	                return STATUS_USAGE;}
return simulated_run(&s, line);
}

static const struct option rows[] = {
    {.name = "chakra",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct export_command, chakra),
     .help = "write an execution trace of MLCommons Chakra"},
    {.letter = 'o',
     .kind = OPTION_TEXT,
     .at = offsetof(struct export_command, output),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .help = "write to a file"},
    {.name = "rank",
     .kind = OPTION_INT,
     .at = offsetof(struct export_command, rank),
     .value = "N",
     .min = -1,
     .max = IR_MAX_DEVICES - 1,
     .init.number = -1,
     .help = "the rank whose trace is written; -1: the one that ends last"},
    STREAMS_OPTION(struct export_command, streams),
    FIGURES_OPTION(struct export_command, transport),
};

int cmd_export(int argc, char **argv)
{
	struct export_command c = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "--chakra [OPTION…] FILE…",
	    .about = "Writes the predicted step of a rank in a format of other tools. `-` is standard input. "
	             "Several files are one program, as for `hirc sim`.\n"
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
		status = export(&c, &line);
		diag_finish(c.d);
		diag_free(c.d);
	}
	options_free(&line);
	compile_options_free(&c.compile);
	return status;
}
