/* contents: the facts of a buffer, as boxes that have no element in common.
 *
 *     Y: f32[8, 4]      [0, 4) x [0, 4): relu(X)      [4, 8) x [0, 4): 0
 *
 * Boxes are in the logical axes of the buffer. Neighbours with one fact are joined. An element in no box is not
 * written, or not in the memory of this rank. */
#ifndef HIRC_VALUES_CONTENTS_H
#define HIRC_VALUES_CONTENTS_H
#include "ir/ir.h"
#include "values/facts.h"

struct cell {
	struct extent axis[IR_MAX_LOGICAL];
	fact_id fact;
	uint32_t
	    by; /* of a buffer: the statement that wrote the box, or one of those that wrote its parts; 0: none.
	              * Of the operands of a meeting: 1 + the last member that gave it */
};
struct contents {
	unsigned n; /* number of axes */
	VEC(struct cell) cell;
};

/* Sets the fact of a box. */
void contents_write(struct contents *c, const struct extent *box, fact_id fact);
void contents_write_by(struct contents *c, const struct extent *box, fact_id fact, uint32_t by);
/* Appends the parts of a box that are written to `out`. */
void contents_read(const struct contents *c, const struct extent *box, struct contents *out);
/* Returns true if all of a box is written; otherwise sets *index to an element that is not. */
bool contents_cover(const struct contents *c, const struct extent *box, int64_t *index);
void contents_clear(struct contents *c);

/* Sets *out to the common part of two boxes. Returns false if it is empty. */
bool extents_meet(const struct extent *a, const struct extent *b, unsigned n, struct extent *out);

#endif
