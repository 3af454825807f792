/* ref_attention: the rows and scores of attention and of its gradients, and their errors. */
#ifndef HIRC_REF_REF_ATTENTION_H
#define HIRC_REF_REF_ATTENTION_H
#include "ref/ref_internal.h"

#define REF_LEAST_WEIGHT 0x1p-25 /* a weight that f16 rounds to 0 or to its smallest number */

/* One query row of attention: offsets of the row, of the head's keys and values, and of the row of the
 * mask. */
struct ref_row {
	int64_t q, k, v, mask, mask_step;
	int64_t n; /* keys that it sees */
};

double ref_float_attribute(struct ref_context *c, op_id op, const char *key, double otherwise);
/* Returns the least state of n elements that lie `stride` apart. */
uint8_t ref_row_state(const struct ref_array *a, int64_t at, int64_t n, int64_t stride);
/* Returns the error of scale times the product of n elements of in[0] from q on and of in[1] from k on. */
double ref_score_error(const struct ref_array *const *in, int64_t q, int64_t k, int64_t n, double scale);
/* Returns the relative error of a weight, which may be rounded to the dtype of the values if that has 16
 * bits. */
double ref_weight_rounding(enum dtype t);
/* Adds the mask to a score; returns the error that it brings. */
double ref_mask_score(const struct ref_array *mask, int64_t at, enum dtype t, double *score);
/* Returns true if the axes of x before the last `own` match those of q, or have the extent 1. Both are
 * aligned at the right. */
bool ref_broadcasts(const struct ref_array *x, const struct ref_array *q, int own);
/* Returns the number of the matrix of x that belongs to a head of q. */
int64_t ref_matrix_of_head(const struct ref_array *x, const struct ref_array *q, int64_t head);
/* Sets the offset of a row of the mask, which may have fewer axes than the scores [heads, rows, keys].
 * Returns false if it does not fit them. */
bool ref_mask_row(const struct ref_array *mask, const struct ref_array *q, int64_t keys, int64_t head,
                  int64_t query, struct ref_row *row);

#endif
