/* shape: parses statements that differ from an earlier one only in names and numbers, without the grammar.
 *
 *     v7: f32[t@x, 16] = add(v5, v6)        kept
 *     v8: f32[t@x, 16] = mul(v6, v7)        found: one token STATEMENT_AGAIN, no grammar
 *
 * Programs repeat a few statements over and over. A parsed statement becomes a shape: literal text with
 * holes, and its nodes. Where the literal text is repeated, the nodes are copied and take the words in the
 * holes as their names. A statement that sema reads by itself is one node, AST_REPEAT, until sema reads it,
 * so that a large program has few nodes in memory. In the nvFuser surface these are definitions of one
 * tensor, and lines `name T7 = X`. */
#ifndef HIRC_PARSE_SHAPE_H
#define HIRC_PARSE_SHAPE_H
#include "parse/ast.h"

struct parser;
struct shapes;

enum { SHAPE_MAX_HOLES = 32 };

struct shapes *shapes_new(void);
void shapes_free(struct shapes *s);
/* Makes a shape of a parsed statement, if it can repeat. Returns the statement. */
ast_id shape_keep(struct parser *p, ast_id statement);
/* Adds the statement at `start` if it fits a shape. Returns the statement and the end of its text; 0: it fits
 * none. */
ast_id shape_find(struct parser *p, const unsigned char *start, const unsigned char **end);
/* Returns the nodes of an AST_REPEAT, which are valid until the next call and whose `next` is 0. Returns any
 * other statement itself. */
ast_id shape_expand(struct ast *a, ast_id statement);
/* The same, to be used while another statement is expanded. The nodes are valid until the next shape_peek. */
ast_id shape_peek(struct ast *a, ast_id statement);
/* Returns the TENSOR that value.i of an AST_AGAIN names. If value.i is an AST_REPEAT, it becomes the whole
 * statement, and its nodes remain valid. */
ast_id shape_tensor(struct ast *a, ast_id of);

/* A tensor that an AST_REPEAT of the nvFuser surface prints. */
struct shape_tensor {
	uint32_t name;
	ast_id of; /* its first print, as in struct ast_known */
};
/* Lists the tensors of an AST_REPEAT in the order of its text. Returns their number, at most
 * SHAPE_MAX_HOLES. */
unsigned shape_tensors(const struct ast *a, ast_id repeat, struct shape_tensor *out);
/* Returns true if the tensors that two AST_REPEATs define differ only in their numbers, and all axes by one
 * distance. x, y: the value.i of the two. */
bool shape_same_axes(const struct ast *a, int64_t x, int64_t y, int64_t *distance);

#endif
