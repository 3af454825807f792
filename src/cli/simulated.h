/* simulated: the frame of commands that simulate a program.
 *
 *     files ─ compile ─ cluster ─ params ─ check of the command line ─ cost ─→ run */
#ifndef HIRC_CLI_SIMULATED_H
#define HIRC_CLI_SIMULATED_H
#include "cli/compile.h"
#include "cost/cost.h"
#include "sim/sim.h"
#include "sim/sim_run.h"

struct simulated {
	struct diag *d;
	struct compile_options *compile;
	int64_t streams;
	void *command;
	/* Returns false after reporting options that do not fit the program, which has streams and devices. NULL: all
	 * fit. */
	bool (*check)(void *command, const struct module *m);
	/* Simulates. Returns false after reporting. */
	bool (*run)(void *command, struct module *m, const struct cost *cost);
};

/* Simulates a recorded program, of one graph or of one for each class of ranks, which it compares first. *t: closed by
 * timeline_close. *of: the simulation of each class of *t, of the arena. Returns false after reporting. */
bool simulated_recorded(struct module *m, const struct cost *cost, struct diag *d, struct arena *a,
                        struct timeline *t, struct sim **of);

/* Simulates a program with meshes, if hirc run accepts it. Returns false after reporting; else s is closed by
 * sim_simulation_close. */
bool simulated_devices(struct module *m, const struct cost *cost, const struct sim_settings *o,
                       struct diag *d, struct sim_simulation *s);

/* Returns the exit code. */
enum status simulated_run(const struct simulated *s, const struct command_line *line);

#endif
