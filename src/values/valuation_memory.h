/* valuation_memory: the order in memory of the elements that a rank has of a value.
 *
 *     X: f32[3, 8@x], x = 2      rank 1: axes (0, 1) of extents (3, 4), from element [0, 4] on
 *
 * Memory has an entry for each axis and block of the allocation domain. Of blocks that other ranks or other steps of a
 * loop hold, the rank has one, so they have no place in its memory. Nor has an axis of one element. */
#ifndef HIRC_VALUES_VALUATION_MEMORY_H
#define HIRC_VALUES_VALUATION_MEMORY_H
#include "values/valuation.h"

struct value_memory {
	const struct value_view *view;
	unsigned n;      /* number of axes of the view */
	unsigned long_n; /* the first ones, in the order of memory; the others have one element */
	uint8_t axis[IR_MAX_LOGICAL];   /* outermost first */
	int64_t extent[IR_MAX_LOGICAL]; /* of the rank's part, in that order */
	int64_t count;
};

/* Finds the memory of a view. Returns false if its elements are no box, have no order of axes, or are none. */
bool value_memory_find(const struct valuation *v, const struct value_view *x, struct value_memory *out);
/* Finds the box of the view that an interval of its memory is. Returns false if it is none. */
bool value_memory_box(const struct value_memory *x, struct extent flat, struct extent *out);
/* Finds the interval of memory that a box of the view is. Returns false if it is none. */
bool value_memory_interval(const struct value_memory *x, const struct extent *box, struct extent *out);

#endif
