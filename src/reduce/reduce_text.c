/* reduce_text: chunks of a text that need no parser: comments, lines, brackets and tokens.
 *
 *     input X: f32[8@x]  # rows      →  input X: f32[8@x]
 *     for i in 0..4 { … }            →  for i in 0..4 { }    or nothing in place of the braces          */
#include "reduce/reduce_parts.h"
#include <string.h>

/* Cuts each comment with the blanks before it, and each empty line. */
void reduce_comments(const struct reduce_view *v, struct reduce_chunks *c)
{
	for (uint32_t i = 0; i < v->token.n; i++) {
		struct reduce_token t = v->token.at[i];
		if (t.kind != TOKEN_COMMENT)
			continue;
		uint32_t at = reduce_back_over(v, t.at, " \t");
		bool alone = (!at || v->text->at[at - 1] == '\n') && t.end < v->text->n;
		reduce_chunk_begin(c);
		reduce_edit_add(c, at, alone ? t.end + 1 : t.end, "");
	}
	for (uint32_t i = 0; i < v->text->n; i++) {
		uint32_t at = reduce_back_over(v, i, " \t");
		if (v->text->at[i] == '\n' && (!at || v->text->at[at - 1] == '\n')) {
			reduce_chunk_begin(c);
			reduce_edit_add(c, at, i + 1, "");
		}
	}
}

void reduce_lines(const struct reduce_view *v, struct reduce_chunks *c)
{
	for (uint32_t at = 0; at < v->text->n;) {
		const char *end = memchr(v->text->at + at, '\n', v->text->n - at);
		uint32_t next = end ? (uint32_t)(end - v->text->at) + 1 : (uint32_t)v->text->n;
		reduce_chunk_begin(c);
		reduce_edit_add(c, at, next, "");
		at = next;
	}
}

/* Finds the token that closes the bracket at token `open`; v->token.n: there is none. */
static uint32_t find_closing(const struct reduce_view *v, uint32_t open)
{
	static const char opening[] = "([{", closing[] = ")]}";
	char first = v->text->at[v->token.at[open].at];
	const char *k = strchr(opening, first);
	unsigned depth = 0;
	for (uint32_t i = open; k && i < v->token.n; i++) {
		if (v->token.at[i].kind != TOKEN_SIGN)
			continue;
		char sign = v->text->at[v->token.at[i].at];
		depth += sign == first;
		if (sign == closing[k - opening] && !--depth)
			return i;
	}
	return v->token.n;
}

/* Cuts, for each pair of brackets: the two brackets alone; the text between them; brackets and text. */
void reduce_brackets(const struct reduce_view *v, struct reduce_chunks *c)
{
	for (uint32_t i = 0; i < v->token.n; i++) {
		struct reduce_token t = v->token.at[i];
		if (t.kind != TOKEN_SIGN || !strchr("([{", v->text->at[t.at]))
			continue;
		uint32_t close = find_closing(v, i);
		if (close == v->token.n)
			continue;
		struct reduce_token end = v->token.at[close];
		reduce_chunk_begin(c);
		reduce_edit_add(c, t.at, t.end, "");
		reduce_edit_add(c, end.at, end.end, "");
		reduce_chunk_begin(c);
		reduce_edit_add(c, t.end, end.at, "");
		reduce_chunk_begin(c);
		reduce_edit_add(c, t.at, end.end, "");
	}
}

/* Cuts each token with the blanks before it. */
void reduce_tokens(const struct reduce_view *v, struct reduce_chunks *c)
{
	for (uint32_t i = 0; i < v->token.n; i++) {
		reduce_chunk_begin(c);
		reduce_edit_add(c, reduce_back_over(v, v->token.at[i].at, " \t"), v->token.at[i].end, "");
	}
}
