/* kernel_gemm: products of what cuBLASLt does not take: any types and strides.
 *
 *     out[m, n] = sum over k of a[m, k] * b[k, n] (+ bias, or + out)
 *         a block makes 64 x 64 of them, 16 k at a time through shared memory; a thread 4 x 4, in registers
 *
 * Sums are in the wide type, k in order; floats are multiplied and added in one rounding. */
#include "cuda/kernel_write.h"

static const char gemm_text[] =
    "#define TILE 64\n"
    "#define DEPTH 16\n"
    "KERNEL\n"
    "{\n"
    "SHARED wide a[DEPTH][TILE + 1];\n"
    "SHARED wide b[DEPTH][TILE + 1];\n"
    "PRIVATE(wide, sum, 16);\n"
    "for (i64 block = BLOCK; block < arg.x3; block += BLOCKS) {\n"
    "i64 tile = block % arg.x4, batch = block / arg.x4;\n"
    "i64 row = tile / arg.x5 * TILE, column = tile % arg.x5 * TILE;\n"
    "EACH_THREAD { LOOP (i, 16) OWN(sum)[i] = 0; }\n"
    "for (i64 depth = 0; depth < arg.x8; depth += DEPTH) {\n"
    "EACH_THREAD {\n"
    "\tPLACE_q((offset)batch)\n"
    "\tLOOP (i, TILE * DEPTH / THREADS) {\n"
    "\t\tint at = i * THREADS + (int)thread, l = A_DOWN ? at / TILE : at % DEPTH;\n"
    "\t\tint r = A_DOWN ? at % TILE : at / DEPTH;\n"
    "\t\ta[l][r] = row + r < arg.x6 && depth + l < arg.x8\n"
    "\t\t\t? A(arg.x1[AT_q1 + (row + r) * arg.x9 + (depth + l) * arg.x10]) : 0;\n"
    "\t\tl = B_DOWN ? at % DEPTH : at / TILE;\n"
    "\t\tint c = B_DOWN ? at / DEPTH : at % TILE;\n"
    "\t\tb[l][c] = column + c < arg.x7 && depth + l < arg.x8\n"
    "\t\t\t? B(arg.x2[AT_q2 + (depth + l) * arg.x11 + (column + c) * arg.x12]) : 0;\n"
    "\t}\n"
    "}\n"
    "EACH_THREAD {\n"
    "\tint r = thread / 16, c = thread % 16;\n"
    "\tfor (int l = 0; l < DEPTH; l++) {\n"
    "\t\twide x[4], y[4];\n"
    "\t\tLOOP (i, 4) x[i] = a[l][r + i * 16], y[i] = b[l][c + i * 16];\n"
    "\t\tLOOP (i, 4) LOOP (j, 4) OWN(sum)[i * 4 + j] = ADD(x[i], y[j], OWN(sum)[i * 4 + j]);\n"
    "\t}\n"
    "}\n"
    "}\n"
    "EACH_THREAD {\n"
    "\tPLACE_q((offset)batch)\n"
    "\tLOOP (i, 4) LOOP (j, 4) {\n"
    "\t\ti64 m = row + (int)(thread / 16) + i * 16, n = column + (int)(thread % 16) + j * 16;\n"
    "\t\tif (m < arg.x6 && n < arg.x7) {\n"
    "\t\t\twide x = OWN(sum)[i * 4 + j];\n"
    "\t\t\ti64 o = AT_q0 + m * arg.x13 + n * arg.x14;\n"
    "\t\t\tMORE\n"
    "\t\t\targ.x0[o] = STORE(x);\n"
    "\t\t}\n"
    "\t}\n"
    "}\n"
    "}\n"
    "}\n";

static enum dtype lesser(enum dtype a, enum dtype b)
{
	return a < b ? a : b; /* DTYPE_F64 < DTYPE_F32 < DTYPE_I64 */
}

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
	enum dtype wide = lesser(dtype_wide(a->dtype), dtype_wide(b->dtype));
	wide = t->accumulate ? lesser(wide, dtype_wide(out->dtype)) : wide;
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
	kernel_text(w, "%s", gemm_text);
	return true;
}
