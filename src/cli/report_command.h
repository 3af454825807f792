/* report_command: the shared parts of the files of `hirc report`.
 *
 *     cmd_report.c   the command line, and files
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
	char *file;                         /* the page's file; owned; "-": standard output */
	struct source *source;              /* the source, as read */
	struct buf command, program, times; /* see struct report */
	struct diag *d;
};

/* Makes the page. */
enum status report_make(struct report_command *c, struct buf *out);
/* Starts ranks and runs the program. *path: the trace file, which the caller removes, and whose name it
 * frees, also after a failure; NULL: there is no trace. */
enum status report_run(struct report_command *c, char **path);

#endif
