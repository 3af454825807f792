/* kernel_grouped: products of groups of rows with a matrix each. A thread finds the group of its row. */
#include "cuda/embedded.h"
#include "cuda/kernel_write.h"

bool kernel_write_grouped(struct kernel_writer *w, const struct rt_task *t)
{
	const struct rt_view *a = &t->in[0], *b = &t->in[1], *ends = &t->in[2];
	int64_t elements = rt_view_count(&t->out), blocks = (elements + KERNEL_THREADS - 1) / KERNEL_THREADS;
	const char *wide = dtype_name(dtype_wide(a->dtype));
	if (elements == 0) {
		kernel_grid(w, 0);
		return true;
	}
	kernel_offsets(w, false);
	kernel_key(w, t->out.dtype);
	kernel_key(w, a->dtype);
	kernel_key(w, b->dtype);
	kernel_key(w, ends->dtype);
	kernel_pointer(w, t->out.data, t->out.dtype); /* x0 */
	kernel_pointer(w, a->data, a->dtype);         /* x1 */
	kernel_pointer(w, b->data, b->dtype);         /* x2 */
	kernel_pointer(w, ends->data, ends->dtype);   /* x3 */
	kernel_i64(w, t->out.n[0]);                   /* x4 */
	kernel_i64(w, t->out.n[1]);                   /* x5 */
	kernel_i64(w, a->n[1]);                       /* x6 */
	kernel_i64(w, b->n[0]);                       /* x7 */
	kernel_i64(w, t->scalar[3].i);                /* x8 */
	for (int d = 0; d < 2; d++)
		kernel_i64(w, kernel_view_stride(&t->out, d)); /* x9, x10 */
	for (int d = 0; d < 2; d++)
		kernel_i64(w, kernel_view_stride(a, d)); /* x11, x12 */
	for (int d = 0; d < 3; d++)
		kernel_i64(w, kernel_view_stride(b, d)); /* x13, x14, x15 */
	kernel_i64(w, kernel_view_stride(ends, 0));      /* x16 */
	kernel_grid(w, blocks < 1 << 20 ? blocks : 1 << 20);
	kernel_text(w, "typedef %s wide;\n#define A(x) load_%s_%s(x)\n", wide, dtype_name(a->dtype), wide);
	kernel_text(w, "#define B(x) load_%s_%s(x)\n", dtype_name(b->dtype), wide);
	kernel_text(w, "#define END(x) load_%s_i64(x)\n", dtype_name(ends->dtype));
	kernel_text(w, "#define STORE(x) store_%s_%s(x)\n", dtype_name(t->out.dtype), wide);
	kernel_text(w, "%s", cuda_kernels_grouped_cuh);
	return true;
}
