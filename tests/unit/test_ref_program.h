/* test_ref_program: runs a program's text through the reference evaluation, for test_ref_*.c. */
#ifndef HIRC_TESTS_TEST_REF_PROGRAM_H
#define HIRC_TESTS_TEST_REF_PROGRAM_H
#include "check.h"
#include "ir/expr.h"
#include "parse/sema.h"
#include "ref/ref.h"
#include <math.h>
#include <stdlib.h>

enum { RAN_MAX = 8 };
struct ran {
	enum status status;
	unsigned n;
	struct ref_array out[RAN_MAX];
	char *messages;
};

/* Element i of input number k: small integers, different for each input. */
static inline double test_value(unsigned k, int64_t i)
{
	return (double)((i * 7 + (int64_t)k * 5 + i / 3) % 9 - 4);
}

/* streams: as in struct ref_options. */
static inline struct ran run_with(const char *text, int64_t streams)
{
	struct ran r = {.status = STATUS_DIAGNOSTICS};
	size_t size;
	FILE *out = open_memstream(&r.messages, &size);
	struct diag *d = diag_new(out, DIAG_TEXT, 0);
	struct source *source = source_from_text("t.hir", text, (uint32_t)strlen(text));
	diag_set_source(d, source);
	struct ast *a = ast_parse(d, source);
	struct sema_options options = {0};
	struct module *m = diag_error_count(d) ? NULL : sema_build(d, a, &options);
	if (m) {
		struct ref_array in[RAN_MAX] = {0};
		const struct expr_env env = {.rank = -1};
		for (unsigned k = 0; k < m->input.n; k++) {
			const struct domain *domain = value_domain(m, m->input.at[k].value);
			int64_t count = 1;
			in[k].nd = domain->rank;
			for (unsigned j = 0; j < domain->rank; j++) {
				expr_eval(m, domain->axis[j].extent, &env, &in[k].n[j], NULL);
				count *= in[k].n[j];
			}
			int64_t parts = 1; /* more than 1 for a pending input */
			for (unsigned j = domain->rank; j < domain->logical_n; j++)
				if (domain->axis[j].kind == AXIS_PARTIAL &&
				    !expr_eval(m, domain->axis[j].extent, &env, &in[k].n[in[k].nd], NULL))
					parts *= in[k].n[in[k].nd];
			if (parts > 1)
				in[k].n[in[k].nd++] = parts;
			count *= parts;
			in[k].data = mem_alloc(sizeof *in[k].data * (size_t)count);
			for (int64_t i = 0; i < count; i++)
				in[k].data[i] = test_value(k, i);
		}
		const struct ref_options o = {
		    .streams = streams, .inputs = in, .input_n = m->input.n, .limit = REF_DEFAULT_LIMIT};
		r.status = ref_run(m, d, &o, r.out);
		r.n = r.status ? 0 : ref_result_count(m);
		for (unsigned k = 0; k < m->input.n; k++)
			free(in[k].data);
		module_free(m);
	}
	ast_free(a);
	diag_finish(d);
	diag_free(d);
	fclose(out);
	source_free(source);
	return r;
}

static inline struct ran run(const char *text)
{
	return run_with(text, 4);
}

static inline void ran_free(struct ran *r)
{
	for (unsigned k = 0; k < r->n; k++)
		ref_array_free(&r->out[k]);
	free(r->messages);
}

static inline int64_t count_of(const struct ref_array *a)
{
	int64_t n = 1;
	for (int k = 0; k < a->nd; k++)
		n *= a->n[k];
	return n;
}

/* Returns true if two programs have the same first result: values and states. */
static inline bool same_result(const struct ran *a, const struct ran *b)
{
	if (a->n == 0 || b->n == 0 || count_of(&a->out[0]) != count_of(&b->out[0]))
		return false;
	for (int64_t i = 0; i < count_of(&a->out[0]); i++)
		if (a->out[0].data[i] != b->out[0].data[i] || a->out[0].state[i] != b->out[0].state[i])
			return false;
	return true;
}

static inline void check_runs(const struct ran *r, const char *file, int line)
{
	if (r->status) {
		printf("%s:%d: status %d\n%s", file, line, r->status, r->messages);
		check_failures++;
	}
}

/* Compares a host-level program with an equivalent fusion-level one. */
static inline void check_same(const char *host, const char *fusion, const char *file, int line)
{
	struct ran a = run(host), b = run(fusion);
	check_runs(&a, file, line);
	check_runs(&b, file, line);
	if (!a.status && !b.status)
		check_that(same_result(&a, &b), file, line, "same result");
	ran_free(&a);
	ran_free(&b);
}
#define CHECK_SAME(host, fusion) check_same((host), (fusion), __FILE__, __LINE__)

static inline void check_fails(const char *text, enum status status, const char *message, const char *file,
                               int line)
{
	struct ran r = run(text);
	check_equal(r.status, status, file, line, "status");
	check_that(strstr(r.messages, message) != NULL, file, line, message);
	if (!strstr(r.messages, message))
		printf("--- got:\n%s", r.messages);
	ran_free(&r);
}
#define CHECK_FAILS(text, status, message) check_fails((text), (status), (message), __FILE__, __LINE__)

#endif
