/* compile_options: the options of commands that compile a program. */
#include "cli/compile_options.h"
#include "base/color.h"
#include "cli/cli_cluster.h"
#include "cli/define.h"
#include "rt/transport.h"
#include "sim/sim.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The words that shells offer where an option wants a pass. */
#define PASS(id, name, ...) "|" name
static const char pass_words[] =
#include "pass/passes.def"
    ;
static const char parse_and_passes[] = "parse"
#include "pass/passes.def"
    ;
static const char all_and_passes[] = "all"
#include "pass/passes.def"
    ;
static const char changed_and_passes[] = "all|changed"
#include "pass/passes.def"
    ;
#undef PASS

bool compile_options_define(void *compile_options, const char *text)
{
	struct compile_options *o = compile_options;
	struct sema_define d;
	if (!define_read(text, &d))
		return false;
	vec_push(&o->owned, (char *)d.name);
	vec_push(&o->define, d);
	return true;
}

bool compile_options_paired(void *paired, const char *text)
{
	static const char *const word[] = {[PAIRED_HALVES] = "halves",
	                                   [PAIRED_OWN] = "own",
	                                   [PAIRED_TWICE] = "twice",
	                                   [PAIRED_FIRST] = "first",
	                                   [PAIRED_SECOND] = "second"};
	for (unsigned i = PAIRED_HALVES; i <= PAIRED_SECOND; i++)
		if (!strcmp(text, word[i])) {
			*(enum sema_paired *)paired = (enum sema_paired)i;
			return true;
		}
	fprintf(stderr, "hirc: error: --paired-axes is halves, own, twice, first or second, not '%s'\n",
	        text);
	return false;
}

static bool read_change_limit(void *change_limit, const char *text)
{
	struct change_limit limit = {.given = true};
	char *end;
	errno = 0;
	limit.most = strtoll(text, &end, 10);
	*(struct change_limit *)change_limit = limit;
	if (*text && !*end && !errno && limit.most >= 0)
		return true;
	fprintf(stderr, "hirc: error: --change-limit takes a number of changes, not '%s'\n", text);
	return false;
}

