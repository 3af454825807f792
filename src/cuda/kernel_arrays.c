/* kernel_arrays: reduces several arrays, element by element, to one; as rt_reduce_arrays. */
#include "cuda/kernel_write.h"
#include <stdint.h>

enum { UNROLLED = 64 /* most arrays whose reduction is written without a loop */ };

static void write_fold(struct kernel_writer *w, enum reduce_op op, const char *wide, const char *from)
{
	if (op == REDUCE_MIN || op == REDUCE_MAX)
		kernel_text(w, "{ %s from = %s; sum = sum %s from || sum != sum ? sum : from; }\n", wide,
		            from, op == REDUCE_MIN ? "<" : ">");
	else
		kernel_text(w, "sum = %s_%s(sum, %s);\n", reduce_op_folds_by(op), wide, from);
}

/* Writes `sum`, the next element of the result, from all arrays at once. */
static void write_unrolled(struct kernel_writer *w, enum reduce_op op, enum dtype t, int n, int per)
{
	const char *name = dtype_name(t), *wide = dtype_name(dtype_wide(t));
	for (int k = 0; k < n; k++)
		kernel_text(w,
		            "ALIGNED %s in%d[%d];\nif (left >= %d) MOVE(%d, in%d, arg.x%d + o);\n"
		            "else LOOP (e, %d) in%d[e] = arg.x%d[o + (e < left ? e : left - 1)];\n",
		            kernel_bits(t), k, per, per, per * (int)dtype_bytes(t), k, k + 1, per, k, k + 1);
	kernel_text(w, "LOOP (e, %d) {\n%s sum = load_%s_%s(in0[e]);\n", per, wide, name, wide);
	for (int k = 1; k < n; k++) {
		char from[64];
		snprintf(from, sizeof from, "load_%s_%s(in%d[e])", name, wide, k);
		write_fold(w, op, wide, from);
	}
}

/* Writes a loop over the arrays, for numbers of arrays that need too much code and too many registers without
 * one. Their addresses follow the result's among the arguments. */
static void write_loop(struct kernel_writer *w, enum reduce_op op, enum dtype t, int n, int per)
{
	const char *name = dtype_name(t), *wide = dtype_name(dtype_wide(t)), *bits = kernel_bits(t);
	char from[64];
	kernel_text(w,
	            "%s total[%d];\nfor (int k = 0; k < %d; k++) {\n"
	            "%s *at = ((%s *const *)((const char *)&arg + ((const char *)&arg.x1 - (const char "
	            "*)&arg)))[k];\nALIGNED %s in[%d];\n"
	            "if (left >= %d) MOVE(%d, in, at + o);\n"
	            "else LOOP (e, %d) in[e] = at[o + (e < left ? e : left - 1)];\n"
	            "LOOP (e, %d) {\nif (!k) total[e] = load_%s_%s(in[e]);\nelse {\n%s sum = total[e];\n",
	            wide, per, n, bits, bits, bits, per, per, per * (int)dtype_bytes(t), per, per, name, wide,
	            wide);
	snprintf(from, sizeof from, "load_%s_%s(in[e])", name, wide);
	write_fold(w, op, wide, from);
	kernel_text(w, "total[e] = sum;\n}\n}\n}\nLOOP (e, %d) {\n%s sum = total[e];\n", per, wide);
}

bool kernel_write_arrays(struct kernel_writer *w, enum reduce_op op, enum dtype t, void *out,
                         const void *const *in, int n, int64_t count)
{
	const char *name = dtype_name(t), *wide = dtype_name(dtype_wide(t));
	int per = 16 / (int)dtype_bytes(t);
	bool aligned = (uintptr_t)out % 16 == 0;
	for (int k = 0; k < n; k++)
		aligned &= (uintptr_t)in[k] % 16 == 0;
	per = aligned ? per : 1;
	int64_t vectors = (count + per - 1) / per, blocks = (vectors + KERNEL_THREADS - 1) / KERNEL_THREADS;
	kernel_key(w, (unsigned)op);
	kernel_key(w, t);
	kernel_key(w, (unsigned)(n - 1)); /* at most 255 */
	kernel_key(w, (unsigned)per);
	kernel_pointer(w, out, t); /* x0 */
	for (int k = 0; k < n; k++)
		kernel_pointer(w, in[k], t); /* x1 … */
	unsigned all = kernel_i64(w, count);
	kernel_grid(w, blocks < 1 << 16 ? blocks : 1 << 16);
	kernel_text(
	    w,
	    "KERNEL\n{\nEACH_THREAD {\n"
	    "for (i64 v = (i64)BLOCK * THREADS + thread; v * %d < arg.x%u; v += (i64)BLOCKS * THREADS) {\n"
	    "i64 o = v * %d, left = arg.x%u - o;\nALIGNED %s out[%d];\n",
	    per, all, per, all, kernel_bits(t), per);
	if (n > UNROLLED)
		write_loop(w, op, t, n, per);
	else
		write_unrolled(w, op, t, n, per);
	if (op == REDUCE_AVG && t != DTYPE_BOOL)
		kernel_text(w, "sum = sum / %d;\n", n);
	kernel_text(w,
	            "out[e] = store_%s_%s(sum);\n}\nif (left >= %d) MOVE(%d, arg.x0 + o, out);\n"
	            "else LOOP (e, %d) if (e < left) arg.x0[o + e] = out[e];\n}\n}\n}\n",
	            name, wide, per, per * (int)dtype_bytes(t), per);
	return true;
}
