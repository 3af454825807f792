/* printed_reading: finds which printed ids are the halves of one axis.
 *
 *     T0[istreamIdx7{3}, ideviceIdx.x9{2}, iS8{4}, iS10{4}]     7 and 8 are an axis, 9 and 10 are another
 *
 * printed.h states the rule, printed_numbers.h what the numbers of a listing tell. */
#ifndef HIRC_IR_PRINTED_READING_H
#define HIRC_IR_PRINTED_READING_H
#include "ir/printed.h"

/* A reading of a tensor. An axis that was split ends in one id, a plain one if it has some. From there half_of leads to
 * the other halves, those of the last split first:
 *
 *     T0[ideviceIdx.x4{2}, iS5{5}, iS3{4}]     half_of[iS5] = x4, half_of[x4] = iS3, is_inner[iS3]
 *       an axis, split by inner 4 into 2 and 3; 2, which stands nowhere, by outer 2 into 4 and 5 */
struct printed_reading {
	int half_of[IR_MAX_AXES];   /* by id: the next half of its axis, -1: none */
	bool is_half[IR_MAX_AXES];  /* no axis ends in the id: it is half_of another one */
	bool is_inner[IR_MAX_AXES]; /* a half that is the inner one of its split; others are outer halves */
	bool swizzled[IR_MAX_AXES]; /* an outer half that a Swizzle1D made */
};

void printed_reading_find(struct module *m, const struct printed_tensor *t, struct printed_reading *r);
/* Lists the ids by the place of their axes in the logical domain. */
void printed_reading_order(const struct printed_tensor *t, const struct printed_reading *r, uint8_t *order);
/* Returns the extent of the axis that a split turned into `outer` and `inner`. 0 on overflow. */
expr_id printed_split_extent(struct module *m, expr_id outer, expr_id inner);
/* Returns the extent of the axis that was split into a half and the rest. 0 on overflow. */
expr_id printed_reading_join(struct module *m, const struct printed_tensor *t,
                             const struct printed_reading *r, unsigned half, expr_id rest);
/* Returns the extent of the logical axis that ends in id i. 0 on overflow. */
expr_id printed_reading_extent(struct module *m, const struct printed_tensor *t,
                               const struct printed_reading *r, unsigned i);
/* Returns the plain id that is the inner half of a split whose outer half a Swizzle1D turned into id i, or -1. The split
 * makes n-1 and n, the swizzle makes n+1, so that n-1 stands nowhere. *certain: the extents say so, too. */
int printed_reading_swizzled(const struct module *m, const struct printed_tensor *t, unsigned i,
                             bool *certain);
/* Counts the mesh axes that have as many devices as a swizzled axis has elements. *last: the last of them. */
unsigned printed_reading_mesh_axes(const struct module *m, const struct printed_tensor *t, expr_id extent,
                                   unsigned *last);

#endif
