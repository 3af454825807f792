/* golden_output: see golden_output.h. */
#include "golden/golden_output.h"
#include "base/source.h"
#include "base/utf8.h"
#include <stdlib.h>
#include <string.h>

void golden_put_text(struct buf *out, const char *at, size_t n)
{
	for (size_t i = 0; i < n;) {
		unsigned length = utf8_length(at + i, n - i);
		if (length && at[i])
			buf_putn(out, at + i, length);
		else
			buf_printf(out, "\\x%02x", (unsigned char)at[i]);
		i += length ? length : 1;
	}
	if (n && at[n - 1] != '\n')
		buf_putc(out, '\n');
}

static void replace_cut(const struct buf *text, const struct golden_cut *cut, struct buf *out)
{
	const char *at = text->at, *end = at + text->n, *hit;
	for (; (hit = memmem(at, (size_t)(end - at), cut->from.at, cut->from.n)); at = hit + cut->from.n) {
		buf_putn(out, at, (size_t)(hit - at));
		buf_puts(out, cut->instead);
	}
	buf_putn(out, at, (size_t)(end - at));
}

static int longest_first(const void *a, const void *b)
{
	size_t m = ((const struct golden_cut *)a)->from.n, n = ((const struct golden_cut *)b)->from.n;
	return m < n ? 1 : m > n ? -1 : 0;
}

void golden_put_cut(const struct buf *text, struct golden_cut *cut, unsigned n, struct buf *out)
{
	struct buf now = {0};
	buf_putn(&now, text->at ? text->at : "", text->n);
	qsort(cut, n, sizeof *cut, longest_first);
	for (unsigned i = 0; i < n; i++) {
		struct buf next = {0};
		replace_cut(&now, &cut[i], &next);
		buf_putn(&next, "", 0);
		buf_free(&now);
		now = next;
	}
	buf_putn(out, now.at, now.n);
	buf_free(&now);
}
