/* sim: see sim.h. */
#include "sim/sim.h"

bool sim_is_recorded(struct module *m)
{
	if (m->recording.name || m->recording.attrs)
		return true;
	region_each (m, op, m->body)
		if (m->op.at[op].kind == OP_EXTERN && block_is_communication(m, op))
			return true;
	return false;
}

bool sim_run(struct module *m, const struct cost *cost, struct diag *d, struct arena *a, struct sim *out)
{
	*out = (struct sim){.m = m};
	if (!block_make(m, m->body, NULL, cost, d, a, &out->block))
		return false;
	uint32_t n = out->block.p.n;
	out->order = arena_new_array(a, uint32_t, n);
	out->moment = arena_new_array(a, struct sched_moment, n);
	for (uint32_t x = 0; x < n; x++)
		out->order[x] = x;
	out->result = sched_simulate(&out->block.p, out->order, out->moment);
	out->bound = sched_bound(&out->block.p, true);
	return true;
}
