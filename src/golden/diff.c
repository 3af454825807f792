/* diff: prints edits as a unified diff, and writes the updated file of a test. See golden_compare.h. */
#include "golden/golden_compare.h"
#include <string.h>

enum { AROUND = 3 };                              /* lines around an edit */
enum { MOST_DIFF = 256 << 10, MOST_LINE = 4096 }; /* bytes */

struct place {
	uint32_t k, i, j; /* number of edits, expected lines and output lines before */
};

static void step_place(const struct golden_edits *e, struct place *p)
{
	p->i += e->edits.kind.at[p->k] != EDIT_INSERT;
	p->j += e->edits.kind.at[p->k] != EDIT_DELETE;
	p->k++;
}

/* Returns the end of a hunk that begins at edit `k`: after it there is no edit within twice AROUND lines. */
static uint32_t hunk_end(const struct golden_edits *e, uint32_t k)
{
	uint32_t last = k;
	for (; k < e->edits.kind.n && k - last <= 2 * AROUND; k++)
		if (e->edits.kind.at[k] != EDIT_KEEP)
			last = k;
	uint32_t left = e->edits.kind.n - last - 1;
	return last + 1 + (left < AROUND ? left : AROUND);
}

/* Puts `-5,2`; if there are no lines, the line before. */
static void put_range(struct buf *out, char sign, uint32_t from, uint32_t n)
{
	buf_printf(out, "%c%u", sign, n ? from + 1 : from);
	if (n != 1)
		buf_printf(out, ",%u", n);
}

static void put_line(struct buf *out, char sign, struct golden_line line)
{
	size_t n = line.n;
	if (n > MOST_LINE)
		for (n = MOST_LINE; n > 1 && ((unsigned char)line.at[n] & 0xc0) == 0x80;)
			n--;
	buf_putc(out, sign);
	buf_putn(out, line.at, n);
	buf_puts(out, n < line.n ? "…\n" : "\n");
}

static void put_hunk(const struct golden_test *t, const struct golden_lines *output,
                     const struct golden_edits *e, struct place *p, uint32_t end, struct buf *out)
{
	struct place stop = *p;
	while (stop.k < end)
		step_place(e, &stop);
	buf_puts(out, "@@ ");
	put_range(out, '-', p->i, stop.i - p->i);
	buf_putc(out, ' ');
	put_range(out, '+', p->j, stop.j - p->j);
	buf_puts(out, " @@\n");
	for (; p->k < end && out->n < MOST_DIFF; step_place(e, p))
		if (e->edits.kind.at[p->k] == EDIT_INSERT)
			put_line(out, '+', output->at.at[p->j]);
		else
			put_line(out, e->edits.kind.at[p->k] == EDIT_KEEP ? ' ' : '-', t->expected.at[p->i]);
}

void golden_put_diff(const struct golden_test *t, const struct golden_lines *output,
                     const struct golden_edits *e, struct buf *out)
{
	struct place p = {0};
	if (e->edits.different)
		buf_puts(out, "--- expected\n+++ output\n");
	for (uint32_t k = 0; k < e->edits.kind.n; k++) {
		if (e->edits.kind.at[k] == EDIT_KEEP)
			continue;
		uint32_t end = hunk_end(e, k);
		while (p.k + AROUND < k)
			step_place(e, &p);
		put_hunk(t, output, e, &p, end, out);
		if (p.k < end) {
			buf_puts(out, "@@ the rest is left out @@\n");
			return;
		}
		k = end - 1;
	}
}

static void put_commented(struct buf *out, const char *comment, struct golden_line line)
{
	buf_puts(out, comment);
	if (line.n)
		buf_putc(out, ' ');
	buf_putn(out, line.at, line.n);
	buf_putc(out, '\n');
}

static bool has_directive(const struct golden_test *t, struct golden_line line, const char *word)
{
	size_t n = strlen(t->comment) + 1, length = strlen(word);
	return line.n >= n + length && !memcmp(line.at + n, word, length);
}

void golden_put_updated(const struct golden_test *t, const struct golden_lines *output,
                        const struct golden_edits *e, int exit_code, struct buf *out)
{
	uint32_t runs = 0;
	for (uint32_t i = 0; i < t->head; i++) {
		struct golden_line line = t->line.at[i];
		if (has_directive(t, line, "EXIT:"))
			continue;
		buf_putn(out, line.at, line.n);
		buf_putc(out, '\n');
		runs += has_directive(t, line, "RUN:");
		if (exit_code && runs == t->run.n && has_directive(t, line, "RUN:"))
			buf_printf(out, "%s EXIT: %d\n", t->comment, exit_code);
	}
	golden_test_put_body(t, out);
	buf_printf(out, "%s EXPECT:\n", t->comment);
	struct place p = {0};
	for (; p.k < e->edits.kind.n; step_place(e, &p))
		if (e->edits.kind.at[p.k] == EDIT_INSERT)
			put_commented(out, t->comment, output->at.at[p.j]);
		else if (e->edits.kind.at[p.k] == EDIT_KEEP)
			put_commented(out, t->comment, t->expected.at[p.i]);
}