static const struct option rows[] = {
    DEFINE_OPTIONS(0),
    {.name = "passes",
     .alias = "--pass-pipeline",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, passes),
     .value = "A,B{OPT=N}",
     .words = pass_words + 1,
     .several = true,
     .help = "run these passes instead of the default ones"},
    {.name = "pipeline",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, steps),
     .value = "KIND",
     .words = "layout|broadcast|permute|collective|p2p|p2p-put",
     .help = "how loops move the blocks that they gather: layout, broadcast, permute, collective, "
             "p2p, p2p-put"},
    {.name = "offset-streams",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct compile_options, offset_streams),
     .help = "each rank starts a loop that gathers with its own block"},
    {.name = "inter-stream-sync",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct compile_options, inter_stream_sync),
     .help = "a step's communication follows that of the step before"},
    {.name = "zero-copy",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct compile_options, zero_copy),
     .help = "ranks, all on one host, read and add up in each other's memory"},
    {.name = "fuse-pointwise",
     .kind = OPTION_MAYBE,
     .at = offsetof(struct compile_options, fuse_pointwise),
     .value = "N",
     .otherwise = "0",
     .help = "make one kernel of consecutive pointwise operations on N or more elements a rank, without "
             "`=N` on any; `no`: of none"},
    {.name = "effort",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, effort),
     .value = "0|1|2|3",
     .help = "run schedule-overlap with this effort of search"},
    {.name = "bucket-mode",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, bucket_mode),
     .value = "pack|coalesced|none",
     .help = "run schedule-overlap with these buckets of collectives"},
    {.name = "memory-limit",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, memory_limit),
     .value = "SIZE",
     .help = "run schedule-overlap with this limit of live bytes"},
    {.name = "transform",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, transform),
     .value = "merge,split,chunk",
     .words = "merge|split|chunk|all|no",
     .several = true,
     .help = "try other collectives, and keep faster ones: merge two, split an allreduce in two "
             "halves, cut into chunks; `all`, `no`"},
    {.name = "stop-after",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, pipeline.stop_after),
     .value = "PASS",
     .words = parse_and_passes,
     .help = "run no pass after this one; `parse`: none"},
    {.name = "print-before",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, pipeline.print_before),
     .value = "PASS",
     .words = all_and_passes,
     .help = "print the program before a pass; `all`"},
    {.name = "print-after",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, pipeline.print_after),
     .value = "PASS",
     .words = changed_and_passes,
     .help = "print the program after a pass; `all`, `changed`"},
    {.name = "dump-dir",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, pipeline.dump_dir),
     .value = "DIR",
     .help = "write the program after each pass to numbered files"},
    REMARKS_OPTION(struct compile_options, pipeline.remarks, false),
    {.name = "change-limit",
     .kind = OPTION_CALL,
     .at = offsetof(struct compile_options, pipeline.changes),
     .call = read_change_limit,
     .value = "N",
     .help = "make only the first N changes that a pass can leave out, and list them"},
    {.name = "timing",
     .alias = "--time-passes",
     .kind = OPTION_MAYBE,
     .at = offsetof(struct compile_options, pipeline.timing),
     .value = "text|json",
     .otherwise = "text",
     .help = "print how long each pass took, and its processor time"},
    {.name = "verify-each",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct compile_options, pipeline.verify_each),
     .on_in_debug = true,
     .help = "verify the program after each pass"},
    {.name = "prove",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct compile_options, prove),
     .help = "prove after each pass that the program computes the same function as the source"},
    {.name = "verify-roundtrip",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct compile_options, verify_roundtrip),
     .on_in_debug = true,
     .help = "check after each pass that it prints and parses to itself"},
    CLUSTER_OPTION(struct compile_options, cluster_name),
    COLOR_OPTION(struct compile_options, color),
    {.name = "diagnostic-format",
     .kind = OPTION_TEXT,
     .at = offsetof(struct compile_options, diagnostics),
     .value = "text|json",
     .init.text = "text",
     .help = "format of messages"},
};

struct option_table compile_options_table(struct compile_options *o)
{
	return OPTION_TABLE("Compiling", rows, o);
}

void compile_options_init(struct compile_options *o)
{
	const struct option_table table = compile_options_table(o);
	*o = (struct compile_options){0};
	options_set_defaults(&table);
}

void compile_options_free(struct compile_options *o)
{
	for (uint32_t i = 0; i < o->owned.n; i++)
		free(o->owned.at[i]);
	vec_free(&o->owned);
	vec_free(&o->define);
	vec_free(&o->ranks);
	vec_free(&o->group);
	cluster_free(o->cluster);
}

/* Turns --pipeline into options of passes. */
static bool set_steps(struct compile_options *o, struct diag *d)
{
	static const struct {
		const char *name, *loops, *moves;
	} kinds[] = {
	    {"layout", "pipeline=layout", "p2p=no"},   {"broadcast", "pipeline=broadcast", "p2p=no"},
	    {"permute", "pipeline=permute", "p2p=no"}, {"collective", "pipeline=collective", "p2p=no"},
	    {"p2p", "pipeline=p2p", "p2p=get"},        {"p2p-put", "pipeline=p2p", "p2p=put"}};
	struct suggest s = suggest_start(o->steps);
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		suggest_try(&s, kinds[i].name);
		if (!strcmp(o->steps, kinds[i].name))
			return pipeline_set(d, &o->run, PASS_STREAM_LOOPS, kinds[i].loops) &&
			       pipeline_set(d, &o->run, PASS_LOWER_COLLECTIVES, kinds[i].moves);
	}
	diag_error(d, E_OPTION_VALUE, DIAG_NOWHERE,
	           "--pipeline is one of layout, broadcast, permute, collective, p2p and p2p-put, not '%s'",
	           o->steps);
	if (s.best)
		diag_suggest(d, &s);
	return false;
}

