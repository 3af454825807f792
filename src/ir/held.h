/* held: which part of a tensor a device holds, as intervals of each axis.
 *
 *     X: f32[10@x, 4], x = 3, device 2           axis 0: 8 … 10, axis 1: 0 … 4
 *     X: f32[16@block(2)@x, 8], x = 2, device 0  axis 0: 0 … 4 and 8 … 12
 *
 * Layouts are read as placements; params have their values. */
#ifndef HIRC_IR_HELD_H
#define HIRC_IR_HELD_H
#include "ir/domain.h"

struct held_interval {
	int64_t from, to; /* from ≤ k < to */
};
typedef VEC(struct held_interval) held_intervals; /* ascending, none of them empty, none touch */

struct held_layout {
	const struct mesh *mesh; /* NULL: none, each device holds all */
	struct sugar s;
};

/* False: the layout has other transforms than placements. */
bool held_layout_read(struct module *m, type_id t, struct held_layout *out);
/* Finds the elements of an axis that a device of the mesh holds, to be freed. step: the step of each loop of
 * the axis, outermost first; a negative one stands for all steps; NULL: all steps of all loops. False: an
 * extent has no value. */
bool held_axis(const struct module *m, const struct held_layout *l, unsigned axis, uint32_t device,
               const int64_t *step, held_intervals *out);
/* The extent of a full block of those that devices and loops make of an axis; likewise false. */
bool held_block(const struct module *m, const struct held_layout *l, unsigned axis, const int64_t *step,
                int64_t *out);
/* Counts the elements of one axis that two sets of intervals have in common. */
int64_t held_common(const held_intervals *a, const held_intervals *b);
bool held_alike(const held_intervals *a, const held_intervals *b);

#endif
