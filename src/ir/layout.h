/* layout: maps a tensor's loop coordinates to its elements, and tells how tensors are spread.
 *
 * Splitting n by k gives blocks of ceilDiv(n, k) elements; the last one is clipped. With swizzle1d(x),
 * step r of the rank with index i along x is block (i + r) mod size. part.h finds the elements of a
 * rank. */
#ifndef HIRC_IR_LAYOUT_H
#define HIRC_IR_LAYOUT_H
#include "ir/ir.h"

/* ---- the general map, for any transforms */

struct layout_env {
	int64_t extent[IR_MAX_AXES];          /* by axis */
	int64_t mesh_index[IR_MAX_MESH_AXES]; /* index of the rank along each mesh axis, for swizzle1d */
};
/* Evaluates the extents of a domain. Returns false with the offending expression if one is unknown. */
bool layout_env_init(const struct module *m, type_id t, int64_t rank, struct layout_env *env,
                     expr_id *offending);
/* Finds the logical index (logical_n entries) of the element at loop coordinates (loop_n entries).
 * Returns false if it is in padding. */
bool layout_logical_index(const struct domain *d, const struct layout_env *env, const int64_t *loop,
                          int64_t *logical);

/* ---- comparing */

/* Returns true if two axes of the same mesh are spread over devices in the same way. Splits without a
 * mesh axis below them do not count: `n@x@stream(4)` is like `n@x`, but `n@stream(4)@x` is not. */
bool layout_same_footprint(const struct module *m, type_id ta, unsigned a, type_id tb, unsigned b);
/* Returns true if all transforms of two logical axes are the same. */
bool layout_same_axis(const struct module *m, type_id ta, unsigned a, type_id tb, unsigned b);
/* Returns the mesh axes over which an axis is spread, as a bit set. */
unsigned layout_mesh_axes(const struct module *m, type_id t, unsigned logical);
/* Returns the logical axis from which an axis derives; -1 if it is a merge of several. */
int layout_logical_of(const struct domain *d, unsigned axis);
/* Returns the logical axis of the pending reduction over a mesh axis, or -1. */
int layout_partial(const struct domain *d, unsigned mesh_axis);
/* Returns the first stream or host-serial axis of the loop domain, or -1. */
int layout_loop_axis(const struct domain *d, unsigned which);

#endif
