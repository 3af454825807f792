/* golden_output: the output of a test's commands in the form that is compared: whole lines of valid UTF-8,
 * without the names of this machine's folders. */
#ifndef HIRC_GOLDEN_GOLDEN_OUTPUT_H
#define HIRC_GOLDEN_GOLDEN_OUTPUT_H
#include "base/str.h"

struct golden_cut {
	struct buf from;     /* text to look for; not empty */
	const char *instead; /* its replacement */
};

/* Appends bytes: `\xNN` for a NUL and for invalid UTF-8, and a newline if the last line has none. */
void golden_put_text(struct buf *out, const char *at, size_t n);
/* Appends the text with all cuts replaced, the longest first. */
void golden_put_cut(const struct buf *text, struct golden_cut *cut, unsigned n, struct buf *out);

#endif
