/* view: see view.h. */
#include "rt/view.h"
#include <assert.h>
#include <string.h>

struct rt_view rt_view_dense(void *data, enum dtype t, int nd, const int64_t *n)
{
	assert(nd >= 0 && nd <= RT_MAX_DIMS);
	struct rt_view v = {.data = data, .dtype = t, .nd = nd};
	int64_t stride = 1;
	for (int i = nd - 1; i >= 0; i--) {
		v.n[i] = n[i];
		v.stride[i] = stride;
		stride *= n[i] > 0 ? n[i] : 1;
	}
	return v;
}

struct rt_view rt_view_swap(struct rt_view v, int a, int b)
{
	assert(a >= 0 && a < v.nd && b >= 0 && b < v.nd);
	int64_t n = v.n[a], stride = v.stride[a];
	v.n[a] = v.n[b];
	v.stride[a] = v.stride[b];
	v.n[b] = n;
	v.stride[b] = stride;
	return v;
}

static void *get_view_element(const struct rt_view *v, int axis, int64_t i)
{
	return v->data ? (char *)v->data + i * v->stride[axis] * (int64_t)dtype_bytes(v->dtype) : NULL;
}

struct rt_view rt_view_slice(struct rt_view v, int axis, int64_t start, int64_t n)
{
	assert(axis >= 0 && axis < v.nd && start >= 0 && n >= 0 && start + n <= v.n[axis]);
	v.data = get_view_element(&v, axis, start);
	v.n[axis] = n;
	return v;
}

struct rt_view rt_view_expand(struct rt_view v, int axis, int64_t n)
{
	assert(axis >= 0 && axis <= v.nd && v.nd < RT_MAX_DIMS);
	for (int k = v.nd; k > axis; k--) {
		v.n[k] = v.n[k - 1];
		v.stride[k] = v.stride[k - 1];
	}
	v.nd++;
	v.n[axis] = n;
	v.stride[axis] = 0;
	return v;
}

int64_t rt_view_count(const struct rt_view *v)
{
	int64_t count = 1;
	for (int i = 0; i < v->nd; i++)
		count *= v->n[i];
	return count;
}

bool rt_view_is_dense(const struct rt_view *v)
{
	int64_t stride = 1;
	for (int i = v->nd - 1; i >= 0; i--) {
		if (v->n[i] == 0)
			return true;
		if (v->n[i] != 1 && v->stride[i] != stride)
			return false;
		stride *= v->n[i];
	}
	return true;
}
