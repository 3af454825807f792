/* format_expr: names, expressions and types in canonical spelling. */
#ifndef HIRC_PARSE_FORMAT_EXPR_H
#define HIRC_PARSE_FORMAT_EXPR_H
#include "parse/ast.h"

/* The name of a node, in backquotes where it must be. */
void format_name(const struct ast *a, ast_id id, struct buf *out);
void format_expr(const struct ast *a, ast_id id, struct buf *out);
/* The siblings from id on, with between between them. */
void format_list(const struct ast *a, ast_id id, const char *between, struct buf *out);
void format_attrs(const struct ast *a, ast_id id, struct buf *out);
void format_type(const struct ast *a, ast_id id, struct buf *out);
/* 0..n */
void format_range(const struct ast *a, ast_id start, ast_id stop, struct buf *out);
/* {{0 1} {2 3}} */
void format_devices(const struct ast *a, ast_id id, struct buf *out);

#endif
