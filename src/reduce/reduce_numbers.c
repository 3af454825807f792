/* reduce_numbers: chunks that make numbers smaller, or replace names by their numbers.
 *
 *     param t = 1024                       param t = 2
 *     input X: f32[t, 1024]      →         input X: f32[t, 2]       →      input X: f32[2, 2]
 *
 * Equal numbers first change together, since extents must agree; then each changes alone. */
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

/* Returns the value of a token; -1: the token is no whole number. */
static int64_t number_of(const struct reduce_view *v, uint32_t token)
{
	struct reduce_token t = v->token.at[token];
	const char *text = v->text->at + t.at;
	if (t.kind != TOKEN_NUMBER || strspn(text, "0123456789") != t.end - t.at || t.end - t.at > 18)
		return -1;
	return strtoll(text, NULL, 10);
}

/* One or more tokens with the same number. */
struct occurrences {
	const uint32_t *token;
	uint32_t n;
	int64_t value;
};

static void add_number(const struct reduce_view *v, struct reduce_chunks *c, const struct occurrences *x,
                       int64_t to)
{
	const char *text = arena_printf(c->arena, "%lld", (long long)to);
	reduce_chunk_begin(c);
	for (uint32_t i = 0; i < x->n; i++) {
		struct reduce_token t = v->token.at[x->token[i]];
		reduce_edit_add(c, t.at, t.end, text);
	}
}

static void add_smaller(const struct reduce_view *v, struct reduce_chunks *c, const struct occurrences *x)
{
	/* The search tries the last chunk first, so the smallest number is last here. */
	static const int64_t small[] = {8, 4, 3, 2, 1};
	if (x->value > 16)
		add_number(v, c, x, x->value / 2);
	for (unsigned k = 0; k < sizeof small / sizeof *small; k++)
		if (small[k] < x->value)
			add_number(v, c, x, small[k]);
}

struct number {
	int64_t value;
	uint32_t token;
};

static int compare_numbers(const void *a, const void *b)
{
	const struct number *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	return (x->token > y->token) - (x->token < y->token);
}

void reduce_numbers(const struct reduce_view *v, struct reduce_chunks *c)
{
	VEC(struct number) all = {0};
	VEC(uint32_t) token = {0};
	c->alternatives = true;
	for (uint32_t t = 0; t < v->token.n; t++) {
		struct number x = {number_of(v, t), t};
		if (x.value > 1) {
			add_smaller(v, c, &(struct occurrences){&t, 1, x.value});
			vec_push(&all, x);
		}
	}
	if (all.n)
		qsort(all.at, all.n, sizeof *all.at, compare_numbers);
	for (uint32_t i = 0; i < all.n; i++) {
		vec_push(&token, all.at[i].token);
		if (i + 1 < all.n && all.at[i + 1].value == all.at[i].value)
			continue;
		if (token.n > 1)
			add_smaller(v, c, &(struct occurrences){token.at, token.n, all.at[i].value});
		token.n = 0;
	}
	vec_free(&all);
	vec_free(&token);
}
