/* cmd_compile: hirc compile (opt): parse, run passes, print.
 *
 * The program is printed as with --dump, unless an option prints something different, such as --remarks. With
 * --split-input-file the programs between lines `# -----` are compiled one by one; messages have the line
 * numbers of the file. */
#include "base/file.h"
#include "base/source.h"
#include "base/source_read.h"
#include "base/transport_kind.h"
#include "cli/cli_progress.h"
#include "cli/commands.h"
#include "cli/compile.h"
#include "cli/compile_json.h"
#include "cli/gate.h"
#include "cli/output.h"
#include "cli/params.h"
#include "cli/ranks.h"
#include "cli/split.h"
#include "cost/cost.h"
#include "exec/exec_calls.h"
#include "import/import.h"
#include "ir/number.h"
#include "ir/print.h"
#include "parse/ast.h"
#include "plan/plan_packs.h"
#include "sim/sim.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct compile_command {
	struct compile_options compile;
	struct progress progress;
	const char *dump; /* nvfuser, hir, ast or cost; NULL: none */
	const char *output, *reproducer;
	struct rank_options ranks; /* for --dump-plan: target, transport, protocol of messages */
	int64_t rank;              /* for --dump-plan */
	bool plan;
	bool split, list, stats, json;
	struct compile_json result; /* for --json */
	struct diag *d;
	struct buf text;         /* the output; written to its file as it grows */
	struct file_writer file; /* for -o */
	int argc;
	char **argv;
};

static enum status list_passes(const struct compile_command *c)
{
	struct buf text = {0};
	if (c->json)
		compile_json_passes(&text);
	else
		pipeline_list(&text);
	enum status status = output_status(output_write(&text));
	buf_free(&text);
	return status;
}

static void print_stats(const struct module *m)
{
	fprintf(stderr, "statements %u, values %u, types %u, expressions %u, bytes %zu\n",
	        compile_json_statements(m), m->value.n - 1, m->type.n - 1, m->expr.n - 1, module_bytes(m));
}

/* Opens the output when the first text is printed: a program with errors must not replace the file. */
static void open_output(struct compile_command *c)
{
	bool is_stdout = !c->output || !strcmp(c->output, "-");
	if (c->text.file || c->text.error)
		return;
	if (!is_stdout && !file_begin(&c->file, c->output))
		c->text.error = errno;
	c->text.file = is_stdout ? stdout : c->file.to;
}

static enum status dump_ast(struct compile_command *c, struct source *s)
{
	struct source *outer = diag_set_source(c->d, s);
	unsigned errors = diag_error_count(c->d);
	struct ast *a = ast_parse(c->d, s);
	open_output(c);
	ast_print(a, &c->text);
	ast_free(a);
	diag_set_source(c->d, outer);
	enum status status = diag_error_count(c->d) > errors ? STATUS_DIAGNOSTICS : STATUS_OK;
	source_free(s);
	return status;
}

static enum status dump_cost(struct compile_command *c, struct module *m)
{
	enum status status = STATUS_OK;
	const struct cluster *cluster = compile_cluster(c->d, &c->compile, &status);
	if (!cluster)
		return status;
	struct source *outer = diag_set_source(c->d, m->source);
	struct cost *cost = cost_new(m, cluster, c->d);
	if (cost)
		cost_print(cost, m, &c->text);
	diag_set_source(c->d, outer);
	status = cost ? STATUS_OK : STATUS_DIAGNOSTICS;
	cost_free(cost);
	return status;
}

static struct plan *make_plan(struct compile_command *c, struct module *m, int64_t rank, int64_t ranks)
{
	struct plan_target target = gpu_options_plan(&c->ranks.gpu, c->ranks.target, DEFAULT_STREAMS);
	struct source *outer = diag_set_source(c->d, m->source);
	struct plan *p = plan_build(m, c->d, rank, ranks, &target);
	diag_set_source(c->d, outer);
	return p;
}

