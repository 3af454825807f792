/* sim: see sim.h. */
#include "sim/sim.h"

bool sim_run(struct module *m, const struct cost *cost, struct diag *d, struct arena *a, struct sim *out)
{
	*out = (struct sim){.m = m};
	if (!block_make(m, m->body, cost, d, a, &out->block))
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
