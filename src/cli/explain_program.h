/* explain_program: hirc explain of a program: its options, and its output. */
#ifndef HIRC_CLI_EXPLAIN_PROGRAM_H
#define HIRC_CLI_EXPLAIN_PROGRAM_H
#include "cli/cli_progress.h"
#include "cli/compile.h"
#include "explain/explain.h"

struct explain_program {
	struct compile_options compile;
	int64_t streams;
	const char *transport; /* whose figures of a cluster file count; auto: of the first one there */
	const char *advice;    /* auto, yes or no */
	struct explain_output output;
	bool csv, json;
	struct progress progress;        /* of looking for advice */
	const struct command_line *line; /* as it was read */
	struct diag *d;
};

void explain_program_free(struct explain_program *p);
/* Points into p, which stays where it is while the command line is read; json is not in it. */
struct option_table explain_program_table(struct explain_program *p);
enum status explain_program(struct explain_program *p, const char *path);

/* explain_advice.c: options that make the program of a source faster, each compiled and simulated: the three
 * best that are at least 1 % faster than `time`, the best first. Texts are of the arena. */
void explain_advise(struct explain_program *p, struct source *s, int64_t time, struct arena *a,
                    explain_advices *out);

#endif
