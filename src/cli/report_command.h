/* report_command: the shared parts of the files of `hirc report`.
 *
 *     cmd_report.c   the command line, files
 *     report_make.c  the contents of the page: programs, times, the check
 *     report_run.c   --run */
#ifndef HIRC_CLI_REPORT_COMMAND_H
#define HIRC_CLI_REPORT_COMMAND_H
#include "cli/compile.h"

struct report_command {
	struct compile_options compile;
	const char *title, *trace, *output;
	bool run;
	int64_t streams;
	char *file;                         /* the page's; owned; "-": standard output */
	struct source *source;              /* as it was read */
	struct buf command, program, times; /* see struct report */
	struct diag *d;
};

/* Makes the page. */
enum status report_make(struct report_command *c, struct buf *out);
/* Runs the program on ranks that it starts; the trace is *path, a file that the caller removes and frees,
 * also when this fails; NULL: none was made. */
enum status report_run(struct report_command *c, char **path);

#endif
