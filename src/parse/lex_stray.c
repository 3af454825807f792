/* lex_stray: refuses characters that no token begins with, and comments as other systems write them. */
#include "base/word.h"
#include "hir_parser.h"
#include "parse/lex_token.h"
#include "parse/log_lines.h"
#include "parse/lookalike.h"
#include "parse/other_names.h"
#include <stdio.h>
#include <string.h>

void lex_report(struct parser *p, enum diagnostic code, struct parse_span at, const char *what,
                const char *detail)
{
	if (!p->panic)
		diag_error_span(p->diag, code, at.at, at.end - at.at, "%s%s", what, detail);
}

/* Adds a note about a point in a name or number. */
static void note_points(struct parser *p, const unsigned char *point)
{
	char first[64], last[64];
	const unsigned char *begin = point, *end = point + 1, *dot = point;
	if (begin > p->text && begin[-1] == '.') {
		other_name_note(p->diag, OTHER_SIGN, "...");
		return;
	}
	while (begin > p->text && (word_has(begin[-1]) || begin[-1] == '.'))
		begin--;
	if (lex_is_digit(*begin) || (begin == point && lex_is_digit(*end))) {
		other_name_note(p->diag, OTHER_SIGN, ".5");
		return;
	}
	for (; word_has(*end) || (*end == '.' && word_has(end[1])); end++)
		dot = *end == '.' ? end : dot;
	if (begin == point || end == point + 1)
		return;
	snprintf(first, sizeof first, "%.*s", (int)strcspn((const char *)begin, "."), (const char *)begin);
	snprintf(last, sizeof last, "%.*s", (int)(end - dot - 1), (const char *)dot + 1);
	other_name_note_points(p->diag, first, last);
}

void lex_refuse_comment(struct parser *p, const unsigned char *start, const char *sign)
{
	if (p->told_comment || p->panic)
		return;
	p->told_comment = true;
	diag_error_span(p->diag, E_UNEXPECTED, (uint32_t)(start - p->text), 2, "unexpected '%s'", sign);
	if (!log_lines_note(p, (uint32_t)(start - p->text)))
		other_name_note(p->diag, OTHER_SIGN, sign);
}

int lex_take_stray(struct parser *p, const unsigned char *start, struct parse_token *out)
{
	const unsigned char *c = start + 1;
	while (c < p->limit && (*c & 0xc0) == 0x80)
		c++;
	p->cursor = c;
	out->span.end = (uint32_t)(c - p->text);
	if (*start == '.' && p->mode == MODE_HIR) {
		lex_report(p, E_CHARACTER, out->span, "unexpected character ", "'.'");
		if (!p->panic)
			note_points(p, start);
		return TOK_HIR_error;
	}
	char text[32], plain[LOOKALIKE_BYTES];
	uint32_t code = lookalike_code(start, (size_t)(c - start));
	bool alike = lookalike(code, plain), unseen = alike && *plain == ' ';
	if (*start <= ' ' || *start == 0x7f)
		snprintf(text, sizeof text, "with code %u", *start);
	else if (c - start > 4)
		snprintf(text, sizeof text, "that is not UTF-8");
	else if (unseen)
		snprintf(text, sizeof text, "U+%04X", code);
	else
		snprintf(text, sizeof text, "'%.*s'", (int)(c - start), (const char *)start);
	lex_report(p, E_CHARACTER, out->span, "unexpected character ", text);
	if (unseen && !p->panic)
		diag_note(p->diag, DIAG_NOWHERE, "it is not seen: delete it, or write a plain blank");
	else if (alike && !p->panic)
		diag_note(p->diag, DIAG_NOWHERE, "this is U+%04X: write '%s'", code, plain);
	else if (c - start == 1 && !p->panic &&
	         !(p->mode == MODE_HIR && log_lines_note(p, (uint32_t)(start - p->text))))
		other_name_note(p->diag, OTHER_SIGN, (const char[]){(char)*start, '\0'});
	return TOK_HIR_error;
}
