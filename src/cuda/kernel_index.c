/* kernel_index: gather and put.
 *
 *     gather   out[i] = in[0][i, in[1][i]]: one thread for each vector; its elements share an index if in[1]
 *              is constant along the inner axis, for example for rows of a table
 *     put      out[in[0][j]] = in[1][j]: each line has several threads; of equal indices the last one counts.
 *              accumulate is the same, and the first of equal indices reduces the elements of all */
#include "cuda/embedded.h"
#include "cuda/kernel_write.h"
#include <stdlib.h>

static int gather_vector(const struct kernel_axes *x, const struct rt_task *t, const struct rt_view *first)
{
	int size = (int)dtype_bytes(t->out.dtype), per = 16 / size;
	int64_t apart = t->in[0].stride[first->nd] * size;
	for (; per > 1; per /= 2)
		if (x->nd > 0 && x->n[x->nd - 1] % per == 0 && kernel_axes_take_vectors(x, 0, &t->out, per) &&
		    kernel_axes_take_vectors(x, 1, first, per) && kernel_axes_inner(x, 1) == 1 &&
		    kernel_axes_inner(x, 2) == 0 && apart % (per * size) == 0)
			break;
	return per;
}

bool kernel_write_gather(struct kernel_writer *w, const struct rt_task *t)
{
	struct rt_view first = t->in[0];
	int64_t stride[3][RT_MAX_DIMS], n = t->in[0].n[first.nd - 1];
	struct kernel_axes x = {.stride = stride};
	first.nd--;
	if (rt_view_count(&t->out) == 0) {
		kernel_grid(w, 0);
		return true;
	}
	kernel_axes_make(&x, (const struct rt_view *const[]){&t->out, &first, &t->in[1]}, 3, ~0u, 0);
	int per = gather_vector(&x, t, &first), bytes = per * (int)dtype_bytes(t->out.dtype);
	int64_t vectors = kernel_axes_count(&x) / per;
	kernel_offsets(w, kernel_view_is_narrow(&t->out) && kernel_view_is_narrow(&t->in[0]) &&
	                      kernel_view_is_narrow(&t->in[1]));
	kernel_key(w, t->out.dtype);
	kernel_key(w, t->in[1].dtype);
	kernel_key(w, (unsigned)per);
	kernel_pointer(w, t->out.data, t->out.dtype);              /* x0 */
	kernel_pointer(w, t->in[0].data, t->in[0].dtype);          /* x1 */
	kernel_pointer(w, t->in[1].data, t->in[1].dtype);          /* x2 */
	kernel_extent(w, vectors);                                 /* x3 */
	kernel_extent(w, kernel_view_stride(&t->in[0], first.nd)); /* x4 */
	kernel_i64(w, t->scalars & 4 ? t->scalar[2].i : 0);        /* x5: first entry on this rank, */
	kernel_extent(w, n);                                       /* x6: number of entries on this rank, */
	kernel_i64(w, t->scalars & 4 ? (int64_t)t->axes : n);      /* x7: number of all entries */
	int64_t blocks = (vectors + KERNEL_THREADS - 1) / KERNEL_THREADS;
	kernel_grid(w, blocks < 1 << 20 ? blocks : 1 << 20);
	kernel_place(w, &x, per, "c");
	for (int k = 0; k < 3; k++)
		kernel_offset(w, &x, per, "c", k);
	kernel_text(w, "#define INDEX(x) load_%s_i64(x)\ntypedef %s bits;\n", dtype_name(t->in[1].dtype),
	            kernel_bits(t->out.dtype));
	kernel_text(w, "#define PER %d\n#define BYTES %d\n", per, bytes);
	kernel_text(w, "%s", cuda_kernels_gather_cuh);
	return true;
}

/* ---- put */

/* Returns the bits of a number as an element. */
static int64_t bits_of_number(enum dtype t, struct rt_scalar s)
{
	uint64_t bits = 0;
	if (dtype_is_float(t))
		rt_store_f64(t, &bits, s.f);
	else
		rt_store_i64(t, &bits, s.i);
	return (int64_t)bits;
}

