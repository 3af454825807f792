/* cmd_show: hirc show: draws pictures of a program, or prints them as text. */
#include "base/file.h"
#include "cli/commands.h"
#include "cli/compile.h"
#include "cli/options_shared.h"
#include "cli/output.h"
#include "cli/params.h"
#include "cli/rank_files.h"
#include "cli/simulated.h"
#include "cost/cost.h"
#include "show/graph.h"
#include "show/show_json.h"
#include "show/show_layout.h"
#include "show/show_steps.h"
#include "show/show_trace.h"
#include "sim/devices.h"
#include "sim/sim_run.h"
#include <errno.h>
#include <string.h>

struct show_command {
	struct compile_options compile;
	const char *layout, *pipeline, *trace;
	const char *format, *output;
	bool graph, timeline, json;
	int64_t loop, rank, streams;
	struct diag *d;
};

enum picture { PICTURE_LAYOUT, PICTURE_GRAPH, PICTURE_TIMELINE, PICTURE_STEPS, PICTURES };

/* The value of --pipeline that is the default. */
static const char OWN_PIPELINE[] = "layout";

/* Returns the picture to draw; PICTURES after reporting. Another value of --pipeline is allowed with any. */
static enum picture find_picture(struct show_command *c)
{
	const struct {
		enum picture picture;
		bool asked;
		const char *name;
	} known[] = {
	    {PICTURE_LAYOUT, c->layout != NULL, "--layout"},
	    {PICTURE_GRAPH, c->graph, "--graph"},
	    {PICTURE_TIMELINE, c->timeline, "--timeline"},
	    {PICTURE_STEPS, c->pipeline != NULL, "--pipeline"},
	};
	const char *first = NULL;
	enum picture found = PICTURES;
	bool kind = c->pipeline && strcmp(c->pipeline, OWN_PIPELINE) != 0;
	for (unsigned k = 0; k < sizeof known / sizeof *known; k++) {
		if (!known[k].asked || (known[k].picture == PICTURE_STEPS && kind && found != PICTURES))
			continue;
		if (found != PICTURES) {
			diag_error(c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "%s and %s: one picture at a time",
			           first, known[k].name);
			return PICTURES;
		}
		found = known[k].picture;
		first = known[k].name;
	}
	if (found == PICTURES)
		diag_error(c->d, E_OPTION_MISSING, DIAG_NOWHERE,
		           "nothing to show: give --layout=TENSOR, --graph, --timeline or --pipeline");
	return found;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);
	return n >= k && !strcmp(text + n - k, end);
}

/* Returns the format, svg, dot, json or text: from --json, --format, or else the file's name. */
static const char *format_of(const struct show_command *c)
{
	if (c->json)
		return "json";
	if (c->format)
		return c->format;
	if (c->output && ends_with(c->output, ".json"))
		return "json";
	if (c->output && ends_with(c->output, ".svg"))
		return "svg";
	return c->output && ends_with(c->output, ".dot") ? "dot" : "text";
}

/* Checks that the picture uses all given options, and that the file has its type; false after reporting. */
static bool check_options(struct show_command *c, enum picture picture)
{
	const char *type = c->output && !c->format ? options_file_type(c->output) : NULL;
	bool known = !type || !strcmp(type, "json") ||
	             (!c->json && (!strcmp(type, "svg") || !strcmp(type, "dot") || !strcmp(type, "txt")));
	if (!known) {
		diag_error(c->d, E_OPTION_VALUE, DIAG_NOWHERE,
		           "-o writes %s files, and '%s' is named as another type",
		           c->json ? ".json" : ".svg, .dot, .json and .txt", c->output);
		if (!c->json)
			diag_note(c->d, DIAG_NOWHERE, "--format=svg, dot or text goes with any name");
		return false;
	}
	const char *wrong = c->loop && picture != PICTURE_STEPS       ? "--loop is for --pipeline"
	                    : c->rank && picture != PICTURE_GRAPH     ? "--rank is for --graph"
	                    : c->trace && picture != PICTURE_TIMELINE ? "--trace is for --timeline"
	                    : !strcmp(format_of(c), "dot") && picture != PICTURE_GRAPH
	                        ? "--format=dot is for --graph"
	                    : c->json && c->format ? "--json and --format: one of them"
	                                           : NULL;
	if (wrong)
		diag_error(c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "%s", wrong);
	return !wrong;
}

static bool write_out(struct show_command *c, const struct buf *text)
{
	if (!c->output || !strcmp(c->output, "-"))
		return output_write_escaped(text);
	if (file_replace(c->output, &(struct file_part){text->at, text->n}, 1))
		return true;
	diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", c->output,
	           strerror(errno));
	return false;
}

