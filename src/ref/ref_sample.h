/* ref_sample: a part of a program that is too large to be evaluated.
 *
 * Along an axis whose elements are computed independently of each other, in the whole program, a few
 * indices stand for all:
 *
 *     Y[t, h] = linear(X[t, k], W[h, k])     rows t of X, Y and columns h of Y, rows h of W: some;
 *                                            k is summed over: all
 *
 * A fusion-level program becomes a smaller one with the same values at these indices. Of a host-level one,
 * whose statements take blocks of buffers, the products of other indices are left out. */
#ifndef HIRC_REF_REF_SAMPLE_H
#define HIRC_REF_REF_SAMPLE_H
#include "ref/ref.h"

struct ref_sample;

/* The sampled indices of an axis of a value: n of those below extent, ascending. */
struct ref_indices {
	int64_t extent, n;
	int64_t *at; /* NULL: all; owned by the sample */
};

/* Takes a sample so that the program takes at most o->limit multiplications, or their time; NULL when it does
 * as it is, or has no axis that helps. A fusion-level program is made smaller, by new extents of its values.
 * A host-level one stays, for ref_options to have the sample: elements outside of it are skipped. */
struct ref_sample *ref_sample_take(struct module *m, const struct ref_options *o);
bool ref_sample_skips(const struct ref_sample *s); /* that of a host-level program */
/* Clears the flags of the elements of a tensor, of n[a] elements along axis a, that are not in the sample. */
void ref_sample_clear(const struct ref_sample *s, value_id v, int nd, const int64_t *n, uint8_t *flag);
/* For a value of that program; axis < rank. */
struct ref_indices ref_sample_axis(const struct ref_sample *s, value_id v, unsigned axis);
void ref_sample_free(struct ref_sample *s); /* NULL is allowed */

#endif
