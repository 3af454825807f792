/* events: compares the events of walk and plan for programs; see events.h.
 *
 *     events [OPTION…] FILE…     programs, several in a file between lines `# -----`; options of hirc compile
 *     events --list              programs from standard input: lines `BYTES<TAB>NAME<TAB>OPTION…`, each
 *                                followed by its program
 *     events --memory FILE       bytes of a walk for each statement of a program
 *
 * The last line has the totals. Exit code 1: the lists differ. */
#include "base/source_read.h"
#include "cli/compile.h"
#include "cli/gate.h"
#include "cli/params.h"
#include "cli/split.h"
#include "events/elements.h"
#include "ir/edit.h"
#include "ir/number.h"
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

enum { MOST_RANKS = 16, MOST_WORDS = 64, CHECK_WORK = 1 << 18, MOST_BYTES = 200 };

static struct figures {
	uint64_t programs, compared, none, valueless, large; /* numbers of programs */
	uint64_t ranks, refused, idle;                       /* numbers of ranks */
	uint64_t elements, matched, clean, different;
	uint64_t events[EVENT_KINDS], settled, skipped; /* numbers of events of the plans */
} total;

struct command {
	struct compile_options compile;
	int64_t streams;
	bool as_checked, shows, memory, list;
	const char *name; /* name of the program, for messages */
};

static void report(const struct command *c, int64_t rank, const char *what, const struct buf *text)
{
	total.different++;
	printf("%s: rank %lld: %s\n%s", c->name, (long long)rank, what, text->at);
	fflush(stdout);
}

static void show(const struct module *m, const struct events *e, int64_t rank, const char *account)
{
	struct buf text = {0};
	for (uint32_t k = 0; k < e->at.n; k++) {
		buf_printf(&text, "rank %lld %s  ", (long long)rank, account);
		event_put(m, &e->at.at[k], &text);
		buf_putc(&text, '\n');
	}
	fputs(text.n ? text.at : "", stdout);
	buf_free(&text);
}

/* ---- ranks */

struct accounts { /* of all ranks */
	struct events walk[MOST_RANKS], plan[MOST_RANKS];
	struct plan_counts moved[MOST_RANKS];
	struct plan *plans[MOST_RANKS];
	struct plan_lists lists;
};

/* Counts the elements that a rank's plan moves. Returns false if an index points outside a buffer. */
static bool count_moved(struct accounts *x, const struct module *m, int64_t rank, int64_t ranks,
                        const struct plan_target *target)
{
	struct diag *d = diag_new(NULL, DIAG_TEXT, 0);
	uint64_t work = 1u << 22;
	enum plan_verdict verdict = plan_accept(m, d, rank, ranks, target, &work, &x->lists, &x->moved[rank]);
	diag_free(d);
	return verdict == PLAN_ACCEPTED;
}

/* Returns true if the two lists agree. */
static bool compare_rank(struct command *c, struct accounts *x, struct walk_program *p, int64_t rank,
                         const struct plan_target *target)
{
	struct diag *d = diag_new(c->shows ? stderr : NULL, DIAG_TEXT, 0);
	struct events *walk = &x->walk[rank], *plan = &x->plan[rank];
	struct buf text = {0};
	total.ranks++;
	diag_set_source(d, p->m->source);
	events_of_walk(p, rank, c->streams, walk);
	events_of_plan(p->m, d, rank, p->ranks, target, plan, &x->plans[rank]);
	diag_free(d);
	if (c->shows) {
		show(p->m, walk, rank, "walk");
		show(p->m, plan, rank, "plan");
	}
	total.refused += plan->refused;
	total.idle += plan->idle;
	if (plan->refused)
		return true;
	for (uint32_t k = 0; k < plan->at.n; k++)
		total.events[plan->at.at[k].kind]++;
	bool differ = events_differ(p->m, walk, plan, &text);
	total.settled += plan->settled.n;
	total.skipped += walk->skipped;
	if (differ)
		report(c, rank, "events differ", &text);
	plan->complete &= count_moved(x, p->m, rank, p->ranks, target);
	if (!differ && plan->complete &&
	    elements_differ_by_type(p->m, plan, &x->moved[rank], &total.elements, &text)) {
		report(c, rank, "elements differ", &text);
		differ = true;
	}
	buf_free(&text);
	return !differ;
}

