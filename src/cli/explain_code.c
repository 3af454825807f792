/* explain_code: the text of `hirc explain E0203`.
 *
 * Example and fix come from the test tests/diag/E0203.hir. */
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

/* Returns the value of a text of digits; too many digits give a number larger than any code. */
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

/* Puts words in lines of WIDTH columns. */
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

/* Puts lines, indented. */
static void put_lines(struct buf *out, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		buf_puts(out, n ? "  " : "");
		buf_putn(out, text, n);
		buf_putc(out, '\n');
		text += n + (text[n] == '\n');
	}
}

/* Puts a fix: changed lines, or a sentence. */
static void put_fix(struct buf *out, const char *fix)
{
	buf_puts(out, "\nFix:\n\n");
	if (strchr("-+ ", *fix))
		put_lines(out, fix);
	else
		put_sentences(out, fix);
}

bool explain_code(const char *word, struct buf *out)
{
	const struct diagnostic_info *x = find_diagnostic(word);
	if (!x)
		return false;
	buf_printf(out, "%s: %s\n\n", x->number, x->title);
	put_sentences(out, x->text);
	if (x->example) {
		buf_printf(out, "\nExample: %s\n", x->example->command);
		if (*x->example->files)
			buf_putc(out, '\n');
		put_lines(out, x->example->files);
	} else {
		buf_puts(out, "\nNo example: ");
		put_sentences(out, x->reason);
	}
	put_fix(out, x->example ? x->example->fix : x->fix);
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
		put_json(out, "command", x->example ? x->example->command : NULL);
		put_json(out, "example", x->example ? x->example->files : NULL);
		put_json(out, "fix", x->example ? x->example->fix : x->fix);
		buf_putc(out, '}');
	}
	buf_puts(out, "\n]\n");
}
