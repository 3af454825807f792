/* kernel_scan: running reductions along an axis. Each line of the axis has several threads with a chunk each: they
 * reduce their chunks, then each begins with the chunks before its own. */
#include "cuda/embedded.h"
#include "cuda/kernel_write.h"

bool kernel_write_scan(struct kernel_writer *w, const struct rt_task *t)
{
	int axis = (int)t->axes;
	int64_t stride[2][RT_MAX_DIMS];
	struct kernel_axes x = {.stride = stride};
	const char *wide = dtype_is_float(t->in[0].dtype) ? "f64" : "i64";
	if (rt_view_count(&t->out) == 0) {
		kernel_grid(w, 0);
		return true;
	}
	kernel_axes_make(&x, (const struct rt_view *const[]){&t->out, &t->in[0]}, 2, ~(1u << axis), 0);
	int64_t rows = kernel_axes_count(&x), n = t->out.n[axis];
	unsigned along = 1;
	while (along < KERNEL_THREADS && along * 8 < n)
		along *= 2;
	int64_t each = KERNEL_THREADS / along, groups = (rows + each - 1) / each;
	kernel_offsets(w, kernel_view_is_narrow(&t->out) && kernel_view_is_narrow(&t->in[0]));
	kernel_key(w, t->out.dtype);
	kernel_key(w, t->in[0].dtype);
	kernel_key(w, along / 2);
	kernel_key(w, t->reduce);
	kernel_pointer(w, t->out.data, t->out.dtype);          /* x0 */
	kernel_pointer(w, t->in[0].data, t->in[0].dtype);      /* x1 */
	kernel_extent(w, n);                                   /* x2 */
	kernel_extent(w, (n + along - 1) / along);             /* x3 */
	kernel_extent(w, kernel_view_stride(&t->in[0], axis)); /* x4 */
	kernel_extent(w, rows);                                /* x5 */
	kernel_extent(w, groups);                              /* x6 */
	kernel_extent(w, kernel_view_stride(&t->out, axis));   /* x7 */
	kernel_grid(w, groups < 1 << 20 ? groups : 1 << 20);
	kernel_text(w, "#define ALONG %u\n#define ROWS %u\ntypedef %s wide;\n", along, (unsigned)each, wide);
	kernel_text(w, "#define FOLD(a, b) %s_%s(a, b)\n", reduce_op_folds_by(t->reduce), wide);
	kernel_text(w, "#define LOAD(x) load_%s_%s(x)\n", dtype_name(t->in[0].dtype), wide);
	kernel_text(w, "#define STORE(x) store_%s_%s(x)\n", dtype_name(t->out.dtype), wide);
	kernel_place(w, &x, 1, "q");
	kernel_offset(w, &x, 1, "q", 0);
	kernel_offset(w, &x, 1, "q", 1);
	kernel_text(w, "%s", cuda_kernels_scan_cuh);
	return true;
}
