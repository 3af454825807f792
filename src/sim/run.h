/* run: classes of ranks and what happens on them, of one program. */
#ifndef HIRC_SIM_RUN_H
#define HIRC_SIM_RUN_H
#include "sim/events.h"

struct sim_run {
	struct sim_classes classes;
	struct sim_events events;
};

/* each: every rank by itself. False after reporting, as of sim_classes_find and sim_events_run; then there is
 * nothing to close. */
bool sim_run_open(struct sim_program *p, bool each, struct sim_run *out);
void sim_run_close(struct sim_run *r);

#endif
