/* show_words: texts of statements, places and sizes in pictures. */
#ifndef HIRC_SHOW_SHOW_WORDS_H
#define HIRC_SHOW_SHOW_WORDS_H
#include "ir/ir.h"

/* Appends a statement on one line, without leading blanks. ir_number must have numbered the module. */
void show_put_statement(struct module *m, op_id op, struct buf *out);
/* Appends " (f.hir:7)", or nothing. */
void show_put_place(const struct module *m, op_id op, struct buf *out);
/* Appends "2.25K": at most five characters, up to 1000 Ti. */
void show_put_bytes(int64_t bytes, struct buf *out);

#endif
