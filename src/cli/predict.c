/* predict: see predict.h. */
#include "cli/predict.h"
#include "cli/params.h"
#include "cost/cost.h"
#include "plan/plan.h"
#include "sim/devices.h"
#include "sim/sim_run.h"
#include <stdlib.h>

/* Raises the exposed time of each statement, and the peak, to those of a class of ranks. */
static void add_class(const struct timeline_class *c, struct prediction *out)
{
	int64_t *exposed = mem_zalloc(sizeof *exposed * out->op_n);
	for (uint32_t k = 0; k < c->span.n; k++)
		exposed[c->span.at[k].op] += c->span.at[k].exposed;
	for (op_id op = 0; op < out->op_n; op++)
		if (exposed[op] > out->exposed[op])
			out->exposed[op] = exposed[op];
	if (c->peak > out->peak)
		out->peak = c->peak;
	free(exposed);
}

static void read_timeline(struct timeline *t, struct module *m, struct prediction *out)
{
	*out = (struct prediction){.time = t->runtime, .op_n = m->op.n};
	out->exposed = mem_zalloc(sizeof *out->exposed * m->op.n);
	for (uint32_t i = 0; i < t->class.n; i++)
		add_class(&t->class.at[i], out);
	for (op_id op = 0; op < m->op.n; op++)
		if (!m->op.at[op].parent)
			out->exposed[op] = -1;
}

/* Returns true if the first and the last rank have plans. */
static bool has_plans(struct module *m)
{
	int64_t ranks = module_ranks(m), rank = 0;
	struct diag *d = diag_new(NULL, DIAG_TEXT, 0);
	struct plan *p = NULL;
	bool ok = true;
	diag_set_source(d, m->source);
	for (; ok && rank < ranks; rank = rank ? ranks : ranks > 1 ? ranks - 1 : ranks) {
		p = plan_build(m, d, rank, ranks, &(struct plan_target){.streams = DEFAULT_STREAMS});
		ok = p != NULL;
		plan_free(p);
	}
	diag_free(d);
	return ok;
}

bool predict(struct module *m, const struct cluster *c, struct diag *d, struct prediction *out)
{
	struct sim_simulation s;
	struct timeline t;
	struct cost *cost = params_check(m, d) ? cost_new(m, c, d) : NULL;
	if (!cost)
		return false;
	bool ok = sim_simulation_open(&s, m, cost, &(struct sim_settings){.streams = DEFAULT_STREAMS}, d);
	if (ok) {
		sim_devices_timeline(&s.run.events, &s.run.classes, false, &t);
		read_timeline(&t, m, out);
		out->runs = has_plans(m);
		timeline_close(&t);
		sim_simulation_close(&s);
	}
	cost_free(cost);
	return ok;
}
