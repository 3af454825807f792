/* plan_products: see plan_products.h.
 *
 *     0  task T[0; 8:4 4:1] = gemm(X[…], W[…], B[…])
 *     1  let r5 = r2 * 32                               →    0  let r5 = r2 * 32
 *     2  task H[r5; 8:4 4:1] = relu(T[0; 8:4 4:1])           1  task H[r5; 8:4 4:1] = relu of gemm(X[…], …)
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
	    t->in_n != 1 || from->dtype != to->dtype || !plan_fusion_is_plain(to) ||
	    !plan_fusion_same_window(f->p, &product->out, &t->in[0]))
		return false;
	for (unsigned k = 0; k < product->in_n; k++)
		if (product->in[k].buffer == t->out.buffer)
			return false;
	return true;
}

static void fuse_function(struct plan_fusion *f, uint32_t at)
{
	struct plan *p = f->p;
	const struct plan_instruction *first = &p->code.at[at];
	uint32_t next = plan_fusion_next(f, at);
	if (!next)
		return;
	struct plan_task *product = &p->task.at[first->a], *t = &p->task.at[p->code.at[next].a];
	if (!is_product(f, product) || !is_function(f, product, t))
		return;
	plan_fusion_leave_out(f, product->out.buffer);
	product->function = (uint8_t)(t->op + 1);
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
			fuse_function(&f, k);
	plan_fusion_close(&f);
}
