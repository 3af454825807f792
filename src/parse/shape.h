/* shape: statements that differ from an earlier one in their names and numbers alone.
 *
 *     v7: f32[t@x, 16] = add(v5, v6)        kept
 *     v8: f32[t@x, 16] = mul(v6, v7)        found: one token STATEMENT_AGAIN, no grammar
 *
 * Programs repeat a few statements over and over. The text of a statement that was parsed becomes a shape:
 * literal text with holes, and the nodes it was parsed into. Where the literals stand again, the nodes are
 * copied, and the words in the holes are the names of the copies. Statements that sema reads one by one are
 * one node, AST_REPEAT, until then: a large program has few nodes in memory. In the nvFuser surface these are
 * the definitions of one tensor, and the lines `name T7 = X`. */
#ifndef HIRC_PARSE_SHAPE_H
#define HIRC_PARSE_SHAPE_H
#include "parse/ast.h"

struct parser;
struct shapes;

enum { SHAPE_MAX_HOLES = 32 };

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
/* Returns the TENSOR that value.i of an AST_AGAIN leads to. If that is an AST_REPEAT, it becomes the
 * statement itself, whose nodes stand for good. */
ast_id shape_tensor(struct ast *a, ast_id of);

/* A tensor that an AST_REPEAT of the nvFuser surface prints. */
struct shape_tensor {
	uint32_t name;
	ast_id of; /* where it is printed first, as in struct ast_known */
};
/* The tensors of an AST_REPEAT in the order of its text. Returns how many; SHAPE_MAX_HOLES at most. */
unsigned shape_tensors(const struct ast *a, ast_id repeat, struct shape_tensor *out);
/* Returns true if the tensors that two AST_REPEATs define differ in their numbers alone, those of all axes by
 * one distance. x and y are the value.i of the two. */
bool shape_same_axes(const struct ast *a, int64_t x, int64_t y, int64_t *distance);

#endif
