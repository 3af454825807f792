/* test: reads the file of one golden test.
 *
 *     # RUN: hirc compile %s --dump        commands, run by sh
 *     # EXIT: 1                            exit code of the last command; default 0
 *     # REQUIRES: mpi !cuda                features that it needs, or with `!` must not have
 *     # LABELS: tsan                       for ctest; ignored here
 *     the program
 *     # EXPECT:
 *     # the output
 *
 * The directives are the first lines. In a file with `//` comments, write `//` in place of `#`. */
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
	uint32_t head, expect;            /* number of lines with directives; index of the line `#
	                                     EXPECT:`, or the number of lines if there is none */
	VEC(struct golden_line) run;      /* commands */
	VEC(struct golden_line) needed;   /* words of REQUIRES */
	VEC(struct golden_line) expected; /* output lines, without their comment signs */
	int exit_code;
};

enum { GOLDEN_MOST_BYTES = 16 << 20 }; /* of a test's file, and of its output */

/* Reads a test. Returns false after reporting the lines that are wrong. */
bool golden_test_read(struct diag *d, const char *path, struct golden_test *out);
void golden_test_free(struct golden_test *t);
/* Puts the program without directives and expected output. */
void golden_test_put_body(const struct golden_test *t, struct buf *out);
/* Returns true if a file begins as a test does. Returns false also if it cannot be read. */
bool golden_test_is(const char *path);

#endif
