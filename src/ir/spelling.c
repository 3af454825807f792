/* spelling: keywords are those of the lexer (keywords.def). */
#include "ir/spelling.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keywords[] = {
#define KEYWORD(token, text, lead) text,
#include "base/keywords.def"
};

static bool is_identifier(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_')
			return false;
	return true;
}

bool spelling_is_plain(const char *name)
{
	for (unsigned i = 0; i < sizeof keywords / sizeof *keywords; i++)
		if (!strcmp(keywords[i], name))
			return false;
	return is_identifier(name);
}

static void put(struct buf *out, const char *name, bool plain)
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
	put(out, name, spelling_is_plain(name));
}

void spelling_put_attr_name(struct buf *out, const char *name)
{
	put(out, name, is_identifier(name));
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
	} else if (!point && e) { /* 1e+20 → 1.0e20 */
		buf_putn(out, text, (size_t)(e - text));
		buf_printf(out, ".0e%d", atoi(e + 1));
	} else if (e) {
		buf_putn(out, text, (size_t)(e - text));
		buf_printf(out, "e%d", atoi(e + 1));
	} else {
		buf_puts(out, text);
	}
}
