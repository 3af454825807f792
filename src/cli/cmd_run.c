/* cmd_run: hirc run: runs a program on ranks.
 *
 *     hirc run foo.hir                  one process for each device, started here
 *     mpirun -np 8 hirc run foo.hir     the launcher has started the ranks
 *
 * The program is compiled once, then the ranks are started. Under mpirun every rank compiles, and the ranks
 * compare the results. */
#include "cli/cli_progress.h"
#include "cli/commands.h"
#include "cli/run.h"
#include "rt/environment.h"
#include "rt/transport.h"
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TRACE_EVENTS = 1 << 28, MAX_DELAY_US = 1000000000 };

/* Reads NAME=FILE. */
static bool add_file(struct run *r, const char *text, bool output)
{
	const char *equals = strchr(text, '=');
	if (!equals || equals == text || !equals[1]) {
		fprintf(stderr, "hirc run: error: --%s takes NAME=FILE, not '%s'\n",
		        output ? "output" : "input", text);
		return false;
	}
	char *name = mem_strdup(text);
	name[equals - text] = '\0';
	struct data_file f = {.name = name, .path = equals + 1};
	vec_push(&r->owned, name);
	if (output)
		vec_push(&r->output, f);
	else
		vec_push(&r->input, f);
	return true;
}

static bool add_input(void *run, const char *text)
{
	return add_file(run, text, false);
}

static bool add_output(void *run, const char *text)
{
	return add_file(run, text, true);
}

static bool set_seed(void *seed, const char *text)
{
	char *end;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < 0) {
		fprintf(stderr,
		        "hirc run: error: --adversary takes a seed, a whole number from 0 on, not '%s'\n",
		        text);
		return false;
	}
	*(int64_t *)seed = n;
	return true;
}

/* Parses R:N into rank and number. Returns the rest of the text; NULL after reporting. */
static const char *parse_rank(const char *option, const char *wants, const char *text, int64_t max,
                              struct exec_fault *f, int64_t *number)
{
	char *end = NULL;
	errno = 0;
	long rank = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
	bool ok = end && *end == ':' && isdigit((unsigned char)end[1]) && rank < RT_MAX_RANKS;
	long long n = ok ? strtoll(end + 1, &end, 10) : 0;
	if (!ok || errno || n < 1 || n > max) {
		fprintf(stderr, "hirc run: error: --%s takes %s, not '%s'\n", option, wants, text);
		return NULL;
	}
	f->rank = (int)rank;
	*number = n;
	return end;
}

static bool add_delay(void *run, const char *text)
{
	struct run *r = run;
	struct exec_fault f = {0};
	const char *end = parse_rank("rank-delay", "RANK:MICROSECONDS", text, MAX_DELAY_US, &f, &f.delay_us);
	if (end && *end) {
		fprintf(stderr, "hirc run: error: --rank-delay takes RANK:MICROSECONDS, not '%s'\n", text);
		return false;
	}
	if (end)
		vec_push(&r->fault, f);
	return end != NULL;
}

static bool add_failure(void *run, const char *text)
{
	static const char wants[] = "RANK:LINE, or with :kill, :segv, :abort or :stop";
	static const struct {
		const char *name;
		int signal;
	} ways[] = {{"", 0}, {":kill", SIGKILL}, {":segv", SIGSEGV}, {":abort", SIGABRT}, {":stop", SIGSTOP}};
	struct run *r = run;
	struct exec_fault f = {0};
	int64_t line;
	const char *end = parse_rank("fail", wants, text, INT32_MAX, &f, &line);
	if (!end)
		return false;
	for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
		if (strcmp(end, ways[k].name) == 0) {
			f.line = (uint32_t)line;
			f.signal = ways[k].signal;
			vec_push(&r->fault, f);
			return true;
		}
	fprintf(stderr, "hirc run: error: --fail takes %s, not '%s'\n", wants, text);
	return false;
}

