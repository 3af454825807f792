/* compare: which expected lines match which output lines.
 *
 * The fewest edits are found by Myers' algorithm: v[k] is how far along the expected lines d edits come on
 * diagonal k = expected - output; all v are kept to go back. Texts that need more than MOST_EDITS are taken
 * for different as a whole between their common beginning and end. */
#include "golden/compare.h"
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_EDITS = 1500 }; /* 9 MB of v */

enum { PLAIN, PATTERN, BROKEN }; /* what is known of an expected line */

struct matcher {
	const struct golden_test *test;
	const struct golden_lines *output;
	struct pattern {
		bool read;
		uint8_t kind;
		regex_t compiled; /* PATTERN */
		int error;        /* BROKEN: of regcomp */
	} * pattern;              /* by expected line */
	struct buf subject;       /* an output line with a NUL after it */
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

/* The first two c in a row, from a byte on. */
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

/* The line as one regular expression; false: it holds none. */
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

static bool match(struct matcher *m, uint32_t i, uint32_t j)
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

/* Why an expression never matches, unless it looks like one of the program's own lists: `{{0 1}{2 3}}`. */
static void explain(const struct matcher *m, uint32_t i, struct buf *out)
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

struct trace {
	VEC(int32_t) far; /* v of 0, 1, 2, … edits: 1, 3, 5, … numbers */
};

/* v of d edits, by diagonal -d … d. */
static int32_t *row(struct trace *t, int32_t d)
{
	return t->far.at + (size_t)d * (size_t)d + d;
}

/* Whether the last of d edits on diagonal k inserts; v is that of d - 1 edits. */
static bool inserts(const int32_t *v, int32_t d, int32_t k)
{
	return k == -d || (k != d && v[k - 1] < v[k + 1]);
}

/* The edits, last one first, of n expected and m output lines, which take d that are not GOLDEN_KEEP. */
static uint32_t go_back(struct trace *t, int32_t d, int32_t n, int32_t m, uint8_t *kind)
{
	int32_t x = n, y = m;
	uint32_t count = 0;
	for (; d > 0; d--) {
		const int32_t *v = row(t, d - 1);
		bool insert = inserts(v, d, x - y);
		int32_t before = insert ? x - y + 1 : x - y - 1, start = v[before];
		for (; x > start + !insert; x--)
			kind[count++] = GOLDEN_KEEP;
		kind[count++] = insert ? GOLDEN_INSERT : GOLDEN_DELETE;
		x = start;
		y = start - before;
	}
	for (; x > 0; x--)
		kind[count++] = GOLDEN_KEEP;
	return count;
}

static void turn(uint8_t *kind, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint8_t other = kind[i];
		kind[i] = kind[n - 1 - i];
		kind[n - 1 - i] = other;
	}
}

/* The edits of n expected and m output lines, both from `from` on, in `kind`, which has room for n + m.
 * Returns how many; 0: too many, or none are needed. */
static uint32_t find_edits(struct matcher *c, uint32_t from, int32_t n, int32_t m, uint8_t *kind)
{
	struct trace t = {0};
	uint32_t edits = 0;
	bool found = false;
	for (int32_t d = 0; d <= MOST_EDITS && !found; d++) {
		vec_reserve(&t.far, (d + 1) * (d + 1));
		const int32_t *before = d ? row(&t, d - 1) : NULL;
		int32_t *v = row(&t, d);
		for (int32_t k = -d; k <= d && !found; k += 2) {
			int32_t x = !d ? 0 : inserts(before, d, k) ? before[k + 1] : before[k - 1] + 1;
			while (x < n && x - k < m && match(c, from + (uint32_t)x, from + (uint32_t)(x - k)))
				x++;
			v[k] = x;
			found = x >= n && x - k >= m;
		}
		if (found)
			edits = go_back(&t, d, n, m, kind);
	}
	turn(kind, edits);
	vec_free(&t.far);
	return edits;
}

static void push(struct golden_edits *e, enum golden_edit_kind kind, uint32_t times)
{
	for (uint32_t i = 0; i < times; i++)
		vec_push(&e->kind, (uint8_t)kind);
	e->different += kind == GOLDEN_KEEP ? 0 : times;
}

void golden_compare(const struct golden_test *t, const struct golden_lines *output, struct golden_edits *out)
{
	struct matcher c = {.test = t, .output = output};
	uint32_t n = t->expected.n, m = output->at.n, begin = 0, end = 0;
	c.pattern = mem_zalloc(sizeof *c.pattern * (n + 1));
	while (begin < n && begin < m && match(&c, begin, begin))
		begin++;
	while (end < n - begin && end < m - begin && match(&c, n - 1 - end, m - 1 - end))
		end++;
	n -= begin + end;
	m -= begin + end;
	uint8_t *kind = mem_alloc((size_t)n + m + 1);
	push(out, GOLDEN_KEEP, begin);
	uint32_t edits = n && m ? find_edits(&c, begin, (int32_t)n, (int32_t)m, kind) : 0;
	for (uint32_t i = 0; i < edits; i++)
		push(out, kind[i], 1);
	if (!edits) {
		push(out, GOLDEN_DELETE, n);
		push(out, GOLDEN_INSERT, m);
	}
	push(out, GOLDEN_KEEP, end);
	for (uint32_t k = 0, i = 0; k < out->kind.n; k++) {
		if (out->kind.at[k] == GOLDEN_DELETE)
			explain(&c, i, &out->note);
		i += out->kind.at[k] != GOLDEN_INSERT;
	}
	for (uint32_t i = 0; i < t->expected.n; i++)
		if (c.pattern[i].kind == PATTERN)
			regfree(&c.pattern[i].compiled);
	free(c.pattern);
	free(kind);
	buf_free(&c.subject);
}

void golden_edits_free(struct golden_edits *e)
{
	vec_free(&e->kind);
	buf_free(&e->note);
}
