/* cmd_bench: hirc bench: measures the time of collectives and programs.
 *
 *     hirc bench allreduce allgather -b 8 -e 64M        like nccl-tests
 *     hirc bench ag_matmul.hir -D m=1K,2K -D s=1,2      a row for each combination
 *     hirc bench compute.hir ag_matmul.hir              alternating samples; the ratio to the first program
 *     hirc bench --collectives -o cluster.json          figures of this machine, for --cluster */
#include "cli/bench_cluster.h"
#include "cli/bench_collective.h"
#include "cli/commands.h"
#include "rt/environment.h"
#include <stdlib.h>
#include <string.h>

#define MAX_SIZE ((int64_t)1 << 40)

/* Tables of the command line, in the order of --help. */
enum { OF_ALL, OF_COLLECTIVES, OF_CLUSTER, OF_RANKS, OF_GPU, OF_COMPILING, TABLES };

static bool is_one_of(const struct option *o, const char *names)
{
	size_t n = o->name ? strlen(o->name) : 0;
	const char *at = n ? strstr(names, o->name) : NULL;
	return at && (at == names || at[-1] == ' ') && (at[n] == ' ' || !at[n]);
}

/* Checks that all given options fit --collectives or, without --collectives, that none belongs to it. */
static bool check_cluster_given(const struct command_line *line, bool measures_cluster)
{
	struct buf spelling = {0};
	for (uint32_t k = 0; k < line->given.n && !spelling.n; k++) {
		const struct option *o = line->given.at[k];
		bool shared = option_table_has(&line->table[OF_RANKS], o) ||
		              option_table_has(&line->table[OF_GPU], o) || o->letter == 'b' ||
		              o->letter == 'e' ||
		              is_one_of(o, "samples warmup np quiet transport color diagnostic-format");
		if (!shared && option_table_has(&line->table[OF_CLUSTER], o) != measures_cluster)
			options_put_given_name(line, k, &spelling);
	}
	if (!spelling.n)
		return true;
	fprintf(stderr, "hirc bench: error: %s is %s option of --collectives\n", spelling.at,
	        measures_cluster ? "no" : "an");
	buf_free(&spelling);
	return false;
}

/* Checks that each given option has an effect on the measurement, so that none is ignored. */
static bool check_given(const struct bench_collectives *c, const struct command_line *line,
                        bool measures_cluster)
{
	struct buf spelling = {0};
	if (measures_cluster || !check_cluster_given(line, false))
		return measures_cluster && check_cluster_given(line, true);
	for (uint32_t k = 0; k < line->given.n && !spelling.n; k++) {
		const struct option *o = line->given.at[k];
		bool fits = !option_table_has(&line->table[OF_COLLECTIVES], o);
		if (c->kinds && option_table_has(&line->table[OF_COMPILING], o))
			fits = is_one_of(o, "np color diagnostic-format");
		else if (c->kinds)
			fits = !is_one_of(o, "check no-check engine streams graph allow-tf32 fuse-relu");
		if (!fits)
			options_put_given_name(line, k, &spelling);
	}
	if (!spelling.n)
		return true;
	fprintf(stderr, "hirc bench: error: %s is an option of %s, and %s are measured\n", spelling.at,
	        c->kinds ? "programs" : "collectives", c->kinds ? "collectives" : "programs");
	if (!strcmp(spelling.at, "--check"))
		fputs("note: --data-check counts wrong elements of collectives; it is on\n", stderr);
	else if (!strcmp(spelling.at, "--data-check"))
		fputs("note: --check compares the outputs of programs\n", stderr);
	else
		fprintf(stderr, "note: leave it away, or give %s\n",
		        c->kinds ? "files instead of collectives" : "collectives instead of files");
	buf_free(&spelling);
	return false;
}

/* Sorts the positional arguments into names of collectives and files. */
static bool take_words(struct bench_collectives *c, const struct command_line *line)
{
	for (uint32_t k = 0; k < line->file.n; k++) {
		const char *word = line->file.at[k];
		enum collective kind;
		if (!strcmp(word, "all")) {
			for (c->kinds = 0; c->kinds < COLLECTIVE_COUNT; c->kinds++)
				c->kind[c->kinds] = (enum collective)c->kinds;
		} else if (bench_collective_find(word, &kind)) {
			if (c->kinds < BENCH_MAX_COLLECTIVES)
				c->kind[c->kinds++] = kind;
		} else {
			vec_push(&c->b->file, word);
		}
	}
	if (!c->kinds || !c->b->file.n)
		return true;
	fprintf(stderr, "hirc bench: error: collectives and files are not measured together\n");
	fprintf(stderr, "note: '%s' is no collective; these are:", c->b->file.at[0]);
	for (enum collective k = 0; k < COLLECTIVE_COUNT; k++)
		fprintf(stderr, " %s", collective_key(k));
	fputs(" all\n", stderr);
	return false;
}

