/* kernel_gemm: products of any types and strides, for those that cuBLASLt cannot compute.
 *
 *     out[m, n] = sum over k of a[m, k] * b[k, n] (* scales) (clamped, + bias, + matrix, or + out)
 *         a block makes 64 x 64 elements, 16 k at a time through shared memory; a thread makes 4 x 4, in
 * registers
 *
 * Sums are in the wide type, in the order of k; floats are multiplied and added with one rounding. */
#include "cuda/embedded.h"
#include "cuda/kernel_write.h"

static bool is_down(int64_t down, int64_t across)
{
	return (down < 0 ? -down : down) < (across < 0 ? -across : across);
}

/* Writes the addition of an element of a bias or matrix to x. view: its number among the axes of the batch. */
static void write_addition(struct kernel_writer *w, const struct rt_view *v, int batch, const char *type,
                           unsigned view)
{
	unsigned p = kernel_pointer(w, v->data, v->dtype),
	         row = kernel_extent(w, kernel_view_stride(v, batch)),
	         column = kernel_extent(w, kernel_view_stride(v, batch + 1));
	kernel_text(w, " x = add_%s(x, load_%s_%s(arg.x%u[AT_q%u + m * arg.x%u + n * arg.x%u]));", type,
	            dtype_name(v->dtype), type, p, view, row, column);
}

bool kernel_write_gemm(struct kernel_writer *w, const struct rt_task *t)
{
	const struct rt_view *out = &t->out, *a = &t->in[0], *b = &t->in[1],
	                     *const added[] = {t->has_bias ? &t->in[2] : NULL,
	                                       t->has_addend ? &t->in[3] : NULL};
	int batch = out->nd - 2;
	int64_t stride[5][RT_MAX_DIMS], m = out->n[batch], n = out->n[batch + 1], k = a->n[batch + 1];
	struct kernel_axes x = {.stride = stride};
	if (rt_view_count(out) == 0 || (t->accumulate && k == 0)) {
		kernel_grid(w, 0);
		return true;
	}
	kernel_axes_make(&x, (const struct rt_view *const[]){out, a, b, added[0], added[1]}, 5,
	                 (1u << batch) - 1, 0);
	enum dtype wide = dtype_common(a->dtype, b->dtype);
	wide = t->accumulate ? dtype_common(wide, out->dtype) : wide;
	const char *type = dtype_name(wide);
	bool narrow = kernel_view_is_narrow(out) && kernel_view_is_narrow(a) && kernel_view_is_narrow(b) &&
	              (!added[0] || kernel_view_is_narrow(added[0])) &&
	              (!added[1] || kernel_view_is_narrow(added[1])),
	     a_down = is_down(a->stride[batch], a->stride[batch + 1]),
	     b_down = is_down(b->stride[batch], b->stride[batch + 1]);
	int64_t across = (n + 63) / 64, tiles = (m + 63) / 64 * across,
	        blocks = tiles * kernel_axes_count(&x);
	kernel_offsets(w, narrow);
	kernel_key(w, out->dtype);
	kernel_key(w, a->dtype);
	kernel_key(w, b->dtype);
	kernel_key(w, wide);
	kernel_key(w, added[0] ? 1u + added[0]->dtype : 0);
	kernel_key(w, added[1] ? 1u + added[1]->dtype : 0);
	kernel_key(w, t->scales * 2u + t->saturates);
	kernel_key(w, t->accumulate * 4u + a_down * 2u + b_down);
	kernel_pointer(w, out->data, out->dtype);             /* x0 */
	kernel_pointer(w, a->data, a->dtype);                 /* x1 */
	kernel_pointer(w, b->data, b->dtype);                 /* x2 */
	kernel_extent(w, blocks);                             /* x3 */
	kernel_extent(w, tiles);                              /* x4 */
	kernel_extent(w, across);                             /* x5 */
	kernel_extent(w, m);                                  /* x6 */
	kernel_extent(w, n);                                  /* x7 */
	kernel_extent(w, k);                                  /* x8 */
	kernel_extent(w, kernel_view_stride(a, batch));       /* x9 */
	kernel_extent(w, kernel_view_stride(a, batch + 1));   /* x10 */
	kernel_extent(w, kernel_view_stride(b, batch));       /* x11 */
	kernel_extent(w, kernel_view_stride(b, batch + 1));   /* x12 */
	kernel_extent(w, kernel_view_stride(out, batch));     /* x13 */
	kernel_extent(w, kernel_view_stride(out, batch + 1)); /* x14 */
	kernel_grid(w, blocks < 1 << 20 ? blocks : 1 << 20);
	kernel_text(w, "typedef %s wide;\n", type);
	kernel_text(w, "#define A_DOWN %d\n#define B_DOWN %d\n", a_down, b_down);
	kernel_text(
	    w, "#define A(x) load_%s_%s(x)\n#define B(x) load_%s_%s(x)\n#define STORE(x) store_%s_%s(x)\n",
	    dtype_name(a->dtype), type, dtype_name(b->dtype), type, dtype_name(out->dtype), type);
	kernel_text(w, "#define ADD(x, y, sum) %s\n",
	            wide == DTYPE_F64   ? "fma(x, y, sum)"
	            : wide == DTYPE_F32 ? "fmaf(x, y, sum)"
	                                : "add_i64(sum, mul_i64(x, y))");
	const double most = dtype_largest(out->dtype);
	kernel_text(w, "#define MORE");
	for (unsigned i = 0; i < t->scales; i++) {
		const struct rt_view *scale = &t->in[2 + t->has_bias + t->has_addend + i];
		kernel_text(w, " x = mul_%s(x, load_%s_%s(arg.x%u[0]));", type, dtype_name(scale->dtype),
		            type, kernel_pointer(w, scale->data, scale->dtype));
	}
	if (t->saturates)
		kernel_text(w, " x = x < -%.1ff ? -%.1ff : x > %.1ff ? %.1ff : x;", most, most, most, most);
	for (unsigned i = 0; i < 2; i++)
		if (added[i])
			write_addition(w, added[i], batch, type, 3 + i);
	if (t->accumulate)
		kernel_text(w, " x = add_%s(load_%s_%s(arg.x0[o]), x);", type, dtype_name(out->dtype), type);
	kernel_text(w, "\n");
	kernel_place(w, &x, 1, "q");
	for (int v = 0; v < 5; v++)
		kernel_offset(w, &x, 1, "q", v);
	kernel_text(w, "%s", cuda_kernels_gemm_cuh);
	return true;
}
