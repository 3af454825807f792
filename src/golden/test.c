/* test: see test.h. */
#include "golden/test.h"
#include "base/source.h"
#include "base/source_read.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const directive[] = {"RUN", "EXIT", "REQUIRES", "LABELS"};
enum { RUN, EXIT, REQUIRES, LABELS, DIRECTIVES };

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void cut_lines(struct golden_test *t)
{
	const char *at = t->source->text, *end = at + t->source->size;
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		const char *last = stop ? stop : end;
		uint32_t n = (uint32_t)(last - at);
		vec_push(&t->line, (struct golden_line){at, n && at[n - 1] == '\r' ? n - 1 : n});
		at = stop ? stop + 1 : end;
	}
}

/* Returns the text after the comment sign and a blank; at is NULL if the line is not a comment. */
static struct golden_line uncomment(const struct golden_test *t, struct golden_line line)
{
	size_t n = strlen(t->comment);
	if (line.n < n || memcmp(line.at, t->comment, n))
		return (struct golden_line){0};
	if (line.n == n)
		return (struct golden_line){line.at + n, 0};
	if (line.at[n] != ' ')
		return (struct golden_line){0};
	return (struct golden_line){line.at + n + 1, line.n - (uint32_t)n - 1};
}

/* Finds the directive of `WORD: value`, and its value without blanks around it; -1: none. */
static int split_directive(struct golden_line text, struct golden_line *value)
{
	for (int i = 0; i < DIRECTIVES; i++) {
		uint32_t n = (uint32_t)strlen(directive[i]);
		if (!text.at || text.n <= n || memcmp(text.at, directive[i], n) || text.at[n] != ':')
			continue;
		*value = (struct golden_line){text.at + n + 1, text.n - n - 1};
		while (value->n && is_blank(value->at[value->n - 1]))
			value->n--;
		for (; value->n && *value->at == ' '; value->n--)
			value->at++;
		return i;
	}
	return -1;
}

static uint32_t offset(const struct golden_test *t, const char *at)
{
	return (uint32_t)(at - t->source->text);
}

/* Reports a capitalised word with a colon that is nearly a directive, since it is probably misspelt. */
static bool check_spelling(struct diag *d, const struct golden_test *t, struct golden_line text)
{
	struct buf word = {0};
	uint32_t n = 0;
	while (n < text.n && text.at[n] >= 'A' && text.at[n] <= 'Z')
		n++;
	if (n < 2 || n == text.n || text.at[n] != ':')
		return true;
	buf_putn(&word, text.at, n);
	struct suggest s = suggest_start(word.at);
	for (int i = 0; i < DIRECTIVES; i++)
		suggest_try(&s, directive[i]);
	bool wrong = s.best && strcmp(word.at, "EXPECT") != 0;
	if (wrong) {
		diag_error_span(d, E_GOLDEN_FORM, offset(t, text.at), n, "unknown directive '%s'", word.at);
		diag_suggest(d, &s);
	}
	buf_free(&word);
	return !wrong;
}

static bool read_exit_code(struct diag *d, struct golden_test *t, struct golden_line value)
{
	int code = 0;
	bool ok = value.n > 0 && value.n <= 3;
	for (uint32_t i = 0; ok && i < value.n; i++) {
		ok = value.at[i] >= '0' && value.at[i] <= '9';
		code = code * 10 + (value.at[i] - '0');
	}
	if (ok && code <= 255) {
		t->exit_code = code;
		return true;
	}
	diag_error_span(d, E_GOLDEN_FORM, offset(t, value.at), value.n,
	                "EXIT takes an exit code from 0 to 255");
	return false;
}

static void read_words(struct golden_test *t, struct golden_line value)
{
	for (uint32_t i = 0, start = 0; i <= value.n; i++) {
		if (i < value.n && !is_blank(value.at[i]) && value.at[i] != ',')
			continue;
		if (i > start)
			vec_push(&t->needed, (struct golden_line){value.at + start, i - start});
		start = i + 1;
	}
}

