/* cpu_walk: iterates over strided views; also has the kernels that only move data. */
#include "rt/cpu.h"
#include "rt/rows.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

char *cpu_address(const struct rt_view *v, const int64_t *index)
{
	int64_t at = 0;
	for (int d = 0; d < v->nd; d++)
		at += index[d] * v->stride[d];
	return (char *)v->data + at * (int64_t)dtype_bytes(v->dtype);
}

bool cpu_next_index(const struct rt_view *v, unsigned inner, int64_t *index)
{
	for (int d = v->nd; d-- > 0;) {
		if (inner >> d & 1)
			continue;
		if (++index[d] < v->n[d])
			return true;
		index[d] = 0;
	}
	return false;
}

void cpu_walk_start(struct cpu_walk *w, int views, const struct rt_view *const *view)
{
	*w = (struct cpu_walk){.views = views};
	for (int v = 0; v < views; v++)
		w->base[v] = view[v] ? view[v]->data : NULL;
	for (int d = 0; d < view[0]->nd; d++) {
		if (view[0]->n[d] == 0)
			w->empty = true;
		if (view[0]->n[d] == 1)
			continue;
		int at = w->nd++;
		int64_t key = llabs(view[0]->stride[d]) * (int64_t)dtype_bytes(view[0]->dtype);
		while (at > 0 && llabs(w->stride[0][at - 1]) < key) { /* stable insertion sort */
			w->n[at] = w->n[at - 1];
			for (int v = 0; v < views; v++)
				w->stride[v][at] = w->stride[v][at - 1];
			at--;
		}
		w->n[at] = view[0]->n[d];
		for (int v = 0; v < views; v++) {
			assert(!view[v] || (view[v]->nd == view[0]->nd && view[v]->n[d] == view[0]->n[d]));
			w->stride[v][at] =
			    view[v] ? view[v]->stride[d] * (int64_t)dtype_bytes(view[v]->dtype) : 0;
		}
	}
	int nd = 0;
	for (int d = 0; d < w->nd; d++) {
		bool merge = nd > 0;
		for (int v = 0; v < views && merge; v++)
			merge = w->stride[v][nd - 1] == w->stride[v][d] * w->n[d];
		if (!merge)
			nd++;
		w->n[nd - 1] = merge ? w->n[nd - 1] * w->n[d] : w->n[d];
		for (int v = 0; v < views; v++)
			w->stride[v][nd - 1] = w->stride[v][d];
	}
	w->nd = nd;
}

enum status cpu_walk_rows(const struct cpu_walk *w, size_t limit, cpu_row *row, void *arg)
{
	char *at[CPU_WALK_VIEWS];
	int64_t inner[CPU_WALK_VIEWS] = {0}, index[RT_MAX_DIMS] = {0};
	int last = w->nd - 1;
	int64_t n = last >= 0 ? w->n[last] : 1;
	if (w->empty)
		return STATUS_OK;
	for (int v = 0; v < w->views; v++) {
		at[v] = w->base[v];
		inner[v] = last >= 0 ? w->stride[v][last] : 0;
	}
	for (;;) {
		for (int64_t i = 0; i < n; i += (int64_t)limit) {
			char *here[CPU_WALK_VIEWS];
			for (int v = 0; v < w->views; v++)
				here[v] = at[v] ? at[v] + i * inner[v] : NULL;
			size_t m = (uint64_t)(n - i) < limit ? (size_t)(n - i) : limit;
			enum status status = row(arg, here, m, inner);
			if (status != STATUS_OK)
				return status;
		}
		int d = last - 1;
		for (; d >= 0; d--) {
			for (int v = 0; v < w->views; v++)
				at[v] = at[v] ? at[v] + w->stride[v][d] : NULL;
			if (++index[d] < w->n[d])
				break;
			for (int v = 0; v < w->views; v++)
				at[v] = at[v] ? at[v] - w->stride[v][d] * w->n[d] : NULL;
			index[d] = 0;
		}
		if (d < 0)
			return STATUS_OK;
	}
}

struct copy {
	enum dtype out, in;
};

static enum status copy_row(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	const struct copy *c = arg;
	size_t out_size = dtype_bytes(c->out), in_size = dtype_bytes(c->in);
	int64_t out_stride = stride[0] / (int64_t)out_size, in_stride = stride[1] / (int64_t)in_size;
	if (c->out == c->in) {
		rt_row_copy(out_size, at[0], out_stride, at[1], in_stride, n);
		return STATUS_OK;
	}
	union {
		double f64[RT_ROW];
		float f32[RT_ROW];
		int64_t i64[RT_ROW];
	} row;
	switch (dtype_wide(c->in)) {
	case DTYPE_F64:
		rt_row_load_f64(c->in, at[1], in_stride, row.f64, n);
		rt_row_store_f64(c->out, at[0], out_stride, row.f64, n);
		break;
	case DTYPE_F32:
		rt_row_load_f32(c->in, at[1], in_stride, row.f32, n);
		rt_row_store_f32(c->out, at[0], out_stride, row.f32, n);
		break;
	default:
		rt_row_load_i64(c->in, at[1], in_stride, row.i64, n);
		rt_row_store_i64(c->out, at[0], out_stride, row.i64, n);
		break;
	}
	return STATUS_OK;
}

