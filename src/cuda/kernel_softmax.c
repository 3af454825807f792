/* kernel_softmax: kernels for out = exp(x - max) / sum of exp(x - max) along an axis.
 *
 *     [4096, 1000] of bf16: 256 threads are 2 rows x 128; each reads and writes vectors of 8. The first pass
 *     keeps x of a row in shared memory if there is room; otherwise later passes read it again
 *
 * Arithmetic is in f32 (f64 for f64), the sum in f64, as on the CPU. The order in which threads' sums are
 * added depends only on the shape and on whether rows are aligned for vectors. */
#include "cuda/kernel_write.h"
#include <stdlib.h>

enum { KEPT_BYTES = 32 << 10 }; /* of x that a block keeps */

struct softmax {
	enum dtype wide;
	bool rows_inside, kept;
	unsigned threads, rows; /* threads of a row; rows of a block */
	unsigned per;           /* elements of a row that a thread reads at once, and writes at once */
	int64_t length;
};

static unsigned power_from(int64_t n, unsigned most)
{
	unsigned p = 1;
	while (p < n && p < most)
		p *= 2;
	return p;
}

static void write_tree(struct kernel_writer *w, const struct softmax *s, const char *type, const char *array,
                       const char *fold)
{
	if (s->threads > 1)
		kernel_text(w,
		            "for (u32 half = %u; half > 0; half /= 2) EACH_THREAD { if (ALONG < half) {\n"
		            "%s to = %s[thread], from = %s[thread + half * %u];\n%s[thread] = %s;\n} }\n",
		            s->threads / 2, type, array, array, s->rows_inside ? s->rows : 1, array, fold);
}

/* Begins a loop over the vectors of the thread's row; its elements are i + e. */
static void write_loop(struct kernel_writer *w, const struct softmax *s)
{
	kernel_text(w, "for (i64 i = ALONG * %u; i < arg.x2; i += %u) {\n", s->per, s->threads * s->per);
}

/* Writes the read of a vector. */
static void write_read(struct kernel_writer *w, const struct softmax *s, const struct rt_view *in, bool first)
{
	unsigned bytes = s->per * (unsigned)dtype_bytes(in->dtype);
	if ((first || !s->kept) && s->per > 1)
		kernel_text(w, "ALIGNED %s in[%u];\nMOVE(%u, in, arg.x1 + AT_q1 + i);\n",
		            kernel_bits(in->dtype), s->per, bytes);
}

/* Writes the declaration of `x`, element `e` of the vector that was read. */
static void write_element(struct kernel_writer *w, const struct softmax *s, const struct rt_view *in,
                          bool first)
{
	const char *wide = dtype_name(s->wide);
	if (s->kept && !first) {
		kernel_text(w, "%s x = KEPT(i, e);\n", wide);
		return;
	}
	kernel_text(w, "%s x = load_%s_%s(%s);\n", wide, dtype_name(in->dtype), wide,
	            s->per > 1 ? "in[e]" : "arg.x1[AT_q1 + i * arg.x5]");
}

static void write_row_start(struct kernel_writer *w, const struct softmax *s)
{
	kernel_text(w, "EACH_THREAD {\noffset q = (offset)(group * %u + APART);\n", s->rows);
	kernel_text(w, "if (q < arg.x3) {\nPLACE_q(q)\n");
}

/* Writes one of the first two passes; `what` is done with each x. */
static void write_pass(struct kernel_writer *w, const struct softmax *s, const struct rt_task *t, bool first,
                       const char *what)
{
	write_loop(w, s);
	write_read(w, s, &t->in[0], first);
	kernel_text(w, "LOOP (e, %u) {\n", s->per);
	write_element(w, s, &t->in[0], first);
	kernel_text(w, "%s}\n}\n", what);
}

static void write_last(struct kernel_writer *w, const struct softmax *s, const struct rt_task *t)
{
	unsigned bytes = s->per * (unsigned)dtype_bytes(t->out.dtype);
	write_loop(w, s);
	write_read(w, s, &t->in[0], false);
	kernel_text(w, "ALIGNED %s out[%u];\nLOOP (e, %u) {\n", kernel_bits(t->out.dtype), s->per, s->per);
	write_element(w, s, &t->in[0], false);
	kernel_text(w, "out[e] = store_%s_%s(%s / by);\n}\n", dtype_name(t->out.dtype), dtype_name(s->wide),
	            s->kept ? "x" : "EXP(x)");
	if (s->per > 1)
		kernel_text(w, "MOVE(%u, arg.x0 + AT_q0 + i, out);\n}\n", bytes);
	else
		kernel_text(w, "arg.x0[AT_q0 + i * arg.x6] = out[0];\n}\n");
}

