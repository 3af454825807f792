/* lex_word: finds the token that a word is.
 *
 *     input       a keyword everywhere
 *     Wait        a keyword in the nvFuser surface, elsewhere a name
 *     partial     a keyword behind a type and at the begin of a line, elsewhere a name
 *
 * A word is interned first: the words of keywords.def have the lowest ids, so that a keyword is one comparison. */
#include "base/word.h"
#include "hir_parser.h"
#include "parse/lex.h"
#include "parse/lex_token.h"
#include <assert.h>

static const int word_token[] = {
#define KEYWORD(token, text, lead) [WORD_##token] = TOK_##token,
#define BODY_WORD(token, text, lead) [WORD_##token] = TOK_##token,
#include "base/keywords.def"
};

const unsigned char *lex_skip_blanks(const unsigned char *c)
{
	while (*c == ' ' || *c == '\t' || *c == '\r')
		c++;
	return c;
}

const unsigned char *lex_skip_word(const unsigned char *c)
{
	while (word_has(*c))
		c++;
	return c;
}

bool lex_ends_line(const unsigned char *c)
{
	c = lex_skip_blanks(c);
	return *c == '\n' || *c == '#' || *c == '\0' || (*c == '/' && c[1] == '/');
}

/* Names that are more than that in some places; p->cursor is behind the word. */
static int context_word(struct parser *p, uint32_t word)
{
	const unsigned char *next = lex_skip_blanks(p->cursor);
	bool operand_follows = word_has(*next) || *next == '`';
	bool after_type =
	    p->last->token == TOK_RBRACKET || p->last->token == TOK_NAME || p->last->token == TOK_RPAREN;
	char inside = p->brackets ? p->bracket[p->brackets - 1].kind : 0;

	switch (word) {
	case WORD_NAME_DECL:
		return p->at_lead && operand_follows ? TOK_NAME_DECL : TOK_NAME;
	case WORD_IDS:
		return p->at_lead && operand_follows ? TOK_IDS : TOK_NAME;
	case WORD_LOOP:
		return p->at_lead && operand_follows ? TOK_LOOP : TOK_NAME;
	case WORD_CLUSTER:
		return p->at_lead && operand_follows ? TOK_CLUSTER : TOK_NAME;
	case WORD_ATTR:
		return p->at_lead && operand_follows ? TOK_ATTR : TOK_NAME;
	case WORD_PARTIAL:
		if (p->at_lead)
			return operand_follows ? TOK_PARTIAL_DECL : TOK_NAME;
		return after_type ? TOK_PARTIAL : TOK_NAME;
	case WORD_REDUCE:
		return after_type && !p->at_lead ? TOK_REDUCE : TOK_NAME;
	case WORD_RF:
		if (inside == 'R' && next > p->cursor && (operand_follows || *next == '('))
			return p->last->token == TOK_LPAREN || p->last->token == TOK_COMMA ? TOK_RF
			                                                                   : TOK_NAME;
		return TOK_NAME;
	case WORD_EX:
		return inside == 'I' ? TOK_EX : TOK_NAME;
	case WORD_TEAM:
		if (inside == '(' && next[0] == '=' && *lex_skip_blanks(next + 1) == '(') {
			p->cursor = next + 1;
			return TOK_TEAM;
		}
		return TOK_NAME;
	case WORD_COMMUNICATION:
	case WORD_P2P:
	case WORD_PERMUTE:
	case WORD_DISPATCH:
	case WORD_COMBINE:
		return p->mode != MODE_HIR && lex_is_digit(*next) ? TOK_COMM : TOK_NAME;
	case WORD_SET_STREAM:
	case WORD_SYNCHRONIZE:
	case WORD_WAIT:
		return p->mode == MODE_BODY && p->at_lead && operand_follows ? TOK_OLD_CALL : TOK_NAME;
	case WORD_GET_STREAM:
		return p->mode == MODE_BODY && p->at_lead && operand_follows ? TOK_OLD_GET : TOK_NAME;
	}
	return TOK_NAME;
}

uint32_t lex_intern(struct parser *p, const unsigned char *text, size_t n)
{
	uint32_t end = (uint32_t)(p->cursor - p->text), at = n < end ? end - (uint32_t)n : 0;
	if (n <= PARSE_MAX_NAME)
		return names_intern(p->ast->names, (const char *)text, n);
	if (!p->panic)
		diag_error(p->diag, E_NAME_TOO_LONG, at, "a name or string has at most %d bytes",
		           PARSE_MAX_NAME);
	return names_intern_z(p->ast->names, "_");
}

int lex_take_word(struct parser *p, const unsigned char *start, struct parse_token *out)
{
	p->cursor = lex_skip_word(start);
	uint32_t word = lex_intern(p, start, (size_t)(p->cursor - start));
	out->value = word;
	if (word >= WORD_COUNT)
		return TOK_NAME;
	if (word < WORD_FIRST_BODY)
		return word_token[word];
	if (word < WORD_FIRST_CONTEXT)
		return p->mode == MODE_BODY ? word_token[word] : TOK_NAME;
	return context_word(p, word);
}

const unsigned char *lex_peek_word(const struct parser *p, const unsigned char *c, uint32_t *word)
{
	const unsigned char *end = lex_skip_word(c);
	*word = names_find(p->ast->names, (const char *)c, (size_t)(end - c));
	return lex_skip_blanks(end);
}

const struct lex_word lex_words[WORD_COUNT] = {
#define KEYWORD(token, spelling, begins) [WORD_##token] = {.text = spelling, .lead = begins},
#define BODY_WORD(token, spelling, begins)                                                                   \
	[WORD_##token] = {.text = spelling, .lead = begins, .nvfuser = true},
#define CONTEXT_WORD(token, spelling, begins)                                                                \
	[WORD_##token] = {.text = spelling, .lead = begins, .nvfuser = true},
#include "base/keywords.def"
};

void lex_words_intern(struct names *t)
{
	for (uint32_t word = 1; word < WORD_COUNT; word++) {
		uint32_t id = names_intern_z(t, lex_words[word].text);
		assert(id == word);
		(void)id;
	}
}

bool lex_is_word(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	return word_starts_with(*c) && !*lex_skip_word(c);
}
