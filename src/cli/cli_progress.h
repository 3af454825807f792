/* cli_progress: a progress bar on the last line of a terminal.
 *
 *     [=============                 ]  43 % looking at candidates
 *
 * The bar is drawn if standard error is a terminal, after the first 0.3 s, and changes at most ten times a
 * second. With HIRC_PROGRESS=now in the environment, it is drawn at once and at each change. Call
 * progress_end before you print anything else. */
#ifndef HIRC_CLI_CLI_PROGRESS_H
#define HIRC_CLI_CLI_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool quiet;    /* the bar is never drawn */
	bool of_ranks; /* ranks draw the bar, and the process that started them erases it */
	bool shown;
	int64_t next; /* monotonic ns: the bar is not drawn before this; 0: before the first call */
};

/* A row of options; the field is a struct progress. */
#define PROGRESS_OPTION(type, field)                                                                         \
	{                                                                                                    \
		.name = "quiet", .kind = OPTION_SWITCH, .at = offsetof(type, field.quiet),                   \
		.help = "show no progress bar; only a terminal shows one"                                    \
	}

/* Draws the bar. done: 0 … 1. */
void progress_show(struct progress *p, double done, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
/* Erases the bar. progress: a struct progress, as diag_set_before passes it. */
void progress_end(void *progress);

#endif
