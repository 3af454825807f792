/* spelling: prints names, strings and numbers. The keywords are those of the lexer (keywords.def). */
#include "ir/spelling.h"
#include "base/word.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keywords[] = {
#define KEYWORD(token, text, lead) text,
#include "base/keywords.def"
};

/* Returns the character classes that all characters have in common; 0 if one is in no identifier. */
static unsigned identifier_bits(const char *name)
{
	if (!word_starts_with(*name))
		return 0;
	unsigned all = WORD_MORE | WORD_LOWER;
	for (const char *p = name; *p; p++)
		all &= word_bits[(unsigned char)*p];
	return all;
}

static bool is_identifier(const char *name)
{
	return identifier_bits(name) != 0;
}

/* Returns true if the text is an identifier and no keyword. */
static bool is_plain(const char *name)
{
	unsigned bits = identifier_bits(name);
	for (unsigned i = 0; bits & WORD_LOWER && i < sizeof keywords / sizeof *keywords; i++)
		if (keywords[i][0] == name[0] && !strcmp(keywords[i], name))
			return false;
	return bits != 0;
}

static void put_spelling(struct buf *out, const char *name, bool plain)
{
	if (plain) {
		buf_puts(out, name);
		return;
	}
	buf_putc(out, '`');
	buf_puts(out, name);
	buf_putc(out, '`');
}

void spelling_put_name(struct buf *out, const char *name)
{
	put_spelling(out, name, is_plain(name));
}

void spelling_put_attr_name(struct buf *out, const char *name)
{
	put_spelling(out, name, is_identifier(name));
}

void spelling_put_string(struct buf *out, const char *text)
{
	buf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '\n')
			buf_puts(out, "\\n");
		else if (*text == '\t')
			buf_puts(out, "\\t");
		else {
			if (*text == '"' || *text == '\\')
				buf_putc(out, '\\');
			buf_putc(out, *text);
		}
	}
	buf_putc(out, '"');
}

void spelling_put_double(struct buf *out, double v)
{
	char text[40];
	if (!isfinite(v)) {
		buf_puts(out, isnan(v) ? "nan" : v < 0 ? "-inf" : "inf");
		return;
	}
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	char *e = strchr(text, 'e');
	bool point = strchr(text, '.') != NULL;
	if (!point && !e) {
		strcat(text, ".0");
		buf_puts(out, text);
	} else if (!point && e) { /* 1e+20 becomes 1.0e20 */
		buf_putn(out, text, (size_t)(e - text));
		buf_printf(out, ".0e%d", atoi(e + 1));
	} else if (e) {
		buf_putn(out, text, (size_t)(e - text));
		buf_printf(out, "e%d", atoi(e + 1));
	} else {
		buf_puts(out, text);
	}
}