static bool read_head(struct diag *d, struct golden_test *t)
{
	struct golden_line value;
	for (; t->head < t->line.n; t->head++) {
		struct golden_line text = uncomment(t, t->line.at[t->head]);
		int which = split_directive(text, &value);
		if (which < 0)
			return check_spelling(d, t, text);
		if (which == RUN && !value.n) {
			diag_error(d, E_GOLDEN_FORM, offset(t, text.at), "RUN: has no command");
			return false;
		}
		if (which == RUN)
			vec_push(&t->run, value);
		else if (which == EXIT && !read_exit_code(d, t, value))
			return false;
		else if (which == REQUIRES)
			read_words(t, value);
	}
	return true;
}

static bool is_expect(const struct golden_test *t, struct golden_line line)
{
	struct golden_line text = uncomment(t, line);
	while (text.n && is_blank(text.at[text.n - 1]))
		text.n--;
	return text.at && text.n == 7 && !memcmp(text.at, "EXPECT:", 7);
}

static bool read_expected(struct diag *d, struct golden_test *t)
{
	for (t->expect = t->head; t->expect < t->line.n; t->expect++)
		if (is_expect(t, t->line.at[t->expect]))
			break;
	for (uint32_t i = t->expect + 1; i < t->line.n; i++) {
		struct golden_line text = uncomment(t, t->line.at[i]);
		if (!text.at) {
			diag_error(d, E_GOLDEN_FORM, offset(t, t->line.at[i].at),
			           "only lines that start with `%s ` may follow `%s EXPECT:`", t->comment,
			           t->comment);
			diag_note(d, DIAG_NOWHERE,
			          "the program stands before `%s EXPECT:`; `hirc test --update` writes the "
			          "lines after it",
			          t->comment);
			return false;
		}
		vec_push(&t->expected, text);
	}
	return true;
}

static bool read_lines(struct diag *d, struct golden_test *t)
{
	static const char mark[] = "\xef\xbb\xbf";
	if (t->source->size >= 3 && !memcmp(t->source->text, mark, 3)) {
		diag_error(d, E_GOLDEN_FORM, 0, "a test begins with `# RUN:`, not with a mark of byte order");
		diag_note(d, DIAG_NOWHERE, "save it without one (BOM)");
		return false;
	}
	t->comment = t->source->size >= 2 && !memcmp(t->source->text, "//", 2) ? "//" : "#";
	cut_lines(t);
	struct golden_line value;
	if (!t->line.n || split_directive(uncomment(t, t->line.at[0]), &value) != RUN) {
		diag_error(d, E_GOLDEN_FORM, 0,
		           "the first line is not `# RUN: COMMAND` or `// RUN: COMMAND`");
		diag_note(d, DIAG_NOWHERE,
		          "write there the command that makes the output, as in `# RUN: hirc compile %%s "
		          "--dump`; `hirc "
		          "test --update` adds the output");
		return false;
	}
	return read_head(d, t) && read_expected(d, t);
}

bool golden_test_read(struct diag *d, const char *path, struct golden_test *out)
{
	struct golden_test t = {0};
	if (source_read(d, path, &t.source) != STATUS_OK)
		return false;
	struct source *outer = diag_set_source(d, t.source);
	bool ok = t.source->size <= GOLDEN_MOST_BYTES;
	if (!ok)
		diag_error(d, E_FILE_TOO_LARGE, DIAG_NOWHERE, "'%s' has more than %d MiB, which is no test",
		           path, GOLDEN_MOST_BYTES >> 20);
	ok = ok && read_lines(d, &t);
	diag_set_source(d, outer);
	if (ok)
		*out = t;
	else
		golden_test_free(&t);
	return ok;
}

void golden_test_free(struct golden_test *t)
{
	vec_free(&t->line);
	vec_free(&t->run);
	vec_free(&t->needed);
	vec_free(&t->expected);
	source_free(t->source);
	*t = (struct golden_test){0};
}

void golden_test_put_body(const struct golden_test *t, struct buf *out)
{
	for (uint32_t i = t->head; i < t->expect; i++) {
		buf_putn(out, t->line.at[i].at, t->line.at[i].n);
		buf_putc(out, '\n');
	}
}

bool golden_test_is(const char *path)
{
	static const char mark[] = "\xef\xbb\xbf"; /* byte order mark */
	char start[sizeof mark - 1 + 7], *from = start;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, start, sizeof start);
	close(fd);
	if (n >= 3 && !memcmp(start, mark, 3)) {
		from += 3;
		n -= 3;
	}
	return (n >= 6 && !memcmp(from, "# RUN:", 6)) || (n >= 7 && !memcmp(from, "// RUN:", 7));
}
