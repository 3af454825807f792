/* parse_report: reports an unexpected token, the tokens that could stand in its place, and the
 * hirc form of text that other systems use.
 *
 *     error: unexpected name 'iner', expected ',' or ')'
 *
 * The list of possible tokens is shortened. All tokens that begin an expression become `an expression`. If
 * some tokens must follow, those that only may follow, such as operators, are dropped. A list of more than
 * four does not help and is not printed. */
#include "parse/parse_report.h"
#include "hir_parser.h"
#include "parse/lex.h"
#include "parse/log_lines.h"
#include "parse/other_names.h"
#include <string.h>

enum { MOST_EXPECTED = 4, MOST_TEXT = 40, TOKENS = 512 };

struct expected {
	bool has[TOKENS];      /* by token number - 256 */
	const char *phrase[3]; /* phrases for several tokens */
	unsigned phrases;
};

static bool has_token(const struct expected *e, int token)
{
	return token >= 256 && token < 256 + TOKENS && e->has[token - 256];
}

static void drop_tokens(struct expected *e, const int *token, size_t n)
{
	for (size_t i = 0; i < n; i++)
		e->has[token[i] - 256] = false;
}

static void drop_keywords(struct expected *e)
{
#define KEYWORD(token, text, lead) e->has[TOK_##token - 256] = false;
#include "base/keywords.def"
}

static bool is_keyword(int token)
{
	struct expected e = {0};
#define KEYWORD(name, text, lead) e.has[TOK_##name - 256] = true;
#include "base/keywords.def"
	return has_token(&e, token);
}

static bool any(const struct expected *e)
{
	return memchr(e->has, true, sizeof e->has);
}

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static void make_few(struct expected *e)
{
	static const int expression[] = {
	    TOK_NAME, TOK_INT,    TOK_FLOAT,  TOK_STRING, TOK_LPAREN, TOK_LBRACKET, TOK_MINUS,
	    TOK_NOT,  TOK_EXTERN, TOK_TENSOR, TOK_ID,     TOK_STREAM, TOK_COMM,     TOK_BIT_NOT,
	};
	static const int operation[] = {
	    TOK_OR,      TOK_AND,     TOK_EQ,     TOK_NE,      TOK_LT,         TOK_LE,
	    TOK_GT,      TOK_GE,      TOK_PLUS,   TOK_MINUS,   TOK_STAR,       TOK_SLASH,
	    TOK_PERCENT, TOK_BIT_AND, TOK_BIT_OR, TOK_BIT_XOR, TOK_SHIFT_LEFT, TOK_SHIFT_RIGHT,
	};
	static const int rare[] = {TOK_TEAM, TOK_KEY_COLON, TOK_FROM, TOK_TO, TOK_INTO};
	static const int after_name[] = {TOK_LPAREN, TOK_ASSIGN};
	static const int before_end[] = {TOK_BLOCK_CLOSE, TOK_LBRACE, TOK_AS};

	bool operand_before = has_token(e, TOK_STAR);
	if (has_token(e, TOK_LET) && has_token(e, TOK_PARALLEL)) { /* here the key or value of an attribute
		                                                      may stand */
		drop_keywords(e);
		drop_tokens(e, rare, LENGTH(rare));
	}
	if (has_token(e, TOK_FLOAT)) {
		drop_tokens(e, expression, LENGTH(expression));
		e->has[TOK_LBRACE - 256] = false;
		e->phrase[e->phrases++] = "an expression";
	}
	if (has_token(e, TOK_LET) || has_token(e, TOK_BODY_FOR) || has_token(e, TOK_CONST)) {
		e->phrase[e->phrases++] = has_token(e, TOK_CONST) ? "a declaration" : "a statement";
		bool close = has_token(e, TOK_BLOCK_CLOSE);
		memset(e->has, 0, sizeof e->has);
		e->has[TOK_BLOCK_CLOSE - 256] = close;
	}
	if (has_token(e, TOK_NEWLINE))
		drop_tokens(e, before_end, LENGTH(before_end));
	if (has_token(e, TOK_BLOCK_CLOSE))
		e->has[TOK_RBRACE - 256] = false;

	struct expected less = *e;
	drop_tokens(&less, operation, LENGTH(operation));
	if (operand_before)
		drop_tokens(&less, after_name, LENGTH(after_name));
	if (less.phrases || any(&less))
		*e = less;
}