/* Prepares the program, then starts the ranks. */
static enum status launch_prepared(struct run *r, struct diag *d, struct rt_launch_options *o)
{
	enum status status = run_prepare(r, d, r->compile.np, true);
	if (status != STATUS_OK)
		return status;
	int64_t ranks = r->compile.np > 0 ? r->compile.np : r->needed;
	if (ranks < r->needed) {
		diag_error(d, E_RANKS, DIAG_NOWHERE, "the program needs %lld ranks, --np gives %lld",
		           (long long)r->needed, (long long)ranks);
		return STATUS_USAGE;
	}
	if (ranks > RT_SHM_MAX_RANKS) {
		diag_error(d, E_RANKS, DIAG_NOWHERE,
		           "%lld ranks are more than can be started here (limit %d)", (long long)ranks,
		           RT_SHM_MAX_RANKS);
		diag_note(d, DIAG_NOWHERE, "a launcher can start more: mpirun -np %lld hirc run …",
		          (long long)ranks);
		return STATUS_USAGE;
	}
	if (!run_prove(r, d))
		return STATUS_DIAGNOSTICS;
	if (r->check)
		status = run_trial(r, o, ranks);
	if (r->check && status == STATUS_OK)
		status = run_reference(r, d, ranks);
	compile_warn_unused(d, &r->compile);
	diag_finish(d);
	if (status != STATUS_OK)
		return status;
	if (ranks > r->needed)
		fprintf(stderr, "note: %lld of %lld ranks idle, the program needs %lld\n",
		        (long long)(ranks - r->needed), (long long)ranks, (long long)r->needed);
	fflush(NULL);
	o->np = (int)ranks;
	return rt_launch(o, run_rank, r);
}

/* Checks that a launcher runs: without one, MPI starts one rank, whatever --np says. Under a launcher rank 0 alone has
 * standard input. */
static bool check_launcher(const struct run *r, struct diag *d, enum rt_boot_kind kind)
{
	if (kind == RT_BOOT_MPI && rt_env_rank() > 0 && !strcmp(r->path, "-")) {
		diag_error(d, E_LAUNCHER, DIAG_NOWHERE,
		           "rank %d has no standard input: a launcher gives it to rank 0 alone",
		           rt_env_rank());
		diag_note(d, DIAG_NOWHERE, "give the program as a file");
		return false;
	}
	if (kind != RT_BOOT_MPI || rt_env_launched() || r->compile.np <= 1)
		return true;
	diag_error(d, E_LAUNCHER, DIAG_NOWHERE,
	           "--bootstrap=mpi starts no ranks: no launcher has started hirc");
	diag_note(d, DIAG_NOWHERE,
	          "`mpirun -np %lld hirc run …` does; without --bootstrap hirc starts them itself",
	          (long long)r->compile.np);
	return false;
}

/* Checks that no option prints text before the JSON object on standard output. */
static bool check_json(const struct run *r, struct diag *d)
{
	const char *other = r->dump_plan ? "--dump-plan" : NULL;
	for (uint32_t k = 0; k < r->output.n; k++)
		other = strcmp(r->output.at[k].path, "-") ? other : "--output NAME=-";
	if (!r->json || !other)
		return true;
	diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "--json and %s: one of them", other);
	return false;
}

/* Checks the options that are for GPUs alone. */
static bool check_gpu(const struct run *r, struct diag *d)
{
	if (rank_options_are_cuda(&r->ranks) || (!r->sync && !r->nvtx))
		return true;
	diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
	           r->sync ? "--sync is of --target=cuda: on the cpu an error names its statement in any case"
	                   : "--nvtx is of --target=cuda: on the cpu use --trace=FILE.json or --profile");
	return false;
}

static enum status launch_run(struct run *r)
{
	struct diag *d = compile_diag(&r->compile);
	struct rt_launch_options o = rank_options_launch(&r->ranks);
	enum status status = STATUS_USAGE;
	if (check_json(r, d) && check_gpu(r, d) && compile_options_finish(&r->compile, d) &&
	    check_launcher(r, d, o.kind) && rank_options_check(&r->ranks, r->compile.zero_copy, d) &&
	    run_adversary_finish(r, d) && run_replay_finish(r, d, r->timeout_given)) {
		o.timeout_ms = r->ranks.timeout * 1000;
		if (o.kind == RT_BOOT_MPI) /* the ranks compile, once their number is known */
			status = rt_launch(&o, run_rank, r);
		else
			status = launch_prepared(r, d, &o);
	}
	diag_finish(d);
	diag_free(d);
	return status;
}

struct run_command {
	struct run run;
	struct progress progress;
	bool no_check;
};