static bool show_layout(struct show_command *c, struct module *m, const char *format, struct buf *out)
{
	struct layout_picture p;
	bool ok = layout_picture_open(&p, m, c->layout, c->d);
	if (ok)
		(!strcmp(format, "svg")    ? layout_picture_svg
		 : !strcmp(format, "json") ? layout_picture_json
		                           : layout_picture_print)(&p, out);
	layout_picture_close(&p);
	return ok;
}

static bool show_steps(struct show_command *c, struct module *m, const char *format, struct buf *out)
{
	struct steps_picture p;
	bool ok = steps_picture_open(&p, m, c->loop, c->d);
	if (ok)
		(!strcmp(format, "svg")    ? steps_picture_svg
		 : !strcmp(format, "json") ? steps_picture_json
		                           : steps_picture_print)(&p, out);
	steps_picture_close(&p);
	return ok;
}

static bool show_graph(struct show_command *c, struct module *m, struct buf *out)
{
	enum status status;
	const struct cluster *cluster = compile_cluster(c->d, &c->compile, &status);
	struct cost *cost = cluster ? cost_new(m, cluster, c->d) : NULL;
	const char *format = format_of(c);
	struct graph_picture p;
	if (!cost)
		return false;
	cost_set_streams(cost, c->streams);
	bool ok = graph_picture_open(&p, m, cost, c->streams, c->rank, c->d);
	if (ok)
		(!strcmp(format, "svg")    ? graph_picture_svg
		 : !strcmp(format, "dot")  ? graph_picture_dot
		 : !strcmp(format, "json") ? graph_picture_json
		                           : graph_picture_print)(&p, out);
	graph_picture_close(&p);
	cost_free(cost);
	return ok;
}

static void put_timeline(struct timeline *t, const char *format, struct buf *out)
{
	if (!strcmp(format, "svg"))
		timeline_svg(t, out);
	else if (!strcmp(format, "json"))
		timeline_json(t, "show", out);
	else
		timeline_print(t, &(struct timeline_print){.classes = 4}, out);
	timeline_close(t);
}

static bool show_timeline(struct show_command *c, struct module *m, const char *format, struct buf *out)
{
	enum status status;
	struct timeline t;
	if (c->trace) {
		bool read = trace_timeline(m, c->trace, c->d, &t);
		if (read)
			put_timeline(&t, format, out);
		return read;
	}
	const struct cluster *cluster = compile_cluster(c->d, &c->compile, &status);
	struct cost *cost = cluster ? cost_new(m, cluster, c->d) : NULL;
	struct arena *a = arena_new();
	struct sim_simulation s;
	struct sim *of;
	bool ok = false;
	if (cost && sim_is_recorded(m)) {
		ok = simulated_recorded(m, cost, c->d, a, &t, &of);
		if (ok)
			put_timeline(&t, format, out);
	} else if (cost) {
		cost_set_streams(cost, c->streams);
		ok = simulated_devices(m, cost, &(struct sim_settings){.streams = c->streams}, c->d, &s);
		if (ok) {
			sim_devices_timeline(&s.run.events, &s.run.classes, false, &t);
			put_timeline(&t, format, out);
			sim_simulation_close(&s);
		}
	}
	cost_free(cost);
	arena_free(a);
	return ok;
}

static bool draw_picture(struct show_command *c, enum picture picture, struct module *m, struct buf *out)
{
	const char *format = format_of(c);
	switch (picture) {
	case PICTURE_LAYOUT:
		return show_layout(c, m, format, out);
	case PICTURE_GRAPH:
		return show_graph(c, m, out);
	case PICTURE_TIMELINE:
		return show_timeline(c, m, format, out);
	case PICTURE_STEPS:
		return show_steps(c, m, format, out);
	case PICTURES:
		break;
	}
	return false;
}

static bool check_rank(struct show_command *c, const struct module *m)
{
	if (c->rank < module_ranks(m))
		return true;
	diag_error(c->d, E_RANK_UNKNOWN, DIAG_NOWHERE, "--rank=%lld: the program has %lld ranks",
	           (long long)c->rank, (long long)module_ranks(m));
	return false;
}

static struct module *compile_line(struct show_command *c, const struct command_line *line,
                                   enum status *status)
{
	struct source *s;
	*status = rank_files_read(c->d, &c->compile, line, &s);
	if (*status == STATUS_OK && !rank_files_allow(c->d, s, c->trace, "--trace")) {
		source_free(s);
		*status = STATUS_USAGE;
	}
	return *status == STATUS_OK ? compile_source(c->d, s, &c->compile, true, status) : NULL;
}

