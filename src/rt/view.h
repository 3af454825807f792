/* view: a strided window on memory. Kernels see tensors only as views.
 *
 * Element (i0, i1, …) is at data + (i0*stride[0] + i1*stride[1] + …) elements.
 * A stride of 0 broadcasts; negative strides are allowed. nd == 0 is a scalar
 * in memory. A view with some n == 0 is empty, its data may be NULL. */
#ifndef HIRC_RT_VIEW_H
#define HIRC_RT_VIEW_H
#include "rt/convert.h"

enum { RT_MAX_DIMS = 8 };

struct rt_view {
	void *data;                  /* address of element (0, 0, …); not owned */
	enum dtype dtype;            /* of the elements */
	int nd;                      /* 0..RT_MAX_DIMS */
	int64_t n[RT_MAX_DIMS];      /* extents, >= 0 */
	int64_t stride[RT_MAX_DIMS]; /* in elements */
};

/* Returns the row-major view of data. */
struct rt_view rt_view_dense(void *data, enum dtype t, int nd, const int64_t *n);
/* Returns the view with axes a and b exchanged. */
struct rt_view rt_view_swap(struct rt_view v, int a, int b);
/* Returns the view of [start, start + n) of an axis. */
struct rt_view rt_view_slice(struct rt_view v, int axis, int64_t start, int64_t n);
/* Returns the view with a new axis, of extent n and stride 0, before `axis`. */
struct rt_view rt_view_expand(struct rt_view v, int axis, int64_t n);

int64_t rt_view_count(const struct rt_view *v); /* number of elements */
bool rt_view_is_dense(const struct rt_view *v); /* row-major without gaps (axes of extent 1 are ignored) */

#endif
