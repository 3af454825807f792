/* command_fault: the failure that `hirc reduce` keeps and `hirc bisect` looks for.
 *
 * By default it is the exit code and the number of the first error of the command on the whole program. */
#ifndef HIRC_CLI_COMMAND_FAULT_H
#define HIRC_CLI_COMMAND_FAULT_H
#include "cli/attempt.h"

struct fault {
	const char *match; /* a text in the output, instead of the number; NULL: none */
	struct fault_exit {
		bool given; /* false: the exit code on the whole program counts */
		int code;
	} exit;
	const char *name;     /* of the program in output */
	struct attempt whole; /* the command on the whole program */
};

/* Two rows of options; the field is a struct fault. */
#define FAULT_OPTIONS(type, field)                                                                           \
	{.name = "exit",                                                                                     \
	 .kind = OPTION_CALL,                                                                                \
	 .at = offsetof(type, field.exit),                                                                   \
	 .call = fault_read_exit,                                                                            \
	 .value = "N",                                                                                       \
	 .help = "exit code of the failure, with any message; 124: the command exceeded its time, "          \
	         "128 + N: signal N ended it"},                                                              \
	{                                                                                                    \
		.name = "match", .kind = OPTION_TEXT, .at = offsetof(type, field.match), .value = "TEXT",    \
		.help = "a text in the output of the failure, instead of the number of the first error"      \
	}
bool fault_read_exit(void *fault_exit, const char *text);

/* Runs the command on the whole program. Returns true if the command fails; false after reporting. */
bool fault_find(struct fault *f, struct attempt_command *c, const struct buf *text);
/* Returns true if a run shows the fault. */
bool fault_shows(const struct fault *f, const struct attempt *a);
void fault_free(struct fault *f);

#endif
