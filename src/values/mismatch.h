/* mismatch: the innermost difference of two facts, and whether it is one of functions.
 *
 *     relu(X W) + b    and    relu(Y W) + b      differ in X and Y
 *     softmax(S)       and    exp(S) / T         may be equal: hirc knows no law that relates them
 *
 * Facts with equal ids are equal functions. Facts with other ids differ for sure only where the tops of both are
 * sums and pointwise operations on the same terms, inputs, products and reductions: these are evaluated with random
 * numbers for the terms. */
#ifndef HIRC_VALUES_MISMATCH_H
#define HIRC_VALUES_MISMATCH_H
#include "values/facts.h"

struct mismatch {
	fact_id a, b;
	bool is_known; /* the functions differ */
};
struct mismatch mismatch_find(struct facts *f, fact_id a, fact_id b);

#endif
