/* report_rows: two texts side by side.
 *
 *     7  T8: f32[8] = relu(X)    7  T8: f32[8] = relu(X)        alike
 *     8  T9: f32[8] = set(T8)                                   only in the first
 *     9  T10: f32[8] = neg(T9)   8  T9: f32[8] = neg(T8)        different, each in place of the other
 *
 * Lines are also alike if they differ only in the numbers of T3, i3 and c3, and each number stands for the
 * same thing throughout. A dump gives nameless things new numbers. */
#ifndef HIRC_REPORT_REPORT_ROWS_H
#define HIRC_REPORT_REPORT_ROWS_H
#include "base/str.h"
#include "base/vec.h"

#define ROWS_NONE UINT32_MAX

struct rows_line {
	const char *at; /* in the text */
	uint32_t n;
};
struct rows_pair {
	uint32_t line[2]; /* from 0 on; ROWS_NONE: only the other text has it */
	bool alike;
};

struct rows {
	VEC(struct rows_line) text[2];
	VEC(struct rows_pair) pair;
	uint32_t removed, added; /* lines without an equal line */
};

/* The texts must outlive the rows. */
void rows_open(struct rows *r, const struct buf *before, const struct buf *after);
void rows_close(struct rows *r);

#endif
