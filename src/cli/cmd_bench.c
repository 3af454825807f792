/* cmd_bench: hirc bench: how long programs take.
 *
 *     hirc bench ag_matmul.hir -D m=1K,2K -D s=1,2      a row for each combination
 *     hirc bench compute.hir ag_matmul.hir              in turns; the second's ratio to the first */
#include "cli/bench.h"
#include "cli/commands.h"
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_TIMEOUT = 30, MAX_TIMEOUT = 1000000 };

static enum status bench(struct bench *b, const char *bootstrap)
{
	struct diag *d = compile_diag(&b->compile);
	rt_boot_parse(bootstrap, &b->launch.kind);
	b->launch.kind = rt_boot_choose(b->launch.kind);
	b->launch.timeout_ms = b->timeout * 1000;
	bool ok = compile_options_finish(&b->compile, d);
	if (ok && b->launch.kind == RT_BOOT_MPI && rt_env_size() < 0) {
		diag_error(d, DIAG_NOWHERE, "--bootstrap=mpi starts no ranks: no launcher has started hirc");
		ok = false;
	}
	diag_finish(d);
	diag_free(d);
	return ok ? (enum status)bench_programs(b) : STATUS_USAGE;
}

int cmd_bench(int argc, char **argv)
{
	struct bench b = {
	    .transport = "auto", .device = "cpu", .streams = 4, .timeout = DEFAULT_TIMEOUT, .warmup = 3};
	const char *bootstrap = "auto";
	bool json = false;
	compile_options_init(&b.compile);
	const struct option options[] = {
	    {.name = "samples",
	     .letter = 'n',
	     .kind = OPTION_INT,
	     .to = &b.samples,
	     .value = "N",
	     .max = 1000000,
	     .help = "times that are measured; 0: 5 to 200, for about a second"},
	    {.name = "warmup",
	     .letter = 'w',
	     .kind = OPTION_INT,
	     .to = &b.warmup,
	     .value = "N",
	     .max = 1000000,
	     .help = "runs before these"},
	    {.name = "check",
	     .kind = OPTION_SWITCH,
	     .to = &b.check,
	     .help = "compare the outputs with a reference evaluation"},
	    {.name = "json", .kind = OPTION_SWITCH, .to = &json, .help = "print JSON, not CSV"},
	    {.name = "bootstrap",
	     .kind = OPTION_TEXT,
	     .to = &bootstrap,
	     .value = "auto|fork|thread|mpi",
	     .help = "how ranks are started; auto: mpi under a launcher, else fork"},
	    {.name = "transport",
	     .kind = OPTION_TEXT,
	     .to = &b.transport,
	     .value = "auto|shm|mpi",
	     .help = "what moves data between ranks"},
	    {.name = "streams",
	     .kind = OPTION_INT,
	     .to = &b.streams,
	     .value = "N",
	     .max = 4096,
	     .help = "stream indices are taken modulo N; 0: unbounded"},
	    {.name = "timeout",
	     .kind = OPTION_INT,
	     .to = &b.timeout,
	     .value = "SECONDS",
	     .max = MAX_TIMEOUT,
	     .help = "end a job in which nothing moves for so long; 0: never"},
	};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] FILE…",
	    .about = "Measures programs: for each combination of the values that -D gives, as in\n"
	             "`-D m=1K,2K -D s=1,2`, a row for each FILE. Several files run in turns, and the ratio\n"
	             "of each to the first is printed. Exit codes are those of `hirc run`.",
	    .table = {{.title = "Options", .at = options, .n = sizeof options / sizeof *options},
	              compile_options_table(&b.compile)},
	    .table_n = 2,
	    .min_files = 1,
	};
	int status = STATUS_OK;
	switch (options_parse(&line, argc, argv)) {
	case OPTIONS_DONE:
		break;
	case OPTIONS_WRONG:
		status = STATUS_USAGE;
		break;
	default:
		b.format = json ? BENCH_JSON : BENCH_CSV;
		for (uint32_t k = 0; k < line.file.n; k++)
			vec_push(&b.file, line.file.at[k]);
		status = bench(&b, bootstrap);
	}
	vec_free(&b.file);
	options_free(&line);
	compile_options_free(&b.compile);
	return status;
}