/* Defines the reduction of an element of out with one of dtype t. */
static void define_fold(struct kernel_writer *w, const struct rt_task *t, enum dtype of)
{
	const char *wide = dtype_name(dtype_wide(t->out.dtype)), *out = dtype_name(t->out.dtype);
	kernel_text(w, "typedef %s wide;\n", wide);
	kernel_text(w, "#define FOLD(a, b) %s_%s(a, b)\n", reduce_op_folds_by(t->reduce), wide);
	kernel_text(w, "#define LOAD(x) load_%s_%s(x)\n#define TERM(x) load_%s_%s(x)\n", out, wide,
	            dtype_name(of), wide);
	kernel_text(w, "#define STORE(x) store_%s_%s(x)\n", out, wide);
}

bool kernel_write_put(struct kernel_writer *w, const struct rt_task *t)
{
	int axis = (int)t->axes;
	bool scalar = t->scalars & 2;
	int64_t stride[3][RT_MAX_DIMS];
	struct kernel_axes x = {.stride = stride};
	const struct rt_view *index = &t->in[0], *from = scalar ? index : &t->in[1];
	if (rt_view_count(index) == 0) {
		kernel_grid(w, 0);
		return true;
	}
	kernel_axes_make(&x, (const struct rt_view *const[]){&t->out, index, from}, 3, ~(1u << axis), 0);
	int64_t rows = kernel_axes_count(&x), n = index->n[axis];
	unsigned along = 1;
	while (along < KERNEL_THREADS && along < n)
		along *= 2;
	int64_t each = KERNEL_THREADS / along, groups = (rows + each - 1) / each;
	kernel_offsets(w, kernel_view_is_narrow(&t->out) && kernel_view_is_narrow(index) &&
	                      kernel_view_is_narrow(from));
	kernel_key(w, t->out.dtype);
	kernel_key(w, index->dtype);
	kernel_key(w, along / 2);
	kernel_key(w, scalar);
	if (t->kernel == RT_TASK_ACCUMULATE) {
		kernel_key(w, from->dtype);
		kernel_key(w, 1 + t->reduce);
	}
	kernel_pointer(w, t->out.data, t->out.dtype);        /* x0 */
	kernel_pointer(w, index->data, index->dtype);        /* x1 */
	kernel_pointer(w, from->data, from->dtype);          /* x2 */
	kernel_extent(w, n);                                 /* x3 */
	kernel_extent(w, t->out.n[axis]);                    /* x4 */
	kernel_extent(w, rows);                              /* x5 */
	kernel_extent(w, groups);                            /* x6 */
	kernel_extent(w, kernel_view_stride(&t->out, axis)); /* x7 */
	kernel_extent(w, kernel_view_stride(index, axis));   /* x8 */
	kernel_extent(w, kernel_view_stride(from, axis));    /* x9 */
	unsigned number = kernel_i64(w, scalar ? bits_of_number(t->out.dtype, t->scalar[1]) : 0);
	kernel_grid(w, groups < 1 << 20 ? groups : 1 << 20);
	kernel_text(w, "#define ALONG %u\n#define ROWS %u\n", along, (unsigned)each);
	kernel_text(w, "#define INDEX(x) load_%s_i64(x)\n", dtype_name(index->dtype));
	if (scalar)
		kernel_text(w, "#define FROM(at) ((%s)arg.x%u)\n", kernel_bits(t->out.dtype), number);
	else
		kernel_text(w, "#define FROM(at) arg.x2[at]\n");
	if (t->kernel == RT_TASK_ACCUMULATE)
		define_fold(w, t, scalar ? t->out.dtype : from->dtype);
	kernel_place(w, &x, 1, "q");
	for (int k = 0; k < 3; k++)
		kernel_offset(w, &x, 1, "q", k);
	kernel_text(w, "%s", cuda_kernels_put_cuh);
	return true;
}
