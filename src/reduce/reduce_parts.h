/* reduce_parts: the kinds of chunks. Each function looks at one text and adds its chunks. */
#ifndef HIRC_REDUCE_REDUCE_PARTS_H
#define HIRC_REDUCE_REDUCE_PARTS_H
#include "reduce/reduce_search.h"
#include "reduce/reduce_view.h"

/* reduce_text.c: without the parser */
void reduce_comments(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_lines(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_brackets(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_tokens(const struct reduce_view *v, struct reduce_chunks *c);
/* reduce_statements.c */
void reduce_statements(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_users(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_blocks(const struct reduce_view *v, struct reduce_chunks *c);
/* reduce_values.c */
void reduce_operands(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_definitions(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_inputs(const struct reduce_view *v, struct reduce_chunks *c);
/* reduce_annotations.c */
void reduce_annotations(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_axes(const struct reduce_view *v, struct reduce_chunks *c);
/* reduce_numbers.c */
void reduce_constants(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_numbers(const struct reduce_view *v, struct reduce_chunks *c);
/* reduce_names.c: last, since they make nothing that others could use */
void reduce_names(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_spelling(const struct reduce_view *v, struct reduce_chunks *c);

/* Adds edits that put a text in the place of a word wherever it stands outside the bytes from `at` to `end`.
 */
void reduce_replace_word(const struct reduce_view *v, struct reduce_chunks *c, const char *word,
                         const char *text, uint32_t at, uint32_t end);
/* Adds an edit that leaves out an item of a list, with a comma beside it. */
void reduce_cut_item(const struct reduce_view *v, struct reduce_chunks *c, uint32_t at, uint32_t end);
/* The bytes before `at` back to after the last one that is none of a set of characters. */
uint32_t reduce_back_over(const struct reduce_view *v, uint32_t at, const char *characters);
/* The node's text, of the chunks' arena. */
const char *reduce_node_text(const struct reduce_view *v, const struct reduce_chunks *c, ast_id id);

#endif
