/* rules: what the proof of contents and the reference say about one program, for vary/rules.py.
 *
 *     rules < LIST      lines `NAME<TAB>LIMIT<TAB>BYTES<TAB>BYTES`, each followed by a source and a program of so many
 *                       bytes; a source of 0 bytes is the one before
 *     prints            lines `NAME<TAB>CHECK<TAB>RELATION<TAB>RAN<TAB>MESSAGE<TAB>MESSAGE of the reference`
 *
 *     CHECK     ok, trusted (a statement is taken on trust), copies (ranks may return different values), wrong
 *               (refused by src/values), order (refused before that), stopped, none (no program)
 *     RELATION  of the program to the source: computes, differs, related (not related), none
 *     RAN       of the program, stepped rank by rank, against the source: equal, close (but for the rounding of its
 *               dtypes), unequal, unwritten, disagree (ranks return different values), fails, none
 *
 * Both programs get the same random inputs, eight times. Integers of inputs whose names begin with I are below LIMIT,
 * so that they can be indices. */
#include "cli/compile.h"
#include "cli/gate.h"
#include "ir/expr.h"
#include "ir/number.h"
#include "ref/ref_host.h"
#include "values/values.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDINGS = 64, DRAWS = 8, MOST_RESULTS = 8, STREAMS = 4, WORK = 1 << 18 };

struct messages {
	struct diag *d;
	FILE *file;
	char *text;
	size_t n;
};

static void messages_open(struct messages *x)
{
	*x = (struct messages){0};
	x->file = open_memstream(&x->text, &x->n);
	x->d = diag_new(x->file, DIAG_TEXT, COLOR_NEVER);
}

/* Sets *line to the first error, else the first line, unless it is set. The caller frees it. */
static void messages_close(struct messages *x, char **line)
{
	diag_free(x->d);
	fclose(x->file);
	if (line && !*line && x->n) {
		char *at = strstr(x->text, "error: ");
		at = at ? at : x->text;
		at[strcspn(at, "\n")] = '\0';
		*line = mem_strdup(at);
	}
	free(x->text);
}

/* ---- programs */

static struct module *read_program(const char *name, const char *text, char **why)
{
	struct compile_options o;
	struct messages said;
	enum status status;
	messages_open(&said);
	compile_options_init(&o);
	struct module *m =
	    compile_source(said.d, source_from_text(name, text, (uint32_t)strlen(text)), &o, false, &status);
	compile_options_free(&o);
	messages_close(&said, why);
	return m;
}

/* ---- the reference */

struct ran {
	enum status status;
	unsigned n;
	bool unwritten;
	struct ref_array out[MOST_RESULTS];
};

static void ran_free(struct ran *r)
{
	for (unsigned k = 0; k < r->n; k++)
		ref_array_free(&r->out[k]);
	r->n = 0;
}

