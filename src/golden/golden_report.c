/* golden_report: see golden_report.h. */
#include "golden/golden_report.h"
#include "base/json_put.h"
#include "base/source.h"
#include "base/utf8.h"
#include <inttypes.h>
#include <string.h>

static const char *const outcome[] = {"passed", "FAILED", "skipped", "updated"};

enum { RED = 31, GREEN = 32, YELLOW = 33, CYAN = 36 };

static void put_colored(struct buf *out, int color, const char *at, size_t n)
{
	buf_printf(out, "\033[%dm", color);
	buf_putn(out, at, n);
	buf_puts(out, "\033[0m");
}

static void put_diff(struct buf *out, const struct buf *diff, bool color)
{
	if (!color) {
		buf_putn(out, diff->at, diff->n);
		return;
	}
	for (const char *at = diff->at, *end = at + diff->n; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		int which = *at == '-' ? RED : *at == '+' ? GREEN : *at == '@' ? CYAN : 0;
		if (which)
			put_colored(out, which, at, (size_t)(stop - at));
		else
			buf_putn(out, at, (size_t)(stop - at));
		buf_putc(out, '\n');
		at = stop + 1;
	}
}

void golden_put_result(struct buf *out, const char *path, const struct golden_result *r, bool color)
{
	static const int colors[] = {GREEN, RED, YELLOW, CYAN};
	const char *word = outcome[r->outcome];
	if (color)
		put_colored(out, colors[r->outcome], word, strlen(word));
	else
		buf_puts(out, word);
	buf_printf(out, ": %s%s", path, r->outcome == GOLDEN_SKIPPED ? ": " : "\n");
	if (r->diff.n)
		put_diff(out, &r->diff, color);
	if (r->words.n)
		buf_putn(out, r->words.at, r->words.n);
}

/* ---- TAP */

/* Puts the text up to the end of its first line. */
static void put_first_line(struct buf *out, const struct buf *words)
{
	if (words->n)
		buf_putn(out, words->at, strcspn(words->at, "\n"));
}

static void put_indented(struct buf *out, const char *key, const struct buf *text)
{
	if (!text->n)
		return;
	buf_printf(out, "  %s: |\n", key);
	for (const char *at = text->at; *at;) {
		size_t n = strcspn(at, "\n");
		buf_puts(out, "    ");
		buf_putn(out, at, n);
		buf_putc(out, '\n');
		at += n + (at[n] == '\n');
	}
}

/* Puts a name, with each `#` escaped, so that it begins no directive. */
static void put_tap_name(struct buf *out, const char *path)
{
	for (; *path; path++) {
		if (*path == '#' || *path == '\\')
			buf_putc(out, '\\');
		buf_putc(out, *path == '\n' ? ' ' : *path);
	}
}

void golden_put_tap(struct buf *out, uint32_t number, const char *path, const struct golden_result *r)
{
	buf_printf(out, "%s %" PRIu32 " - ", r->outcome == GOLDEN_FAILED ? "not ok" : "ok", number);
	put_tap_name(out, path);
	if (r->outcome == GOLDEN_SKIPPED) {
		buf_puts(out, " # SKIP ");
		put_first_line(out, &r->words);
	}
	buf_putc(out, '\n');
	if (r->outcome != GOLDEN_FAILED)
		return;
	buf_puts(out, "  ---\n");
	put_indented(out, "message", &r->words);
	put_indented(out, "diff", &r->diff);
	buf_puts(out, "  ...\n");
}

/* ---- JUnit */

/* Puts text or a value for XML. Characters that XML does not allow, most control characters, become
 * U+FFFD. */
static void put_xml(struct buf *out, const char *at, size_t n)
{
	for (size_t i = 0; i < n;) {
		unsigned length = utf8_length(at + i, n - i);
		unsigned char c = (unsigned char)at[i];
		bool other = !length || (c < ' ' && c != '\n' && c != '\t') ||
		             (length == 3 && c == 0xef && (unsigned char)at[i + 1] == 0xbf &&
		              (unsigned char)at[i + 2] >= 0xbe);
		if (other)
			buf_puts(out, "\xef\xbf\xbd");
		else if (c == '&')
			buf_puts(out, "&amp;");
		else if (c == '<')
			buf_puts(out, "&lt;");
		else if (c == '>')
			buf_puts(out, "&gt;");
		else if (c == '"')
			buf_puts(out, "&quot;");
		else
			buf_putn(out, at + i, length);
		i += length ? length : 1;
	}
}

static void put_seconds(struct buf *out, int64_t ns)
{
	buf_printf(out, "%" PRId64 ".%03d", ns / 1000000000, (int)(ns / 1000000 % 1000));
}

