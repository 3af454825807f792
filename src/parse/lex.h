/* lex: the words of keywords.def as interned names.
 *
 * WORD_x is the name id of a word in every AST. A name below WORD_FIRST_BODY is a keyword. */
#ifndef HIRC_PARSE_LEX_H
#define HIRC_PARSE_LEX_H
#include "base/str.h"

enum {
	WORD_NONE,
#define KEYWORD(token, text, lead) WORD_##token,
#include "base/keywords.def"
	WORD_LAST_KEYWORD,
	WORD_FIRST_BODY = WORD_LAST_KEYWORD,
	WORD_BEFORE_BODY = WORD_FIRST_BODY - 1,
#define BODY_WORD(token, text, lead) WORD_##token,
#include "base/keywords.def"
	WORD_LAST_BODY,
	WORD_FIRST_CONTEXT = WORD_LAST_BODY,
	WORD_BEFORE_CONTEXT = WORD_FIRST_CONTEXT - 1,
#define CONTEXT_WORD(token, text, lead) WORD_##token,
#include "base/keywords.def"
	WORD_COUNT,
};

struct lex_word {
	const char *text;
	bool lead;    /* can begin a statement or declaration */
	bool nvfuser; /* used in the nvFuser surface only */
};
extern const struct lex_word lex_words[WORD_COUNT];

/* Interns the words as the first names of the table. */
void lex_words_intern(struct names *t);
/* Returns true if the text is an identifier; it may be a keyword. */
bool lex_is_word(const char *text);

#endif
