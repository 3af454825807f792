/* attempt: runs one command of hirc on variants of a program, each in a process of its own, and returns how
 * the command ended.
 *
 *     hirc reduce a.hir -- check --strict     hirc check --strict /tmp/hirc-XXXXXX/a.hir
 *     hirc reduce a.hir -- run %s --check     hirc run /tmp/hirc-XXXXXX/a.hir --check
 *
 * The process has a session of its own. Its child processes end with it, or after the time limit. */
#ifndef HIRC_CLI_ATTEMPT_H
#define HIRC_CLI_ATTEMPT_H
#include "base/diag.h"
#include "base/str.h"
#include "cli/options.h"

enum {
	ATTEMPT_LATE = 124, /* the exit code for a command that exceeds its time limit, as of timeout(1) */
	ATTEMPT_SECONDS = 60,
};

struct attempt_command {
	const char *const *word; /* the command and its arguments; `%s` stands for the program */
	uint32_t word_n;
	int64_t timeout;   /* s */
	char *hirc;        /* this program; owned */
	struct buf folder; /* the temporary folder */
	struct buf path;   /* of the program, in the folder or beside the original */
	const char *name;  /* of the original; replaces the path in all output */
	struct diag *d;
	bool failed; /* a candidate could not be written or started; it was reported */
};

struct attempt {
	int code;          /* exit code, 128 + a signal, or ATTEMPT_LATE */
	char number[8];    /* "E0203": the first error that was printed; "": none had a number */
	struct buf out[2]; /* standard output and error; owned */
};

/* A row of options; the field is a struct attempt_command. */
#define ATTEMPT_TIMEOUT_OPTION(type, field)                                                                  \
	{                                                                                                    \
		.name = "timeout", .kind = OPTION_INT, .at = offsetof(type, field.timeout),                  \
		.value = "SECONDS", .min = 1, .max = 1 << 20, .init.number = ATTEMPT_SECONDS,                \
		.help = "time limit of one run of the command"                                               \
	}

/* Takes the words after FILE as the command, and opens c->d. does: `reduces for`, in the message where there is no
 * command; false then. */
bool attempt_read(struct attempt_command *c, const struct command_line *line, const char *does,
                  const char *color);
/* Prints the messages of c->d, and frees it. */
void attempt_close(struct attempt_command *c);
/* Chooses the path for variants of the program, and blocks SIGTERM, SIGINT and SIGHUP so that attempt_interrupted can
 * report them. path, text: of the original. False after reporting. */
bool attempt_begin(struct attempt_command *c, const char *path, const struct buf *text);
/* Runs the command on a text. extra: further arguments; NULL: none. False: the command could not be run
 * (c->failed), or was interrupted. */
bool attempt_run(struct attempt_command *c, const struct buf *text, const char *extra, struct attempt *out);
/* Returns the signal that arrived since attempt_begin; 0: none. */
int attempt_interrupted(void);
/* Appends how the command ended: `exits with 1 and E0601`, `exits with 3`, `does not end within 60 s`. */
void attempt_put_end(const struct attempt_command *c, const struct attempt *a, struct buf *out);
/* Appends the command as a shell reads it: `hirc check --strict`. */
void attempt_put_command(const struct attempt_command *c, struct buf *out);
void attempt_free(struct attempt *a);
void attempt_end(struct attempt_command *c);

#endif
