/* fuzz_cluster: the figures of a machine, and the time of a program on it. */
#include "cli/compile.h"
#include "cost/cost.h"
#include "fuzz.h"
#include <stdlib.h>

static const char PROGRAM[] = "mesh m(dp = 2, tp = 4)\n"
                              "program p on m {\n"
                              "  input X: bf16[64@dp@stream(2), 128@tp]\n"
                              "  input W: bf16[32, 128@tp]\n"
                              "  Y: bf16[64@dp@stream(2), 32] = linear(X, W)\n"
                              "  Z = gelu(Y)\n"
                              "  output O: bf16[64, 32@tp] = softmax(Z)\n"
                              "}\n";

/* Made once: a host-level program. */
static struct module *program(void)
{
	static struct module *m;
	enum status status;
	struct compile_options o;
	if (m)
		return m;
	struct diag *d = fuzz_diag();
	compile_options_init(&o);
	if (compile_options_finish(&o, d))
		m = compile_source(d, source_from_text("program", PROGRAM, sizeof PROGRAM - 1), &o, true,
		                   &status);
	if (!m)
		fuzz_fail("the program is refused", PROGRAM);
	compile_options_free(&o);
	diag_free(d);
	return m;
}

static void use(struct diag *d, const struct cluster *c)
{
	struct module *m = program();
	struct cost *cost = cost_new(m, c, d);
	if (cost) {
		struct buf text = {0};
		fuzz_reached(FUZZ_PASSED);
		cost_print(cost, m, &text);
		buf_free(&text);
	}
	cost_free(cost);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct diag *d = fuzz_diag();
	struct source *s = fuzz_source(d, data, n);
	fuzz_reached(FUZZ_INPUTS);
	struct cluster *c = s ? cluster_read(d, s) : NULL;
	if (c) {
		fuzz_reached(FUZZ_PARSED);
		use(d, c);
	} else if (!diag_error_count(d)) {
		fuzz_fail("refused without a reason", "");
	}
	cluster_free(c);
	source_free(s);
	diag_finish(d);
	diag_free(d);
	return 0;
}