static void put_token(struct buf *b, int token)
{
	switch (token) {
	case TOK_NEWLINE:
		buf_puts(b, "end of line");
		return;
	case TOK_INDENT:
		buf_puts(b, "indentation");
		return;
	case TOK_DEDENT:
		buf_puts(b, "end of block");
		return;
	case TOK_CONTAINER_CLOSE:
	case TOK_BLOCK_CLOSE:
	case TOK_KERNEL_CLOSE:
		buf_puts(b, "'}'");
		return;
	case TOK_BLOCK_OPEN:
		buf_puts(b, "'{'");
		return;
	case TOK_RBRACE_SUFFIX:
		buf_puts(b, "'}rf'");
		return;
	case 0:
		buf_puts(b, "end of file");
		return;
	}
	const char *text = hir_token_text(token);
	bool is_class = strncmp(text, "a ", 2) == 0 || strncmp(text, "an ", 3) == 0;
	buf_printf(b, is_class ? "%s" : "'%s'", text);
}

static void put_unexpected(const struct parser *p, const struct parse_token *t, struct buf *b)
{
	const char *text = (const char *)p->text + t->span.at;
	uint32_t n = t->span.end - t->span.at;
	const char *dots = "";
	if (n > MOST_TEXT) {
		for (n = MOST_TEXT; n > 1 && ((unsigned char)text[n] & 0xc0) == 0x80;)
			n--;
		dots = "…";
	}
	switch (t->token) {
	case TOK_NEWLINE:
	case TOK_INDENT:
	case TOK_DEDENT:
	case 0:
		put_token(b, t->token);
		return;
	case TOK_NAME:
		buf_printf(b, "name '%.*s%s'", (int)n, text, dots);
		return;
	case TOK_INT:
	case TOK_FLOAT:
		buf_printf(b, "number %.*s%s", (int)n, text, dots);
		return;
	case TOK_STRING:
		buf_puts(b, "string");
		return;
	case TOK_BLOCK_OPEN:
		if (*text == '\n') { /* put there by lines.c */
			buf_puts(b, "end of line");
			return;
		}
	}
	buf_printf(b, "'%.*s%s'", (int)n, text, dots);
}

/* Adds the expected words as candidates for `did you mean`. */

