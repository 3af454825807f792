/* reduce_edits: edits that several kinds of chunks share. */
#include "reduce/reduce_parts.h"
#include <string.h>

void reduce_replace_word(const struct reduce_view *v, struct reduce_chunks *c, const char *word,
                         const char *text, uint32_t at, uint32_t end)
{
	for (uint32_t i = reduce_word_first(v, word); i != REDUCE_NO_TOKEN; i = v->token.at[i].next) {
		struct reduce_token t = v->token.at[i];
		if (t.end <= at || t.at >= end)
			reduce_edit_add(c, t.at, t.end, text);
	}
}

uint32_t reduce_back_over(const struct reduce_view *v, uint32_t at, const char *characters)
{
	while (at && strchr(characters, v->text->at[at - 1]))
		at--;
	return at;
}

void reduce_cut_item(const struct reduce_view *v, struct reduce_chunks *c, uint32_t at, uint32_t end)
{
	uint32_t next = end, before = reduce_back_over(v, at, " \t\n");
	while (next < v->text->n && strchr(" \t\n", v->text->at[next]))
		next++;
	if (next < v->text->n && v->text->at[next] == ',') {
		end = next + 1;
		while (end < v->text->n && strchr(" \t\n", v->text->at[end]))
			end++;
	} else if (before && v->text->at[before - 1] == ',') {
		at = before - 1;
	}
	reduce_edit_add(c, at, end, "");
}

const char *reduce_node_text(const struct reduce_view *v, const struct reduce_chunks *c, ast_id id)
{
	return arena_strndup(c->arena, v->text->at + ast_at(v->ast, id)->at, ast_length(v->ast, id));
}
