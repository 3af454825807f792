/* ref_sample: a part of a program that is too large to be evaluated.
 *
 * Along an axis whose elements are computed independently of each other, in the whole program, a few
 * indices stand for all:
 *
 *     Y[t, h] = linear(X[t, k], W[h, k])     rows t of X, Y and columns h of Y, rows h of W: some;
 *                                            k is summed over: all
 *
 * The program becomes a smaller one with the same values at these indices. */
#ifndef HIRC_REF_REF_SAMPLE_H
#define HIRC_REF_REF_SAMPLE_H
#include "ref/ref.h"

struct ref_sample;

/* Of an axis of a value: n of the indices below extent, ascending. */
struct ref_indices {
	int64_t extent, n;
	int64_t *at; /* NULL: all; owned by the sample */
};

/* Makes the program smaller, so that it takes at most o->limit multiplications, by new extents of its
 * values. NULL when it is small enough as it is, is of the host level, or has no axis that helps: then
 * nothing changes. */
struct ref_sample *ref_sample_take(struct module *m, const struct ref_options *o);
/* For a value of that program; axis < rank. */
struct ref_indices ref_sample_axis(const struct ref_sample *s, value_id v, unsigned axis);
void ref_sample_free(struct ref_sample *s); /* NULL is allowed */

#endif
