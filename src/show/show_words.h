/* show_words: how pictures name statements. */
#ifndef HIRC_SHOW_SHOW_WORDS_H
#define HIRC_SHOW_SHOW_WORDS_H
#include "ir/ir.h"

/* A statement on one line, without blanks before it, in a module that ir_number has numbered. */
void show_put_statement(struct module *m, op_id op, struct buf *out);
/* " (f.hir:7)", or nothing. */
void show_put_place(const struct module *m, op_id op, struct buf *out);
/* "2.25K": at most five characters up to 1000 Ti. */
void show_put_bytes(int64_t bytes, struct buf *out);

#endif
