/* plan_reads: see plan_reads.h.
 *
 *     K[0; 4:48 6:8 8:1] = copy(X[0; 4:8 6:32 8:1])
 *     S = gemm(Q[…], K[0; 4:48 8:1 6:8])            →    S = gemm(Q[…], X[0; 4:8 8:1 6:32])
 *
 * Tasks that walk over rows read rows that lie apart as fast as dense ones, if a row is not short. A BLAS and cuBLASLt
 * read matrices by rows or by columns, with any distance between them. A product of several matrices takes one call for
 * each of them on the CPU anyway; on a GPU it is one launch if there is one batch axis. */
#include "plan/plan_reads.h"
#include "base/arena.h"

/* Bytes of a row that is not short. Of the CPU's time for 512 x 16 rows that a product by 2 reads where they lie, the copy
 * and the product take 0.72 with rows of 128 bytes, 0.87 with 256 and 1.13 with 512. */
enum { MIN_ROW = 128, MIN_POINTWISE_ROW = 512 };

bool plan_reads_is_attention(const struct plan_task *t)
{
	return t->kernel == RT_TASK_ATTENTION || t->kernel == RT_TASK_GRADIENT;
}

uint8_t *plan_reads_repeats(const struct plan *p)
{
	uint8_t *repeats = mem_zalloc(p->task.n + 1);
	for (uint32_t i = 0; i < p->task.n; i++) {
		const struct plan_task *t = &p->task.at[i];
		for (unsigned k = 0; t->kernel == RT_TASK_GEMM && k + 2u < t->out.nd; k++)
			if (!t->in[0].stride[k] || !t->in[1].stride[k])
				repeats[i] |= (uint8_t)(1u << k);
	}
	return repeats;
}

/* Returns true if all rows, or columns, begin at multiples of 16 bytes, which makes loads faster. Offsets
 * that vary are assumed to be so. */
static bool has_lines(const struct plan *p, const struct plan_view *v)
{
	int64_t size = (int64_t)dtype_bytes(p->buffer.at[v->buffer].dtype);
	const unsigned last = v->nd - 1u, dense = v->stride[last] == 1 ? last : last - 1;
	if (!p->varies[v->offset] && p->reg.at[v->offset] * size % 16)
		return false;
	for (unsigned k = 0; k < v->nd; k++)
		if (k != dense && !plan_fusion_is_one(p, v->n[k]) && v->stride[k] * size % 16)
			return false;
	return true;
}

bool plan_reads_has_rows(const struct plan *p, const struct plan_view *v)
{
	return v->nd && v->stride[v->nd - 1] == 1 && has_lines(p, v);
}

/* Returns true if `after` has dense rows, as `before` has, and begins them as well aligned. */
static bool keeps_rows(const struct plan *p, const struct plan_view *before, const struct plan_view *after)
{
	return after->nd && before->stride[after->nd - 1] == 1 && after->stride[after->nd - 1] == 1 &&
	       (plan_reads_has_rows(p, after) || !plan_reads_has_rows(p, before));
}

/* Returns true if a GPU reads the matrices of `after` as fast. Each element of a second batch axis may be a launch. Tensor
 * cores read types of 8 bits only along the summed axis. */
static bool suits_gpu(const struct plan *p, const struct plan_view *before, const struct plan_view *after,
                      bool moved, unsigned operand)
{
	const unsigned sum = before->nd - (operand == 0 ? 1u : 2u);
	unsigned axes = 0;
	for (unsigned k = 0; k + 2 < before->nd; k++)
		axes += !plan_fusion_is_one(p, before->n[k]);
	if (dtype_bytes(p->buffer.at[before->buffer].dtype) == 1 &&
	    (before->stride[sum] == 1 || after->stride[sum] != 1))
		return false;
	return (!moved || axes == 1) && (has_lines(p, after) || !has_lines(p, before));
}

/* Returns true if a product reads the matrices of `after` as fast. No library multiplies integers, and the
 * loops that do need rows. Batch axes that only one operand has must stay: they are joined with its rows. Operands that
 * repeat a matrix only since a copy of theirs is left out do not count, or the order of the copies would matter. */
static bool keeps_matrices(const struct plan_fusion *f, const struct plan_task *t,
                           const struct plan_view *before, const struct plan_view *after)
{
	const unsigned batches = before->nd - 2u;
	const bool by_columns = after->stride[batches + 1] != 1;
	bool moved = false;
	if (before == &t->in[2] || (by_columns && after->stride[batches] != 1) ||
	    (by_columns && !dtype_is_float(f->p->buffer.at[before->buffer].dtype)))
		return false;
	for (unsigned k = batches; k < before->nd; k++)
		if (!after->stride[k] && !plan_fusion_is_one(f->p, after->n[k]))
			return false; /* no library reads equal rows or columns */
	for (unsigned k = 0; k < batches; k++) {
		if (before->stride[k] == after->stride[k])
			continue;
		moved = true;
		if (f->repeats[t - f->p->task.at] >> k & 1)
			return false;
	}
	return !f->wanted->transposes || suits_gpu(f->p, before, after, moved, before == &t->in[1]);
}

bool plan_reads_apart(const struct plan_fusion *f, const struct plan_task *t, const struct plan_view *before,
                      const struct plan_view *after)
{
	const struct plan *p = f->p;
	if (t->kernel == RT_TASK_GEMM)
		return keeps_matrices(f, t, before, after);
	if (!keeps_rows(p, before, after))
		return false;
	if (plan_reads_is_attention(t))
		return true;
	int64_t row =
	    p->reg.at[after->n[after->nd - 1]] * (int64_t)dtype_bytes(p->buffer.at[after->buffer].dtype);
	if (t->kernel == RT_TASK_POINTWISE)
		return row >= (f->wanted->transposes ? MIN_ROW : MIN_POINTWISE_ROW);
	return t->kernel == RT_TASK_COPY && row >= MIN_ROW;
}
