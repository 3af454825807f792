/* run: see run.h. */
#include "sim/run.h"

bool sim_run_open(struct sim_program *p, bool each, struct sim_run *out)
{
	if (!sim_classes_find(p, &out->classes))
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
