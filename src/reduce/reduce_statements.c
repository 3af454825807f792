/* reduce_statements: chunks that are statements, or the blocks around them.
 *
 *     G = set(X)                 for i in 0..4 {          a = slice(X, axis=0, start=0, stop=2)
 *     H = relu(G)      →           a = slice(X, i)   →
 *     output Y = X + X           }
 *
 * A statement is left out alone, which fails if another statement reads it, or together with all statements
 * that read it. */
#include "reduce/reduce_parts.h"
#include <stdlib.h>

void reduce_statements(const struct reduce_view *v, struct reduce_chunks *c)
{
	for (uint32_t i = 0; i < v->statement.n; i++) {
		const struct reduce_statement *s = &v->statement.at[i];
		if (s->frame)
			continue;
		reduce_chunk_begin(c);
		reduce_edit_add(c, s->cut_at, s->cut_end, "");
	}
}

/* ---- with users */

/* Calls `call` for each name that a node defines. */
static void each_name(const struct ast *a, ast_id id, void (*call)(void *to, const char *name), void *to)
{
	const struct ast_node *n = ast_at(a, id);
	switch (n->kind) {
	case AST_DEF:
		ast_each (a, target, n->first)
			if (ast_at(a, target)->name)
				call(to, ast_text(a, target));
		if (ast_child(a, id, 2))
			call(to, ast_text(a, ast_child(a, id, 2)));
		return;
	case AST_MESH:
		ast_each (a, axis, n->first) /* the list of axes */
			call(to, ast_text(a, axis));
		call(to, ast_text(a, id));
		return;
	case AST_INPUT:
	case AST_PARAM:
	case AST_CONST:
	case AST_LET:
	case AST_GROUP:
		call(to, ast_text(a, id));
		return;
	}
}

enum { MOST_TOGETHER = 100 }; /* statements; larger groups are left to reduce_statements */

struct closure {
	const struct reduce_view *v;
	bool *gone; /* by statement: it is in the list */
	uint32_t statement[MOST_TOGETHER], n;
};

static void add_statement(struct closure *x, uint32_t i)
{
	if (i == REDUCE_NO_TOKEN || x->gone[i] || x->v->statement.at[i].frame || x->n == MOST_TOGETHER)
		return;
	x->gone[i] = true;
	x->statement[x->n++] = i;
}

/* Adds the statements whose own text, without blocks, contains the name. */
static void add_users(void *to, const char *name)
{
	struct closure *x = to;
	for (uint32_t t = reduce_word_first(x->v, name); t != REDUCE_NO_TOKEN; t = x->v->token.at[t].next)
		add_statement(x, x->v->token.at[t].statement);
}

void reduce_users(const struct reduce_view *v, struct reduce_chunks *c)
{
	struct closure x = {.v = v, .gone = mem_zalloc(v->statement.n + 1)};
	for (uint32_t i = 0; i < v->statement.n; i++) {
		x.n = 0;
		add_statement(&x, i);
		for (uint32_t k = 0; k < x.n; k++)
			each_name(v->ast, v->statement.at[x.statement[k]].id, add_users, &x);
		if (x.n > 1 && x.n < MOST_TOGETHER)
			reduce_chunk_begin(c);
		for (uint32_t k = 0; k < x.n; k++) {
			const struct reduce_statement *s = &v->statement.at[x.statement[k]];
			if (x.n > 1 && x.n < MOST_TOGETHER)
				reduce_edit_add(c, s->cut_at, s->cut_end, "");
			x.gone[x.statement[k]] = false;
		}
	}
	free(x.gone);
}

/* ---- blocks */

/* Replaces a statement by the text between the braces of one of its blocks. */
static void unwrap(const struct reduce_view *v, struct reduce_chunks *c, ast_id id, ast_id block)
{
	const struct ast_node *outer = ast_at(v->ast, id), *inner = ast_at(v->ast, block);
	if (inner->end < inner->at + 2 || v->text->at[inner->at] != '{')
		return;
	reduce_chunk_begin(c);
	reduce_edit_add(c, outer->at, inner->at + 1, "");
	reduce_edit_add(c, reduce_back_over(v, inner->end - 1, " \t"), outer->end, "");
}

/* Removes the loop, condition or unit around a block. The first value of the loop replaces its index. */
void reduce_blocks(const struct reduce_view *v, struct reduce_chunks *c)
{
	for (uint32_t i = 0; i < v->statement.n; i++) {
		ast_id id = v->statement.at[i].id;
		const struct ast_node *n = ast_at(v->ast, id);
		if (n->kind != AST_FOR && n->kind != AST_IF && n->kind != AST_UNIT)
			continue;
		ast_each (v->ast, child, id) {
			const struct ast_node *block = ast_at(v->ast, child);
			uint32_t chunks = c->n;
			if (block->kind == AST_BLOCK)
				unwrap(v, c, id, child);
			if (c->n == chunks || n->kind != AST_FOR || !n->name)
				continue;
			const char *name = ast_text(v->ast, id), *start = reduce_node_text(v, c, n->first);
			for (uint32_t t = reduce_word_first(v, name); t != REDUCE_NO_TOKEN;
			     t = v->token.at[t].next)
				if (v->token.at[t].at > block->at && v->token.at[t].end < block->end)
					reduce_edit_add(c, v->token.at[t].at, v->token.at[t].end, start);
		}
	}
}