/* Turns --fuse-pointwise into an option of the pass. */
static bool set_fusion(struct compile_options *o, struct diag *d)
{
	int64_t least;
	if (!strcmp(o->fuse_pointwise, "no")) {
		pipeline_remove(&o->run, PASS_FUSE_POINTWISE);
		return true;
	}
	if (!str_parse_size(o->fuse_pointwise, &least) || least < 0) {
		diag_error(d, E_OPTION_VALUE, DIAG_NOWHERE,
		           "--fuse-pointwise takes a number of elements or `no`, not '%s'",
		           o->fuse_pointwise);
		return false;
	}
	struct buf option = {0};
	buf_printf(&option, "min=%lld", (long long)least);
	bool ok = pipeline_add_before(d, &o->run, PASS_FUSE_POINTWISE, PASS_ALLOCATE) &&
	          pipeline_set(d, &o->run, PASS_FUSE_POINTWISE, option.at);
	buf_free(&option);
	return ok;
}

static bool set_scheduling(struct compile_options *o, struct diag *d, const char *option, const char *value)
{
	struct buf text = {0};
	buf_printf(&text, "%s=%s", option, value);
	bool ok = pipeline_add_before(d, &o->run, PASS_SCHEDULE_OVERLAP, PASS_ALLOCATE) &&
	          pipeline_set(d, &o->run, PASS_SCHEDULE_OVERLAP, text.at);
	buf_free(&text);
	return ok;
}

/* Turns --effort, --bucket-mode and --memory-limit into options of the pass. */
static bool set_schedule(struct compile_options *o, struct diag *d)
{
	int64_t limit;
	char number[24];
	if (o->memory_limit && (!str_parse_size(o->memory_limit, &limit) || limit < 1)) {
		diag_error(d, E_OPTION_VALUE, DIAG_NOWHERE,
		           "--memory-limit takes a number of bytes, as in 80G, not '%s'", o->memory_limit);
		return false;
	}
	if (o->memory_limit)
		snprintf(number, sizeof number, "%lld", (long long)limit);
	return (!o->effort || set_scheduling(o, d, "effort", o->effort)) &&
	       (!o->bucket_mode || set_scheduling(o, d, "buckets", o->bucket_mode)) &&
	       (!o->memory_limit || set_scheduling(o, d, "memory", number));
}

/* Returns true if a list of words contains a word; `all` contains every word. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *s = list; *s; s += strcspn(s, ","), s += *s == ',')
		if (strcspn(s, ",") == n && !memcmp(s, word, n))
			return true;
	return !strcmp(list, "all");
}

const struct compile_transform compile_transform[COMPILE_TRANSFORMS] = {
    {"merge", PASS_MERGE_COLLECTIVES}, {"split", PASS_SPLIT_ALLREDUCES}, {"chunk", PASS_CHUNK_COLLECTIVES}};

const char *compile_transform_list(const struct compile_options *o)
{
	bool search = !o->passes && o->effort && (!strcmp(o->effort, "2") || !strcmp(o->effort, "3"));
	return o->transform ? o->transform : search ? "all" : "no";
}

/* Turns --transform into passes. */
static bool set_transform(struct compile_options *o, struct diag *d)
{
	enum { N = COMPILE_TRANSFORMS };
	const struct compile_transform *all = compile_transform;
	const char *list = compile_transform_list(o);
	if (!strcmp(list, "no"))
		return true;
	for (const char *s = list; strcmp(list, "all"); s++) {
		size_t n = strcspn(s, ",");
		unsigned k = 0;
		while (k < N && (strlen(all[k].word) != n || memcmp(s, all[k].word, n)))
			k++;
		if (k == N) {
			diag_error(d, E_OPTION_VALUE, DIAG_NOWHERE,
			           "--transform takes merge, split and chunk, or `all` or `no`, not '%.*s'",
			           (int)n, s);
			return false;
		}
		s += n;
		if (!*s)
			break;
	}
	for (unsigned k = 0; k < N; k++)
		if (has_word(list, all[k].word) &&
		    !pipeline_add_before(d, &o->run, all[k].pass, PASS_STREAM_LOOPS))
			return false;
	return true;
}