static bool check_words(struct command_line *line, bool measures_cluster)
{
	if (!measures_cluster && !line->file.n && options_read_input(line))
		return true;
	if (measures_cluster && line->file.n)
		fprintf(stderr, "hirc bench: error: --collectives measures the machine, not '%s'\n",
		        line->file.at[0]);
	else if (!measures_cluster && !line->file.n)
		fputs("hirc bench: error: no input file ('-' is standard input)\n", stderr);
	return measures_cluster == !line->file.n;
}

static bool add_teams(void *collectives, const char *text)
{
	if (bench_teams_parse(text, collectives))
		return true;
	fprintf(stderr, "hirc bench: error: --team takes ranks as in '(0 1)(2 3)', not '%s'\n", text);
	return false;
}

/* Checks that all teams have the same size, and that no rank is in two teams. */
static bool check_teams(const struct bench_collectives *c)
{
	bool taken[RT_MAX_RANKS] = {false};
	for (uint32_t t = 0; t < c->team.n; t++) {
		const struct bench_team *team = &c->team.at[t];
		if (team->rank.n != c->team.at[0].rank.n) {
			fprintf(stderr, "hirc bench: error: --team: all teams must have one size\n");
			return false;
		}
		for (uint32_t k = 0; k < team->rank.n; k++) {
			if (taken[team->rank.at[k]]) {
				fprintf(stderr, "hirc bench: error: --team: rank %d is there twice\n",
				        team->rank.at[k]);
				return false;
			}
			taken[team->rank.at[k]] = true;
		}
	}
	return true;
}

static bool check_collectives(struct bench_collectives *c)
{
	for (int t = 0; t < DTYPE_COUNT; t++)
		if (!strcmp(dtype_name(t), c->dtype_name))
			c->dtype = t;
	for (int o = 0; o < REDUCE_COUNT; o++)
		if (!strcmp(reduce_op_name(o), c->op_name))
			c->op = o;
	if (c->kinds && c->least > c->most) {
		fprintf(stderr, "hirc bench: error: -b is larger than -e\n");
		return false;
	}
	return check_teams(c);
}

/* Checks the options of ranks; with several transports, an option may belong to any of them. */
static bool check_ranks(struct bench *b, struct diag *d)
{
	struct rank_options o = b->ranks;
	o.transport = b->transport.at[0];
	for (uint32_t k = 1; k < b->transport.n; k++)
		if (transport_kind_has(transport_kind_find(b->transport.at[k]),
		                       TRANSPORT_ON_GPU | TRANSPORT_HAS_P2P_OPTIONS))
			o.transport = b->transport.at[k];
	return rank_options_check(&o, b->compile.zero_copy, d);
}

/* Measures. o: for --collectives; NULL: programs or collectives are measured. */
static enum status bench(struct bench_collectives *c, struct bench_cluster *o)
{
	struct bench *b = c->b;
	struct diag *d = compile_diag(&b->compile);
	enum status status = STATUS_USAGE;
	b->launch = rank_options_launch(&b->ranks);
	if (o)
		b->compile.fuse_pointwise = "no"; /* each statement is measured on its own */
	bool ok = compile_options_finish(&b->compile, d);
	if (ok && b->launch.kind == RT_BOOT_MPI && !rt_env_launched()) {
		diag_error(d, E_LAUNCHER, DIAG_NOWHERE,
		           "--bootstrap=mpi starts no ranks: no launcher has started hirc");
		ok = false;
	}
	ok = ok && check_ranks(b, d);
	ok =
	    ok && (c->kinds || compile_cluster(d, &b->compile, &status)); /* copies of the options share it */
	diag_finish(d);
	diag_free(d);
	if (!ok)
		return status;
	if (!check_collectives(c))
		return STATUS_USAGE;
	if (o) {
		o->collectives = *c;
		return bench_cluster(b, o);
	}
	return c->kinds ? bench_collectives(c) : (enum status)bench_programs(b);
}

/* Lists the words of the command line, one on each line. */
static struct buf list_words(int argc, char **argv)
{
	struct buf text = {0};
	buf_puts(&text, "hirc bench\n");
	for (int k = 1; k < argc; k++)
		buf_printf(&text, "%s\n", argv[k]);
	return text;
}

static const char collective_words[] =
#define COLLECTIVE(id, operation, hir, nvfuser, name, ...) #name "|"
#include "base/collectives.def"
#undef COLLECTIVE
    "all";

/* The words of --dtype and --op, each with a `|` before it. */
static const char dtype_words[] =
#define FLOAT(name) "|" name
#define NARROW_FLOAT FLOAT
#define INTEGER FLOAT
#define BOOL(name)
#define DTYPE(id, name, nvfuser, class, ...) class(#name)
#include "base/dtypes.def"
    ;
