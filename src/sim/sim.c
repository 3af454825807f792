/* sim: see sim.h. */
#include "sim/sim.h"
#include "analysis/recorded_classes.h"
#include "base/checked.h"
#include <assert.h>

bool sim_is_recorded(struct module *m)
{
	if (m->recording.name || m->recording.attrs)
		return true;
	region_each (m, op, m->body)
		if (m->op.at[op].kind == OP_EXTERN && block_is_communication(m, op))
			return true;
	return recorded_has_classes(m);
}

/* Scales the times of statements that compute. */
static bool slow_down(struct sched_problem *p, int64_t per_mille, struct diag *d)
{
	int64_t whole, all = 0;
	for (uint32_t x = 0; x < p->n; x++) {
		struct sched_node *n = &p->node[x];
		if (n->kind == SCHED_COMM || n->time <= 0)
			continue;
		if (!checked_mul(n->time, per_mille, &whole) || !checked_add(all, whole, &all)) {
			diag_error(d, E_SIM_LIMIT, DIAG_NOWHERE,
			           "--slow: the times of so slow a rank are no number");
			return false;
		}
		n->time = (whole + 999) / 1000;
	}
	return true;
}

static void begin_later(struct sim *s, int64_t delay)
{
	for (uint32_t k = 0; k < s->block.p.n; k++) {
		s->moment[k].start += delay;
		s->moment[k].begin += delay;
		s->moment[k].end += delay;
	}
	s->result.runtime += delay;
	s->bound.runtime += delay;
}

bool sim_run(struct module *m, const struct cost *cost, const struct sim_straggler *straggler, struct diag *d,
             struct arena *a, struct sim *out)
{
	assert(!recorded_has_classes(m));
	*out = (struct sim){.m = m, .straggler = straggler};
	if (!block_make_program(m, cost, d, a, &out->block))
		return false;
	if (straggler && !slow_down(&out->block.p, straggler->slow, d))
		return false;
	uint32_t n = out->block.p.n;
	names_drop_index(m->names); /* the outputs name nothing new, and need the memory */
	out->order = arena_new_array(a, uint32_t, n);
	out->moment = arena_new_array(a, struct sched_moment, n);
	for (uint32_t x = 0; x < n; x++)
		out->order[x] = x;
	out->result = sched_simulate(&out->block.p, out->order, out->moment);
	out->bound = sched_bound(&out->block.p, true);
	if (straggler)
		begin_later(out, straggler->delay);
	return true;
}