static enum status show_program(struct show_command *c, const struct command_line *line)
{
	enum status status = STATUS_OK;
	enum picture picture = find_picture(c);
	struct buf text = {0};
	if (picture == PICTURES || !check_options(c, picture))
		return STATUS_USAGE;
	/* layouts are shown as written, but after each change of layout became a statement */
	if (picture == PICTURE_LAYOUT && !c->compile.passes && !c->compile.pipeline.stop_after)
		c->compile.pipeline.stop_after = "decompose-reshardings";
	if (c->pipeline && strcmp(c->pipeline, OWN_PIPELINE) != 0)
		c->compile.steps = c->pipeline;
	if (!compile_options_finish(&c->compile, c->d))
		return STATUS_USAGE;
	struct module *m = compile_line(c, line, &status);
	if (!m)
		return status;
	struct source *outer = diag_set_source(c->d, m->source);
	bool usable = params_check(m, c->d), known = !usable || picture != PICTURE_GRAPH || check_rank(c, m);
	bool ok = usable && known && draw_picture(c, picture, m, &text) && write_out(c, &text);
	diag_set_source(c->d, outer);
	buf_free(&text);
	compile_note_ranks(&c->compile, m);
	compile_free(m);
	compile_warn_unused(c->d, &c->compile);
	return !known ? STATUS_USAGE : ok ? STATUS_OK : STATUS_DIAGNOSTICS;
}

static const struct option rows[] = {
    {.name = "layout",
     .kind = OPTION_TEXT,
     .at = offsetof(struct show_command, layout),
     .value = "TENSOR[,TENSOR]",
     .help = "draw the block of each device; for two tensors, or a change of layout, also the moved data"},
    {.name = "pipeline",
     .kind = OPTION_MAYBE,
     .at = offsetof(struct show_command, pipeline),
     .value = "layout|broadcast|permute|collective|p2p|p2p-put",
     .otherwise = OWN_PIPELINE,
     .help = "draw the work of each rank in each step of a loop, with this kind of pipeline"},
    {.name = "graph",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct show_command, graph),
     .help = "draw statements, streams, communication and waits of a rank"},
    {.name = "timeline",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct show_command, timeline),
     .help = "draw a timeline and the memory, as `hirc sim` predicts them"},
    {.name = "trace",
     .kind = OPTION_TEXT,
     .at = offsetof(struct show_command, trace),
     .value = "FILE.json",
     .file = FILE_READ,
     .help = "take the times of --timeline from FILE.json, a trace by `hirc run` of this program"},
    {.name = "rank",
     .kind = OPTION_INT,
     .at = offsetof(struct show_command, rank),
     .value = "N",
     .min = 0,
     .max = 1 << 20,
     .help = "the rank of --graph"},
    STREAMS_OPTION(struct show_command, streams),
    {.name = "loop",
     .kind = OPTION_INT,
     .at = offsetof(struct show_command, loop),
     .value = "N",
     .min = 0,
     .max = 1 << 20,
     .help = "the loop of --pipeline, the N-th of the program; 0: the first that is stream-parallel"},
    {.name = "format",
     .kind = OPTION_TEXT,
     .at = offsetof(struct show_command, format),
     .value = "svg|text|dot",
     .help = "format of the output; default: by the suffix of the file's name, else text"},
    JSON_OPTION(struct show_command, json),
    {.letter = 'o',
     .kind = OPTION_TEXT,
     .at = offsetof(struct show_command, output),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .help = "write to a file"},
};

int cmd_show(int argc, char **argv)
{
	struct show_command c = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "PICTURE [OPTION…] FILE…",
	    .about =
	        "Draws a program, as a picture that any browser shows or as text. `-` is standard input.\n"
	        "Several files are one program: for the ranks 0, 1, …, or as in `0-3:A.hir 4-7:B.hir`.\n"
	        "Exit code: 0, 1 after messages about the input, 2 for a wrong command line.",
	    .table = {OPTION_TABLE("Options", rows, &c), compile_options_table(&c.compile)},
	    .table_n = 2,
	    .min_files = 1,
	    .has_ranks = true,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		c.d = compile_diag(&c.compile);
		status = show_program(&c, &line);
		diag_finish(c.d);
		diag_free(c.d);
	}
	options_free(&line);
	compile_options_free(&c.compile);
	return status;
}
