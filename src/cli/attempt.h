/* attempt: runs one command of hirc on variants of a program, each in a process of its own, and says how it
 * ended.
 *
 *     hirc reduce a.hir -- check --strict     hirc check --strict /tmp/hirc-XXXXXX/a.hir
 *     hirc reduce a.hir -- run %s --check     hirc run /tmp/hirc-XXXXXX/a.hir --check
 *
 * The process has a session of its own. All that it started ends with it, or after the time limit. */
#ifndef HIRC_CLI_ATTEMPT_H
#define HIRC_CLI_ATTEMPT_H
#include "base/diag.h"
#include "base/str.h"
#include "cli/options.h"

enum {
	ATTEMPT_LATE = 124, /* the exit code that stands for a command over its time, as of timeout(1) */
	ATTEMPT_SECONDS = 60,
};

struct attempt_command {
	const char *const *word; /* the command and its arguments; `%s`: the program */
	uint32_t word_n;
	int64_t timeout;   /* s */
	char *hirc;        /* this program; owned */
	struct buf folder; /* a temporary one */
	struct buf path;   /* of the program, in the folder or beside the original */
	const char *name;  /* of the original; stands for the path in all output */
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
		.help = "limit of one run of the command"                                                    \
	}

/* Sets where variants of the program stand, and from now on holds back SIGINT and SIGTERM for
 * attempt_interrupted. path: of the original, which has this text. False after reporting. */
bool attempt_begin(struct attempt_command *c, const char *path, const struct buf *text);
/* Runs the command on a text, with more arguments if extra is not NULL. False: it could not be run
 * (c->failed), or was interrupted. */
bool attempt_run(struct attempt_command *c, const struct buf *text, const char *extra, struct attempt *out);
/* The signal that arrived since attempt_begin; 0: none. */
int attempt_interrupted(void);
/* Appends the end in words: `exits with 1 and E0601`, `exits with 3`, `does not end within 60 s`. */
void attempt_put_end(const struct attempt_command *c, const struct attempt *a, struct buf *out);
/* The command as a shell reads it: `hirc check --strict`. */
void attempt_put_command(const struct attempt_command *c, struct buf *out);
void attempt_free(struct attempt *a);
void attempt_end(struct attempt_command *c);

#endif
