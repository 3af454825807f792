/* sim_run: the classes of ranks of one program, and the events on them.
 *
 *     struct sim_simulation s;
 *     if (sim_simulation_open(&s, m, cost, &(struct sim_settings){.streams = 4}, d)) {
 *             … s.run.events …
 *             sim_simulation_close(&s);
 *     } */
#ifndef HIRC_SIM_SIM_RUN_H
#define HIRC_SIM_SIM_RUN_H
#include "sim/events.h"

struct sim_run {
	struct sim_classes classes;
	struct sim_events events;
};

/* each: simulate every rank by itself. Returns false after reporting, as sim_classes_find and sim_events_run
 * do; then there is nothing to close. */
bool sim_run_open(struct sim_program *p, bool each, struct sim_run *out);
void sim_run_close(struct sim_run *r);

struct sim_settings {
	int64_t streams; /* of each rank; 0: no limit */
	bool each;       /* simulate every rank by itself */
	/* By rank of the program, as in struct sim_program. NULL: no rank is late, slower or faster. */
	const int64_t *delay, *slow;
};

/* A program and its simulation. */
struct sim_simulation {
	struct sim_program program;
	struct sim_run run;
};

/* Returns false after reporting; then there is nothing to close. */
bool sim_simulation_open(struct sim_simulation *s, struct module *m, const struct cost *cost,
                         const struct sim_settings *o, struct diag *d);
void sim_simulation_close(struct sim_simulation *s);

#endif
