/* reduce_numbers: chunks that make numbers smaller, or put them in the place of their names.
 *
 *     param t = 1024                       param t = 2
 *     input X: f32[t, 1024]      →         input X: f32[t, 2]       →      input X: f32[2, 2]
 *
 * Equal numbers change together first, since extents must agree, then each alone. */
#include "reduce/reduce_parts.h"
#include <stdlib.h>
#include <string.h>

void reduce_constants(const struct reduce_view *v, struct reduce_chunks *c)
{
	for (uint32_t i = 0; i < v->statement.n; i++) {
		const struct reduce_statement *s = &v->statement.at[i];
		const struct ast_node *n = ast_at(v->ast, s->id);
		if (n->kind != AST_PARAM && n->kind != AST_CONST && n->kind != AST_LET)
			continue;
		const struct ast_node *value = ast_at(v->ast, n->first);
		if (value->kind == AST_NONE)
			continue;
		const char *text = reduce_node_text(v, c, n->first);
		bool plain = value->kind == AST_INT || value->kind == AST_FLOAT || value->kind == AST_NAME;
		reduce_chunk_begin(c);
		reduce_edit_add(c, s->cut_at, s->cut_end, "");
		reduce_replace_word(v, c, ast_text(v->ast, s->id),
		                    plain ? text : arena_printf(c->arena, "(%s)", text), s->cut_at,
		                    s->cut_end);
	}
}

/* The value of a token that is a whole number; -1: it is none. */
static int64_t number_of(const struct reduce_view *v, uint32_t token)
{
	struct reduce_token t = v->token.at[token];
	const char *text = v->text->at + t.at;
	if (t.kind != TOKEN_NUMBER || strspn(text, "0123456789") != t.end - t.at || t.end - t.at > 18)
		return -1;
	return strtoll(text, NULL, 10);
}

/* Adds the edit for one token, or with token v->token.n for all of the value. */
static void add_number(const struct reduce_view *v, struct reduce_chunks *c, uint32_t token, int64_t from,
                       int64_t to)
{
	const char *text = arena_printf(c->arena, "%lld", (long long)to);
	reduce_chunk_begin(c);
	for (uint32_t t = 0; t < v->token.n; t++)
		if ((token == v->token.n || t == token) && number_of(v, t) == from)
			reduce_edit_add(c, v->token.at[t].at, v->token.at[t].end, text);
}

static void add_smaller(const struct reduce_view *v, struct reduce_chunks *c, uint32_t token, int64_t from)
{
	/* The search goes from the last to the first: the smallest is tried first. */
	static const int64_t small[] = {8, 4, 3, 2, 1};
	if (from > 16)
		add_number(v, c, token, from, from / 2);
	for (unsigned k = 0; k < sizeof small / sizeof *small; k++)
		if (small[k] < from)
			add_number(v, c, token, from, small[k]);
}

void reduce_numbers(const struct reduce_view *v, struct reduce_chunks *c)
{
	c->alternatives = true;
	for (uint32_t t = 0; t < v->token.n; t++)
		if (number_of(v, t) > 1)
			add_smaller(v, c, t, number_of(v, t));
	for (uint32_t t = 0; t < v->token.n; t++) {
		bool first = number_of(v, t) > 1;
		for (uint32_t k = 0; k < t && first; k++)
			first = number_of(v, k) != number_of(v, t);
		if (first)
			add_smaller(v, c, v->token.n, number_of(v, t));
	}
}
