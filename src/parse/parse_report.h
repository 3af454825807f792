/* parse_report: messages of the grammar. */
#ifndef HIRC_PARSE_PARSE_REPORT_H
#define HIRC_PARSE_PARSE_REPORT_H
#include "parse/ast_build.h"

/* `unexpected X, expected Y or Z` at the last token; expected are the tokens that could stand there. */
void report_unexpected(struct parser *p, const int *expected, unsigned n);
/* The automaton's stack is exhausted. */
void report_parser_failure(struct parser *p, struct parse_span at);
/* A number or list of the AST would pass a limit: reported once. */
void report_too_deep(struct parser *p, struct parse_span at);
void report_too_large(struct parser *p, struct parse_span at);

#endif
