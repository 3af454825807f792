/* run_size: refuses tensors too large for any machine, or for this one, before memory is allocated. */
#include "base/checked.h"
#include "base/page.h"
#include "cli/run.h"
#include "exec/trace.h"
#include "ir/expr.h"
#include "plan/plan_packs.h"
#include "rt/convert.h"
#include <string.h>

/* Counts the elements of the whole tensor; -1: more than 64 bits can hold. A param without a value counts
 * as 1. */
static int64_t count_tensor_elements(const struct module *m, value_id v)
{
	const struct expr_env env = {.rank = -1};
	const struct domain *d = value_domain(m, v);
	int64_t count = 1, n;
	for (unsigned a = 0; a < d->logical_n; a++) {
		if (d->axis[a].kind == AXIS_REDUCE || d->axis[a].kind == AXIS_PARTIAL ||
		    expr_eval(m, d->axis[a].extent, &env, &n, NULL) != EXPR_OK)
			continue;
		if (n <= 0)
			return 0;
		if (!checked_mul(count, n, &count))
			return -1;
	}
	return count;
}

static bool check_value(const struct run *r, struct diag *d, value_id v, int64_t limit)
{
	char name[DATA_NAME_BYTES];
	int64_t count = count_tensor_elements(r->m, v), bytes;
	enum dtype t = value_type(r->m, v)->dtype;
	bool whole = count >= 0 && checked_mul(count, (int64_t)dtype_bytes(t), &bytes);
	if (whole && (!limit || bytes <= limit))
		return true;
	data_name(r->m, v, name);
	if (!whole || bytes > INT64_MAX / 64)
		diag_error(d, E_TENSOR_TOO_LARGE, r->m->value.at[v].at, "'%s' is too large for any machine",
		           name);
	else
		diag_error(d, E_TENSOR_TOO_LARGE, r->m->value.at[v].at,
		           "'%s' has %lld bytes, this machine %lld", name, (long long)bytes,
		           (long long)limit);
	return false;
}

/* Checks that all ranks have memory for the events of --trace and --profile. */
static bool check_trace(const struct run *r, struct diag *d, int64_t limit)
{
	int64_t ranks = r->compile.np > r->needed ? r->compile.np : r->needed;
	int64_t bytes = ranks * r->trace_events * (int64_t)sizeof(struct trace_event);
	if ((!r->trace && !r->profile) || !limit || bytes <= limit)
		return true;
	diag_error(d, E_NO_MEMORY, DIAG_NOWHERE,
	           "--trace-events: %lld events of each of %lld ranks take %lld bytes, this machine has %lld",
	           (long long)r->trace_events, (long long)ranks, (long long)bytes, (long long)limit);
	diag_note(d, DIAG_NOWHERE, "give a smaller number: later events are dropped");
	return false;
}

bool run_check_sizes(const struct run *r, struct diag *d, bool one_machine)
{
	int64_t limit = one_machine ? machine_bytes() : 0;
	bool ok = true;
	for (uint32_t k = 0; k < r->m->input.n; k++)
		ok &= check_value(r, d, r->m->input.at[k].value, limit);
	for (uint32_t k = 0; k < r->m->output.n; k++)
		ok &= check_value(r, d, r->m->output.at[k], limit);
	return check_trace(r, d, limit) && ok;
}

bool run_check_plan(const struct run *r, struct diag *d, int ranks, struct plan *p)
{
	int64_t limit = machine_bytes();
	const struct plan_buffer *most = NULL;
	char name[DATA_NAME_BYTES];
	if (rank_options_are_cuda(&r->ranks)) { /* CUDA itself reports too little memory */
		plan_packs_drop(p);
		return true;
	}
	if (limit && p->bytes > limit / ranks) /* all ranks may be on this machine */
		plan_packs_drop(p);
	if (!limit || p->bytes <= limit)
		return true;
	for (uint32_t k = 0; k < p->buffer.n; k++) {
		const struct plan_buffer *b = &p->buffer.at[k];
		if (!most || b->slot_bytes > most->slot_bytes)
			most = b;
	}
	diag_error(d, E_NO_MEMORY, r->m->value.at[most->value].at,
	           "no memory: rank %lld needs %lld bytes, %s'%s' %lld; this machine has %lld",
	           (long long)p->rank, (long long)p->bytes, most->slots > 1 ? "a copy of " : "",
	           data_name(r->m, most->value, name), (long long)most->slot_bytes, (long long)limit);
	diag_note(d, DIAG_NOWHERE, "smaller parameters or more ranks need less");
	return false;
}
