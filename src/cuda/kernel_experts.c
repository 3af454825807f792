/* kernel_experts: what dispatch and combine are made of.
 *
 *     route    a block a bucket: how many elements come before its own, then the places of these, in order;
 * each thread has a run of the elements count    the same without places scatter  a block a row of out: it
 * looks for the rows that are added there, 1024 at a time, and adds them in their order */
#include "cuda/kernel_write.h"

static const char buckets_text[] =
    "KERNEL\n"
    "{\n"
    "SHARED i64 less[THREADS];\n"
    "SHARED i64 own[THREADS];\n"
    "for (i64 bucket = BLOCK; bucket < arg.x3; bucket += BLOCKS) {\n"
    "EACH_THREAD {\n"
    "\ti64 first = thread * arg.x7, end = first + arg.x7 < arg.x2 ? first + arg.x7 : arg.x2;\n"
    "\ti64 before = 0, here = 0;\n"
    "\tfor (i64 i = first; i < end; i++) {\n"
    "\t\ti64 number = LOAD(arg.x1[i * arg.x4]);\n"
    "\t\tif (number < 0 || number >= arg.x6) {\n"
    "\t\t\tfault(&arg.head, FAULT_EXPERT, number, arg.x6);\n"
    "\t\t\tcontinue;\n"
    "\t\t}\n"
    "\t\tnumber /= arg.x5;\n"
    "\t\tbefore += number < bucket;\n"
    "\t\there += number == bucket;\n"
    "\t}\n"
    "\tless[thread] = before;\n"
    "\town[thread] = here;\n"
    "}\n"
    "EACH_THREAD {\n"
    "\tif (thread == 0) {\n"
    "\t\ti64 next = 0, sum = 0;\n"
    "\t\tfor (int k = 0; k < THREADS; k++) next += less[k], sum += own[k];\n"
    "\t\tless[0] = sum;\n"
    "\t\tfor (int k = 0; k < THREADS; k++) {\n"
    "\t\t\ti64 n = own[k];\n"
    "\t\t\town[k] = next;\n"
    "\t\t\tnext += n;\n"
    "\t\t}\n"
    "\t}\n"
    "}\n";

static const char count_text[] =
    "EACH_THREAD { if (thread == 0) arg.x0[bucket * arg.x8] = STORE(less[0]); }\n"
    "}\n"
    "}\n";

static const char route_text[] =
    "EACH_THREAD {\n"
    "\ti64 first = thread * arg.x7, end = first + arg.x7 < arg.x2 ? first + arg.x7 : arg.x2;\n"
    "\tfor (i64 i = first; i < end; i++) {\n"
    "\t\ti64 number = LOAD(arg.x1[i * arg.x4]);\n"
    "\t\tif (number < 0 || number >= arg.x6 || number / arg.x5 != bucket) continue;\n"
    "\t\targ.x0[own[thread]++ * arg.x8] = STORE(i);\n"
    "\t}\n"
    "}\n"
    "}\n"
    "}\n";

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
	kernel_i64(w, t->scalar[1].i);                            /* x5: numbers of a bucket, */
	kernel_i64(w, t->scalar[2].i);                            /* x6: of all */
	kernel_i64(w, (n + KERNEL_THREADS - 1) / KERNEL_THREADS); /* x7: elements of a thread */
	kernel_i64(w, kernel_view_stride(&t->out, 0));            /* x8 */
	kernel_grid(w, t->kernel == RT_TASK_ROUTE && !n ? 0 : buckets);
	kernel_text(w, "#define LOAD(x) load_%s_i64(x)\n#define STORE(x) store_%s_i64(x)\n%s%s",
	            dtype_name(t->in[0].dtype), dtype_name(t->out.dtype), buckets_text,
	            t->kernel == RT_TASK_ROUTE ? route_text : count_text);
	return true;
}

static const char scatter_text[] =
    "KERNEL\n"
    "{\n"
    "SHARED u32 found[THREADS];\n"
    "SHARED u32 any[1];\n"
    "for (i64 row = BLOCK; row < arg.x4; row += BLOCKS) {\n"
    "for (i64 first = 0; first < arg.x5; first += 4 * THREADS) {\n"
    "EACH_THREAD { if (thread == 0) any[0] = 0; }\n"
    "EACH_THREAD {\n"
    "\tu32 bits = 0;\n"
    "\tLOOP (e, 4) {\n"
    "\t\ti64 j = first + thread * 4 + e;\n"
    "\t\tif (j < arg.x5) {\n"
    "\t\t\ti64 to = TO(arg.x3[j * arg.x8]);\n"
    "\t\t\tif (to >= arg.x4 && row == 0) fault(&arg.head, FAULT_TOKEN, to, arg.x4);\n"
    "\t\t\tbits |= (u32)(to == row) << e;\n"
    "\t\t}\n"
    "\t}\n"
    "\tfound[thread] = bits;\n"
    "\tif (bits) any[0] = 1;\n"
    "}\n"
    "if (any[0]) EACH_THREAD {\n"
    "\tfor (i64 c = thread; c < arg.x6; c += THREADS) {\n"
    "\t\tPLACE_c((offset)c)\n"
    "\t\twide sum = SUM(arg.x0[row * arg.x9 + AT_c0]);\n"
    "\t\tfor (int k = 0; k < THREADS; k++) {\n"
    "\t\t\tu32 bits = found[k];\n"
    "\t\t\tfor (int e = 0; bits >> e; e++)\n"
    "\t\t\t\tif (bits >> e & 1) {\n"
    "\t\t\t\t\ti64 j = first + k * 4 + e;\n"
    "\t\t\t\t\twide weight = (wide)WEIGHT(arg.x2[j * arg.x7]);\n"
    "\t\t\t\t\tsum += weight * ROW(arg.x1[j * arg.x10 + AT_c1]);\n"
    "\t\t\t\t}\n"
    "\t\t}\n"
    "\t\targ.x0[row * arg.x9 + AT_c0] = STORE(sum);\n"
    "\t}\n"
    "}\n"
    "}\n"
    "}\n"
    "}\n";

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
	kernel_text(w, "%s", scatter_text);
	return true;
}
