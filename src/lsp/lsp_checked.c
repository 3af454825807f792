/* lsp_checked: see lsp_checked.h. */
#include "lsp/lsp_checked.h"
#include "analysis/extents.h"
#include "analysis/unwritten.h"
#include "check/check.h"

enum {
	MOST_WORK = 1 << 17
}; /* statements walked, all ranks together, before a check is given up: some 10 ms */

void snapshot_check(struct snapshot *x)
{
	if (x->checked || x->has_errors)
		return;
	x->checked = true;
	struct diag *d = diag_new(NULL, DIAG_TEXT, 0);
	diag_set_sink(d, snapshot_keep, x);
	diag_set_source(d, x->source);
	struct check_options o = {.ranks = module_ranks(x->module),
	                          .streams = DEFAULT_STREAMS,
	                          .queue = CHECK_QUEUE,
	                          .work = MOST_WORK};
	struct check_result r;
	unwritten_outputs_warn(x->module, d);
	if (extents_check(x->module, d) && types_check(x->module, d))
		check_program(x->module, d, &o, &r);
	diag_free(d);
}
