/* layout: the map from a tensor's loop coordinates to its elements, and how tensors are spread.
 *
 * A block of a split of n by k is ceilDiv(n, k) long, clipped at the end; swizzle1d(x): the step r
 * of the rank with index i along x is block (i + r) mod size. part.h has the elements of a rank. */
#ifndef HIRC_IR_LAYOUT_H
#define HIRC_IR_LAYOUT_H
#include "ir/ir.h"

/* ---- the general map, for any transforms */

struct layout_env {
	int64_t extent[IR_MAX_AXES];          /* value of every axis' extent */
	int64_t mesh_index[IR_MAX_MESH_AXES]; /* index of the rank along each mesh axis, for swizzle1d */
};
/* Evaluates the extents of a domain; false with a offending expression when one is not known. */
bool layout_env_init(const struct module *m, type_id t, int64_t rank, struct layout_env *env,
                     expr_id *offending);
/* Logical index (logical_n entries) of the element at loop coordinates (loop_n entries); false when
 * it lies in padding. */
bool layout_logical_index(const struct domain *d, const struct layout_env *env, const int64_t *loop,
                          int64_t *logical);

/* ---- comparing */

/* Returns true if two tensors' axes are spread over devices alike (same mesh): splits without a mesh axis
 * below them do not count, so `n@x@stream(4)` is like `n@x` and `n@stream(4)@x` is not. */
bool layout_same_footprint(const struct module *m, type_id ta, unsigned a, type_id tb, unsigned b);
/* Returns true if the transforms of two logical axes are the same altogether. */
bool layout_same_axis(const struct module *m, type_id ta, unsigned a, type_id tb, unsigned b);
/* Bit k is set when the axis is spread over mesh axis k. */
unsigned layout_mesh_axes(const struct module *m, type_id t, unsigned logical);
/* The logical axis that produced an axis of the domain, or -1 when it is a merge of several. */
int layout_logical_of(const struct domain *d, unsigned axis);
/* The pending reduction over a mesh axis: its logical axis, or -1. */
int layout_partial(const struct domain *d, unsigned mesh_axis);
/* The first stream or host-serial axis of the loop domain (an axis), or -1. */
int layout_loop_axis(const struct domain *d, unsigned which);

#endif
