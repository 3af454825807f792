/* Tests of the guard in src/pass: --verify-each finds a race that a pass makes, and names the pass. */
#include "check.h"
#include "ir/edit.h"
#include "parse/ast.h"
#include "parse/sema.h"
#include "pass/pipeline.h"
#include <stdlib.h>

struct sabotage {
	const char *after; /* the pass after which a statement is removed */
	enum op_kind kind; /* the first of this kind */
};

static bool remove_one(void *to, struct module *m, const char *pass)
{
	const struct sabotage *s = to;
	if (!pass || !s->after || strcmp(pass, s->after))
		return true;
	op_id op = ir_walk_first(m);
	while (op && m->op.at[op].kind != s->kind)
		op = ir_walk(m, op);
	CHECK(op != 0);
	if (op)
		ir_remove(m, op);
	return true;
}

/* Returns the messages of the default pipeline when a statement is removed on the way. */
static char *compile(const char *text, struct sabotage s, enum status want)
{
	char *report = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&report, &n);
	struct diag *d = diag_new(f, DIAG_TEXT, 0);
	struct source *source = source_from_text("p.hir", text, (uint32_t)strlen(text));
	struct sema_options sema = {0};
	struct pipeline passes;
	diag_set_source(d, source);
	struct ast *a = ast_parse(d, source);
	struct module *m = sema_build(d, a, &sema);
	const struct pipeline_options o = {.verify_each = true, .after = remove_one, .after_to = &s};
	CHECK(pipeline_parse(d, NULL, &passes));
	CHECK_EQ(pipeline_run(m, d, &passes, &o), want);
	ast_free(a);
	module_free(m);
	source_free(source);
	diag_free(d);
	fclose(f);
	return report;
}

static const char *const row_parallel = "mesh m(x = 2)\n"
                                        "program p on m {\n"
                                        "  input X: f32[8@stream(2), 4@x]\n"
                                        "  input W: f32[6, 4@x]\n"
                                        "  output Y: f32[8@stream(2), 6] = linear(X, W)\n"
                                        "}\n";

static void test_found(void)
{
	char *got = compile(row_parallel, (struct sabotage){"allocate", OP_WAIT}, STATUS_INTERNAL);
	CHECK(strstr(got, "deallocate frees 'T4' on stream 0, not ordered after allreduce"));
	CHECK(strstr(got, "note: this is a bug in assign-streams\n"));
	if (!strstr(got, "this is a bug"))
		printf("got:\n%s", got);
	free(got);
}

static void test_right(void)
{
	char *got = compile(row_parallel, (struct sabotage){0}, STATUS_OK);
	CHECK_STR(got, "");
	free(got);
}

/* If the source has the race itself, passes are not blamed. */
static void test_source_at_fault(void)
{
	char *got = compile("mesh m(x = 2)\n"
	                    "program p on m {\n"
	                    "  input X: f32[8@x]\n"
	                    "  output Y: f32[8] = allocate()\n"
	                    "  output Z: f32[8] = allocate()\n"
	                    "  Y <- allgather(X, axis=x) as c\n"
	                    "  Z <- relu(Y)\n"
	                    "  wait(c)\n"
	                    "}\n",
	                    (struct sabotage){0}, STATUS_OK);
	CHECK_STR(got, "");
	free(got);
	/* iterations are ordered only as long as no pass gives them streams */
	got = compile("mesh m(x = 1)\n"
	              "program p on m {\n"
	              "  inout A: f32[8]\n"
	              "  for i in 0..2 parallel(stream) {\n"
	              "    A <- relu(A)\n"
	              "  }\n"
	              "}\n",
	              (struct sabotage){0}, STATUS_OK);
	CHECK_STR(got, "");
	free(got);
}

int main(void)
{
	test_found();
	test_right();
	test_source_at_fault();
	return check_result();
}
