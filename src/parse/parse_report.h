/* parse_report: messages about syntax. */
#ifndef HIRC_PARSE_PARSE_REPORT_H
#define HIRC_PARSE_PARSE_REPORT_H
#include "parse/ast_build.h"

/* Reports `unexpected X, expected Y or Z` at the last token. expected: the tokens that could stand there. */
void report_unexpected(struct parser *p, const int *expected, unsigned n);
/* Reports that the automaton's stack is full. */
void report_parser_failure(struct parser *p, struct parse_span at);
/* Reports, once, that the height or size of the AST would pass its limit. */
void report_too_deep(struct parser *p, struct parse_span at);
void report_too_large(struct parser *p, struct parse_span at);

#endif
