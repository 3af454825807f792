/* golden_compare: finds which expected lines match which output lines. */
#include "golden/golden_compare.h"
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN, PATTERN, BROKEN }; /* kinds of an expected line */

struct matcher {
	const struct golden_test *test;
	const struct golden_lines *output;
	struct pattern {
		bool read;
		uint8_t kind;
		regex_t compiled; /* PATTERN */
		int error;        /* BROKEN: the error of regcomp */
	} * pattern;              /* by expected line */
	struct buf subject;       /* an output line followed by a NUL */
};

void golden_lines_cut(const char *text, size_t n, struct golden_lines *out)
{
	for (const char *at = text, *end = text + n; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		vec_push(&out->at, (struct golden_line){at, (uint32_t)(stop - at)});
		at = stop + 1;
	}
}

/* ---- one line */

/* Returns the first two characters c in a row, from a byte on. */
static const char *find2(struct golden_line line, uint32_t from, char c)
{
	for (uint32_t i = from; i + 1 < line.n; i++)
		if (line.at[i] == c && line.at[i + 1] == c)
			return line.at + i;
	return NULL;
}

static void put_literal(struct buf *out, const char *at, const char *end)
{
	for (; at < end; at++) {
		if (strchr("\\^$.[]|()*+?{}", *at))
			buf_putc(out, '\\');
		buf_putc(out, *at);
	}
}

/* Makes one regular expression of a line. Returns false if the line has no expression. */
static bool make_pattern(struct golden_line line, struct buf *out)
{
	uint32_t from = 0;
	bool any = false;
	buf_putc(out, '^');
	for (const char *open, *close; (open = find2(line, from, '{')); any = true) {
		close = find2(line, (uint32_t)(open - line.at) + 2, '}');
		if (!close)
			break;
		put_literal(out, line.at + from, open);
		buf_putc(out, '(');
		buf_putn(out, open + 2, (size_t)(close - open - 2));
		buf_putc(out, ')');
		from = (uint32_t)(close + 2 - line.at);
	}
	put_literal(out, line.at + from, line.at + line.n);
	buf_putc(out, '$');
	return any;
}

static struct pattern *pattern_of(struct matcher *m, uint32_t i)
{
	struct pattern *p = &m->pattern[i];
	struct buf text = {0};
	if (p->read)
		return p;
	p->read = true;
	if (find2(m->test->expected.at[i], 0, '{') && make_pattern(m->test->expected.at[i], &text)) {
		p->error = regcomp(&p->compiled, text.at, REG_EXTENDED | REG_NOSUB);
		p->kind = p->error ? BROKEN : PATTERN;
	}
	buf_free(&text);
	return p;
}

static bool match_line(struct matcher *m, uint32_t i, uint32_t j)
{
	struct golden_line a = m->test->expected.at[i], b = m->output->at.at[j];
	if (a.n == b.n && !memcmp(a.at, b.at, a.n))
		return true;
	struct pattern *p = pattern_of(m, i);
	if (p->kind != PATTERN)
		return false;
	m->subject.n = 0;
	buf_putn(&m->subject, b.at, b.n);
	return regexec(&p->compiled, m->subject.at, 0, NULL, 0) == 0;
}

/* Explains why an expression never matches. Says nothing if it looks like a list of the program itself: `{{0
 * 1}{2 3}}`. */
static void explain_pattern(const struct matcher *m, uint32_t i, struct buf *out)
{
	const struct pattern *p = &m->pattern[i];
	struct golden_line line = m->test->expected.at[i];
	bool list = true;
	char text[128];
	if (!p->read || p->kind != BROKEN)
		return;
	const char *open = find2(line, 0, '{');
	for (const char *c = open; list && c < find2(line, (uint32_t)(open - line.at) + 2, '}'); c++)
		list = strchr("0123456789{} ,.", *c) != NULL;
	if (list)
		return;
	regerror(p->error, &p->compiled, text, sizeof text);
	buf_printf(out, "%s:%u: error: the regular expression in this line: %s\n", m->test->source->name,
	           m->test->expect + 2 + i, text);
}

/* ---- all lines */

static bool is_same_line(void *matcher, uint32_t i, uint32_t j)
{
	return match_line(matcher, i, j);
}

void golden_compare(const struct golden_test *t, const struct golden_lines *output, struct golden_edits *out)
{
	struct matcher c = {.test = t, .output = output};
	uint32_t n = t->expected.n;
	c.pattern = mem_zalloc(sizeof *c.pattern * (n + 1));
	edits_find(n, output->at.n, is_same_line, &c, &out->edits);
	for (uint32_t k = 0, i = 0; k < out->edits.kind.n; k++) {
		if (out->edits.kind.at[k] == EDIT_DELETE)
			explain_pattern(&c, i, &out->note);
		i += out->edits.kind.at[k] != EDIT_INSERT;
	}
	for (uint32_t i = 0; i < t->expected.n; i++)
		if (c.pattern[i].kind == PATTERN)
			regfree(&c.pattern[i].compiled);
	free(c.pattern);
	buf_free(&c.subject);
}

void golden_edits_free(struct golden_edits *e)
{
	edits_free(&e->edits);
	buf_free(&e->note);
}