/* Prints the calls of a rank to its GPU. */
static enum status dump_calls(struct compile_command *c, struct module *m, int64_t ranks)
{
	const struct exec_options how = rank_options_exec(&c->ranks, c->compile.steps);
	struct plan **plan = mem_zalloc((size_t)ranks * sizeof *plan);
	enum status status = STATUS_OK;
	for (int64_t r = 0; r < ranks && status == STATUS_OK; r++) {
		if (r != c->rank && !exec_calls_need_all(&how))
			continue;
		plan[r] = make_plan(c, m, r, ranks);
		status = plan[r] ? STATUS_OK : STATUS_DIAGNOSTICS;
	}
	for (int64_t r = 0; r < ranks && status == STATUS_OK; r++)
		if (plan[r])
			plan_packs_drop(plan[r]);
	ir_number(m); /* gives nameless values names */
	if (status == STATUS_OK)
		compile_remark_copies(&c->compile, m, plan[c->rank]);
	struct plan_labels *labels = plan_labels_new(m);
	const struct exec_calls calls = {.plan = (const struct plan *const *)plan,
	                                 .ranks = (int)ranks,
	                                 .rank = (int)c->rank,
	                                 .labels = labels,
	                                 .how = &how};
	if (status == STATUS_OK)
		status = exec_calls_print(&calls, &c->text);
	plan_labels_free(labels);
	for (int64_t r = 0; r < ranks; r++)
		plan_free(plan[r]);
	free(plan);
	return status;
}

/* Prints the plan of a rank; for a GPU, its calls. */
static enum status dump_plan(struct compile_command *c, struct module *m)
{
	int64_t ranks = module_ranks(m);
	ranks = c->compile.np > ranks ? c->compile.np : ranks;
	if (c->rank >= ranks) {
		diag_error(c->d, E_RANK_UNKNOWN, DIAG_NOWHERE, "--rank=%lld: the program has ranks 0 to %lld",
		           (long long)c->rank, (long long)ranks - 1);
		return STATUS_USAGE;
	}
	if (rank_options_are_cuda(&c->ranks))
		return dump_calls(c, m, ranks);
	struct plan *p = make_plan(c, m, c->rank, ranks);
	if (!p)
		return STATUS_DIAGNOSTICS;
	plan_print(p, m, &c->text);
	ir_number(m);
	compile_remark_copies(&c->compile, m, p);
	plan_free(p);
	return STATUS_OK;
}

/* Returns false after reporting that a rank cannot run the compiled program. Skips a program if not all
 * passes ran, or if its params have no fitting values. */
static bool compile_gate(struct compile_command *c, struct module *m)
{
	if (c->compile.passes || c->compile.pipeline.stop_after || sim_is_recorded(m))
		return true;
	const int64_t needed = module_ranks(m), ranks = c->compile.np > needed ? c->compile.np : needed;
	bool given = c->compile.define.n && params_have_values(m); /* else `hirc run` may get other values */
	struct source *outer = diag_set_source(c->d, m->source);
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, 0);
	bool fits = params_check(m, given ? c->d : nowhere);
	bool accepted = fits ? gate_accepts(m, c->d, ranks, DEFAULT_STREAMS) : !given;
	static const char left_out[] = "left out, the params need other values: -D NAME=VALUE";
	if (!fits && !given && c->compile.pipeline.remarks)
		pipeline_remark(&c->compile.pipeline, m, "gate", DIAG_NOWHERE, left_out);
	diag_free(nowhere);
	diag_set_source(c->d, outer);
	return accepted;
}

/* Compiles one program; owns its source. */
static enum status compile_one(struct compile_command *c, struct source *s)
{
	enum status status;
	if (c->dump && !strcmp(c->dump, "ast"))
		return dump_ast(c, s);
	c->result.source = s;
	struct module *m = compile_source(c->d, s, &c->compile, true, &status);
	bool accepted = m && (c->plan || compile_gate(c, m));
	if (!accepted) {
		if (c->json)
			compile_json_add(&c->result, NULL, c->stats);
		compile_free(m);
		return m ? STATUS_DIAGNOSTICS : status;
	}
	if (c->dump || c->plan)
		open_output(c);
	if (c->dump && !strcmp(c->dump, "hir"))
		ir_print_hir(m, &c->text);
	else if (c->dump && !strcmp(c->dump, "cost"))
		status = dump_cost(c, m);
	else if (c->dump)
		ir_print_nvfuser(m, &c->text);
	if (c->plan && status == STATUS_OK)
		status = dump_plan(c, m);
	if (c->json)
		compile_json_add(&c->result, m, c->stats);
	else if (c->stats)
		print_stats(m);
	compile_free(m);
	return status;
}

