/* guard: hirc check, with as many streams as by default and with any number. */
#include "pass/guard.h"
#include "base/diag.h"
#include "check/check.h"
#include "ir/edit.h"
#include "pass/pass.h"

static enum check_status check_streams(struct module *m, struct diag *d, int64_t streams,
                                       struct check_result *r)
{
	const struct check_options o = {.ranks = module_ranks(m),
	                                .streams = streams,
	                                .queue = CHECK_QUEUE,
	                                .work = GUARD_MAX_WORK,
	                                .strict = true,
	                                .certain = true};
	return check_program(m, d, &o, r);
}

static const int64_t streams[] = {4, 0};

/* Returns the number of streams with which something is found; -1: nothing is. is_open: some reads were taken
 * as written. */
static int64_t find_failing_streams(struct module *m, bool *is_open)
{
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, 0);
	int64_t found = -1;
	*is_open = false;
	for (unsigned k = 0; k < sizeof streams / sizeof *streams && found < 0; k++) {
		struct check_result r;
		if (check_streams(m, nowhere, streams[k], &r) == CHECK_WRONG)
			found = streams[k];
		*is_open |= r.taken_as_written != 0;
	}
	diag_free(nowhere);
	return found;
}

static bool is_in_branch(const struct module *m, op_id op)
{
	op_id owner = m->region.at[m->op.at[op].parent].owner;
	while (owner && m->op.at[owner].kind != OP_IF)
		owner = m->region.at[m->op.at[owner].parent].owner;
	return owner != 0;
}

bool guard_starts(struct module *m)
{
	bool is_open;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		bool parallel = m->op.at[op].kind == OP_FOR && m->op.at[op].flags & OP_STREAM_LOOP;
		if (parallel || (is_in_branch(m, op) && !pass_is_lowered(m, op)))
			return false;
	}
	return find_failing_streams(m, &is_open) < 0 && !is_open;
}

bool guard_check(struct module *m, struct diag *d)
{
	struct check_result r;
	bool is_open;
	int64_t n = find_failing_streams(m, &is_open);
	if (n >= 0)
		check_streams(m, d, n, &r);
	return n < 0;
}
