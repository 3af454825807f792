/* kernel_gemm: products of any types and strides, for those that cuBLASLt cannot compute.
 *
 *     out[m, n] = sum over k of a[m, k] * b[k, n] (+ bias, or + out)
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

bool kernel_write_gemm(struct kernel_writer *w, const struct rt_task *t)
{
	const struct rt_view *out = &t->out, *a = &t->in[0], *b = &t->in[1], *bias = &t->in[2];
	int batch = out->nd - 2;
	int64_t stride[4][RT_MAX_DIMS], m = out->n[batch], n = out->n[batch + 1], k = a->n[batch + 1];
	struct kernel_axes x = {.stride = stride};
	if (rt_view_count(out) == 0 || (t->accumulate && k == 0)) {
		kernel_grid(w, 0);
		return true;
	}
	kernel_axes_make(&x, (const struct rt_view *const[]){out, a, b, t->has_bias ? bias : NULL}, 4,
	                 (1u << batch) - 1, 0);
	enum dtype wide = dtype_common(a->dtype, b->dtype);
	wide = t->accumulate ? dtype_common(wide, out->dtype) : wide;
	const char *type = dtype_name(wide);
	bool narrow = kernel_view_is_narrow(out) && kernel_view_is_narrow(a) && kernel_view_is_narrow(b) &&
	              (!t->has_bias || kernel_view_is_narrow(bias)),
	     a_down = is_down(a->stride[batch], a->stride[batch + 1]),
	     b_down = is_down(b->stride[batch], b->stride[batch + 1]);
	int64_t across = (n + 63) / 64, tiles = (m + 63) / 64 * across,
	        blocks = tiles * kernel_axes_count(&x);
	kernel_offsets(w, narrow);
	kernel_key(w, out->dtype);
	kernel_key(w, a->dtype);
	kernel_key(w, b->dtype);
	kernel_key(w, wide);
	kernel_key(w, t->has_bias ? 1u + bias->dtype : 0);
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
	if (t->has_bias) {
		unsigned p = kernel_pointer(w, bias->data, bias->dtype),
		         row = kernel_extent(w, kernel_view_stride(bias, batch)),
		         column = kernel_extent(w, kernel_view_stride(bias, batch + 1));
		kernel_text(
		    w,
		    "#define MORE x = add_%s(x, load_%s_%s(arg.x%u[AT_q3 + m * arg.x%u + n * arg.x%u]));\n",
		    type, dtype_name(bias->dtype), type, p, row, column);
	} else if (t->accumulate) {
		kernel_text(w, "#define MORE x = add_%s(load_%s_%s(arg.x0[o]), x);\n", type,
		            dtype_name(out->dtype), type);
	} else {
		kernel_text(w, "#define MORE\n");
	}
	kernel_place(w, &x, 1, "q");
	for (int v = 0; v < 4; v++)
		kernel_offset(w, &x, 1, "q", v);
	kernel_text(w, "%s", cuda_kernels_gemm_cuh);
	return true;
}
