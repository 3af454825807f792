/* explain_words: texts of statements and figures for the tables of an explanation. */
#ifndef HIRC_EXPLAIN_EXPLAIN_WORDS_H
#define HIRC_EXPLAIN_EXPLAIN_WORDS_H
#include "explain/explain.h"

/* Returns "allgather"; the name of a recorded statement; "group" for an end_coalescing. */
const char *explain_short(struct timeline *t, op_id op);
/* Returns the number of its line; "" if there is none. */
const char *explain_line(struct timeline *t, op_id op);
/* Returns "12 allgather, (0 1)"; "launch"; "other ranks"; "" if it did not wait. */
const char *explain_after(struct timeline *t, const struct explain_row *r, struct arena *a);
/* Returns "main", "4 streams" or "(0 1)". */
const char *explain_lane(const struct explain_class *c, const struct explain_row *r, struct arena *a);
/* Returns "9.375 KiB" or "512 B"; "" for 0. */
const char *explain_bytes(int64_t bytes, struct arena *a);
/* Returns "38.4 M"; "" for 0. */
const char *explain_flops(double flops, struct arena *a);
/* Returns the largest part of a class's chain; explain_bound_text has its words. */
enum explain_part explain_bound(const struct explain_class *c);
extern const char *const explain_bound_text[EXPLAIN_PARTS];

#endif