/* Turns --zero-copy into options of passes. On a GPU, memory is mapped in larger units, and products are not
 * summed rank after rank, since the sums of the transports are rounded once and have the same bits on all
 * ranks. */
static bool set_zero_copy(struct compile_options *o, struct diag *d)
{
	char page[32];
	bool runs = false;
	if (o->zero_copy && !pipeline_add_before(d, &o->run, PASS_ZERO_COPY, PASS_LOWER_COLLECTIVES))
		return false;
	for (unsigned k = 0; k < o->run.n; k++)
		runs = runs || o->run.at[k].pass == PASS_ZERO_COPY;
	snprintf(page, sizeof page, "page=%d", RT_HEAP_UNIT);
	return !o->is_cuda || !runs ||
	       (pipeline_set(d, &o->run, PASS_ZERO_COPY, page) &&
	        pipeline_set(d, &o->run, PASS_ZERO_COPY, "sums=no"));
}

bool compile_options_finish(struct compile_options *o, struct diag *d)
{
	if (!pipeline_parse(d, o->passes, &o->run) || !set_zero_copy(o, d) ||
	    (o->fuse_pointwise && !set_fusion(o, d)) || !set_schedule(o, d) || !set_transform(o, d) ||
	    !pipeline_options_check(d, &o->run, &o->pipeline))
		return false;
	if (o->offset_streams && o->steps &&
	    (!strcmp(o->steps, "broadcast") || !strcmp(o->steps, "collective"))) {
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--offset-streams makes a ring: it does not go with --pipeline=%s", o->steps);
		return false;
	}
	return (!o->steps || set_steps(o, d)) &&
	       (!o->offset_streams || pipeline_set(d, &o->run, PASS_STREAM_LOOPS, "offset=1")) &&
	       (!o->inter_stream_sync ||
	        pipeline_set(d, &o->run, PASS_ASSIGN_STREAMS, "inter_stream_sync=1"));
}

struct diag *compile_diag(const struct compile_options *o)
{
	return compile_diag_to(o, stderr);
}

struct diag *compile_diag_to(const struct compile_options *o, FILE *out)
{
	bool colored = color_wanted(color_setting_find(o->color), stderr);
	return diag_new(out, !strcmp(o->diagnostics, "json") ? DIAG_JSON : DIAG_TEXT,
	                colored ? COLOR_ALWAYS : COLOR_NEVER);
}

void compile_warn_unused(struct diag *d, const struct compile_options *o)
{
	for (uint32_t i = 0; i < o->define.n; i++) {
		const struct sema_define *x = &o->define.at[i];
		if (x->used)
			continue;
		diag_warning(d, W_DEFINE_UNUSED, DIAG_NOWHERE, "-D %s: no program has this name", x->name);
		if (*x->meant)
			diag_note(d, DIAG_NOWHERE, "did you mean -D %s=%s?", x->meant, x->text);
	}
}

int64_t compile_asked_ranks(const struct compile_options *o)
{
	int64_t ranks = o->np;
	for (uint32_t i = 0; i < o->define.n; i++)
		if (!strcmp(o->define.at[i].name, "np"))
			ranks = strtoll(o->define.at[i].text, NULL, 10);
	return ranks;
}

void compile_note_ranks(const struct compile_options *o, struct module *m)
{
	int64_t asked = compile_asked_ranks(o), ranks = module_ranks(m);
	if (asked > 0 && asked != ranks && !sim_is_recorded(m) && strcmp(o->diagnostics, "json") != 0)
		fprintf(stderr,
		        "note: the program has %lld rank%s, not %lld: `mesh m(x = np)` follows --np\n",
		        (long long)ranks, ranks == 1 ? "" : "s", (long long)asked);
}

void compile_options_target(struct compile_options *o, const struct command_line *line, const char *target)
{
	o->is_cuda = strcmp(target, "cuda") == 0;
	if (o->is_cuda && !options_given(line, "cluster"))
		o->cluster_name = "h100";
}

void compile_options_transport(struct compile_options *o, const char *transport, bool threads)
{
	o->transport = transport;
	o->threads = threads;
}

/* Returns true if a transport has a trait. transport: a name; NULL: not known. */
