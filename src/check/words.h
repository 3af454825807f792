/* words: the names of things in messages. */
#ifndef HIRC_CHECK_WORDS_H
#define HIRC_CHECK_WORDS_H
#include "check/checker.h"

void words_value(const struct checker *c, value_id v, struct buf *out);   /* 'X' */
void words_statement(const struct checker *c, op_id op, struct buf *out); /* allreduce c0; 0: the caller */
void words_statement_name(const struct checker *c, op_id op, struct buf *out); /* c0 */
void words_place(const struct checker *c, uint32_t device, uint32_t iteration,
                 struct buf *out); /* (rank 1, i = 2) */

#endif
