/* kernel_axes: joins axes that all views have in common, and writes the text that finds elements along them;
 * see kernel_write.h.
 *
 *     out[4, 8, 16; 128, 16, 1]   a[4, 8, 16; 128, 16, 1]   b[4, 8, 16; 0, 0, 1]
 *         axes n = 32, 16; strides 16 1, 16 1, 0 1: the first two axes are one in all views */
#include "cuda/kernel_write.h"
#include <stdlib.h>

enum { MOST_NARROW = INT32_MAX / 2 };

static int64_t stride_of(const struct rt_view *v, int d)
{
	return v ? v->stride[d] : 0;
}

/* Orders axes by their strides in a view, the largest first; axes with equal strides keep their order. */
static int order_axes(const struct rt_view *space, const struct rt_view *by, unsigned mask, int *axis)
{
	int nd = 0;
	for (int d = 0; d < space->nd; d++) {
		if (!(mask >> d & 1) || space->n[d] == 1)
			continue;
		int at = nd++;
		for (; at > 0 && llabs(stride_of(by, axis[at - 1])) < llabs(stride_of(by, d)); at--)
			axis[at] = axis[at - 1];
		axis[at] = d;
	}
	return nd;
}

static bool is_one_axis(const struct kernel_axes *x, const struct rt_view *const *view, int d, int64_t n)
{
	for (int v = 0; v < x->views; v++)
		if (x->stride[v][x->nd - 1] != stride_of(view[v], d) * n)
			return false;
	return x->nd > 0;
}

void kernel_axes_make(struct kernel_axes *x, const struct rt_view *const *view, int views, unsigned mask,
                      int first)
{
	int axis[RT_MAX_DIMS], nd = order_axes(view[0], view[first], mask, axis);
	x->nd = 0;
	x->views = views;
	for (int k = 0; k < nd; k++) {
		int d = axis[k];
		int64_t n = view[0]->n[d];
		bool one = x->nd > 0 && is_one_axis(x, view, d, n);
		x->nd += !one;
		x->n[x->nd - 1] = one ? x->n[x->nd - 1] * n : n;
		for (int v = 0; v < views; v++)
			x->stride[v][x->nd - 1] = stride_of(view[v], d);
	}
}

int64_t kernel_axes_count(const struct kernel_axes *x)
{
	int64_t n = 1;
	for (int d = 0; d < x->nd; d++)
		n *= x->n[d];
	return n;
}

int64_t kernel_axes_inner(const struct kernel_axes *x, int view)
{
	return x->nd ? x->stride[view][x->nd - 1] : 0;
}

static bool reach_is_narrow(int nd, const int64_t *n, const int64_t *stride)
{
	int64_t reach = 0;
	for (int d = 0; d < nd; d++) {
		if (n[d] <= 1)
			continue;
		if (llabs(stride[d]) > MOST_NARROW / (n[d] - 1))
			return false;
		reach += llabs(stride[d]) * (n[d] - 1);
	}
	return reach <= MOST_NARROW;
}

bool kernel_axes_is_narrow(const struct kernel_axes *x)
{
	if (kernel_axes_count(x) > MOST_NARROW)
		return false;
	for (int v = 0; v < x->views; v++)
		if (!reach_is_narrow(x->nd, x->n, x->stride[v]))
			return false;
	return true;
}

bool kernel_view_is_narrow(const struct rt_view *v)
{
	return rt_view_count(v) <= MOST_NARROW && reach_is_narrow(v->nd, v->n, v->stride);
}

int64_t kernel_view_stride(const struct rt_view *v, int axis)
{
	return v->n[axis] > 1 ? v->stride[axis] : 0;
}

bool kernel_axes_take_vectors(const struct kernel_axes *x, int view, const struct rt_view *v, int per)
{
	int64_t bytes = per * (int64_t)dtype_bytes(v->dtype), inner = kernel_axes_inner(x, view);
	bytes = bytes < 16 ? bytes : 16;
	if (inner == 0 || !v->data) /* not in memory: a number */
		return inner <= 1;
	if (inner != 1 || (uintptr_t)v->data % (uintptr_t)bytes)
		return false;
	for (int d = 0; d < x->nd - 1; d++)
		if (x->stride[view][d] * (int64_t)dtype_bytes(v->dtype) % bytes)
			return false;
	return true;
}

void kernel_place(struct kernel_writer *w, const struct kernel_axes *x, int per, const char *name)
{
	kernel_key(w, (unsigned)x->nd);
	kernel_text(w, "#define PLACE_%s(number)", name);
	if (x->nd)
		kernel_text(w, " offset %s0 = (number);", name);
	for (int d = x->nd - 1; d > 0; d--) {
		int64_t n = d == x->nd - 1 ? x->n[d] / per : x->n[d];
		unsigned by = w->narrow ? kernel_divisor(w, n) : kernel_extent(w, n);
		if (w->narrow)
			kernel_text(w,
			            " \\\n\toffset %s%d = %s0; %s0 = (offset)quotient((u32)%s0, arg.x%u);"
			            " %s%d -= %s0 * (offset)arg.x%u.by;",
			            name, d, name, name, name, by, name, d, name, by);
		else
			kernel_text(w, " \\\n\toffset %s%d = %s0 %% arg.x%u; %s0 /= arg.x%u;", name, d, name,
			            by, name, by);
	}
	kernel_text(w, "\n");
}

void kernel_offset(struct kernel_writer *w, const struct kernel_axes *x, int per, const char *name, int view)
{
	kernel_text(w, "#define AT_%s%d (0", name, view);
	for (int d = 0; d < x->nd; d++) {
		int64_t stride = x->stride[view][d];
		int step = d == x->nd - 1 ? per : 1;
		kernel_key(w, stride == 0 ? 0 : stride == 1 ? 1 : 2);
		if (stride == 0)
			continue;
		if (stride == 1)
			kernel_text(w, " + %s%d * %d", name, d, step);
		else
			kernel_text(w, " + %s%d * arg.x%u", name, d, kernel_extent(w, stride * step));
	}
	kernel_text(w, ")\n");
}
