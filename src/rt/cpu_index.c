/* cpu_index: the kernels on indices.
 *
 *     gather   out[i] = in[0][i, in[1][i]]    copies a row of the table if the row has one index
 *     put      copies elements one by one to places of a line
 *     topk     keeps a list of the k largest so far, and compares each element with it */
#include "rt/cpu.h"
#include "rt/fault.h"
#include "rt/rows.h"
#include <assert.h>
#include <string.h>

struct gather {
	size_t size;      /* bytes of an element */
	enum dtype index; /* dtype of the indices */
	int64_t extent;   /* extent of the axis */
	int64_t first, n; /* the entries in this table */
	int64_t bytes;    /* distance between entries */
	char *why;
};

static enum status gather_row(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	const struct gather *g = arg;
	size_t run = stride[2] == 0 ? n : 1; /* number of elements with the same index */
	for (size_t i = 0; i < n; i += run) {
		int64_t k = rt_load_i64(g->index, at[2] + (int64_t)i * stride[2]);
		if (k < 0 || k >= g->extent) {
			rt_fault_text(RT_FAULT_INDEX, k, g->extent, g->why);
			return STATUS_DIAGNOSTICS;
		}
		static const uint64_t zero;
		bool here = k >= g->first && k < g->first + g->n;
		const void *from =
		    here ? at[1] + (int64_t)i * stride[1] + (k - g->first) * g->bytes : (const void *)&zero;
		rt_row_copy(g->size, at[0] + (int64_t)i * stride[0], stride[0] / (int64_t)g->size, from,
		            here ? stride[1] / (int64_t)g->size : 0, run);
	}
	return STATUS_OK;
}

enum status cpu_gather(const struct rt_task *t, char *why)
{
	struct cpu_walk w;
	struct rt_view first = t->in[0]; /* moved to entry 0 of the axis */
	int last = --first.nd;
	assert(last == t->out.nd && first.dtype == t->out.dtype);
	struct gather g = {.size = dtype_bytes(t->out.dtype),
	                   .index = t->in[1].dtype,
	                   .extent = t->in[0].n[last],
	                   .n = t->in[0].n[last],
	                   .why = why};
	if (t->scalars & 4) {
		g.first = t->scalar[2].i;
		g.extent = (int64_t)t->axes;
	}
	g.bytes = t->in[0].stride[last] * (int64_t)g.size;
	cpu_walk_start(&w, 3, (const struct rt_view *const[]){&t->out, &first, &t->in[1]});
	return cpu_walk_rows(&w, SIZE_MAX / 2, gather_row, &g);
}

/* ---- put, accumulate */

struct put {
	const struct rt_task *task;
	size_t size;                              /* bytes of an element */
	int64_t n, extent;                        /* indices of a line, elements of a line of out */
	int64_t out_bytes, index_bytes, in_bytes; /* strides along it */
	uint64_t number;                          /* the bits of in[1], if it is a scalar */
	char *why;
};

static void accumulate(const struct put *p, char *to, const char *from)
{
	const struct rt_task *t = p->task;
	enum dtype type = t->out.dtype, of = t->scalars & 2 ? type : t->in[1].dtype;
	if (dtype_is_float(type)) {
		double all = rt_load_f64(type, to), x = rt_load_f64(of, from);
		rt_combine_f64(t->reduce, &all, &x, 1);
		rt_store_f64(type, to, all);
	} else {
		int64_t all = rt_load_i64(type, to), x = rt_load_i64(of, from);
		rt_combine_i64(t->reduce, &all, &x, 1);
		rt_store_i64(type, to, all);
	}
}

static enum status put_row(void *arg, char *const *at, size_t lines, const int64_t *stride)
{
	const struct put *p = arg;
	bool scalar = p->task->scalars & 2;
	for (size_t line = 0; line < lines; line++) {
		char *to = at[0] + (int64_t)line * stride[0];
		const char *index = at[1] + (int64_t)line * stride[1],
		           *from = scalar ? (const char *)&p->number : at[2] + (int64_t)line * stride[2];
		for (int64_t j = 0; j < p->n; j++) {
			int64_t k = rt_load_i64(p->task->in[0].dtype, index + j * p->index_bytes);
			if (k < 0 || k >= p->extent) {
				rt_fault_text(RT_FAULT_INDEX, k, p->extent, p->why);
				return STATUS_DIAGNOSTICS;
			}
			if (p->task->kernel == RT_TASK_PUT)
				memcpy(to + k * p->out_bytes, from + j * p->in_bytes, p->size);
			else
				accumulate(p, to + k * p->out_bytes, from + j * p->in_bytes);
		}
	}
	return STATUS_OK;
}