/* Returns true if hirc check finds nothing. */
static bool is_clean(const struct command *c, struct module *m, int64_t ranks)
{
	struct diag *d = diag_new(NULL, DIAG_TEXT, 0);
	struct check_options o = {
	    .ranks = ranks, .streams = c->streams, .queue = CHECK_QUEUE, .work = CHECK_WORK};
	struct check_result r;
	bool clean = gate_check(m, d, &o, &r) == CHECK_CLEAN;
	diag_free(d);
	return clean;
}

static void compare_ends(struct command *c, struct accounts *x, struct module *m, int64_t ranks)
{
	struct buf text = {0};
	for (int64_t r = 0; r < ranks; r++)
		if (x->plan[r].refused || !x->plan[r].complete)
			return;
	if (!is_clean(c, m, ranks))
		return;
	total.clean++;
	if (elements_differ_by_rank(m, ranks, x->plan, x->moved, &total.matched, &text))
		report(c, -1, "ends differ", &text);
	buf_free(&text);
}

static void compare_program(struct command *c, struct module *m)
{
	int64_t ranks = c->compile.np ? c->compile.np : module_ranks(m);
	ranks = ranks < module_ranks(m) ? module_ranks(m) : ranks;
	struct plan_target target = {.streams = c->streams, .externs = true, .as_checked = c->as_checked};
	struct accounts *x;
	struct walk_program p;
	bool agree = true;
	total.valueless += !params_have_values(m);
	total.large += ranks > MOST_RANKS;
	if (ranks > MOST_RANKS || !params_have_values(m))
		return;
	x = mem_zalloc(sizeof *x);
	ir_number(m);
	walk_program_open(&p, m, ranks);
	for (int64_t r = 0; r < ranks; r++)
		agree &= compare_rank(c, x, &p, r, &target);
	total.compared++;
	if (agree)
		compare_ends(c, x, m, ranks);
	for (int64_t r = 0; r < ranks; r++) {
		events_free(&x->walk[r]);
		events_free(&x->plan[r]);
		plan_counts_free(&x->moved[r]);
		plan_free(x->plans[r]);
	}
	plan_lists_free(&x->lists);
	walk_program_close(&p);
	free(x);
}

/* ---- memory */

#ifdef __GLIBC__
static size_t bytes_now(void)
{
	struct mallinfo2 i = mallinfo2();
	return i.uordblks + i.hblkhd;
}
#else
static size_t bytes_now(void)
{
	return 0;
}
#endif

/* Prints the bytes of a walk to the end of the program, with the bytes that walks share. */
static void measure_memory(const struct command *c, struct module *m)
{
	const struct walk_options options = {.streams = c->streams, .whole_units = true};
	size_t statements = 0, before = bytes_now();
	struct walk_program p;
	struct walker w;
	struct step s;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		statements++;
	walk_program_open(&p, m, module_ranks(m));
	walk_begin(&w, &p, 0, &options);
	while (walk_next(&w, &s))
		;
	size_t bytes = bytes_now() - before;
	walk_end(&w);
	walk_program_close(&p);
	bool too_large = bytes > MOST_BYTES * statements;
	total.different += too_large;
	if (!bytes) /* sanitizers have their own allocator */
		printf("%s: memory is not measured here\n", c->name);
	else
		printf("%s: %zu statements, %.1f bytes of a walk beside the program for each%s\n", c->name,
		       statements, (double)bytes / (double)(statements ? statements : 1),
		       too_large ? ", the limit is 200" : "");
}

/* ---- programs */

static enum status take_source(void *command, struct source *s, bool first)
{
	struct command *c = command;
	enum status status;
	struct diag *d = diag_new(c->shows ? stderr : NULL, DIAG_TEXT, 0);
	(void)first;
	total.programs++;
	struct module *m = compile_source(d, s, &c->compile, true, &status);
	if (!m)
		total.none++;
	else if (c->memory)
		measure_memory(c, m);
	else
		compare_program(c, m);
	compile_free(m);
	diag_free(d);
	return STATUS_OK;
}

