/* printed_cover: reads the axes of a whole listing at once, from the numbers that stand nowhere.
 *
 *     T0[istreamIdx2{3}, ideviceIdx.x4{2}, iS5{3}]      0, 1, 3 and 7 stand nowhere
 *     T1[istreamIdx6{3}, ideviceIdx.x8{2}, iS9{3}]
 *       T0 is axis 0, split into 2 and 3, and 3 into 4 and 5; T1 is axis 1, split likewise
 *
 * Each split takes one number out of sight, that of its parent. If no tensor is missing in the listing, each such number
 * is the parent of exactly one split, and the logical axes of a tensor have numbers in a row. Often only one reading of
 * all tensors keeps to that. A listing without some tensors has more missing numbers than splits. */
#ifndef HIRC_IR_PRINTED_COVER_H
#define HIRC_IR_PRINTED_COVER_H
#include "ir/printed.h"

enum {
	PRINTED_COVER_IDS = 16, /* of a tensor, at most */
	PRINTED_COVER_TENSORS = 512,
};

/* A reading of a tensor. */
struct printed_choice {
	bool stated;                       /* false: it has none, the tensor is read by itself */
	int8_t half_of[PRINTED_COVER_IDS]; /* as in struct printed_reading */
	bool is_inner[PRINTED_COVER_IDS];
	bool swizzled[PRINTED_COVER_IDS];
	int32_t logical[PRINTED_COVER_IDS]; /* by id that an axis ends in: the number of the axis */
};

enum printed_cover_kind {
	PRINTED_COVER_ALL,  /* each missing number is used once */
	PRINTED_COVER_SOME, /* a number need not be used */
	PRINTED_COVER_LACKING, /* likewise, and the listing lacks tensors, so that any number may be one of theirs */
};

/* Reads n tensors, in the order in which they were made. Returns the number of readings, at most 2. If numbers need not
 * be used, the first reading has many splits, the second few.
 * *inner: a reading has splits that state the inner half, and those without were not enough. */
unsigned printed_cover(struct module *m, const struct printed_tensor *t, unsigned n,
                       const struct printed_numbers *numbers, enum printed_cover_kind kind,
                       struct printed_choice *out[2], bool *inner);

/* Returns true if two tensors have the same axes, with numbers in the same order. */
bool printed_are_alike(const struct printed_tensor *x, const struct printed_tensor *y);

#endif
