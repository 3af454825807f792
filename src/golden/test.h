/* test: one golden test as it stands in its file.
 *
 *     # RUN: hirc compile %s --dump        commands, run by sh
 *     # EXIT: 1                            exit code of the last command; 0 without
 *     # REQUIRES: mpi !cuda                features that must be there, or with `!` must not
 *     # LABELS: tsan                       for others, not looked at here
 *     the program
 *     # EXPECT:
 *     # the output
 *
 * The directives are the first lines. Files that comment by `//` have that in place of `#`. */
#ifndef HIRC_GOLDEN_TEST_H
#define HIRC_GOLDEN_TEST_H
#include "base/diag.h"
#include "base/str.h"
#include "base/vec.h"

struct golden_line {
	const char *at; /* in the source; no NUL, no end of line */
	uint32_t n;     /* bytes */
};

struct golden_test {
	struct source *source;            /* owned */
	const char *comment;              /* "#" or "//" */
	VEC(struct golden_line) line;     /* all lines of the file */
	uint32_t head, expect;            /* lines of directives; the line `# EXPECT:`, or how many lines */
	VEC(struct golden_line) run;      /* commands */
	VEC(struct golden_line) needed;   /* words of REQUIRES */
	VEC(struct golden_line) expected; /* output lines, without their comment signs */
	int exit_code;
};

enum { GOLDEN_MOST_BYTES = 16 << 20 }; /* of a test's file, and of its output */

/* Reads a test. False after reporting, with place, the lines that break the rules. */
bool golden_test_read(struct diag *d, const char *path, struct golden_test *out);
void golden_test_free(struct golden_test *t);
/* The program alone. */
void golden_test_put_body(const struct golden_test *t, struct buf *out);
/* Returns true if a file begins as tests do; false, too, when it cannot be read. */
bool golden_test_is(const char *path);

#endif
