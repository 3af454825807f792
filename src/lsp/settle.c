/* settle: runs the pass on a copy of the program, so that the snapshot's program remains as written. */
#include "lsp/settle.h"
#include "pass/pipeline.h"

const struct module *settle_layouts(struct snapshot *x, const struct sema_options *options)
{
	struct diag *d;
	if (x->has_errors || x->unsettled || x->settled)
		return x->settled;
	d = diag_new(NULL, DIAG_TEXT, 0);
	struct ast *a = ast_parse_shared(d, x->source);
	diag_set_source(d, x->source);
	struct module *m = sema_build(d, a, options);
	ast_free(a);
	struct pipeline p = {.n = 1, .at[0].pass = PASS_PROPAGATE_SHARDINGS};
	if (m && pipeline_run(m, d, &p, &(struct pipeline_options){0}) == STATUS_OK) {
		x->settled = m;
	} else {
		module_free(m);
		x->unsettled = true;
	}
	diag_free(d);
	return x->settled;
}
