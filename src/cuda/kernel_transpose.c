/* kernel_transpose: kernels for copies between views with different inner axes.
 *
 *     out[100, 70; 70, 1] = in[100, 70; 1, 100]
 *         a block reads 32 x 32 elements along in's inner axis and writes them along out's,
 * through shared memory
 *
 * Then both sides access whole lines of memory. The rows of a tile in shared memory are an odd number of
 * words apart, so that no access uses one bank twice. */
#include "cuda/embedded.h"
#include "cuda/kernel_write.h"
#include <string.h>

enum { LEAST = 16 /* along both axes; with fewer, most of a tile would be empty */ };

/* The axes of both views. `inner` is the operand's inner axis; the last axis is the result's. */
struct transpose {
	int64_t stride[2][RT_MAX_DIMS];
	struct kernel_axes x;
	int inner;
};

static bool find_transpose(const struct rt_task *t, struct transpose *p)
{
	p->x.stride = p->stride;
	kernel_axes_make(&p->x, (const struct rt_view *const[]){&t->out, &t->in[0]}, 2, ~0u, 0);
	int last = p->x.nd - 1;
	if (rt_view_count(&t->out) == 0 || last < 1 || p->stride[0][last] != 1)
		return false;
	if (p->stride[1][last] == 0 || p->stride[1][last] == 1) /* threads read one element, or one line of
	                                                           memory */
		return false;
	for (p->inner = 0; p->inner < last; p->inner++)
		if (p->stride[1][p->inner] == 1)
			return p->x.n[p->inner] >= LEAST && p->x.n[last] >= LEAST;
	return false;
}

bool kernel_is_transpose(const struct rt_task *t)
{
	struct transpose p;
	return (t->kernel == RT_TASK_COPY || t->kernel == RT_TASK_BITCAST) && find_transpose(t, &p);
}

/* Removes the two axes of the tile. */
static void take_out(struct kernel_axes *x, int inner)
{
	int after = --x->nd - inner;
	x->nd--;
	after--;
	memmove(x->n + inner, x->n + inner + 1, (size_t)after * sizeof *x->n);
	for (int v = 0; v < x->views; v++)
		memmove(x->stride[v] + inner, x->stride[v] + inner + 1, (size_t)after * sizeof *x->n);
}

void kernel_write_transpose(struct kernel_writer *w, const struct rt_task *t)
{
	struct transpose p;
	find_transpose(t, &p);
	struct kernel_axes *x = &p.x;
	int last = x->nd - 1, size = (int)dtype_bytes(t->out.dtype);
	kernel_offsets(w, kernel_axes_is_narrow(x));
	bool cast = t->kernel == RT_TASK_COPY && t->in[0].dtype != t->out.dtype;
	int64_t rows = x->n[p.inner], columns = x->n[last], from = p.stride[1][last],
	        to = p.stride[0][p.inner];
	int tile = size <= 2 && rows >= 64 && columns >= 64 ? 64 : 32;
	int64_t across = (columns + tile - 1) / tile, tiles = (rows + tile - 1) / tile * across;
	take_out(x, p.inner);
	int64_t blocks = tiles * kernel_axes_count(x);
	kernel_key(w, t->out.dtype);
	kernel_key(w, t->in[0].dtype);
	kernel_key(w, tile == 64);
	kernel_pointer(w, t->out.data, t->out.dtype);     /* x0 */
	kernel_pointer(w, t->in[0].data, t->in[0].dtype); /* x1 */
	kernel_extent(w, blocks);                         /* x2 */
	kernel_extent(w, tiles);                          /* x3 */
	kernel_extent(w, across);                         /* x4 */
	kernel_extent(w, rows);                           /* x5: extent along the operand's inner axis, */
	kernel_extent(w, columns);                        /* x6: extent along the result's inner axis */
	kernel_extent(w, from);                           /* x7 */
	kernel_extent(w, to);                             /* x8 */
	kernel_grid(w, blocks < 1 << 20 ? blocks : 1 << 20);
	kernel_text(w, "typedef %s bits;\n", kernel_bits(t->out.dtype));
	kernel_text(w, "#define TILE %d\n#define PAD %d\n", tile, size < 4 ? 4 / size : 1);
	if (cast) {
		const char *in = dtype_name(t->in[0].dtype), *wide = dtype_name(dtype_wide(t->in[0].dtype));
		kernel_text(w, "#define CAST(x) store_%s_%s(load_%s_%s(x))\n", dtype_name(t->out.dtype), wide,
		            in, wide);
	} else {
		kernel_text(w, "#define CAST(x) (x)\n");
	}
	kernel_place(w, x, 1, "q");
	kernel_offset(w, x, 1, "q", 0);
	kernel_offset(w, x, 1, "q", 1);
	kernel_text(w, "%s", cuda_kernels_transpose_cuh);
}