static void try_expected(struct suggest *s, const struct expected *e)
{
#define KEYWORD(token, text, lead)                                                                           \
	if (has_token(e, TOK_##token))                                                                       \
		suggest_try(s, text);
#define BODY_WORD(token, text, lead) KEYWORD(token, text, lead)
#include "base/keywords.def"
}

static void try_leads(struct parser *p, struct suggest *s)
{
	for (uint32_t word = 1; word < WORD_COUNT; word++)
		if (lex_words[word].lead && lex_words[word].nvfuser == (p->mode == MODE_BODY))
			suggest_try(s, lex_words[word].text);
}

/* Signs and words of other systems. */

static const char *get_name(const struct parser *p, const struct parse_token *t)
{
	return t->token == TOK_NAME ? names_text(p->ast->names, (uint32_t)t->value & ~PARSE_QUOTED) : "";
}

/* The sign that the unexpected token is part of; NULL: none is known. */
static const char *find_sign(const struct parser *p, const struct expected *e)
{
	const struct parse_token *last = p->last;
	int lead = p->lead.token;
	char before = last->span.at ? (char)p->text[last->span.at - 1] : '\0';
	bool is_lead = last->span.at == p->lead.span.at, operand_before = has_token(e, TOK_STAR);
	bool expression = has_token(e, TOK_FLOAT), after_target = has_token(e, TOK_WRITE);
	bool type = has_token(e, TOK_LBRACKET) && !expression, goes_on = is_lead && p->blocks;
	const char *text;
	switch (last->token) {
	case TOK_AT:
		return operand_before ? "@" : NULL;
	case TOK_STAR:
		return before == '*' ? "**" : after_target ? "+=" : goes_on ? "+ B" : NULL;
	case TOK_PLUS:
	case TOK_SLASH:
		return after_target ? "+=" : goes_on ? "+ B" : NULL;
	case TOK_MINUS:
		return after_target                                ? "+="
		       : is_lead && p->text[last->span.end] == '-' ? "--"
		       : goes_on                                   ? "+ B"
		                                                   : NULL;
	case TOK_LBRACKET:
		return operand_before ? "[" : NULL;
	case TOK_LPAREN:
		return is_lead && p->blocks ? "(" : type ? "<" : NULL;
	case TOK_LT:
	case TOK_NEWLINE:
		return type ? "<" : NULL;
	case TOK_ARROW:
		return operand_before ? "->" : NULL;
	case TOK_COLON:
		return operand_before && has_token(e, TOK_NEWLINE) ? "->" : NULL;
	case TOK_IF:
		return operand_before ? "if" : NULL;
	case TOK_LE:
		return after_target ? "<=" : NULL;
	case TOK_PARAM:
	case TOK_CONST:
	case TOK_MESH:
	case TOK_GROUP:
		return is_lead && p->blocks ? "param" : NULL;
	case TOK_ASSIGN:
		return before == ':' ? ":=" : lead == TOK_IF && operand_before ? "=" : type ? "<" : NULL;
	case TOK_PERCENT:
		if (is_lead && !strncmp((const char *)p->text + last->span.at, "%kernel", 7))
			return "%kernel";
		return is_lead && !p->blocks ? "T0" : expression || is_lead ? "%0" : NULL;
	case TOK_INT:
		return before == '@' ? "@2" : NULL;
	case TOK_HANDLE:
		return expression ? "0x10" : NULL;
	case TOK_NAME:
		if (before >= '0' && before <= '9')
			return "1.0f";
		if (!is_lead || p->blocks)
			return NULL;
		text = get_name(p, last);
		if (*text == 'T' && lex_is_digit((unsigned char)text[1]))
			return "T0";
		return *lex_skip_blanks(p->text + last->span.end) == '=' ? "t = 4" : NULL;
	}
	return NULL;
}

/* The token to report: where a line begins with a word of another system, this word. */
static const struct parse_token *find_reported(const struct parser *p)
{
	const struct parse_token *last = p->last, *lead = &p->lead;
	bool follows = lead->line_start == last->line_start && lead->span.at != last->span.at;
	bool operand = last->token == TOK_NAME || last->token == TOK_INT || last->token == TOK_FLOAT;
	return follows && operand && other_name_find(OTHER_WORD, get_name(p, lead)) ? lead : last;
}

/* Adds a note about a sign or word of another system. Returns false if none is there. */
static bool note_other_system(struct parser *p, const struct parse_token *t, const struct expected *e)
{
	const char *sign = t == p->last ? find_sign(p, e) : NULL;
	return p->mode == MODE_HIR && (sign ? other_name_note(p->diag, OTHER_SIGN, sign)
	                                    : other_name_note(p->diag, OTHER_WORD, get_name(p, t)));
}

/* The word that was meant by the unexpected one, or by the first of its line. */
static struct suggest find_meant(struct parser *p, const struct expected *e)
{
	const struct parse_token *last = p->last, *lead = &p->lead;
	bool is_lead = last->span.at == lead->span.at;
	struct suggest s = {0};
	if (last->token == TOK_NAME) {
		s = suggest_start(get_name(p, last));
		try_expected(&s, e);
		if (is_lead)
			try_leads(p, &s);
	}
	if (!s.best && !is_lead && lead->token == TOK_NAME && lead->line_start == last->line_start) {
		s = suggest_start(get_name(p, lead));
		try_leads(p, &s);
	}
	if (s.best && (strlen(s.word) <= 2 || strcmp(s.word, s.best) == 0))
		s.best = NULL;
	return s;
}

static void add_notes(struct parser *p, const struct expected *e, const struct suggest *meant)
{
	const struct parse_token *last = p->last, *lead = &p->lead;
	bool same_line = last->line_start == lead->line_start && last->span.at != lead->span.at;
	if (meant->best)
		diag_suggest(p->diag, meant);
	else if (lead->token == TOK_PROGRAM && same_line)
		other_name_show_line(p->diag, lead->token);
	else if (last->token == TOK_ELSE)
		diag_note(p->diag, DIAG_NOWHERE, "'else' stands on the line of the '}' before it");
	else if (last->value > 0 && last->value < WORD_LAST_KEYWORD && has_token(e, TOK_NAME) &&
	         last->token != TOK_NAME && last->token != TOK_INT)
		diag_note(p->diag, DIAG_NOWHERE, "'%s' is a keyword; in backquotes it is a name: `%s`",
		          lex_words[last->value].text, lex_words[last->value].text);
	else if (same_line && p->mode == MODE_HIR)
		other_name_show_line(p->diag, lead->token);
}

/* Returns true if the token begins or is in a statement outside of a program. */
static bool is_outside(const struct parser *p, const struct expected *e)
{
	bool typed_input = p->lead.token == TOK_INPUT && p->last->token == TOK_COLON;
	return p->mode == MODE_HIR && !p->blocks && (has_token(e, TOK_CONST) || typed_input);
}

void report_unexpected(struct parser *p, const int *expected, unsigned n)
{
	struct expected e = {0};
	for (unsigned i = 0; i < n; i++)
		if (expected[i] >= 256 && expected[i] < 256 + TOKENS)
			e.has[expected[i] - 256] = true;
	struct expected all = e;
	make_few(&e);
	if (p->last->token == TOK_BLOCK_OPEN)
		e.has[TOK_LBRACE - 256] = false; /* another { than the one that is there */

	const struct parse_token *t = find_reported(p);
	struct suggest meant = find_meant(p, &all);
	bool outside = is_outside(p, &all) && !meant.best;
	if (outside && p->told_outside)
		return;
	p->told_outside |= outside;

	struct buf message = {0};
	buf_puts(&message, "unexpected ");
	put_unexpected(p, t, &message);
	unsigned count = e.phrases, written = 0;
	for (int i = 0; i < TOKENS; i++)
		count += e.has[i];
	bool few = count && count <= MOST_EXPECTED && t == p->last;
	for (unsigned i = 0; few && i < e.phrases + TOKENS; i++) {
		if (i >= e.phrases && !e.has[i - e.phrases])
			continue;
		written++;
		buf_puts(&message, written == 1 ? ", expected " : written == count ? " or " : ", ");
		if (i < e.phrases)
			buf_puts(&message, e.phrase[i]);
		else
			put_token(&message, (int)(i - e.phrases) + 256);
	}
	diag_error_span(p->diag, E_UNEXPECTED, t->span.at, t->span.end - t->span.at, "%s", message.at);
	buf_free(&message);
	bool between = has_token(&all, TOK_CONTAINER) || has_token(&all, TOK_HIRC_HEADER);
	if (between && !meant.best && !is_keyword(t->token) && log_lines_note(p, t->span.at))
		return;
	if (note_other_system(p, t, &all))
		return;
	if (outside && p->last->token != TOK_RBRACE && p->last->token != TOK_BLOCK_CLOSE)
		diag_note(p->diag, DIAG_NOWHERE,
		          "statements stand in a program: `program NAME on MESH { … }`");
	else
		add_notes(p, &all, &meant);
}

void report_parser_failure(struct parser *p, struct parse_span at)
{
	report_too_deep(p, at);
}

void report_too_deep(struct parser *p, struct parse_span at)
{
	if (!p->too_deep)
		diag_error(p->diag, E_TEXT_TOO_DEEP, at.at, "nesting deeper than %d", PARSE_MAX_HEIGHT);
	p->too_deep = true;
}

void report_too_large(struct parser *p, struct parse_span at)
{
	if (!p->too_large)
		diag_error(p->diag, E_PROGRAM_TOO_LARGE, at.at, "the program has more than %d nodes",
		           PARSE_MAX_NODES);
	p->too_large = true;
}