static int64_t count_of(const struct ref_array *a)
{
	int64_t n = 1;
	for (int k = 0; k < a->nd; k++)
		n *= a->n[k];
	return n;
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* Fills an input with numbers that its name, the draw and the element decide. */
static void fill_input(const struct module *m, unsigned k, unsigned draw, int64_t limit, struct ref_array *in)
{
	const value_id v = m->input.at[k].value;
	const struct domain *domain = value_domain(m, v);
	const struct expr_env env = {.rank = -1};
	const enum dtype t = value_type(m, v)->dtype;
	const char *name = names_text(m->names, m->value.at[v].name);
	const int64_t parts = ref_pending_parts(m, v);
	/* all numbers may be negative, or positive */
	static const double least[DRAWS] = {-2, -4, 0, -2, -2, -2, -2, -2};
	uint64_t state = draw + 1;
	for (const char *at = name; *at; at++)
		state = state * 131 + (unsigned char)*at;
	in->nd = domain->rank;
	for (unsigned a = 0; a < domain->rank; a++)
		expr_eval(m, domain->axis[a].extent, &env, &in->n[a], NULL);
	if (parts > 1)
		in->n[in->nd++] = parts;
	const int64_t count = count_of(in);
	if (dtype_is_float(t))
		in->data = mem_zalloc(sizeof *in->data * (size_t)(count + 1));
	else
		in->ints = mem_zalloc(sizeof *in->ints * (size_t)(count + 1));
	for (int64_t i = 0; i < count; i++) {
		const uint64_t x = next_random(&state) >> 16;
		if (in->data)
			in->data[i] = ref_round(t, (double)(x % 4000001) / 1e6 + least[draw]);
		else if (name[0] == 'I')
			in->ints[i] = (int64_t)(x % (uint64_t)limit);
		else
			in->ints[i] =
			    t == DTYPE_BOOL ? (int64_t)(x & 1) : (int64_t)(x % 9) - (t == DTYPE_U8 ? 0 : 4);
	}
}

/* by_rank: steps all ranks, also if the statements have a meaning on logical tensors. */
static void run_program(struct module *m, bool by_rank, unsigned draw, int64_t limit, struct ran *r,
                        char **why)
{
	struct messages said;
	struct ref_array *in = mem_zalloc(sizeof *in * (m->input.n + 1));
	const struct ref_options o = {
	    .streams = STREAMS, .inputs = in, .input_n = m->input.n, .limit = REF_DEFAULT_LIMIT};
	*r = (struct ran){.status = STATUS_DIAGNOSTICS};
	messages_open(&said);
	diag_set_source(said.d, m->source);
	for (unsigned k = 0; k < m->input.n; k++)
		fill_input(m, k, draw, limit, &in[k]);
	if (ref_result_count(m) <= MOST_RESULTS) {
		struct ref_context c = {.m = m, .d = said.d, .o = &o, .expected = 1, .has_topk = true};
		r->status = by_rank ? ref_run_host(&c, r->out) : ref_run(m, said.d, &o, r->out);
	}
	r->n = r->status == STATUS_OK ? ref_result_count(m) : 0;
	for (unsigned k = 0; k < r->n; k++)
		for (int64_t i = 0; i < count_of(&r->out[k]); i++)
			r->unwritten |= r->out[k].state[i] != REF_DEFINED;
	for (unsigned k = 0; k < m->input.n; k++)
		ref_array_free(&in[k]);
	free(in);
	messages_close(&said, why);
}

/* Returns the significant bits of the coarsest float of a program. */
static int least_precision(const struct module *m)
{
	int bits = 53;
	for (value_id v = 1; v < m->value.n; v++)
		if (m->value.at[v].type && dtype_is_float(value_type(m, v)->dtype) &&
		    ref_precision(value_type(m, v)->dtype) < bits)
			bits = ref_precision(value_type(m, v)->dtype);
	return bits;
}

/* Returns the largest distance of two outputs, in units of the largest element; INFINITY if integers are not equal. */
static double distance_of(const struct ref_array *a, const struct ref_array *b)
{
	const int64_t n = count_of(a);
	double most = 0, far = 0;
	if (n != count_of(b) || !a->ints != !b->ints)
		return INFINITY;
	for (int64_t i = 0; i < n; i++) {
		if (a->ints) {
			far = a->ints[i] == b->ints[i] ? far : INFINITY;
			continue;
		}
		const double x = a->data[i], y = b->data[i];
		if (x == y || (isnan(x) && isnan(y)))
			continue;
		if (!isfinite(x) || !isfinite(y))
			return INFINITY;
		far = fmax(far, fabs(x - y));
	}
	for (int64_t i = 0; i < n && a->data; i++)
		most = isfinite(a->data[i]) ? fmax(most, fabs(a->data[i])) : most;
	return a->ints ? far : far / fmax(most, 1);
}

static double distance_of_results(const struct ran *a, const struct ran *b)
{
	double far = a->n == b->n ? 0 : INFINITY;
	for (unsigned k = 0; k < a->n && isfinite(far); k++)
		far = fmax(far, distance_of(&a->out[k], &b->out[k]));
	return far;
}

/* ---- verdicts */

static const char *check_verdict(struct module *m, char **why)
{
	struct messages said;
	struct check_result r;
	struct values_result v;
	const struct check_options o = {
	    .ranks = module_ranks(m), .streams = STREAMS, .queue = CHECK_QUEUE, .work = WORK};
	const struct values_options with = {.ranks = module_ranks(m), .streams = STREAMS};
	const char *verdict = "order";
	messages_open(&said);
	diag_set_source(said.d, m->source);
	if (gate_prove(m, said.d, &o, &r) == CHECK_CLEAN) {
		const unsigned before = diag_warning_count(said.d);
		switch (values_prove(m, said.d, &with, &v)) {
		case VALUES_PROVED:
			verdict = diag_warning_count(said.d) > before ? "copies"
			          : v.trusted_n                       ? "trusted"
			                                              : "ok";
			break;
		case VALUES_WRONG:
			verdict = "wrong";
			break;
		case VALUES_STOPPED:
		case VALUES_TOO_LONG:
			verdict = "stopped";
		}
		if (strcmp(verdict, "wrong") != 0 && gate_check(m, said.d, &o, &r) != CHECK_CLEAN)
			verdict = "order"; /* the plan refuses it */
	}
	messages_close(&said, why);
	return verdict;
}

static const char *relation_of(struct module *m, struct module *source, char **why)
{
	static const char *const name[] = {"computes", "differs", "related"};
	const struct values_options with = {.ranks = module_ranks(m), .streams = STREAMS};
	enum values_relation relation;
	struct messages said;
	messages_open(&said);
	diag_set_source(said.d, m->source);
	const bool proved =
	    m->output.n == source->output.n &&
	    values_compare(m, source, said.d, &with, "the source", &relation) == VALUES_PROVED;
	messages_close(&said, why);
	return proved ? name[relation] : "none";
}

static bool have_equal_shapes(const struct module *a, const struct module *b)
{
	const struct expr_env env = {.rank = -1};
	bool equal = a->output.n == b->output.n;
	for (uint32_t k = 0; k < a->output.n && equal; k++) {
		const struct domain *x = value_domain(a, a->output.at[k]),
		                    *y = value_domain(b, b->output.at[k]);
		equal = x->rank == y->rank;
		for (unsigned i = 0; i < x->rank && equal; i++) {
			int64_t m = 0, n = 0;
			expr_eval(a, x->axis[i].extent, &env, &m, NULL);
			expr_eval(b, y->axis[i].extent, &env, &n, NULL);
			equal = m == n;
		}
	}
	return equal;
}

/* Steps the program, and compares its numbers with those of the source. */
static const char *ran_verdict(struct module *m, const struct ran *source, int64_t limit, char **why)
{
	const double coarse = ldexp(ROUNDINGS, -least_precision(m));
	double far = 0;
	for (unsigned draw = 0; draw < DRAWS; draw++) {
		struct ran r;
		run_program(m, true, draw, limit, &r, why);
		const enum status status = r.status;
		const bool unwritten = r.unwritten;
		far = fmax(far, distance_of_results(&r, &source[draw]));
		ran_free(&r);
		if (status != STATUS_OK)
			return status == STATUS_WRONG ? "disagree" : "fails";
		if (unwritten)
			return "unwritten";
	}
	return far <= ldexp(ROUNDINGS, -53) ? "equal" : far <= coarse ? "close" : "unequal";
}

/* ---- the list */

struct source_program {
	struct module *m; /* NULL: refused */
	struct ran ran[DRAWS];
	bool runs;
	char *why;
};

static void source_program_free(struct source_program *s)
{
	for (unsigned draw = 0; draw < DRAWS; draw++)
		ran_free(&s->ran[draw]);
	compile_free(s->m);
	free(s->why);
	*s = (struct source_program){0};
}

static void source_program_read(struct source_program *s, const char *text, int64_t limit)
{
	source_program_free(s);
	s->m = read_program("source.hir", text, &s->why);
	s->runs = s->m != NULL;
	for (unsigned draw = 0; draw < DRAWS && s->runs; draw++) {
		run_program(s->m, false, draw, limit, &s->ran[draw], &s->why);
		s->runs = s->ran[draw].status == STATUS_OK && !s->ran[draw].unwritten;
	}
}

static void judge(const char *name, struct source_program *s, const char *text, int64_t limit)
{
	const char *check = "none", *relation = "none", *ran = "none";
	char *why = NULL, *failed = NULL;
	struct module *m = s->runs ? read_program("program.hir", text, &why) : NULL;
	if (m) {
		check = check_verdict(m, &why);
		if (strcmp(check, "order") != 0 && have_equal_shapes(m, s->m))
			relation = relation_of(m, s->m, &why);
		ran = ran_verdict(m, s->ran, limit, &failed);
	} else if (!s->runs) {
		check = "source";
	}
	printf("%s\t%s\t%s\t%s\t%s\t%s\n", name, check, relation, ran,
	       why      ? why
	       : s->why ? s->why
	                : "",
	       failed ? failed : "");
	fflush(stdout);
	free(why);
	free(failed);
	compile_free(m);
}

static char *read_text(size_t bytes)
{
	char *text = mem_zalloc(bytes + 1);
	if (fread(text, 1, bytes, stdin) == bytes)
		return text;
	free(text);
	return NULL;
}

int main(void)
{
	struct source_program source = {0};
	char *line = NULL;
	size_t room = 0;
	bool ok = true;
	while (ok && getline(&line, &room, stdin) > 0) {
		char *rest = NULL, *name = strtok_r(line, "\t\n", &rest), *number[3] = {0};
		for (unsigned k = 0; k < 3; k++)
			number[k] = strtok_r(NULL, "\t\n", &rest);
		ok = name && number[2];
		if (!ok)
			break;
		const int64_t limit = strtoll(number[0], NULL, 10);
		char *text = read_text((size_t)strtoull(number[1], NULL, 10)),
		     *program = text ? read_text((size_t)strtoull(number[2], NULL, 10)) : NULL;
		ok = program && limit > 0;
		if (ok && *text)
			source_program_read(&source, text, limit);
		if (ok)
			judge(name, &source, program, limit);
		free(text);
		free(program);
	}
	source_program_free(&source);
	free(line);
	return ok ? 0 : 1;
}