static void write_text(struct kernel_writer *w, const struct softmax *s, const struct rt_task *t)
{
	const char *wide = dtype_name(s->wide), *infinite = s->wide == DTYPE_F64 ? "INF_F64" : "INF_F32";
	if (s->rows_inside)
		kernel_text(w,
		            "#define APART (thread %% %u)\n#define ALONG (thread / %u)\n"
		            "#define KEPT(i, e) row[(u32)(i) * %u + APART]\n",
		            s->rows, s->rows, s->rows);
	else /* element k of all vectors side by side, in the order in which threads read them */
		kernel_text(w,
		            "#define ALONG (thread %% %u)\n#define APART (thread / %u)\n"
		            "#define KEPT(i, e) row[APART * (u32)arg.x2 + (u32)(e) * ((u32)arg.x2 / %u) + "
		            "(u32)(i) / %u]\n",
		            s->threads, s->threads, s->per, s->per);
	kernel_text(w, "#define EXP(x) exp_%s((x) - best)\n", wide);
	kernel_text(w, "KERNEL\n{\nSHARED %s most[THREADS];\nSHARED f64 sum[THREADS];\n", wide);
	if (s->kept)
		kernel_text(w, "SHARED %s row[%u];\n", wide, (unsigned)(KEPT_BYTES / dtype_bytes(s->wide)));
	kernel_text(w, "for (i64 group = BLOCK; group < arg.x4; group += BLOCKS) {\n");
	write_row_start(w, s);
	kernel_text(w, "%s best = -%s;\n", wide, infinite);
	write_pass(w, s, t, true,
	           s->kept ? "KEPT(i, e) = x;\nbest = x > best ? x : best;\n"
	                   : "best = x > best ? x : best;\n");
	kernel_text(w, "most[thread] = best;\n} else most[thread] = 0;\n}\n");
	write_tree(w, s, wide, "most", "from > to ? from : to");
	write_row_start(w, s);
	kernel_text(w, "%s best = most[ROW];\nf64 total = 0;\n", wide);
	write_pass(w, s, t, false,
	           s->kept ? "x = EXP(x);\nKEPT(i, e) = x;\ntotal += (f64)x;\n" : "total += (f64)EXP(x);\n");
	kernel_text(w, "sum[thread] = total;\n} else sum[thread] = 0;\n}\n");
	write_tree(w, s, "f64", "sum", "to + from");
	write_row_start(w, s);
	kernel_text(w, "%s best = most[ROW], by = (%s)sum[ROW];\n", wide, wide);
	write_last(w, s, t);
	kernel_text(w, "}\n}\n}\n}\n");
}

/* Returns true if rows of a view can be read in vectors along the axis. */
static bool takes_vectors(const struct rt_view *v, int axis, int per)
{
	int64_t size = (int64_t)dtype_bytes(v->dtype), bytes = per * size < 16 ? per * size : 16;
	if (v->stride[axis] != 1 || v->n[axis] % per || (uintptr_t)v->data % (uintptr_t)bytes)
		return false;
	for (int d = 0; d < v->nd; d++)
		if (d != axis && v->n[d] > 1 && v->stride[d] * size % bytes)
			return false;
	return true;
}

static unsigned vector_of(const struct rt_task *t, int axis)
{
	int per = 16 / (int)dtype_bytes(t->in[0].dtype);
	while (per > 1 && !(takes_vectors(&t->in[0], axis, per) && takes_vectors(&t->out, axis, per)))
		per /= 2;
	return (unsigned)per;
}

bool kernel_write_softmax(struct kernel_writer *w, const struct rt_task *t)
{
	int axis = (int)t->axes;
	struct softmax s = {.wide = dtype_wide(t->in[0].dtype), .length = t->out.n[axis]};
	if (rt_view_count(&t->out) == 0) {
		kernel_grid(w, 0);
		return true;
	}
	int64_t stride[2][RT_MAX_DIMS];
	struct kernel_axes x = {.stride = stride};
	kernel_axes_make(&x, (const struct rt_view *const[]){&t->out, &t->in[0]}, 2, ~(1u << axis), 0);
	int64_t rows = kernel_axes_count(&x);
	kernel_offsets(w, kernel_view_is_narrow(&t->out) && kernel_view_is_narrow(&t->in[0]));
	for (int d = 0; d < t->in[0].nd; d++)
		s.rows_inside |= d != axis && t->in[0].n[d] > 1 && t->in[0].stride[d] &&
		                 llabs(t->in[0].stride[d]) < llabs(t->in[0].stride[axis]);
	s.per = s.rows_inside ? 1 : vector_of(t, axis);
	int64_t each = s.per > 1 ? s.per : 4;
	s.threads = s.rows_inside ? KERNEL_THREADS / power_from(rows, 32)
	                          : power_from((s.length + each - 1) / each, KERNEL_THREADS);
	s.rows = KERNEL_THREADS / s.threads;
	s.kept = s.length * (int64_t)s.rows * (int64_t)dtype_bytes(s.wide) <= KEPT_BYTES;
	kernel_key(w, t->in[0].dtype);
	kernel_key(w, t->out.dtype);
	kernel_key(w, s.rows_inside * 2u + s.kept);
	kernel_key(w, s.threads / 2);
	kernel_key(w, s.per);
	kernel_pointer(w, t->out.data, t->out.dtype);     /* x0 */
	kernel_pointer(w, t->in[0].data, t->in[0].dtype); /* x1 */
	kernel_extent(w, s.length);                       /* x2 */
	kernel_extent(w, rows);                           /* x3 */
	int64_t groups = (rows + s.rows - 1) / s.rows;
	kernel_extent(w, groups);                              /* x4 */
	kernel_extent(w, kernel_view_stride(&t->in[0], axis)); /* x5 */
	kernel_extent(w, kernel_view_stride(&t->out, axis));   /* x6 */
	kernel_grid(w, groups < 1 << 20 ? groups : 1 << 20);
	kernel_text(w, "#define ROW (thread - ALONG * %u)\n", s.rows_inside ? s.rows : 1);
	kernel_place(w, &x, 1, "q");
	for (int k = 0; k < 2; k++)
		kernel_offset(w, &x, 1, "q", k);
	write_text(w, &s, t);
	return true;
}
