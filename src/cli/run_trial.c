/* run_trial: checks that ranks have the devices they need, before any work that takes long. The ranks are
 * started, look at their GPUs, and end. They open all resources of the program only if NCCL itself has to
 * accept the ranks. */
#include "cli/run.h"
#include "exec/exec_device.h"

/* Returns true if ranks read each other's memory. */
static bool is_symmetric(const struct module *m)
{
	for (value_id v = 1; v < m->value.n; v++)
		if (m->value.at[v].type && value_type(m, v)->memory == MEMORY_SYMMETRIC)
			return true;
	return false;
}

int run_trial_rank(struct rt_job *job, void *run)
{
	struct run *r = run;
	const struct exec_options o = rank_options_exec(&r->ranks, r->compile.steps);
	struct plan *p = NULL;
	struct exec *e = NULL;
	bool unsure;
	enum status status = exec_device_try(job, &o, is_symmetric(r->m), &unsure);
	if (status != STATUS_OK || !unsure)
		return status;
	status = run_make_plan(job, r, &p);
	if (status == STATUS_OK)
		status = exec_open(job, p, r->labels, &o, &e);
	if (status == STATUS_OK)
		exec_close(e);
	plan_free(p);
	return status;
}

enum status run_trial(struct run *r, const struct rt_launch_options *launch, int64_t ranks)
{
	struct rt_launch_options o = *launch;
	if (!rank_options_are_cuda(&r->ranks))
		return STATUS_OK;
	o.np = (int)ranks;
	return rt_launch(&o, run_trial_rank, r);
}
