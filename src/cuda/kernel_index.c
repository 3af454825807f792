/* kernel_index: gather and topk.
 *
 *     gather   out[i] = in[0][i, in[1][i]]: a thread a vector of elements; they share an index where in[1] is
 * the same along the inner axis, as of rows of a table topk     out[k] = the k-th largest: k times the
 * largest of what comes after the one before, by value and then by index */
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
	kernel_i64(w, t->scalars & 4 ? t->scalar[2].i : 0);        /* x5: the first entry here, */
	kernel_extent(w, n);                                       /* x6: how many, */
	kernel_i64(w, t->scalars & 4 ? (int64_t)t->axes : n);      /* x7: of all */
	int64_t blocks = (vectors + KERNEL_THREADS - 1) / KERNEL_THREADS;
	kernel_grid(w, blocks < 1 << 20 ? blocks : 1 << 20);
	kernel_place(w, &x, per, "c");
	for (int k = 0; k < 3; k++)
		kernel_offset(w, &x, per, "c", k);
	kernel_text(w,
	            "KERNEL\n{\nEACH_THREAD {\n"
	            "for (i64 v = (i64)BLOCK * THREADS + thread; v < arg.x3; v += (i64)BLOCKS * THREADS) {\n"
	            "offset number = (offset)v;\nPLACE_c(number)\n"
	            "i64 k = load_%s_i64(arg.x2[AT_c2]);\nALIGNED %s x[%d];\nLOOP (e, %d) x[e] = 0;\n"
	            "if (k < 0 || k >= arg.x7) fault(&arg.head, FAULT_INDEX, k, arg.x7);\n"
	            "else if (k >= arg.x5 && k - arg.x5 < arg.x6)\n"
	            "MOVE(%d, x, arg.x1 + AT_c1 + (k - arg.x5) * arg.x4);\n"
	            "MOVE(%d, arg.x0 + AT_c0, x);\n}\n}\n}\n",
	            dtype_name(t->in[1].dtype), kernel_bits(t->out.dtype), per, per, bytes, bytes);
	return true;
}

/* ---- topk */

static const char topk_text[] =
    "typedef struct { i64 key, offset; } entry;\n"
    "DEVICE int before(entry a, entry b) { return a.key > b.key || (a.key == b.key && a.offset < b.offset); "
    "}\n"
    "DEVICE i64 key_of(f64 x)\n"
    "{\n"
    "\ti64 bits = (i64)bits_f64(x);\n"
    "\treturn x != x ? I64_MAX : x == 0 ? 0 : bits >= 0 ? bits : I64_MIN - bits;\n"
    "}\n"
    "KERNEL\n"
    "{\n"
    "SHARED entry best[THREADS];\n"
    "SHARED entry taken[ROWS];\n"
    "for (i64 group = BLOCK; group < arg.x6; group += BLOCKS) {\n"
    "EACH_THREAD { if (thread < ROWS) { taken[thread].key = I64_MAX; taken[thread].offset = -1; } }\n"
    "for (i64 k = 0; k < arg.x3; k++) {\n"
    "EACH_THREAD {\n"
    "\toffset q = (offset)(group * ROWS + thread / ALONG);\n"
    "\tentry found = {I64_MIN, I64_MAX}, last = taken[thread / ALONG];\n"
    "\tif (q < arg.x5) {\n"
    "\t\tPLACE_q(q)\n"
    "\t\tfor (i64 i = thread % ALONG; i < arg.x2; i += ALONG) {\n"
    "\t\t\tentry x = {KEY(arg.x1[AT_q1 + i * arg.x4]), i};\n"
    "\t\t\tif (before(last, x) && before(x, found)) found = x;\n"
    "\t\t}\n"
    "\t}\n"
    "\tbest[thread] = found;\n"
    "}\n"
    "for (u32 half = ALONG / 2; half > 0; half /= 2) EACH_THREAD {\n"
    "\tif (thread % ALONG < half && before(best[thread + half], best[thread]))\n"
    "\t\tbest[thread] = best[thread + half];\n"
    "}\n"
    "EACH_THREAD {\n"
    "\toffset q = (offset)(group * ROWS + thread / ALONG);\n"
    "\tif (thread % ALONG == 0) taken[thread / ALONG] = best[thread];\n"
    "\tif (thread % ALONG == 0 && q < arg.x5) {\n"
    "\t\tPLACE_q(q)\n"
    "\t\targ.x0[AT_q0 + k * arg.x7] = STORE(best[thread].offset);\n"
    "\t}\n"
    "}\n"
    "}\n"
    "}\n"
    "}\n";

bool kernel_write_topk(struct kernel_writer *w, const struct rt_task *t)
{
	int axis = (int)t->axes;
	int64_t stride[2][RT_MAX_DIMS];
	struct kernel_axes x = {.stride = stride};
	if (rt_view_count(&t->out) == 0) {
		kernel_grid(w, 0);
		return true;
	}
	kernel_axes_make(&x, (const struct rt_view *const[]){&t->out, &t->in[0]}, 2, ~(1u << axis), 0);
	int64_t rows = kernel_axes_count(&x), n = t->in[0].n[axis];
	unsigned along = 1;
	while (along < KERNEL_THREADS && along * 4 < n)
		along *= 2;
	int64_t each = KERNEL_THREADS / along, groups = (rows + each - 1) / each;
	kernel_offsets(w, kernel_view_is_narrow(&t->out) && kernel_view_is_narrow(&t->in[0]));
	kernel_key(w, t->out.dtype);
	kernel_key(w, t->in[0].dtype);
	kernel_key(w, along / 2);
	kernel_pointer(w, t->out.data, t->out.dtype);          /* x0 */
	kernel_pointer(w, t->in[0].data, t->in[0].dtype);      /* x1 */
	kernel_extent(w, n);                                   /* x2 */
	kernel_extent(w, t->out.n[axis]);                      /* x3 */
	kernel_extent(w, kernel_view_stride(&t->in[0], axis)); /* x4 */
	kernel_extent(w, rows);                                /* x5 */
	kernel_extent(w, groups);                              /* x6 */
	kernel_extent(w, kernel_view_stride(&t->out, axis));   /* x7 */
	kernel_grid(w, groups < 1 << 20 ? groups : 1 << 20);
	kernel_text(w, "#define ALONG %u\n#define ROWS %u\n", along, (unsigned)each);
	bool real = dtype_is_float(t->in[0].dtype);
	kernel_text(w, real ? "#define KEY(x) key_of(load_%s_f64(x))\n" : "#define KEY(x) load_%s_i64(x)\n",
	            dtype_name(t->in[0].dtype));
	kernel_text(w, "#define STORE(i) store_%s_i64(i)\n", dtype_name(t->out.dtype));
	kernel_place(w, &x, 1, "q");
	kernel_offset(w, &x, 1, "q", 0);
	kernel_offset(w, &x, 1, "q", 1);
	kernel_text(w, "%s", topk_text);
	return true;
}
