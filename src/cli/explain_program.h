/* explain_program: options and output of `hirc explain` for a program. */
#ifndef HIRC_CLI_EXPLAIN_PROGRAM_H
#define HIRC_CLI_EXPLAIN_PROGRAM_H
#include "cli/cli_progress.h"
#include "cli/compile.h"
#include "explain/explain.h"

struct explain_program {
	struct compile_options compile;
	int64_t streams;
	const char *transport; /* its figures in a cluster file count; auto: those of the first transport */
	const char *advice;    /* auto, yes or no */
	struct explain_output output;
	bool csv, json;
	struct progress progress;        /* of the search for advice */
	const struct command_line *line; /* the command line, after reading */
	struct diag *d;
};

void explain_program_free(struct explain_program *p);
/* Returns the options, without json. It points into p: keep p in place while the command line is read. */
struct option_table explain_program_table(struct explain_program *p);
/* Explains the program of p->line. */
enum status explain_program(struct explain_program *p);

/* explain_advice.c: finds options that make the program of a source faster, by compiling and simulating it.
 * Returns the three best that are at least 1 % faster than `time`, the best first. Sets p->output.tried. Texts
 * are allocated in the arena. */
void explain_advise(struct explain_program *p, struct source *s, int64_t time, struct arena *a,
                    explain_advices *out);

#endif
