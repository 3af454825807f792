/* program: runs a text through all that hirc does with a program; see fuzz.h. */
#include "check/check.h"
#include "cli/compile.h"
#include "cli/params.h"
#include "fuzz.h"
#include "ir/number.h"
#include "ir/print.h"
#include "plan/plan.h"
#include "rt/device.h"
#include <stdlib.h>

enum {
	MOST_OPTIONS = 16,
	MOST_RANKS = 64,      /* programs for more ranks are only read */
	MOST_PLANS = 4,       /* ranks with a plan: the first, the last, two between */
	CHECK_WORK = 1 << 17, /* takes about a tenth of a second */
	STREAMS = 4,
	ROUNDTRIPS = 6 /* one program in this many is printed and parsed again after each pass, which takes
	                  half of the time */
};

/* ---- options */

/* Options of `hirc compile` that neither read nor write files. */
static const char *const allowed[] = {
    "--np=",           "--passes=",        "--pipeline=",     "--zero-copy",  "--offset-streams",
    "--effort=",       "--bucket-mode=",   "--transform=",    "--stop-after", "--inter-stream-sync",
    "--memory-limit=", "--cluster=h100\n", "--fuse-pointwise"};

static bool is_allowed(const char *option)
{
	for (unsigned k = 0; k < sizeof allowed / sizeof *allowed; k++)
		if (!strncmp(option, allowed[k], strlen(allowed[k])))
			return true;
	return false;
}

struct options {
	struct compile_options compile;
	struct command_line line;
	char *text, *argv[MOST_OPTIONS + 1];
	int argc;
};

static void options_free_all(struct options *o)
{
	options_free(&o->line);
	compile_options_free(&o->compile);
	free(o->text);
}

/* Returns true for one in n texts, always the same ones. */
static bool is_one_of(unsigned n, const char *text)
{
	uint32_t h = 0x811c9dc5;
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x01000193;
	return (h ^ h >> 16) % n == 0;
}

/* Reads the lines `# --name=value`. Returns false if hirc refuses one. */
static bool options_read(struct options *o, struct diag *d, const char *text)
{
	enum status status;
	*o = (struct options){.text = mem_strdup(text), .argc = 1};
	compile_options_init(&o->compile);
	o->compile.pipeline.verify_each = true;
	o->compile.verify_roundtrip = is_one_of(ROUNDTRIPS, text);
	o->argv[0] = "compile";
	for (char *at = o->text, *end; (at = strstr(at, "# --")); at = end) {
		bool starts = at == o->text || at[-1] == '\n';
		end = strchrnul(at, '\n');
		if (*end)
			*end++ = '\0';
		if (starts && is_allowed(at + 2) && !strchr(at + 2, ' ') && o->argc < MOST_OPTIONS)
			o->argv[o->argc++] = at + 2;
	}
	o->line = (struct command_line){.command = "compile",
	                                .usage = "",
	                                .about = "",
	                                .table = {compile_options_table(&o->compile)},
	                                .table_n = 1};
	return (o->argc == 1 || options_parse(&o->line, o->argc, o->argv, &status)) &&
	       compile_options_finish(&o->compile, d);
}

/* ---- both surfaces */

static void format(struct diag *d, struct source *s, struct buf *out)
{
	struct source *outer = diag_set_source(d, s);
	unsigned errors = diag_error_count(d);
	struct ast *a = ast_parse(d, s);
	struct buf tree = {0};
	ast_print(a, &tree);
	buf_free(&tree);
	if (diag_error_count(d) == errors)
		ast_format(a, out);
	ast_free(a);
	diag_set_source(d, outer);
}

static void check_format(struct diag *d, struct source *s)
{
	struct buf once = {0}, twice = {0};
	format(d, s, &once);
	if (once.n) {
		struct source *again = source_from_text("formatted", once.at, (uint32_t)once.n);
		format(d, again, &twice);
		if (!twice.at || strcmp(once.at, twice.at) != 0)
			fuzz_fail("what is formatted is formatted otherwise", once.at);
		source_free(again);
	}
	buf_free(&once);
	buf_free(&twice);
}

/* Makes the program from its source, verifies it, and prints and parses it in both surfaces. NULL:
 * refused. */
