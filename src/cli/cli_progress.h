/* cli_progress: a bar on the last line of a terminal, while something takes long.
 *
 *     [=============                 ]  43 % looking at candidates
 *
 * It is there only while standard error is a terminal, after the first 0.3 s, and changes ten times a second
 * at most; with HIRC_PROGRESS=now in the environment at once and each time. Whatever else is printed
 * meanwhile comes after progress_end. */
#ifndef HIRC_CLI_CLI_PROGRESS_H
#define HIRC_CLI_CLI_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool quiet;    /* it is never shown */
	bool of_ranks; /* ranks that were started show it: who has started them takes it away */
	bool shown;
	int64_t next; /* monotonic ns: nothing is drawn before; 0: this is the first call */
};

/* A row of options; the field is a struct progress. */
#define PROGRESS_OPTION(type, field)                                                                         \
	{                                                                                                    \
		.name = "quiet", .kind = OPTION_SWITCH, .at = offsetof(type, field.quiet),                   \
		.help = "show no progress; only a terminal gets any"                                         \
	}

/* done: 0 … 1. */
void progress_show(struct progress *p, double done, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
/* Erases it. progress: a struct progress, as diag_set_before gives it. */
void progress_end(void *progress);

#endif