/* Compiles one program of a file with several. */
static enum status compile_part(void *command, struct source *s, bool first)
{
	struct compile_command *c = command;
	if (!first && (c->dump || c->plan))
		buf_printf(&c->text, "%s\n", SPLIT_LINE);
	return compile_one(c, s);
}

static enum status compile_path(struct compile_command *c, const char *path)
{
	struct source *s;
	enum status status = source_read_bytes(c->d, path, import_knows_bytes, &s);
	if (status != STATUS_OK)
		return status;
	if (!c->split) {
		source_allow_release(s);
		return compile_one(c, s);
	}
	status = split_each(s, compile_part, c);
	source_free(s);
	return status;
}

/* ---- output */

static enum status close_output(struct compile_command *c)
{
	if (!c->output || !strcmp(c->output, "-"))
		return output_status(output_write(&c->text));
	open_output(c);
	if (c->text.file)
		buf_send(&c->text);
	if (!file_end(&c->file, !c->text.error) && !c->text.error)
		c->text.error = errno;
	if (c->text.error)
		diag_error(c->d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", c->output,
		           strerror(c->text.error));
	return c->text.error ? STATUS_DIAGNOSTICS : STATUS_OK;
}

/* Writes the command and the input to a file before anything runs, so that they remain if hirc dies. False
 * after a warning. */
static bool write_reproducer(struct compile_command *c, const char *path)
{
	struct source *s;
	struct buf text = {0};
	buf_puts(&text, "# RUN: hirc");
	for (int i = 0; i < c->argc; i++)
		buf_printf(&text, " %s", strcmp(c->argv[i], path) ? c->argv[i] : "%s");
	buf_putc(&text, '\n');
	if (strcmp(path, "-") && source_read(c->d, path, &s) == STATUS_OK) {
		buf_putn(&text, s->text, s->size);
		source_free(s);
	}
	bool ok = file_replace(c->reproducer, &(struct file_part){text.at, text.n}, 1);
	if (!ok)
		diag_warning(c->d, W_REPRODUCER, DIAG_NOWHERE, "cannot write '%s': %s", c->reproducer,
		             strerror(errno));
	buf_free(&text);
	return ok;
}

/* Checks that options for --dump-plan were given only with it. */
static bool check_given(struct compile_command *c, const struct command_line *line)
{
	static const char *const of_plan[] = {
	    "rank",          "target",     "transport",        "p2p-protocol",
	    "p2p-transport", "allow-tf32", "exact-reductions", "fuse-relu"};
	for (unsigned k = 0; !c->plan && k < sizeof of_plan / sizeof *of_plan; k++)
		if (options_given(line, of_plan[k])) {
			diag_error(
			    c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
			    "--%s needs --dump-plan: the program is the same for all ranks and targets",
			    of_plan[k]);
			return false;
		}
	if (options_given(line, "transport") && !rank_options_are_cuda(&c->ranks)) {
		diag_error(
		    c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		    "--transport is of --target=cuda: the plan for a cpu is the same for all transports");
		return false;
	}
	return rank_options_check(&c->ranks, c->compile.zero_copy, c->d);
}

static enum status compile_paths(struct compile_command *c, struct command_line *line)
{
	enum status worst = STATUS_OK;
	if (!compile_options_finish(&c->compile, c->d) || !check_given(c, line))
		return STATUS_USAGE;
	for (uint32_t i = 0; i < line->file.n; i++) {
		bool written = c->reproducer && write_reproducer(c, line->file.at[i]);
		enum status status = compile_path(c, line->file.at[i]);
		worst = status > worst ? status : worst;
		if (written && status != STATUS_INTERNAL)
			unlink(c->reproducer);
		else if (written)
			break;
	}
	compile_warn_unused(c->d, &c->compile);
	if ((c->dump || c->plan) && (worst == STATUS_OK || c->text.file || c->text.n)) {
		enum status status = close_output(c);
		worst = status > worst ? status : worst;
	}
	return worst;
}

/* Returns the dump that HIRC_DUMP asks for, which counts if --dump is not given; NULL: none. */
static const char *usual_dump(void)
{
	const char *word = getenv("HIRC_DUMP");
	if (word && !strcmp(word, "host_ir")) /* the word of NVFUSER_DUMP */
		return "nvfuser";
	return word && (!strcmp(word, "nvfuser") || !strcmp(word, "hir") || !strcmp(word, "ast")) ? word
	                                                                                          : NULL;
}

