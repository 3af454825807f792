/* run_adversary: --adversary: derives an adversary from a seed.
 *
 *     seed   first is             memory
 *     1      HOLD_ONE             as hirc check takes it
 *     2      LAST_FIRST           as without --adversary
 *     3      ANY_FIRST            as hirc check takes it
 *     4      HOLD_ONE             as without --adversary
 *     …      */
#include "cli/run.h"
#include <string.h>

static bool takes_memory_as_checked(int64_t seed)
{
	return seed % 2 == 1;
}

bool run_adversary_finish(struct run *r, struct diag *d)
{
	static const enum rt_order order[] = {RT_ANY_FIRST, RT_HOLD_ONE, RT_LAST_FIRST};
	if (r->seed < 0)
		return true;
	if (rank_options_are_cuda(&r->ranks)) {
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--adversary is of --target=cpu: a GPU orders its streams itself");
		return false;
	}
	if (strcmp(r->ranks.engine, "auto") != 0) {
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--adversary is an engine of its own: leave --engine=%s away", r->ranks.engine);
		return false;
	}
	r->adversary = &r->how;
	r->how = (struct rt_adversary){.seed = (uint64_t)r->seed, .order = order[r->seed % 3]};
	r->memory_as_checked = takes_memory_as_checked(r->seed);
	return true;
}

void run_adversary_plan(const struct run *r, struct plan_target *target)
{
	target->poisons = r->adversary != NULL;
	target->as_checked = r->adversary && r->memory_as_checked;
	target->views &= !target->as_checked;
}

void run_adversary_exec(const struct run *r, struct exec_options *o)
{
	if (!r->adversary)
		return;
	o->engine = "adversary";
	o->adversary = r->adversary;
}
