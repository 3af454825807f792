/* reduce_names: chunks that shorten names and format the text, so that the result is easy to read. */
#include "reduce/reduce_parts.h"
#include <stdlib.h>
#include <string.h>

/* Takes a letter between first and last that is free: not taken, and no word of the text. 0: none is free. */
static char find_letter(const struct reduce_view *v, bool *taken, char first, char last)
{
	for (char c = first; c <= last; c++) {
		const char name[] = {c, '\0'};
		if (!taken[(unsigned char)c] && reduce_word_first(v, name) == REDUCE_NO_TOKEN) {
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
	bool taken[128] = {false}, *named = mem_zalloc(names_count(v->ast->names) + 1);
	for (ast_id id = 1; id < v->ast->nodes.n; id++) {
		const struct ast_node *n = ast_at(v->ast, id);
		if (!is_named(n->kind) || !n->name || strlen(ast_text(v->ast, id)) < 2)
			continue;
		bool tensor = n->kind == AST_INPUT || n->kind == AST_RESULT, seen = named[n->name];
		named[n->name] = true;
		char letter = seen ? 0 : find_letter(v, taken, tensor ? 'A' : 'a', tensor ? 'Z' : 'z');
		if (!letter)
			continue;
		reduce_chunk_begin(c);
		reduce_replace_word(v, c, ast_text(v->ast, id), arena_strndup(c->arena, &letter, 1), 0, 0);
	}
	free(named);
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