#undef DTYPE
#undef FLOAT
#undef NARROW_FLOAT
#undef INTEGER
#undef BOOL
static const char reduction_words[] =
#define REDUCTION(id, name, ...) "|" #name
#include "base/reductions.def"
#undef REDUCTION
    ;

struct bench_command {
	struct bench b;
	struct bench_collectives c;
	struct bench_cluster cluster;
	struct progress progress;
	bool json, csv;
	bool data_check; /* for collectives; programs have b.check */
	bool measures_cluster;
};

static const struct option rows[] = {
    {.name = "samples",
     .letter = 'n',
     .kind = OPTION_INT,
     .at = offsetof(struct bench_command, b.samples),
     .value = "N",
     .max = 1000000,
     .help = "runs to measure; 0: as many as fit in a second"},
    {.name = "warmup",
     .letter = 'w',
     .kind = OPTION_INT,
     .at = offsetof(struct bench_command, b.warmup),
     .value = "N",
     .max = 1000000,
     .init.number = 3,
     .help = "runs before the measured ones"},
    {.name = "check",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct bench_command, b.check),
     .help = "compare the outputs of programs with a reference evaluation"},
    NO_CHECK_OPTION(struct bench_command, b.no_check),
    PROGRESS_OPTION(struct bench_command, progress),
    {.name = "csv",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct bench_command, csv),
     .help = "print CSV, the default for programs"},
    JSON_OPTION(struct bench_command, json),
    {.name = "transport",
     .kind = OPTION_TEXT,
     .at = offsetof(struct bench_command, b.ranks.transport),
     .value = transport_kind_values,
     .several = true,
     .init.text = "auto",
     .help = "how data moves between ranks; collectives take several, as in nccl,cuda-ipc"},
};

static const struct option of_collectives[] = {
    {.letter = 'b',
     .kind = OPTION_SIZE,
     .at = offsetof(struct bench_command, c.least),
     .value = "SIZE",
     .min = 1,
     .max = MAX_SIZE,
     .init.number = 8,
     .help = "smallest size, in bytes"},
    {.letter = 'e',
     .kind = OPTION_SIZE,
     .at = offsetof(struct bench_command, c.most),
     .value = "SIZE",
     .min = 1,
     .max = MAX_SIZE,
     .init.number = 64 << 20,
     .help = "largest size, in bytes"},
    {.letter = 'f',
     .kind = OPTION_INT,
     .at = offsetof(struct bench_command, c.factor),
     .value = "N",
     .min = 2,
     .max = 1 << 20,
     .init.number = 2,
     .help = "factor from size to size"},
    {.letter = 'i',
     .kind = OPTION_SIZE,
     .at = offsetof(struct bench_command, c.step),
     .value = "SIZE",
     .max = MAX_SIZE,
     .help = "step from size to size, in bytes; 0: use the factor"},
    {.name = "dtype",
     .kind = OPTION_TEXT,
     .at = offsetof(struct bench_command, c.dtype_name),
     .value = dtype_words + 1,
     .init.text = "f32",
     .help = "dtype of the elements"},
    {.name = "op",
     .kind = OPTION_TEXT,
     .at = offsetof(struct bench_command, c.op_name),
     .value = reduction_words + 1,
     .init.text = "sum",
     .help = "reduction of the elements"},
    {.name = "root",
     .kind = OPTION_INT,
     .at = offsetof(struct bench_command, c.root),
     .value = "N",
     .max = RT_MAX_RANKS,
     .help = "root, as an index in its team"},
    {.name = "team",
     .kind = OPTION_CALL,
     .at = offsetof(struct bench_command, c),
     .call = add_teams,
     .value = "(0 1)(2 3)",
     .help = "teams, which work at the same time; default: one team of all ranks"},
    {.name = "average",
     .kind = OPTION_TEXT,
     .at = offsetof(struct bench_command, c.average),
     .value = "mean|min|max|rank0",
     .init.text = "mean",
     .help = "how to combine the times of the ranks"},
    {.name = "data-check",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct bench_command, data_check),
     .init.on = true,
     .help = "count wrong elements"},
    {.name = "plant",
     .kind = OPTION_INT,
     .at = offsetof(struct bench_command, c.plant),
     .value = "N",
     .min = -1,
     .max = INT32_MAX,
     .init.number = -1,
     .help = "change byte N of rank 0's results, to test --data-check; -1: none"},
};

