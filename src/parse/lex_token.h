/* lex_token: the parts of the lexer that need no re2c; for grammar/hir.re. */
#ifndef HIRC_PARSE_LEX_TOKEN_H
#define HIRC_PARSE_LEX_TOKEN_H
#include "parse/ast_build.h"

/* ---- lex_word.c */
/* Interns the text of a name or string that ends before the cursor. */
uint32_t lex_intern(struct parser *p, const unsigned char *text, size_t n);
/* Returns the token of the word that begins at start, and moves the cursor behind it. */
int lex_take_word(struct parser *p, const unsigned char *start, struct parse_token *out);

/* ---- lex_stray.c */
/* Reports an error, unless the parser skips what follows an error. */
void lex_report(struct parser *p, enum diagnostic code, struct parse_span at, const char *what,
                const char *detail);
/* Reports a comment that is begun as in another system, once a file. */
void lex_refuse_comment(struct parser *p, const unsigned char *start, const char *sign);
/* Reports a character that nothing begins with, and moves the cursor behind it and the bytes that continue it in
 * UTF-8. */
int lex_take_stray(struct parser *p, const unsigned char *start, struct parse_token *out);

#endif
