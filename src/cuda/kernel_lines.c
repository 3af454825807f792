/* kernel_lines: kernels in which several threads share each line of an axis.
 *
 *     scan    each thread reduces its chunk, then begins with the chunks before its own
 *     topk    out[k] = the k-th largest: k times it takes the largest one after the last, by value, then by
 *             index */
#include "cuda/embedded.h"
#include "cuda/kernel_write.h"

/* Begins a kernel. Each line has ALONG threads, as many as leave each about `least` elements. Arguments: x0 the result,
 * x1 the operand, x2 and x3 the extents of operand and result along the axis, x4 the operand's stride, x5 the lines, x6
 * groups of ROWS lines, x7 the result's stride. Returns false if there is nothing to do. */
static bool begin_lines(struct kernel_writer *w, const struct rt_task *t, int64_t least,
                        struct kernel_axes *x)
{
	int axis = (int)t->axes;
	if (rt_view_count(&t->out) == 0) {
		kernel_grid(w, 0);
		return false;
	}
	kernel_axes_make(x, (const struct rt_view *const[]){&t->out, &t->in[0]}, 2, ~(1u << axis), 0);
	int64_t rows = kernel_axes_count(x), n = t->in[0].n[axis];
	unsigned along = 1;
	while (along < KERNEL_THREADS && along * least < n)
		along *= 2;
	int64_t each = KERNEL_THREADS / along, groups = (rows + each - 1) / each;
	kernel_offsets(w, kernel_view_is_narrow(&t->out) && kernel_view_is_narrow(&t->in[0]));
	kernel_key(w, t->out.dtype);
	kernel_key(w, t->in[0].dtype);
	kernel_key(w, along / 2);
	kernel_pointer(w, t->out.data, t->out.dtype);
	kernel_pointer(w, t->in[0].data, t->in[0].dtype);
	kernel_extent(w, n);
	kernel_extent(w, t->out.n[axis]);
	kernel_extent(w, kernel_view_stride(&t->in[0], axis));
	kernel_extent(w, rows);
	kernel_extent(w, groups);
	kernel_extent(w, kernel_view_stride(&t->out, axis));
	kernel_grid(w, groups < 1 << 20 ? groups : 1 << 20);
	kernel_text(w, "#define ALONG %u\n#define ROWS %u\n", along, (unsigned)each);
	return true;
}

/* Ends it with the places of lines and the kernel's text. */
static bool end_lines(struct kernel_writer *w, const struct kernel_axes *x, const char *text)
{
	kernel_place(w, x, 1, "q");
	kernel_offset(w, x, 1, "q", 0);
	kernel_offset(w, x, 1, "q", 1);
	kernel_text(w, "%s", text);
	return true;
}

bool kernel_write_scan(struct kernel_writer *w, const struct rt_task *t)
{
	int64_t stride[2][RT_MAX_DIMS];
	struct kernel_axes x = {.stride = stride};
	const char *wide = dtype_is_float(t->in[0].dtype) ? "f64" : "i64";
	if (!begin_lines(w, t, 8, &x))
		return true;
	kernel_key(w, t->reduce);
	kernel_text(w, "typedef %s wide;\n", wide);
	kernel_text(w, "#define FOLD(a, b) %s_%s(a, b)\n", reduce_op_folds_by(t->reduce), wide);
	kernel_text(w, "#define LOAD(x) load_%s_%s(x)\n", dtype_name(t->in[0].dtype), wide);
	kernel_text(w, "#define STORE(x) store_%s_%s(x)\n", dtype_name(t->out.dtype), wide);
	return end_lines(w, &x, cuda_kernels_scan_cuh);
}

bool kernel_write_topk(struct kernel_writer *w, const struct rt_task *t)
{
	int64_t stride[2][RT_MAX_DIMS];
	struct kernel_axes x = {.stride = stride};
	bool real = dtype_is_float(t->in[0].dtype);
	if (!begin_lines(w, t, 4, &x))
		return true;
	kernel_text(w, real ? "#define KEY(x) key_of(load_%s_f64(x))\n" : "#define KEY(x) load_%s_i64(x)\n",
	            dtype_name(t->in[0].dtype));
	kernel_text(w, "#define STORE(i) store_%s_i64(i)\n", dtype_name(t->out.dtype));
	return end_lines(w, &x, cuda_kernels_topk_cuh);
}