static const struct option rows[] = {
    {.name = "check",
     .kind = OPTION_MAYBE,
     .at = offsetof(struct run_command, run.check),
     .value = "FILE",
     .file = FILE_READ,
     .otherwise = "",
     .help = "compare the outputs with a reference evaluation of the source, or of FILE"},
    {.name = "check-limit",
     .kind = OPTION_SIZE,
     .at = offsetof(struct run_command, run.check_limit),
     .value = "N",
     .min = 0,
     .max = INT64_MAX,
     .init.number = REF_DEFAULT_LIMIT,
     .help = "most multiplications of the reference; above this, a sample is compared; 0: no limit"},
    NO_CHECK_OPTION(struct run_command, no_check),
    PROGRESS_OPTION(struct run_command, progress),
    {.name = "input",
     .kind = OPTION_CALL,
     .at = offsetof(struct run_command, run),
     .call = add_input,
     .value = "NAME=FILE.npy",
     .help = "data of an input"},
    {.name = "output",
     .kind = OPTION_CALL,
     .at = offsetof(struct run_command, run),
     .call = add_output,
     .value = "NAME=FILE.npy",
     .file = FILE_WRITTEN,
     .help = "write a whole output, collected from all ranks"},
    {.name = "repeat",
     .kind = OPTION_INT,
     .at = offsetof(struct run_command, run.repeat),
     .value = "N",
     .min = 1,
     .max = INT32_MAX,
     .init.number = 1,
     .help = "run the program N times"},
    {.name = "trace",
     .kind = OPTION_TEXT,
     .at = offsetof(struct run_command, run.trace),
     .value = "FILE.json",
     .file = FILE_WRITTEN,
     .help = "write a timeline of the ranks, in Chrome's trace format"},
    {.name = "profile",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct run_command, run.profile),
     .help = "print the time of collectives, the part hidden by work, and how busy streams were"},
    {.name = "trace-events",
     .kind = OPTION_INT,
     .at = offsetof(struct run_command, run.trace_events),
     .value = "N",
     .min = 1,
     .max = MAX_TRACE_EVENTS,
     .init.number = RUN_TRACE_EVENTS,
     .help = "events of each rank that --trace and --profile keep; later ones are dropped"},
    {.name = "nvtx",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct run_command, run.nvtx),
     .help = "name the statement of each call to NVIDIA's tools, even if none of them started hirc"},
    {.name = "sync",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct run_command, run.sync),
     .help =
         "wait for each kernel of a GPU, so that an error names its statement; without graphs, and slower"},
    {.name = "adversary",
     .kind = OPTION_CALL,
     .at = offsetof(struct run_command, run.seed),
     .call = set_seed,
     .value = "SEED",
     .help = "delay streams and communication as far as the program allows, and poison "
             "deallocated memory"},
    {.name = "rank-delay",
     .kind = OPTION_CALL,
     .at = offsetof(struct run_command, run),
     .call = add_delay,
     .value = "R:US",
     .help = "rank R waits US microseconds before each statement; may be repeated"},
    {.name = "fail",
     .kind = OPTION_CALL,
     .at = offsetof(struct run_command, run),
     .call = add_failure,
     .value = "R:LINE",
     .help = "rank R fails at the statement of that line; R:LINE:kill, segv, abort or stop sends it the "
             "signal"},
    {.name = "replay",
     .kind = OPTION_TEXT,
     .at = offsetof(struct run_command, run.replay),
     .value = "W.json",
     .file = FILE_READ,
     .help = "reproduce the error that hirc check --witness=W.json recorded, and compare the outputs"},
    {.name = "stats",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct run_command, run.stats),
     .help = "print operations, bytes moved and peak memory of each rank"},
    JSON_OPTION(struct run_command, run.json),
    {.name = "dump-plan",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct run_command, run.dump_plan),
     .help = "print the plan of rank 0"},
    {.name = "all-ranks",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct run_command, run.all_ranks),
     .help = "print the output of every rank, not only rank 0"},
};

int cmd_run(int argc, char **argv)
{
	struct run_command c = {.run = {.seed = -1, .limit_way_out = "or a larger limit with --check-limit"}};
	struct run *r = &c.run;
	r->progress = &c.progress;
	r->compile.progress = &c.progress;
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE",
	    .about =
	        "Executes a program on one rank for each device of its meshes; `-` is standard input.\n"
	        "The proof of `hirc check` comes first, and its errors end it; --no-check leaves it out.\n"
	        "HIRC_DUMP=host_ir prints the program that runs.\n"
	        "Exit code: 0; 1 after messages about the input; 2 wrong command line or too few ranks; "
	        "3 wrong numbers;\n"
	        "4 deadlock or timeout; 5 a backend is absent; 70 a bug in hirc.",
	    .table = {OPTION_TABLE("Options", rows, &c), rank_options_table(&r->ranks),
	              gpu_options_table(&r->ranks.gpu), compile_options_table(&r->compile)},
	    .table_n = 4,
	    .min_files = 1,
	    .max_files = 1,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		r->path = line.file.at[0];
		r->proves = !c.no_check;
		compile_options_target(&r->compile, &line, r->ranks.target);
		compile_options_transport(&r->compile, r->ranks.transport,
		                          rank_options_launch(&r->ranks).kind == RT_BOOT_THREAD);
		r->timeout_given = options_given(&line, "timeout");
		status = launch_run(r);
	}
	run_free(r);
	options_free(&line);
	rank_options_free(&r->ranks);
	compile_options_free(&r->compile);
	return status;
}
