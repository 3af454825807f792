/* shape: statements that differ from an earlier one in their names and numbers alone.
 *
 *     v7: f32[t@x, 16] = add(v5, v6)        kept
 *     v8: f32[t@x, 16] = mul(v6, v7)        found: one token STATEMENT_AGAIN, no grammar
 *
 * Programs repeat a few statements over and over. The text of a statement that was parsed becomes a shape:
 * literal text with holes, and the nodes it was parsed into. Where the literals stand again, the nodes are
 * copied, and the words in the holes are the names of the copies. */
#ifndef HIRC_PARSE_SHAPE_H
#define HIRC_PARSE_SHAPE_H
#include "parse/ast.h"

struct parser;
struct shapes;

struct shapes *shapes_new(void);
void shapes_free(struct shapes *s);
/* Makes a shape of a statement that was parsed, if it can repeat. Returns the statement. */
ast_id shape_keep(struct parser *p, ast_id statement);
/* Copies the shape that fits the statement at `start`. Returns the copy, and the end of the text; 0: no shape
 * fits. */
ast_id shape_find(struct parser *p, const unsigned char *start, const unsigned char **end);

#endif
