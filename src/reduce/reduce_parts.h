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
/* reduce_names.c: these run last, since they help no other kind */
void reduce_names(const struct reduce_view *v, struct reduce_chunks *c);
void reduce_spelling(const struct reduce_view *v, struct reduce_chunks *c);

/* Adds edits that replace a word by a text everywhere except in the bytes from `at` to `end`. */
void reduce_replace_word(const struct reduce_view *v, struct reduce_chunks *c, const char *word,
                         const char *text, uint32_t at, uint32_t end);
/* Adds an edit that leaves out an item of a list and one comma beside it. */
void reduce_cut_item(const struct reduce_view *v, struct reduce_chunks *c, uint32_t at, uint32_t end);
/* Returns the start of the run of such characters that ends at `at`; `at`: there is none. */
uint32_t reduce_back_over(const struct reduce_view *v, uint32_t at, const char *characters);
/* Returns the node's text, allocated in the arena of the chunks. */
const char *reduce_node_text(const struct reduce_view *v, const struct reduce_chunks *c, ast_id id);

#endif
