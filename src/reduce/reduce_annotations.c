/* reduce_annotations: chunks that are neither statements nor operands: layouts, types, attributes, marks.
 *
 *     Y: f32[t@stream(4), n@x] = matmul(X, W)  →  Y = matmul(X, W)
 *     for i in 0..4 parallel(stream) {         →  for i in 0..4 {
 *     mesh m(x = 2, y = 2)                     →  mesh m(x = 2)        and every @y is left out         */
#include "reduce/reduce_parts.h"
#include <string.h>

static void cut(struct reduce_chunks *c, uint32_t at, uint32_t end)
{
	reduce_chunk_begin(c);
	reduce_edit_add(c, at, end, "");
}

static void cut_with_blanks(const struct reduce_view *v, struct reduce_chunks *c, ast_id id,
                            const char *characters)
{
	const struct ast_node *n = ast_at(v->ast, id);
	cut(c, reduce_back_over(v, n->at, characters), n->end);
}

/* Cuts an axis of a mesh, and its places in all types. */
static void cut_mesh_axis(const struct reduce_view *v, struct reduce_chunks *c, ast_id axis)
{
	const struct ast_node *n = ast_at(v->ast, axis);
	reduce_chunk_begin(c);
	reduce_cut_item(v, c, n->at, n->end);
	for (uint32_t i = 1; i < v->ast->nodes.n; i++) {
		const struct ast_node *place = ast_at(v->ast, i);
		if (place->kind == AST_PLACE && place->name == n->name)
			reduce_edit_add(c, place->at, place->end, "");
	}
}

/* Cuts ` as c` of a statement: the text between the expression before it and the end of the name. */
static void cut_as(const struct reduce_view *v, struct reduce_chunks *c, ast_id before)
{
	ast_id name = before ? ast_at(v->ast, before)->next : 0;
	if (name && ast_at(v->ast, name)->kind == AST_NAME)
		cut(c, ast_at(v->ast, before)->end, ast_at(v->ast, name)->end);
}

static void cut_parallel(const struct reduce_view *v, struct reduce_chunks *c, ast_id id)
{
	ast_id stop = ast_child(v->ast, id, 1), kind = ast_child(v->ast, id, 3);
	if (!kind || ast_at(v->ast, id)->flags & AST_FOR_IN)
		return;
	const char *close =
	    memchr(v->text->at + ast_at(v->ast, kind)->end, ')', v->text->n - ast_at(v->ast, kind)->end);
	if (close)
		cut(c, ast_at(v->ast, stop)->end, (uint32_t)(close - v->text->at) + 1);
}

static void add_node(const struct reduce_view *v, struct reduce_chunks *c, ast_id id)
{
	const struct ast_node *n = ast_at(v->ast, id);
	ast_id first = n->first, second = first ? ast_at(v->ast, first)->next : 0;
	switch (n->kind) {
	case AST_PLACE:
		cut(c, n->at, n->end);
		return;
	case AST_RESULT:
		if (first)
			cut_with_blanks(v, c, first, " \t:");
		return;
	case AST_ON:
	case AST_PARTIAL:
	case AST_REDUCE:
	case AST_MEMORY:
	case AST_ATTRS:
		cut_with_blanks(v, c, id, " \t");
		return;
	case AST_KEY:
		reduce_chunk_begin(c);
		reduce_cut_item(v, c, n->at, n->end);
		return;
	case AST_CONTAINER: /* its inputs and outputs */
		for (unsigned k = 0; k < 2; k++)
			ast_each (v->ast, tensor, ast_child(v->ast, id, k)) {
				reduce_chunk_begin(c);
				reduce_cut_item(v, c, ast_at(v->ast, tensor)->at,
				                ast_at(v->ast, tensor)->end);
			}
		return;
	case AST_MESH_AXIS:
		cut_mesh_axis(v, c, id);
		return;
	case AST_MESH:
		if (second && ast_at(v->ast, second)->kind == AST_DEVICES)
			cut_with_blanks(v, c, second, " \t=");
		return;
	case AST_INPUT:
		if (second && ast_at(v->ast, second)->kind != AST_NONE)
			cut_with_blanks(v, c, second, " \t=");
		if (n->flags & AST_INOUT) {
			reduce_chunk_begin(c);
			reduce_edit_add(c, n->at, n->at + (uint32_t)strlen("inout"), "input");
		}
		return;
	case AST_DEF:
		if (n->flags & AST_OUTPUT)
			cut(c, n->at, ast_at(v->ast, first)->at);
		cut_as(v, c, second);
		return;
	case AST_WRITE:
		cut_as(v, c, second);
		return;
	case AST_DO:
		cut_as(v, c, first);
		return;
	case AST_FOR:
		cut_parallel(v, c, id);
		return;
	case AST_PROGRAM: /* ` on m` */
		if (second) {
			uint32_t name = reduce_back_over(v, ast_at(v->ast, second)->at, " \t");
			cut(c, reduce_back_over(v, name - (uint32_t)strlen("on"), " \t"),
			    ast_at(v->ast, second)->end);
		}
		return;
	}
}

void reduce_annotations(const struct reduce_view *v, struct reduce_chunks *c)
{
	for (ast_id id = 1; id < v->ast->nodes.n; id++)
		if (ast_at(v->ast, id)->end > ast_at(v->ast, id)->at)
			add_node(v, c, id);
}

/* Cuts axis number k: first in one type at a time, then in all types together. */
void reduce_axes(const struct reduce_view *v, struct reduce_chunks *c)
{
	enum { MOST_AXES = 8 };
	for (unsigned all = 0; all < 2; all++)
		for (unsigned k = 0; k < MOST_AXES; k++) {
			bool begun = false;
			for (ast_id id = 1; id < v->ast->nodes.n; id++) {
				const struct ast_node *type = ast_at(v->ast, id);
				if (type->kind != AST_TYPE || !type->first)
					continue;
				ast_id axis = ast_child(v->ast, type->first, k);
				if (!axis)
					continue;
				if (!all || !begun)
					reduce_chunk_begin(c);
				begun = true;
				reduce_cut_item(v, c, ast_at(v->ast, axis)->at, ast_at(v->ast, axis)->end);
			}
		}
}
