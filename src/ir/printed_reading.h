/* printed_reading: finds which printed ids are the halves of one axis.
 *
 *     T0[istreamIdx7{3}, ideviceIdx.x9{2}, iS8{4}, iS10{4}]     7 and 8 are an axis, 9 and 10 are another
 *
 * printed.h states the rule, printed_numbers.h what the numbers of a listing tell. */
#ifndef HIRC_IR_PRINTED_READING_H
#define HIRC_IR_PRINTED_READING_H
#include "ir/printed.h"

/* A reading of a tensor: by id, its outer half, -1: none; and the ids that are outer halves. The outer half of an outer
 * half was split off before: its inner half was split again, and its number stands nowhere. */
struct printed_reading {
	int outer_of[IR_MAX_AXES];
	bool is_outer[IR_MAX_AXES];
	bool swizzled[IR_MAX_AXES]; /* an outer half that a Swizzle1D made */
};

void printed_reading_find(struct module *m, const struct printed_tensor *t, struct printed_reading *r);
/* Lists the ids by the place of their axes in the logical domain. */
void printed_reading_order(const struct printed_tensor *t, const struct printed_reading *r, uint8_t *order);
/* Returns the extent of the logical axis that ends in id i. 0 on overflow. */
expr_id printed_reading_extent(struct module *m, const struct printed_tensor *t,
                               const struct printed_reading *r, unsigned i);
/* Counts the mesh axes that have as many devices as a swizzled axis has elements. *last: the last of them. */
unsigned printed_reading_mesh_axes(const struct module *m, const struct printed_tensor *t, expr_id extent,
                                   unsigned *last);

#endif
