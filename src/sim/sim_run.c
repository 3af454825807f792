/* sim_run: see sim_run.h. */
#include "sim/sim_run.h"
#include "sim/sim_views.h"

bool sim_run_open(struct sim_program *p, bool each, struct sim_run *out)
{
	if (!sim_classes_find(p, each, &out->classes))
		return false;
	if (sim_events_run(p, &out->classes, each, &out->events))
		return true;
	sim_run_close(out);
	return false;
}

void sim_run_close(struct sim_run *r)
{
	sim_events_free(&r->events);
	sim_classes_free(&r->classes);
}

bool sim_simulation_open(struct sim_simulation *s, struct module *m, const struct cost *cost,
                         const struct sim_settings *o, struct diag *d)
{
	bool ok = sim_program_open(&s->program, m, cost, d);
	s->program.streams = o->streams;
	s->program.delay = o->delay;
	s->program.slow = o->slow;
	if (ok)
		sim_views_find(&s->program);
	if (ok && sim_run_open(&s->program, o->each, &s->run))
		return true;
	sim_program_close(&s->program);
	return false;
}

void sim_simulation_close(struct sim_simulation *s)
{
	sim_run_close(&s->run);
	sim_program_close(&s->program);
}
