/* local: finds the extents of the part of a tensor that a rank holds where a statement uses it.
 *
 *     mesh m(x = 4)
 *     V: f32[10@x, 8]                       3 rows of 8
 *     T: f32[12@stream(3), 8]               4 rows of 8 in its loop; all 12 outside
 *
 * It is the largest part: some ranks and iterations may hold less. If axes are merged, the first one has
 * the size of the merged part, and the others have 1. */
#ifndef HIRC_COST_LOCAL_H
#define HIRC_COST_LOCAL_H
#include "cost/curve.h"
#include "ir/expr.h"

struct local_shape {
	unsigned rank;
	int64_t n[IR_MAX_LOGICAL]; /* by visible axis */
	int64_t elements, bytes;
};

#define LOCAL_MAX_BYTES ((int64_t)1 << 60)

static inline int64_t local_limit_bytes(cost_amount bytes)
{
	return bytes < LOCAL_MAX_BYTES ? (int64_t)bytes : LOCAL_MAX_BYTES;
}

/* Returns EXPR_OVERFLOW for more than LOCAL_MAX_BYTES, and for negative extents. */
enum expr_status local_shape(const struct module *m, value_id v, struct local_shape *out);

#endif
