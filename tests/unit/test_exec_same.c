/* Tests of same_outputs: one changed element of one rank between runs is found and named; padding is
 * ignored. */
#include "exec/same_outputs.h"
#include "parse/ast.h"
#include "parse/sema.h"
#include "test_rt.h"

/* Rank 1 holds 2 of 3 rows of its block, each of 2 elements. */
static const char program[] = "mesh m(x = 2)\n"
                              "program p on m {\n"
                              "  input X: f32[5@x, 2]\n"
                              "  output Y: f32[5@x, 2] = relu(X)\n"
                              "}\n";
enum { OWN = 4, BLOCK = 6, CHANGED_RUN = 7 };

static struct module *parse(void)
{
	struct diag *d = diag_new(stdout, DIAG_TEXT, 0);
	struct source *s = source_from_text("test.hir", program, (uint32_t)strlen(program));
	diag_set_source(d, s);
	struct ast *a = ast_parse(d, s);
	struct sema_options options = {0};
	struct module *m = sema_build(d, a, &options);
	ast_free(a);
	diag_free(d);
	return m;
}

/* arg: the element of rank 1 that changes. */
static int change(struct rt_job *job, void *arg)
{
	int element = *(const int *)arg;
	struct module *m = parse();
	float memory[BLOCK] = {1, 2, 3, 4, 5, 6};
	struct check_want want = {.value = m->output.at[0]};
	struct check_output out = {.want = &want, .type = ir_value(m, want.value)->type, .memory = memory};
	struct same_outputs *s = same_outputs_new(job, m, &out, 1, false);
	enum status status = STATUS_OK;
	for (int run = 0; run < CHANGED_RUN + 2 && status == STATUS_OK; run++) {
		if (job->rank == 1 && run == CHANGED_RUN)
			memory[element] += 0.5f;
		status = same_outputs_compare(s, run);
		if (status == STATUS_OK)
			status = rt_job_barrier(job, "a run");
	}
	same_outputs_free(s);
	struct source *source = m->source;
	module_free(m);
	source_free(source);
	return status;
}

int main(void)
{
	static const enum rt_boot_kind kinds[] = {RT_BOOT_THREAD, RT_BOOT_FORK};
	for (int k = 0; k < 1 + TEST_FORK; k++) {
		struct captured c;
		int element = OWN - 1;
		launch_captured(kinds[k], 2, 10000, change, &element, &c);
		CHECK_EQ(c.status, STATUS_WRONG);
		CHECK(has(c.text, "rank 1: error: run 8 gives another Y[4, 1] than the first run\n"));
		element = OWN; /* padding */
		CHECK_EQ(launch(kinds[k], 2, 10000, change, &element), STATUS_OK);
	}
	return check_result();
}