enum status cpu_put(const struct rt_task *t, char *why)
{
	struct cpu_walk w;
	int axis = (int)t->axes;
	struct put p = {.task = t,
	                .size = dtype_bytes(t->out.dtype),
	                .n = t->in[0].n[axis],
	                .extent = t->out.n[axis],
	                .why = why};
	p.out_bytes = t->out.stride[axis] * (int64_t)p.size;
	p.index_bytes = t->in[0].stride[axis] * (int64_t)dtype_bytes(t->in[0].dtype);
	if (!rt_view_count(&t->in[0]))
		return STATUS_OK;
	struct rt_view out = rt_view_slice(t->out, axis, 0, t->out.n[axis] > 0),
	               index = rt_view_slice(t->in[0], axis, 0, 1), in = index;
	if (t->scalars & 2 && dtype_is_float(t->out.dtype))
		rt_store_f64(t->out.dtype, &p.number, t->scalar[1].f);
	else if (t->scalars & 2)
		rt_store_i64(t->out.dtype, &p.number, t->scalar[1].i);
	else {
		p.in_bytes = t->in[1].stride[axis] * (int64_t)dtype_bytes(t->in[1].dtype);
		in = rt_view_slice(t->in[1], axis, 0, 1);
	}
	out.n[axis] = 1; /* no places: every index is outside */
	cpu_walk_start(&w, 3, (const struct rt_view *const[]){&out, &index, &in});
	return cpu_walk_rows(&w, SIZE_MAX / 2, put_row, &p);
}

/* ---- topk */

struct entry {
	int64_t key, index;
};

struct topk {
	const struct rt_task *task;
	struct entry *best;          /* scratch memory for k entries, sorted */
	int64_t k, n;                /* elements of the axis in out, and in in[0] */
	int64_t out_bytes, in_bytes; /* strides along it */
	bool real;
};

/* Returns an integer that has the order of the element. */
static int64_t key_of(const struct topk *t, const char *at)
{
	union {
		double x;
		int64_t bits;
	} u;
	if (!t->real)
		return rt_load_i64(t->task->in[0].dtype, at);
	u.x = rt_load_f64(t->task->in[0].dtype, at);
	if (u.x != u.x)
		return INT64_MAX;
	if (u.x == 0)
		return 0;
	return u.bits >= 0 ? u.bits : INT64_MIN - u.bits;
}

/* Inserts an element, which comes after all in the list, in its place. The last one is removed if there
 * are k. */
static int64_t insert(struct entry *best, int64_t held, int64_t k, struct entry e)
{
	if (held == k && best[k - 1].key >= e.key)
		return held;
	int64_t at = held < k ? held : k - 1;
	for (; at > 0 && best[at - 1].key < e.key; at--)
		best[at] = best[at - 1];
	best[at] = e;
	return held < k ? held + 1 : k;
}

static enum status topk_row(void *arg, char *const *at, size_t rows, const int64_t *stride)
{
	const struct topk *t = arg;
	for (size_t row = 0; row < rows; row++) {
		const char *from = at[1] + (int64_t)row * stride[1];
		char *to = at[0] + (int64_t)row * stride[0];
		int64_t held = 0;
		for (int64_t i = 0; i < t->n; i++)
			held =
			    insert(t->best, held, t->k, (struct entry){key_of(t, from + i * t->in_bytes), i});
		for (int64_t i = 0; i < t->k; i++)
			rt_store_i64(t->task->out.dtype, to + i * t->out_bytes, t->best[i].index);
	}
	return STATUS_OK;
}

enum status cpu_topk(struct cpu_lane *lane, const struct rt_task *task, char *why)
{
	struct cpu_walk w;
	int axis = (int)task->axes;
	struct topk t = {
	    .task = task,
	    .k = task->out.n[axis],
	    .n = task->in[0].n[axis],
	    .out_bytes = task->out.stride[axis] * (int64_t)dtype_bytes(task->out.dtype),
	    .in_bytes = task->in[0].stride[axis] * (int64_t)dtype_bytes(task->in[0].dtype),
	    .real = dtype_is_float(task->in[0].dtype),
	};
	if (t.k == 0)
		return STATUS_OK;
	assert(t.k <= t.n);
	t.best = cpu_scratch(lane, 0, (size_t)t.k * sizeof *t.best, why);
	if (!t.best)
		return STATUS_DIAGNOSTICS;
	struct rt_view out = rt_view_slice(task->out, axis, 0, 1),
	               in = rt_view_slice(task->in[0], axis, 0, 1);
	cpu_walk_start(&w, 2, (const struct rt_view *const[]){&out, &in});
	return cpu_walk_rows(&w, SIZE_MAX / 2, topk_row, &t);
}
