/* cpu_grouped: multiplies each group of rows with its own matrix: a product for each group that has rows here. */
#include "rt/cpu.h"

/* Returns the end of a group among the rows of out. */
static int64_t end_of(const struct rt_task *t, int64_t group)
{
	const struct rt_view *ends = &t->in[2];
	int64_t end = rt_load_i64(ends->dtype,
	                          (const char *)ends->data +
	                              group * ends->stride[0] * (int64_t)dtype_bytes(ends->dtype)) -
	              t->scalar[3].i,
	        rows = t->out.n[0];
	return end < 0 ? 0 : end < rows ? end : rows;
}

enum status cpu_grouped(struct cpu_lane *lane, const struct rt_task *t, char *why)
{
	int64_t start = 0; /* the rows of the first group begin at 0 or before */
	enum status status = cpu_fill(&t->out, (struct rt_scalar){0});
	for (int64_t g = 0; g < t->in[1].n[0] && status == STATUS_OK; g++) {
		int64_t end = end_of(t, g);
		if (start < end) {
			struct rt_task product = {.kernel = RT_TASK_GEMM};
			struct rt_view *b = &product.in[1];
			product.out = rt_view_slice(t->out, 0, start, end - start);
			product.in[0] = rt_view_slice(t->in[0], 0, start, end - start);
			*b = rt_view_slice(t->in[1], 0, g, 1);
			b->nd = 2;
			for (int d = 0; d < 2; d++) {
				b->n[d] = b->n[d + 1];
				b->stride[d] = b->stride[d + 1];
			}
			status = cpu_gemm(lane, &product, why);
		}
		start = end;
	}
	return status;
}
