/* reduce_names: short names and the canonical spelling, for whoever reads the result. */
#include "reduce/reduce_parts.h"
#include <string.h>

static bool is_used(const struct reduce_view *v, const char *name)
{
	for (uint32_t t = 0; t < v->token.n; t++)
		if (v->token.at[t].kind == TOKEN_WORD && reduce_token_is(v, t, name))
			return true;
	return false;
}

/* A letter from first to last that no word of the text is, and that is not taken; 0: none. */
static char find_letter(const struct reduce_view *v, bool *taken, char first, char last)
{
	for (char c = first; c <= last; c++) {
		const char name[] = {c, '\0'};
		if (!taken[(unsigned char)c] && !is_used(v, name)) {
			taken[(unsigned char)c] = true;
			return c;
		}
	}
	return 0;
}

static bool is_named(enum ast_kind kind)
{
	return kind == AST_PARAM || kind == AST_CONST || kind == AST_LET || kind == AST_MESH ||
	       kind == AST_MESH_AXIS || kind == AST_GROUP || kind == AST_PROGRAM || kind == AST_FOR ||
	       kind == AST_INPUT || kind == AST_RESULT;
}

void reduce_names(const struct reduce_view *v, struct reduce_chunks *c)
{
	bool taken[128] = {false};
	for (ast_id id = 1; id < v->ast->nodes.n; id++) {
		const struct ast_node *n = ast_at(v->ast, id);
		if (!is_named(n->kind) || !n->name || strlen(ast_text(v->ast, id)) < 2)
			continue;
		bool tensor = n->kind == AST_INPUT || n->kind == AST_RESULT, seen = false;
		for (ast_id k = 1; k < id && !seen; k++)
			seen = is_named(ast_at(v->ast, k)->kind) && ast_at(v->ast, k)->name == n->name;
		char letter = seen ? 0 : find_letter(v, taken, tensor ? 'A' : 'a', tensor ? 'Z' : 'z');
		if (!letter)
			continue;
		reduce_chunk_begin(c);
		reduce_replace_word(v, c, ast_text(v->ast, id), arena_strndup(c->arena, &letter, 1), 0, 0);
	}
}

void reduce_spelling(const struct reduce_view *v, struct reduce_chunks *c)
{
	struct buf text = {0};
	if (v->broken || v->ast->surface != SURFACE_HIR)
		return;
	ast_format(v->ast, &text);
	reduce_chunk_begin(c);
	reduce_edit_add(c, 0, (uint32_t)v->text->n, arena_strndup(c->arena, text.at, text.n));
	buf_free(&text);
}