static const struct option of_cluster[] = {
    {.name = "collectives",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct bench_command, measures_cluster),
     .help = "measure statements and collectives of this machine, for a cluster file"},
    {.letter = 'o',
     .kind = OPTION_TEXT,
     .at = offsetof(struct bench_command, cluster.output),
     .value = "FILE",
     .file = FILE_WRITTEN,
     .init.text = "-",
     .help = "write the cluster file to FILE; `-`: standard output"},
    {.name = "quick",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct bench_command, cluster.quick),
     .help = "measure only a few small sizes, as a quick test"},
    {.name = "beside-matmul",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct bench_command, cluster.beside_matmul),
     .help = "also measure how each collective and products beside it slow each other"},
};

static const struct other_option of_nccl_tests[] = {
    {"-g", "`--np=4 --target=cuda` starts 4 ranks, each with a GPU"},
    {"--ngpus", "`--np=4 --target=cuda` starts 4 ranks, each with a GPU"},
    {"-t", "`--np=4 --bootstrap=thread` starts 4 ranks as threads of one process"},
    {"--nthreads", "`--np=4 --bootstrap=thread` starts 4 ranks as threads of one process"},
    {"--minbytes", "`-b 8` is the smallest size"},
    {"--maxbytes", "`-e 64M` is the largest size"},
    {"--stepbytes", "`-i 1M` is the step from size to size"},
    {"--stepfactor", "`-f 2` is the factor from size to size"},
    {"--iters", "`-n 20` is the number of measured runs"},
    {"--warmup_iters", "`-w 5` is the number of runs before the measured ones"},
    {"-m", "a run takes as many collectives as fit in 4 ms"},
    {"--agg_iters", "a run takes as many collectives as fit in 4 ms"},
    {"-d", "`--dtype=bf16` is the dtype of the elements"},
    {"--datatype", "`--dtype=bf16` is the dtype of the elements"},
    {"-r", "`--root=0` is the root"},
    {"-c", "wrong elements are counted, unless `--no-data-check` is given"},
    {"-a", "`--average=max` shows the time of the slowest rank"},
    {NULL, NULL},
};

int cmd_bench(int argc, char **argv)
{
	struct bench_command x = {.b = {.words = list_words(argc, argv), .results = -1}};
	struct bench *b = &x.b;
	struct bench_collectives *c = &x.c;
	b->progress = &x.progress;
	b->compile.progress = &x.progress;
	c->b = b;
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] COLLECTIVE… | all | FILE… | --collectives",
	    .about = "Measures collectives, in the columns of nccl-tests:\n"
	             "  "
#define COLLECTIVE(id, operation, hir, nvfuser, name, ...) #name ", "
#include "base/collectives.def"
#undef COLLECTIVE
	             "or `all` of them.\n"
	             "Measures programs: for each combination of the values that -D gives, as in\n"
	             "`-D m=1K,2K -D s=1,2`, a row for each FILE. Samples of several files alternate, and "
	             "the ratio\n"
	             "of each to the first is printed. --check, --engine, --streams and the options under "
	             "Compiling,\n"
	             "except --np, --color and --diagnostic-format, are only for programs.\n"
	             "With --collectives writes the figures of this machine, for --cluster.\n"
	             "Exit codes are those of `hirc run`.",
	    .table = {[OF_ALL] = OPTION_TABLE("Options", rows, &x),
	              [OF_COLLECTIVES] = OPTION_TABLE("Collectives", of_collectives, &x),
	              [OF_CLUSTER] = OPTION_TABLE("Cluster file", of_cluster, &x),
	              [OF_RANKS] = rank_options_table(&b->ranks),
	              [OF_GPU] = gpu_options_table(&b->ranks.gpu),
	              [OF_COMPILING] = compile_options_table(&b->compile)},
	    .table_n = TABLES,
	    .others = of_nccl_tests,
	    .words = collective_words,
	};
	enum status status;
	bool go = options_parse(&line, argc, argv, &status);
	if (go && (!check_words(&line, x.measures_cluster) || !take_words(c, &line) ||
	           !check_given(c, &line, x.measures_cluster) || !bench_transports(b))) {
		status = STATUS_USAGE;
	} else if (go) {
		compile_options_target(&b->compile, &line, b->ranks.target);
		compile_options_transport(&b->compile, b->ranks.transport,
		                          rank_options_launch(&b->ranks).kind == RT_BOOT_THREAD);
		b->format = x.json ? TABLE_JSON : x.csv || b->file.n ? TABLE_CSV : TABLE_TEXT;
		b->check = c->kinds ? x.data_check : b->check;
		status = bench(c, x.measures_cluster ? &x.cluster : NULL);
	}
	bench_collectives_free(c);
	for (uint32_t k = 0; k < b->transport.n; k++)
		free(b->transport.at[k]);
	vec_free(&b->transport);
	vec_free(&b->file);
	options_free(&line);
	buf_free(&b->words);
	rank_options_free(&b->ranks);
	compile_options_free(&b->compile);
	return status;
}