static const struct option rows[] = {
    {.name = "dump",
     .kind = OPTION_MAYBE,
     .at = offsetof(struct compile_command, dump),
     .value = "nvfuser|hir|ast|cost",
     .otherwise = "nvfuser",
     .help = "print the program; cost: with the time of each statement on a cluster"},
    {.name = "dump-plan",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct compile_command, plan),
     .help = "print the plan of a rank, or the calls to its GPU"},
    {.name = "rank",
     .kind = OPTION_INT,
     .at = offsetof(struct compile_command, rank),
     .value = "N",
     .max = INT32_MAX,
     .help = "the rank of --dump-plan"},
    TARGET_OPTION(struct compile_command, ranks.target, "the device that --dump-plan is for"),
    {.name = "transport",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_command, ranks.transport),
     .value = transport_kind_values_gpu,
     .init.text = "nccl",
     .help = "how data moves between ranks, with --target=cuda"},
    P2P_OPTIONS(struct compile_command, ranks.p2p_protocol, ranks.p2p_transport),
    MOVER_OPTION(struct compile_command, ranks.mover),
    {.letter = 'o',
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_command, output),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .help = "print to a file, in the form of --dump"},
    SPLIT_OPTION(struct compile_command, split),
    {.name = "list-passes",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct compile_command, list),
     .help = "list the passes and their options"},
    {.name = "stats",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct compile_command, stats),
     .help = "print the size of the program"},
    {.name = "json",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct compile_command, json),
     .help = "print --list-passes, or --remarks, --stats and messages, as JSON"},
    {.name = "crash-reproducer",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_command, reproducer),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .help = "write command and input to FILE, and keep it if hirc fails"},
    PROGRESS_OPTION(struct compile_command, progress),
};

/* Returns true if an option prints something other than the program; then only --dump prints the program. */
static bool prints_else(const struct compile_command *c)
{
	const struct pipeline_options *p = &c->compile.pipeline;
	return p->remarks || p->timing || p->print_after || p->print_before || p->dump_dir || c->stats ||
	       c->json;
}

static enum status print_json(struct compile_command *c, struct command_line *line)
{
	if ((c->dump || c->plan) && (!c->output || !strcmp(c->output, "-"))) {
		diag_error(c->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--json and %s both print to standard output: write the %s to a file with -o FILE",
		           c->plan ? "--dump-plan" : "--dump", c->plan ? "plan" : "program");
		return STATUS_USAGE;
	}
	compile_json_open(&c->result, c->d);
	c->compile.pipeline.remark = compile_json_remark;
	c->compile.pipeline.remark_to = &c->result;
	return compile_json_close(&c->result, compile_paths(c, line));
}

int cmd_compile(int argc, char **argv)
{
	struct compile_command c = {.argc = argc, .argv = argv};
	rank_options_init(&c.ranks);
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE…",
	    .about = "Parses programs of either surface, runs passes and prints the result; `-` is standard "
	             "input.\n"
	             "Exit code: 0, 1 after messages about the input, 2 for a wrong command line, 70 for a "
	             "bug in hirc.",
	    .table = {OPTION_TABLE("Options", rows, &c), gpu_options_table(&c.ranks.gpu),
	              compile_options_table(&c.compile)},
	    .table_n = 3,
	};
	enum status status;
	bool go = options_parse(&line, argc, argv, &status);
	if (go && c.list) {
		status = list_passes(&c);
	} else if (go && !line.file.n && !options_read_input(&line)) {
		fprintf(stderr, "hirc %s: error: no input file ('-' is standard input)\n", argv[0]);
		status = STATUS_USAGE;
	} else if (go) {
		if (!c.dump && !c.json)
			c.dump = usual_dump();
		if (!c.dump && !c.plan && (c.output || !prints_else(&c)))
			c.dump = "nvfuser";
		c.compile.pipeline.concise = c.dump && !strcmp(c.dump, "hir");
		c.compile.defaults_are_open = true;
		compile_options_target(&c.compile, &line, c.ranks.target);
		c.d = compile_diag(&c.compile);
		c.compile.progress = &c.progress;
		diag_set_before(c.d, progress_end, &c.progress);
		status = c.json ? print_json(&c, &line) : compile_paths(&c, &line);
		diag_finish(c.d);
		diag_free(c.d);
	}
	buf_free(&c.text);
	options_free(&line);
	compile_options_free(&c.compile);
	return status;
}
