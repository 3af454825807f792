/* explain_code: the text of `hirc explain E0203`.
 *
 * The fix is shown as the lines of the example that change, before and after. */
#include "cli/explain_code.h"
#include "base/diagnostics.h"
#include "base/json_put.h"
#include <ctype.h>
#include <stdlib.h>

enum { WIDTH = 78 };

static const char *digits_of(const char *word)
{
	return word + (toupper((unsigned char)*word) == 'E' || toupper((unsigned char)*word) == 'W');
}

bool explain_is_code(const char *word)
{
	const char *digits = digits_of(word);
	size_t n = strspn(digits, "0123456789");
	return n > 0 && !digits[n];
}

/* Returns the number of digits as text; one with more digits than any number is larger than all. */
static long number_of(const char *digits)
{
	return strlen(digits) <= 9 ? strtol(digits, NULL, 10) : 1000000000;
}

static const struct diagnostic_info *find_diagnostic(const char *word)
{
	const char *digits = digits_of(word);
	for (unsigned k = 0; k < DIAGNOSTIC_COUNT; k++) {
		const struct diagnostic_info *x = &diagnostic_info[k];
		bool same_letter = digits == word || toupper((unsigned char)*word) == x->number[0];
		if (same_letter && number_of(digits) == number_of(x->number + 1))
			return x;
	}
	return NULL;
}

const char *explain_code_nearest(const char *word)
{
	long wanted = number_of(digits_of(word)), least = 0;
	const char *nearest = NULL;
	for (unsigned k = 0; k < DIAGNOSTIC_COUNT; k++) {
		long distance = labs(number_of(diagnostic_info[k].number + 1) - wanted);
		if (!nearest || distance < least) {
			nearest = diagnostic_info[k].number;
			least = distance;
		}
	}
	return nearest;
}

/* Words in lines of WIDTH columns. */
static void put_sentences(struct buf *out, const char *text)
{
	size_t column = 0;
	while (*text) {
		size_t n = strcspn(text, " ");
		if (column && column + 1 + n > WIDTH) {
			buf_putc(out, '\n');
			column = 0;
		} else if (column) {
			buf_putc(out, ' ');
			column++;
		}
		buf_putn(out, text, n);
		column += n;
		text += n + (text[n] == ' ');
	}
	buf_putc(out, '\n');
}

/* Lines from one place to another, each after a word. */
static void put_lines(struct buf *out, const char *before, const char *from, const char *to)
{
	while (from < to) {
		const char *end = memchr(from, '\n', (size_t)(to - from));
		size_t n = (size_t)((end ? end : to) - from);
		buf_puts(out, n ? before : "");
		buf_putn(out, from, n);
		buf_putc(out, '\n');
		from += n + 1;
	}
}

struct lines {
	const char *from, *to;
};

/* Takes off the lines that two texts begin with alike. */
static void take_first(struct lines *a, struct lines *b)
{
	for (;;) {
		size_t n = strcspn(a->from, "\n") + 1;
		if (n > (size_t)(a->to - a->from) || n > (size_t)(b->to - b->from) ||
		    memcmp(a->from, b->from, n) != 0)
			return;
		a->from += n;
		b->from += n;
	}
}

static size_t last_length(const struct lines *x)
{
	const char *from = x->to;
	while (from > x->from && (from == x->to || from[-1] != '\n'))
		from--;
	return (size_t)(x->to - from);
}

/* Takes off the lines that they end with alike. */
static void take_last(struct lines *a, struct lines *b)
{
	for (size_t n; (n = last_length(a)) > 0 && n == last_length(b); a->to -= n, b->to -= n)
		if (memcmp(a->to - n, b->to - n, n) != 0)
			return;
}

/* The lines of text that hold was, and the same with fix in its place. Those before that stay have no sign.
 */
static void put_change(struct buf *out, const char *text, const char *at, const struct diagnostic_info *x)
{
	const char *from = at, *to = at + strlen(x->was);
	while (from > text && from[-1] != '\n')
		from--;
	while (*to && (to == text || to[-1] != '\n'))
		to++;
	struct buf now = {0};
	buf_putn(&now, from, (size_t)(at - from));
	buf_puts(&now, x->fix);
	buf_putn(&now, at + strlen(x->was), (size_t)(to - at) - strlen(x->was));
	struct lines before = {from, to}, after = {now.at, now.at + now.n};
	take_first(&before, &after);
	take_last(&before, &after);
	put_lines(out, "    ", from, before.from);
	put_lines(out, "  - ", before.from, before.to);
	put_lines(out, "  + ", after.from, after.to);
	put_lines(out, "    ", before.to, to);
	buf_free(&now);
}

static void put_fix(struct buf *out, const struct diagnostic_info *x)
{
	const char *in_command = x->was ? strstr(x->command, x->was) : NULL;
	buf_puts(out, "\nFix:\n\n");
	if (!x->was)
		put_sentences(out, x->fix);
	else if (in_command)
		put_change(out, x->command, in_command, x);
	else
		put_change(out, x->example, strstr(x->example, x->was), x);
}

bool explain_code(const char *word, struct buf *out)
{
	const struct diagnostic_info *x = find_diagnostic(word);
	if (!x)
		return false;
	buf_printf(out, "%s: %s\n\n", x->number, x->title);
	put_sentences(out, x->text);
	if (x->reason) {
		buf_puts(out, "\nNo example: ");
		put_sentences(out, x->reason);
	} else {
		buf_printf(out, "\nExample: %s\n", x->command);
		if (*x->example)
			buf_putc(out, '\n');
		put_lines(out, "  ", x->example, x->example + strlen(x->example));
	}
	put_fix(out, x);
	return true;
}

void explain_code_list(struct buf *out)
{
	for (unsigned k = 0; k < DIAGNOSTIC_COUNT; k++)
		buf_printf(out, "%s  %s\n", diagnostic_info[k].number, diagnostic_info[k].title);
}

static void put_json(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, ",\"%s\":", key);
	json_put_string(out, text);
}

void explain_code_json(struct buf *out)
{
	for (unsigned k = 0; k < DIAGNOSTIC_COUNT; k++) {
		const struct diagnostic_info *x = &diagnostic_info[k];
		buf_printf(out, "%s\n{\"number\":\"%s\"", k ? "," : "[", x->number);
		put_json(out, "name", x->name);
		put_json(out, "title", x->title);
		put_json(out, "text", x->text);
		put_json(out, "reason", x->reason);
		put_json(out, "command", x->command);
		put_json(out, "example", x->example);
		put_json(out, "was", x->was);
		put_json(out, "fix", x->fix);
		buf_putc(out, '}');
	}
	buf_puts(out, "\n]\n");
}
