/* golden_compare: output beside the expected output, line by line.
 *
 * `{{...}}` in an expected line is a POSIX extended regular expression, all else stands for itself; a line
 * that is the same byte for byte matches whatever it holds. */
#ifndef HIRC_GOLDEN_GOLDEN_COMPARE_H
#define HIRC_GOLDEN_GOLDEN_COMPARE_H
#include "base/edits.h"
#include "golden/test.h"

struct golden_lines {
	VEC(struct golden_line) at;
};

/* Lines of a text whose last ends with a newline; they point into it. */
void golden_lines_cut(const char *text, size_t n, struct golden_lines *out);

/* The edits from expected lines to the output: a line is kept (it matches) or deleted, or an output line is
 * inserted. */
struct golden_edits {
	struct edits edits;
	struct buf note; /* faults of expressions in deleted lines; one line each */
};

void golden_compare(const struct golden_test *t, const struct golden_lines *output, struct golden_edits *out);
void golden_edits_free(struct golden_edits *e);
/* The edits as a unified diff with three lines around each; as far as 256 KiB of `out`. */
void golden_put_diff(const struct golden_test *t, const struct golden_lines *output,
                     const struct golden_edits *e, struct buf *out);
/* The file of the test with this output and exit code as the expected ones; matching expected lines stay. */
void golden_put_updated(const struct golden_test *t, const struct golden_lines *output,
                        const struct golden_edits *e, int exit_code, struct buf *out);

#endif