static struct module *build(struct diag *d, struct source *s, struct compile_options *o)
{
	enum status status;
	struct buf text = {0};
	buf_puts(&text, s->text);
	struct module *m = compile_source(d, s, o, true, &status);
	if (status == STATUS_INTERNAL)
		fuzz_fail("the program is not verified, or not what it is printed as", text.at);
	buf_free(&text);
	return m;
}

void fuzz_front(const uint8_t *data, size_t n)
{
	struct diag *d = fuzz_diag();
	struct source *s = fuzz_source(d, data, n);
	fuzz_reached(FUZZ_INPUTS);
	if (s) {
		struct compile_options o;
		compile_options_init(&o);
		o.verify_roundtrip = o.pipeline.verify_each = true;
		o.pipeline.stop_after = "parse";
		check_format(d, s);
		struct module *m = compile_options_finish(&o, d) ? build(d, s, &o) : NULL;
		if (m)
			fuzz_reached(FUZZ_PARSED);
		compile_free(m);
		compile_options_free(&o);
	}
	diag_finish(d);
	diag_free(d);
}

void fuzz_printed(struct module *m)
{
	struct diag *d = fuzz_diag();
	struct buf text = {0};
	struct compile_options o;
	compile_options_init(&o);
	o.verify_roundtrip = o.pipeline.verify_each = true;
	o.pipeline.stop_after = "parse";
	ir_print_hir(m, &text);
	struct module *again = compile_options_finish(&o, d)
	                           ? build(d, source_from_text("printed", text.at, (uint32_t)text.n), &o)
	                           : NULL;
	if (!again)
		fuzz_fail("what is printed is refused", text.at);
	compile_free(again);
	compile_options_free(&o);
	buf_free(&text);
	diag_free(d);
}

/* ---- what ranks execute */

static bool plan_rank(struct module *m, struct diag *d, int64_t rank, int64_t ranks, bool gpu)
{
	const struct plan_target target = {.streams = STREAMS,
	                                   .transposes = gpu,
	                                   .epilogue = {[POINTWISE_GELU_TANH] = gpu, [POINTWISE_RELU] = gpu}};
	struct plan *p = plan_build(m, d, rank, ranks, &target);
	struct buf text = {0};
	if (!p)
		return false;
	plan_print(p, m, &text);
	buf_free(&text);
	plan_free(p);
	return true;
}

static bool plan(struct module *m, struct diag *d, int64_t ranks)
{
	bool ok = true;
	for (int64_t k = 0; k < MOST_PLANS && k < ranks && ok; k++) {
		int64_t rank = ranks <= MOST_PLANS ? k : k * (ranks - 1) / (MOST_PLANS - 1);
		ok = plan_rank(m, d, rank, ranks, k & 1);
	}
	return ok;
}

static void execute(struct module *m, struct diag *d)
{
	int64_t ranks = module_ranks(m);
	struct check_result r;
	const struct check_options o = {.ranks = ranks, .streams = STREAMS, .work = CHECK_WORK};
	struct source *outer = diag_set_source(d, m->source);
	if (params_check(m, d)) {
		if (check_program(m, d, &o, &r) == CHECK_CLEAN)
			fuzz_reached(FUZZ_CHECKED);
		if (plan(m, d, ranks))
			fuzz_reached(FUZZ_PLANNED);
		ir_number(m);
		plan_labels_free(plan_labels_new(m));
	}
	diag_set_source(d, outer);
}

void fuzz_pipeline(const uint8_t *data, size_t n)
{
	struct options o = {0};
	struct diag *d = fuzz_diag();
	struct source *s = fuzz_source(d, data, n);
	fuzz_reached(FUZZ_INPUTS);
	if (s && options_read(&o, d, s->text)) {
		struct compile_options parse;
		enum status status;
		compile_options_init(&parse);
		parse.verify_roundtrip = parse.pipeline.verify_each = false;
		parse.np = o.compile.np;
		struct module *m =
		    compile_source(d, source_from_text(s->name, s->text, s->size), &parse, false, &status);
		compile_options_free(&parse);
		if (m) {
			bool small = module_ranks(m) <= MOST_RANKS;
			fuzz_reached(FUZZ_PARSED);
			compile_free(m);
			m = NULL;
			if (small) {
				m = build(d, s, &o.compile);
				s = NULL;
			}
		}
		if (m) {
			fuzz_reached(FUZZ_PASSED);
			execute(m, d);
		}
		compile_free(m);
	}
	if (s)
		source_free(s);
	options_free_all(&o);
	diag_finish(d);
	diag_free(d);
}
