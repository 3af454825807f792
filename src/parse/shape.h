/* shape: statements that differ from an earlier one in their names and numbers alone.
 *
 *     v7: f32[t@x, 16] = add(v5, v6)        kept
 *     v8: f32[t@x, 16] = mul(v6, v7)        found: one token STATEMENT_AGAIN, no grammar
 *
 * Programs repeat a few statements over and over. The text of a statement that was parsed becomes a shape:
 * literal text with holes, and the nodes it was parsed into. Where the literals stand again, the nodes are
 * copied, and the words in the holes are the names of the copies. Statements of the concise surface are one
 * node, AST_REPEAT, until sema reads them: a large program has few nodes in memory. */
#ifndef HIRC_PARSE_SHAPE_H
#define HIRC_PARSE_SHAPE_H
#include "parse/ast.h"

struct parser;
struct shapes;

struct shapes *shapes_new(void);
void shapes_free(struct shapes *s);
/* Makes a shape of a statement that was parsed, if it can repeat. Returns the statement. */
ast_id shape_keep(struct parser *p, ast_id statement);
/* Adds the statement at `start` if a shape fits it. Returns the statement, and the end of its text; 0: none
 * fits. */
ast_id shape_find(struct parser *p, const unsigned char *start, const unsigned char **end);
/* Returns the nodes of a statement, which stand until the next call; for all but an AST_REPEAT, itself. Their
 * `next` is 0. */
ast_id shape_expand(struct ast *a, ast_id statement);
/* The same while another statement is expanded: the nodes stand until the next shape_peek. */
ast_id shape_peek(struct ast *a, ast_id statement);

#endif
