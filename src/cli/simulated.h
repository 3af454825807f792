/* simulated: the frame of commands that simulate a program.
 *
 *     files ─ compile ─ cluster ─ params ─ check of the command line ─ gate ─ cost ─→ run */
#ifndef HIRC_CLI_SIMULATED_H
#define HIRC_CLI_SIMULATED_H
#include "cli/compile.h"
#include "cost/cost.h"

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

/* Returns the exit code. */
enum status simulated_run(const struct simulated *s, const struct command_line *line);

#endif
