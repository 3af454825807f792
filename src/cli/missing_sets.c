/* missing_sets: see missing_sets.h. */
#include "cli/missing_sets.h"
#include "base/diag.h"
#include "ir/edit.h"
#include "pass/pipeline.h"

static bool run_passes(struct module *m)
{
	struct pipeline p = {
	    .n = 2, .at[0].pass = PASS_PROPAGATE_SHARDINGS, .at[1].pass = PASS_DECOMPOSE_RESHARDINGS};
	struct pipeline_options o = {0};
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, 0);
	bool ok = pipeline_run(m, nowhere, &p, &o) == STATUS_OK;
	diag_free(nowhere);
	return ok;
}

void missing_sets_add(struct module *m)
{
	struct module *trial = module_copy(m); /* a pass that refuses a program may have changed it */
	bool ok = run_passes(trial);
	module_free(trial);
	if (ok)
		run_passes(m);
}