/* The two axes of a transposition. Tiles have rows of TILE_ROW_BYTES of out, and columns that are
 * contiguous in in. So all needed elements of a cache line are read while the line is in the cache. */
struct transposition {
	struct copy copy;
	int64_t n[2], stride[2][2]; /* of the column axis and of the row axis; bytes, of out and in */
};

enum { TILE_ROW_BYTES = 128, TILE_COLUMNS = 64 };

static enum status copy_tiles(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	const struct transposition *t = arg;
	int64_t length = TILE_ROW_BYTES / (int64_t)dtype_bytes(t->copy.out);
	(void)n, (void)stride;
	for (int64_t row = 0; row < t->n[1]; row += length)
		for (int64_t column = 0; column < t->n[0]; column += TILE_COLUMNS) {
			int64_t end = column + TILE_COLUMNS < t->n[0] ? column + TILE_COLUMNS : t->n[0];
			size_t m = (size_t)(t->n[1] - row < length ? t->n[1] - row : length);
			for (int64_t c = column; c < end; c++)
				copy_row((void *)&t->copy,
				         (char *const[]){at[0] + c * t->stride[0][0] + row * t->stride[0][1],
				                         at[1] + c * t->stride[1][0] + row * t->stride[1][1]},
				         m, (const int64_t[]){t->stride[0][1], t->stride[1][1]});
		}
	return STATUS_OK;
}

/* Removes the rows' axis and the axis along which in is dense from a walk. Returns false if both are the
 * same axis. */
static bool take_transposition(struct cpu_walk *w, struct transposition *t)
{
	int last = w->nd - 1, dense = last;
	for (int d = 0; d < last; d++)
		if (w->stride[1][d] && llabs(w->stride[1][d]) < llabs(w->stride[1][dense]))
			dense = d;
	if (dense == last || w->n[last] < 8 || w->n[dense] < 8)
		return false;
	for (int k = 0; k < 2; k++) {
		int from = k ? last : dense;
		t->n[k] = w->n[from];
		t->stride[0][k] = w->stride[0][from];
		t->stride[1][k] = w->stride[1][from];
	}
	w->nd = 0;
	for (int d = 0; d < last; d++) {
		if (d == dense)
			continue;
		w->n[w->nd] = w->n[d];
		w->stride[0][w->nd] = w->stride[0][d];
		w->stride[1][w->nd++] = w->stride[1][d];
	}
	return true;
}

enum status cpu_copy(const struct rt_view *out, const struct rt_view *in)
{
	struct cpu_walk w;
	cpu_walk_start(&w, 2, (const struct rt_view *const[]){out, in});
	struct copy c = {.out = out->dtype, .in = in->dtype};
	struct transposition t = {.copy = c};
	if (!w.empty && take_transposition(&w, &t))
		return cpu_walk_rows(&w, 1, copy_tiles, &t);
	/* plain copies need no row buffer */
	return cpu_walk_rows(&w, c.out == c.in ? SIZE_MAX / 2 : RT_ROW, copy_row, &c);
}

enum status cpu_bitcast(const struct rt_view *out, const struct rt_view *in)
{
	struct rt_view same = *in;
	assert(dtype_bytes(out->dtype) == dtype_bytes(in->dtype));
	same.dtype = out->dtype;
	return cpu_copy(out, &same);
}

struct fill {
	size_t size;
	uint64_t bits; /* one element */
};

static enum status fill_row(void *arg, char *const *at, size_t n, const int64_t *stride)
{
	struct fill *f = arg;
	rt_row_copy(f->size, at[0], stride[0] / (int64_t)f->size, &f->bits, 0, n);
	return STATUS_OK;
}

enum status cpu_fill(const struct rt_view *out, struct rt_scalar value)
{
	struct cpu_walk w;
	struct fill f = {.size = dtype_bytes(out->dtype)};
	if (dtype_is_float(out->dtype))
		rt_store_f64(out->dtype, &f.bits, value.f);
	else
		rt_store_i64(out->dtype, &f.bits, value.i);
	cpu_walk_start(&w, 1, &out);
	return cpu_walk_rows(&w, SIZE_MAX / 2, fill_row, &f);
}

enum status cpu_iota(const struct rt_task *t)
{
	int axis = (int)t->axes;
	assert(axis < t->out.nd);
	for (int64_t i = 0; i < t->out.n[axis]; i++) {
		struct rt_view slice = rt_view_slice(t->out, axis, i, 1);
		struct rt_scalar value = {
		    .f = t->scalar[0].f + t->scalar[1].f * (double)i,
		    .i = (int64_t)((uint64_t)t->scalar[0].i + (uint64_t)t->scalar[1].i * (uint64_t)i),
		};
		cpu_fill(&slice, value);
	}
	return STATUS_OK;
}