void golden_put_junit_case(struct buf *out, const char *path, const struct golden_result *r)
{
	const char *slash = strrchr(path, '/');
	buf_puts(out, "    <testcase classname=\"");
	put_xml(out, slash ? path : ".", slash ? (size_t)(slash - path) : 1);
	buf_puts(out, "\" name=\"");
	put_xml(out, slash ? slash + 1 : path, strlen(slash ? slash + 1 : path));
	buf_puts(out, "\" file=\"");
	put_xml(out, path, strlen(path));
	buf_puts(out, "\" time=\"");
	put_seconds(out, r->ns);
	if (r->outcome != GOLDEN_FAILED && r->outcome != GOLDEN_SKIPPED) {
		buf_puts(out, "\"/>\n");
		return;
	}
	const char *first = r->words.n ? r->words.at : "the output is not as expected";
	buf_printf(out, "\">\n      <%s message=\"", r->outcome == GOLDEN_FAILED ? "failure" : "skipped");
	put_xml(out, first, strcspn(first, "\n"));
	if (r->outcome == GOLDEN_SKIPPED) {
		buf_puts(out, "\"/>\n");
	} else {
		buf_puts(out, "\">");
		put_xml(out, r->diff.at, r->diff.n);
		put_xml(out, r->words.at, r->words.n);
		buf_puts(out, "</failure>\n");
	}
	buf_puts(out, "    </testcase>\n");
}

static void put_suite(struct buf *out, const char *word, const struct golden_counts *c)
{
	uint32_t all = 0;
	for (unsigned i = 0; i < 4; i++)
		all += c->n[i];
	buf_printf(out,
	           "<%s name=\"hirc test\" tests=\"%" PRIu32 "\" failures=\"%" PRIu32
	           "\" errors=\"0\" skipped=\"%" PRIu32 "\" time=\"",
	           word, all, c->n[GOLDEN_FAILED], c->n[GOLDEN_SKIPPED]);
	put_seconds(out, c->ns);
	buf_puts(out, "\">\n");
}

void golden_put_junit(struct buf *out, const struct buf *cases, const struct golden_counts *c)
{
	buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	put_suite(out, "testsuites", c);
	buf_puts(out, "  ");
	put_suite(out, "testsuite", c);
	if (cases->n)
		buf_putn(out, cases->at, cases->n);
	buf_puts(out, "  </testsuite>\n</testsuites>\n");
}

/* ---- JSON */

enum { JSON_VERSION = 1 };

struct table golden_table_open(void)
{
	static const struct table_column column[] = {{.name = "path"},
	                                             {.name = "outcome"},
	                                             {.name = "seconds", .exact = 3},
	                                             {.name = "message"},
	                                             {.name = "diff"}};
	return table_open(TABLE_JSON, column, sizeof column / sizeof *column);
}

void golden_add_row(struct table *t, const char *path, const struct golden_result *r)
{
	static const char *const word[] = {"passed", "failed", "skipped", "updated"};
	table_add_text(t, path);
	table_add_text(t, word[r->outcome]);
	table_add_number(t, (double)r->ns / 1e9);
	table_add_text(t, r->words.n ? r->words.at : NULL);
	table_add_text(t, r->diff.n ? r->diff.at : NULL);
}

void golden_put_json(struct buf *out, struct table *t, const struct golden_counts *c)
{
	json_put_start(out, JSON_VERSION, "test");
	json_put_int(out, "passed", c->n[GOLDEN_PASSED]);
	json_put_int(out, "failed", c->n[GOLDEN_FAILED]);
	json_put_int(out, "skipped", c->n[GOLDEN_SKIPPED]);
	json_put_int(out, "updated", c->n[GOLDEN_UPDATED]);
	buf_puts(out, ",\n\"tests\": ");
	table_put(t, out);
	buf_puts(out, "}\n");
}

/* ---- counts */

void golden_count(struct golden_counts *c, const struct golden_result *r)
{
	c->n[r->outcome]++;
	c->ns += r->ns;
}

void golden_put_closing(struct buf *out, const struct golden_counts *c)
{
	uint32_t ran = c->n[GOLDEN_PASSED] + c->n[GOLDEN_UPDATED] + c->n[GOLDEN_FAILED];
	uint32_t failed = c->n[GOLDEN_FAILED];
	/* rounded as in ctest: 100% only if none failed */
	uint64_t percent = ran ? ((uint64_t)(ran - failed) * 200 + ran) / (2 * (uint64_t)ran) : 100;
	if (percent == 100 && failed)
		percent = 99;
	buf_printf(out, "%d%% tests passed, %" PRIu32 " tests failed out of %" PRIu32, (int)percent, failed,
	           ran);
	if (c->n[GOLDEN_SKIPPED])
		buf_printf(out, ", %" PRIu32 " skipped", c->n[GOLDEN_SKIPPED]);
	if (c->n[GOLDEN_UPDATED])
		buf_printf(out, ", %" PRIu32 " updated", c->n[GOLDEN_UPDATED]);
	buf_putc(out, '\n');
}
