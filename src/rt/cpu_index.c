/* cpu_index: kernels on indices.
 *
 *     gather   out[i] = in[0][i, in[1][i]]    a row of a table where the index is the same along the row */
#include "rt/cpu.h"
#include "rt/rows.h"
#include <assert.h>
#include <stdio.h>
#include <string.h>

struct gather {
	size_t size;           /* of an element, bytes */
	enum rt_dtype index;   /* its type */
	int64_t extent, bytes; /* of the axis, and from one entry to the next */
	char *why;
};

static enum status gather_row(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	const struct gather *g = arg;
	size_t run = stride[2] == 0 ? n : 1; /* elements with one index */
	for (size_t i = 0; i < n; i += run) {
		int64_t k = rt_load_i64(g->index, at[2] + (int64_t)i * stride[2]);
		if (k < 0 || k >= g->extent) {
			snprintf(g->why, RT_WHY_BYTES, "index %lld is not below %lld, the extent of the axis",
			         (long long)k, (long long)g->extent);
			return STATUS_DIAGNOSTICS;
		}
		rt_row_copy(g->size, at[0] + (int64_t)i * stride[0], stride[0] / (int64_t)g->size,
		            at[1] + (int64_t)i * stride[1] + k * g->bytes, stride[1] / (int64_t)g->size, run);
	}
	return STATUS_OK;
}

enum status cpu_gather(const struct rt_task *t, char *why)
{
	struct cpu_walk w;
	struct rt_view first = t->in[0]; /* entry 0 of the axis */
	int last = --first.nd;
	assert(last == t->out.nd && first.dtype == t->out.dtype);
	struct gather g = {.size = rt_dtype_size(t->out.dtype),
	                   .index = t->in[1].dtype,
	                   .extent = t->in[0].n[last],
	                   .why = why};
	g.bytes = t->in[0].stride[last] * (int64_t)g.size;
	cpu_walk_start(&w, 3, (const struct rt_view *const[]){&t->out, &first, &t->in[1]});
	return cpu_walk_rows(&w, SIZE_MAX / 2, gather_row, &g);
}
