/* kernel_experts: the kernels of dispatch and combine.
 *
 *     route    one block for each bucket: counts the elements before its own, then places its own in order;
 *              each thread handles a run of the elements
 *     count    the same, without places
 *     scatter  one block for each row of out: it searches the rows to add there, 1024 at a time, and adds
 *              them in order */
#include "cuda/embedded.h"
#include "cuda/kernel_write.h"

bool kernel_write_buckets(struct kernel_writer *w, const struct rt_task *t)
{
	int64_t n = t->in[0].n[0], buckets = t->scalar[2].i / t->scalar[1].i;
	kernel_key(w, t->out.dtype);
	kernel_key(w, t->in[0].dtype);
	kernel_pointer(w, t->out.data, t->out.dtype);             /* x0 */
	kernel_pointer(w, t->in[0].data, t->in[0].dtype);         /* x1 */
	kernel_i64(w, n);                                         /* x2 */
	kernel_i64(w, buckets);                                   /* x3 */
	kernel_i64(w, kernel_view_stride(&t->in[0], 0));          /* x4 */
	kernel_i64(w, t->scalar[1].i);                            /* x5: first number of a bucket here, */
	kernel_i64(w, t->scalar[2].i);                            /* x6: number of all buckets */
	kernel_i64(w, (n + KERNEL_THREADS - 1) / KERNEL_THREADS); /* x7: number of elements of a thread */
	kernel_i64(w, kernel_view_stride(&t->out, 0));            /* x8 */
	kernel_grid(w, t->kernel == RT_TASK_ROUTE && !n ? 0 : buckets);
	kernel_text(w,
	            "#define LOAD(x) load_%s_i64(x)\n#define STORE(x) store_%s_i64(x)\n#define PLACES %d\n",
	            dtype_name(t->in[0].dtype), dtype_name(t->out.dtype), t->kernel == RT_TASK_ROUTE);
	kernel_text(w, "%s", cuda_kernels_buckets_cuh);
	return true;
}

bool kernel_write_scatter(struct kernel_writer *w, const struct rt_task *t)
{
	int64_t stride[2][RT_MAX_DIMS];
	struct kernel_axes x = {.stride = stride};
	struct rt_view out = t->out;
	int64_t columns = 1;
	for (int d = 1; d < out.nd; d++)
		columns *= out.n[d];
	if (!out.n[0] || !t->in[0].n[0] || !columns) {
		kernel_grid(w, 0);
		return true;
	}
	kernel_axes_make(&x, (const struct rt_view *const[]){&t->out, &t->in[0]}, 2, ~1u, 0);
	const char *sum = dtype_name(out.dtype), *wide = out.dtype == DTYPE_F64 ? "f64" : "f32";
	kernel_offsets(w, kernel_view_is_narrow(&out) && kernel_view_is_narrow(&t->in[0]) &&
	                      kernel_view_is_narrow(&t->in[1]) && kernel_view_is_narrow(&t->in[2]));
	kernel_key(w, out.dtype);
	kernel_key(w, t->in[0].dtype);
	kernel_key(w, t->in[1].dtype);
	kernel_key(w, t->in[2].dtype);
	kernel_pointer(w, out.data, out.dtype);             /* x0 */
	kernel_pointer(w, t->in[0].data, t->in[0].dtype);   /* x1 */
	kernel_pointer(w, t->in[1].data, t->in[1].dtype);   /* x2 */
	kernel_pointer(w, t->in[2].data, t->in[2].dtype);   /* x3 */
	kernel_extent(w, out.n[0]);                         /* x4 */
	kernel_extent(w, t->in[0].n[0]);                    /* x5 */
	kernel_extent(w, columns);                          /* x6 */
	kernel_extent(w, kernel_view_stride(&t->in[1], 0)); /* x7 */
	kernel_extent(w, kernel_view_stride(&t->in[2], 0)); /* x8 */
	kernel_extent(w, kernel_view_stride(&out, 0));      /* x9 */
	kernel_extent(w, kernel_view_stride(&t->in[0], 0)); /* x10 */
	kernel_grid(w, out.n[0] < 1 << 20 ? out.n[0] : 1 << 20);
	kernel_text(w, "typedef %s wide;\n", wide);
	kernel_text(w, "#define TO(x) load_%s_i64(x)\n#define WEIGHT(x) load_%s_f64(x)\n",
	            dtype_name(t->in[2].dtype), dtype_name(t->in[1].dtype));
	kernel_text(
	    w,
	    "#define SUM(x) load_%s_%s(x)\n#define ROW(x) load_%s_%s(x)\n#define STORE(x) store_%s_%s(x)\n",
	    sum, wide, dtype_name(t->in[0].dtype), wide, sum, wide);
	kernel_place(w, &x, 1, "c");
	kernel_offset(w, &x, 1, "c", 0);
	kernel_offset(w, &x, 1, "c", 1);
	kernel_text(w, "%s", cuda_kernels_scatter_cuh);
	return true;
}
