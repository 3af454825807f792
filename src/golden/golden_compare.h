/* golden_compare: compares output with the expected output, line by line.
 *
 * `{{...}}` in an expected line is a POSIX extended regular expression, all other text is literal. A line
 * that is equal byte for byte always matches. */
#ifndef HIRC_GOLDEN_GOLDEN_COMPARE_H
#define HIRC_GOLDEN_GOLDEN_COMPARE_H
#include "base/edits.h"
#include "golden/test.h"

struct golden_lines {
	VEC(struct golden_line) at;
};

/* Splits a text into lines, which point into it. The last line must end with a newline. */
void golden_lines_cut(const char *text, size_t n, struct golden_lines *out);

/* The edits from the expected lines to the output: an expected line is kept (it matches) or deleted, or an
 * output line is inserted. */
struct golden_edits {
	struct edits edits;
	struct buf note; /* errors in expressions of deleted lines, one a line */
};

void golden_compare(const struct golden_test *t, const struct golden_lines *output, struct golden_edits *out);
void golden_edits_free(struct golden_edits *e);
/* Puts the edits as a unified diff with three lines around each, until `out` has 256 KiB. */
void golden_put_diff(const struct golden_test *t, const struct golden_lines *output,
                     const struct golden_edits *e, struct buf *out);
/* Puts the file of the test with this output and exit code as the expected ones. Expected lines that match
 * are kept. */
void golden_put_updated(const struct golden_test *t, const struct golden_lines *output,
                        const struct golden_edits *e, int exit_code, struct buf *out);

#endif
