/* format_expr: prints names, expressions and types in canonical spelling. */
#ifndef HIRC_PARSE_FORMAT_EXPR_H
#define HIRC_PARSE_FORMAT_EXPR_H
#include "parse/ast.h"

/* Prints the name of a node, in backquotes if it needs them. */
void format_name(const struct ast *a, ast_id id, struct buf *out);
void format_expr(const struct ast *a, ast_id id, struct buf *out);
/* Prints a node and the siblings after it, with a text between them. */
void format_list(const struct ast *a, ast_id id, const char *between, struct buf *out);
void format_attrs(const struct ast *a, ast_id id, struct buf *out);
void format_type(const struct ast *a, ast_id id, struct buf *out);
/* Prints `0..n`. */
void format_range(const struct ast *a, ast_id start, ast_id stop, struct buf *out);
/* Prints `{{0 1} {2 3}}`. */
void format_devices(const struct ast *a, ast_id id, struct buf *out);

#endif
