/* plan_products: see plan_products.h.
 *
 *     0  task T[0; 8:4 4:1] = gemm(X[…], W[…], B[…])
 *     1  let r5 = r2 * 32                               →    0  let r5 = r2 * 32
 *     2  task H[r5; 8:4 4:1] = relu(T[0; 8:4 4:1])           1  task H[r5; 8:4 4:1] = relu of gemm(X[…], …)
 *
 *     0  task T[0; 8:4 4:1] = gemm(X[…], W[…])
 *     1  task H[0; 8:4 4:1] = add(R[0; 8:4 4:1], T[…])  →    0  task H[0; 8:4 4:1] = gemm(X[…], W[…], R[0; 8:4 4:1])
 *
 * Between a product and its function there are only scalars, so that the product can move to the place
 * of the function. */
#include "plan/plan_products.h"
#include "plan/plan_fusion.h"

static bool is_product(const struct plan_fusion *f, const struct plan_task *t)
{
	const struct plan_buffer *buffer = &f->p->buffer.at[t->out.buffer];
	return t->kernel == RT_TASK_GEMM && !t->accumulate && !t->function && f->uses[t->out.buffer] == 2 &&
	       buffer->input < 0 && plan_fusion_is_plain(buffer);
}

/* Returns true if a task is a function of the product and writes nothing that the product reads. */
static bool is_function(const struct plan_fusion *f, const struct plan_task *product,
                        const struct plan_task *t)
{
	const struct plan_buffer *from = &f->p->buffer.at[product->out.buffer],
	                         *to = &f->p->buffer.at[t->out.buffer];
	if (t->kernel != RT_TASK_POINTWISE || !(f->wanted->epilogues >> t->op & 1) || t->scalars ||
	    t->in_n != 1 || t->op == POINTWISE_ADD || from->dtype != to->dtype || !plan_fusion_is_plain(to) ||
	    !plan_fusion_same_window(f->p, &product->out, &t->in[0]))
		return false;
	for (unsigned k = 0; k < product->in_n; k++)
		if (product->in[k].buffer == t->out.buffer)
			return false;
	return true;
}

/* Returns true if the operand is a matrix that lies as the result does, or a row that is added to each row; both begin at
 * multiples of 16 bytes, as the result does. cuBLASLt adds no others. */
static bool is_addend(const struct plan *p, const struct plan_view *v, const struct plan_view *out)
{
	const int64_t size = (int64_t)dtype_bytes(p->buffer.at[v->buffer].dtype);
	bool whole = true, row = true;
	for (unsigned k = 0; k < v->nd; k++) {
		if (plan_fusion_is_one(p, v->n[k]))
			continue;
		whole &= v->stride[k] == out->stride[k];
		row &= v->stride[k] == (k + 1u == v->nd);
	}
	row &= v->nd && out->stride[v->nd - 1] == 1;
	return !v->bytes && v->nd == out->nd && (whole || row) && !p->varies[v->offset] &&
	       p->reg.at[v->offset] * size % 16 == 0;
}

/* Returns the operand of an addition that a product can add to its sum; 0 and 1: the operand, 2: none. */
static unsigned find_addend(const struct plan_fusion *f, const struct plan_task *product,
                            const struct plan_task *t)
{
	const struct plan *p = f->p;
	const struct plan_buffer *from = &p->buffer.at[product->out.buffer],
	                         *to = &p->buffer.at[t->out.buffer];
	if (t->kernel != RT_TASK_POINTWISE || t->op != POINTWISE_ADD ||
	    !(f->wanted->epilogues >> t->op & 1) || t->scalars || t->in_n != 2 || product->has_bias ||
	    from->dtype != to->dtype || !dtype_is_float(to->dtype) ||
	    dtype_bytes(p->buffer.at[product->in[0].buffer].dtype) == 1 || !plan_fusion_is_plain(to) ||
	    product->in[0].buffer == t->out.buffer || product->in[1].buffer == t->out.buffer ||
	    product->out.nd != t->out.nd)
		return 2;
	for (unsigned k = 0; k < 2; k++) {
		const struct plan_view *v = &t->in[k];
		const struct plan_buffer *added = &p->buffer.at[v->buffer];
		if (plan_fusion_same_window(p, &product->out, &t->in[1 - k]) && added->dtype == to->dtype &&
		    v->buffer != product->out.buffer && plan_fusion_is_plain(added) &&
		    is_addend(p, v, &t->out) &&
		    (v->buffer != t->out.buffer || plan_fusion_same_window(p, v, &t->out)))
			return k;
	}
	return 2;
}

/* Returns true if the product adds a whole matrix. No function follows that. */
static bool adds_matrix(const struct plan *p, const struct plan_task *product)
{
	const struct plan_view *v = &product->in[2];
	bool row = true;
	for (unsigned k = 0; product->has_bias && k + 1u < v->nd; k++)
		row &= plan_fusion_is_one(p, v->n[k]) || v->stride[k] == 0;
	return !row;
}

/* Joins a product with the task that follows it. */
static void fuse_next(struct plan_fusion *f, uint32_t at)
{
	struct plan *p = f->p;
	const struct plan_instruction *first = &p->code.at[at];
	uint32_t next = plan_fusion_next(f, at);
	if (!next)
		return;
	struct plan_task *product = &p->task.at[first->a], *t = &p->task.at[p->code.at[next].a];
	if (!is_product(f, product))
		return;
	unsigned addend = find_addend(f, product, t);
	if (addend == 2 && (adds_matrix(p, product) || !is_function(f, product, t)))
		return;
	plan_fusion_leave_out(f, product->out.buffer);
	if (addend == 2) {
		product->function = (uint8_t)(t->op + 1);
	} else {
		product->has_bias = 1;
		product->in_n = 3;
		product->in[2] = t->in[addend];
	}
	product->out = plan_fusion_with_axes(p, &t->out, &product->out);
	f->unused[p->code.at[next].a] = true;
	p->code.at[next] = *first;
	f->gone[at] = true;
}

void plan_products(struct plan *p, const struct plan_target *target)
{
	struct plan_fusion f;
	if (!target->epilogues || !p->task.n)
		return;
	plan_fusion_open(&f, p, target);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_TASK && !f.gone[k])
			fuse_next(&f, k);
	plan_fusion_close(&f);
}
