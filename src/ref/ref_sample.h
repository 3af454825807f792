/* ref_sample: a part of a program, for programs that are too large to be evaluated.
 *
 * If the whole program computes the elements along an axis independently of each other, a few indices are
 * enough:
 *
 *     Y[t, h] = linear(X[t, k], W[h, k])     rows t of X, Y and columns h of Y, rows h of W: some;
 *                                            k is summed over: all
 *
 * A fusion-level program becomes a smaller one with the same values at these indices. A host-level program,
 * whose statements work on blocks of buffers, stays as it is; products at other indices are skipped. */
#ifndef HIRC_REF_REF_SAMPLE_H
#define HIRC_REF_REF_SAMPLE_H
#include "ref/ref.h"

struct ref_sample;

/* The sampled indices of an axis: n of those below extent, ascending. */
struct ref_indices {
	int64_t extent, n;
	int64_t *at; /* NULL: all; owned by the sample */
};

/* Takes a sample with which the program needs at most o->limit multiplications, or their time. Returns NULL
 * if the program needs no sample, or if no axis helps. A fusion-level program is made smaller by new extents
 * of its values. For a host-level program the caller puts the sample into ref_options; elements outside it
 * are skipped. */
struct ref_sample *ref_sample_take(struct module *m, const struct ref_options *o);
bool ref_sample_skips(const struct ref_sample *s); /* true: the sample of a host-level program */
/* Clears the flags of elements outside the sample. The tensor has n[a] elements along axis a. */
void ref_sample_clear(const struct ref_sample *s, value_id v, int nd, const int64_t *n, uint8_t *flag);
/* For a value of the sampled program; axis < rank. */
struct ref_indices ref_sample_axis(const struct ref_sample *s, value_id v, unsigned axis);
void ref_sample_free(struct ref_sample *s); /* NULL is allowed */

#endif
