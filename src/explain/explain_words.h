/* explain_words: statements and figures as the tables of an explanation have them. */
#ifndef HIRC_EXPLAIN_EXPLAIN_WORDS_H
#define HIRC_EXPLAIN_EXPLAIN_WORDS_H
#include "explain/explain.h"

/* "allgather"; the name of a recorded statement; "group" of an end_coalescing. */
const char *explain_short(struct timeline *t, op_id op);
/* The number of its line; "" where there is none. */
const char *explain_line(struct timeline *t, op_id op);
/* "12 allgather, (0 1)"; "launch"; "other ranks"; "" where nothing was waited for. */
const char *explain_after(struct timeline *t, const struct explain_row *r, struct arena *a);
/* "main", "4 streams", "(0 1)". */
const char *explain_lane(const struct explain_class *c, const struct explain_row *r, struct arena *a);
/* "9.375 KiB"; "512 B"; "" of 0. */
const char *explain_bytes(int64_t bytes, struct arena *a);
/* "38.4 M"; "" of 0. */
const char *explain_flops(double flops, struct arena *a);
/* Returns the part that the chain of a class has most of; explain_bound_text has its words for people. */
enum explain_part explain_bound(const struct explain_class *c);
extern const char *const explain_bound_text[EXPLAIN_PARTS];

#endif