static void take_list(void);

/* Programs are verified only on request, also in debug builds. */
static const struct option rows[] = {
    STREAMS_OPTION(struct command, streams),
    {.name = "as-checked",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct command, as_checked),
     .help = "plans as sim's"},
    {.name = "show",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct command, shows),
     .help = "print all events"},
    {.name = "memory",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct command, memory),
     .help = "bytes of a walk"},
    {.name = "list",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct command, list),
     .help = "programs of standard input"},
    {.name = "verify-each",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct command, compile.pipeline.verify_each),
     .help = "verify the program after each pass"},
    {.name = "verify-roundtrip",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct command, compile.verify_roundtrip),
     .help = "check after each pass that the program prints and parses to itself"},
};

/* text: the program, in place of a file; NULL: the arguments name files. */
static int run(int argc, char **argv, const char *name, const char *text)
{
	struct command c = {0};
	struct command_line line = {
	    .command = "events", .usage = "[OPTION…] FILE…", .about = "Compares accounts."};
	enum status status = STATUS_OK;
	struct diag *d = diag_new(stderr, DIAG_TEXT, 0);
	line.table[line.table_n++] = OPTION_TABLE("Options", rows, &c);
	line.table[line.table_n++] = compile_options_table(&c.compile);
	if (!options_parse(&line, argc, argv, &status) || !compile_options_finish(&c.compile, d))
		status = STATUS_USAGE;
	else if (c.list)
		take_list();
	else if (text) {
		c.name = name;
		struct source *s = source_from_text(name, text, (uint32_t)strlen(text));
		take_source(&c, s, true);
	}
	for (uint32_t k = 0; k < line.file.n && status == STATUS_OK && !text; k++) {
		struct source *s;
		c.name = line.file.at[k];
		status = source_read_bytes(d, c.name, NULL, &s);
		if (status == STATUS_OK)
			split_each(s, take_source, &c);
		source_free(status == STATUS_OK ? s : NULL);
	}
	diag_free(d);
	compile_options_free(&c.compile);
	options_free(&line);
	return (int)status;
}

/* Reads one program of the list: BYTES<TAB>NAME<TAB>OPTION<TAB>… */
static void take_listed(char *head)
{
	char *words[MOST_WORDS] = {"events"}, *rest = NULL, *size = strtok_r(head, "\t\n", &rest),
	     *name = strtok_r(NULL, "\t\n", &rest);
	int n = 1;
	size_t bytes = size ? (size_t)strtoull(size, NULL, 10) : 0;
	char *text = mem_zalloc(bytes + 1);
	for (char *word; n < MOST_WORDS - 1 && (word = strtok_r(NULL, "\t\n", &rest));)
		words[n++] = word;
	if (name && fread(text, 1, bytes, stdin) == bytes) {
		printf("# %s\n", name);
		fflush(stdout);
		run(n, words, name, text);
	}
	free(text);
}

static void take_list(void)
{
	char *line = NULL;
	size_t room = 0;
	while (getline(&line, &room, stdin) > 0)
		take_listed(line);
	free(line);
}

int main(int argc, char **argv)
{
	const struct figures *t = &total;
	int status = run(argc, argv, NULL, NULL);
	const struct {
		const char *name;
		uint64_t n;
	} figure[] = {{"programs", t->programs},   {"compared", t->compared},    {"uncompiled", t->none},
	              {"valueless", t->valueless}, {"large", t->large},          {"clean", t->clean},
	              {"ranks", t->ranks},         {"refused", t->refused},      {"idle", t->idle},
	              {"elements", t->elements},   {"matched", t->matched},      {"settled", t->settled},
	              {"skipped", t->skipped},     {"differences", t->different}};
	fputs("figures:", stdout);
	for (unsigned k = 0; k < sizeof figure / sizeof *figure; k++)
		printf(" %s %" PRIu64, figure[k].name, figure[k].n);
	for (unsigned k = 0; k < EVENT_KINDS; k++)
		printf(" %s %" PRIu64, event_name[k], t->events[k]);
	puts("");
	return status ? status : t->different > 0;
}
