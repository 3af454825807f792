/* plan_products: see plan_products.h.
 *
 *     0  task T[0; 8:4 4:1] = gemm(X[…], W[…], B[…])
 *     1  let r5 = r2 * 32                               →    0  let r5 = r2 * 32
 *     2  task H[r5; 8:4 4:1] = relu(T[0; 8:4 4:1])           1  task H[r5; 8:4 4:1] = relu of gemm(X[…], …)
 *
 *     0  task P[0; 8:4 4:1] = copy(X[0; 8:1 4:8])
 *     1  task Y[…] = gemm(P[0; 8:4 4:1], W[…])          →    0  task Y[…] = gemm(X[0; 8:1 4:8], W[…])
 *
 * Between a product and its function there are only scalars, so that the product can move to the place
 * of the function. The statements between a copy and its product write none of the copied elements. */
#include "plan/plan_products.h"
#include "plan/plan_fusion.h"

/* ---- conditions */

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

/* ---- copies of operands */

/* Finds the operand's window on the source of a copy. Returns false if the copy does more than to
 * transpose matrices, or if a product would not read the source as fast. */
static bool before_copy(const struct plan_fusion *f, const struct plan_view *v, const struct plan_task *copy,
                        struct plan_view *out)
{
	const struct plan *p = f->p;
	const struct plan_view *to = &copy->out, *from = &copy->in[0];
	unsigned used = 0, axes = 0;
	*out = *v;
	out->buffer = from->buffer, out->slot = from->slot, out->offset = from->offset;
	for (unsigned j = 0; j < to->nd; j++)
		axes |= plan_fusion_is_one(p, to->n[j]) ? 0 : 1u << j;
	for (unsigned i = 0; i < v->nd; i++) {
		unsigned j = 0;
		if (plan_fusion_is_one(p, v->n[i]) || v->stride[i] == 0)
			continue;
		while (j < to->nd && (used >> j & 1 || to->n[j] != v->n[i] || to->stride[j] != v->stride[i]))
			j++;
		if (j == to->nd || from->stride[j] < 1 || (i + 2 < v->nd && from->stride[j] != v->stride[i]))
			return false;
		used |= 1u << j;
		out->stride[i] = from->stride[j];
	}
	return used == axes;
}

/* Returns true if the matrices have contiguous rows or columns. */
static bool is_matrix(const struct plan_view *v)
{
	return v->stride[v->nd - 2] == 1 || v->stride[v->nd - 1] == 1;
}

/* Returns true if rows (or columns) begin at multiples of 16 bytes, which makes products faster. Offsets
 * that vary are assumed to be aligned. */
static bool is_aligned(const struct plan_fusion *f, const struct plan_view *v)
{
	const struct plan *p = f->p;
	const int64_t *stride = v->stride + v->nd - 2;
	int64_t size = (int64_t)dtype_bytes(p->buffer.at[v->buffer].dtype);
	int64_t lead = stride[1] == 1 ? stride[0] : stride[1],
	        offset = p->varies[v->offset] ? 0 : p->reg.at[v->offset];
	return lead * size % 16 == 0 && offset % (16 / size) == 0;
}

/* Returns true if the product is as fast on the source as on its copy. Tensor cores read types of 8 bits
 * only along the summed axis. */
static bool is_as_fast(const struct plan_fusion *f, const struct plan_view *copy,
                       const struct plan_view *from, unsigned operand)
{
	unsigned sum = copy->nd - (operand == 0 ? 1u : 2u);
	bool narrow = dtype_bytes(f->p->buffer.at[copy->buffer].dtype) == 1;
	if (narrow && (copy->stride[sum] == 1 || from->stride[sum] != 1))
		return false;
	return is_matrix(from) && (is_aligned(f, from) || !is_aligned(f, copy));
}

static bool is_copy(const struct plan_fusion *f, const struct plan_task *t, const struct plan_view *v)
{
	const struct plan_buffer *to = &f->p->buffer.at[t->out.buffer],
	                         *from = &f->p->buffer.at[t->in[0].buffer];
	return t->kernel == RT_TASK_COPY && !t->scalars && t->out.buffer == v->buffer &&
	       t->out.slot == v->slot && t->out.offset == v->offset && f->uses[v->buffer] == 2 &&
	       to->input < 0 && plan_fusion_is_plain(to) && plan_fusion_is_plain(from) &&
	       to->dtype == from->dtype && !t->in[0].bytes && !t->out.bytes && !v->bytes;
}

/* Returns true if a task between two instructions may write the buffer. */
static bool is_written(const struct plan_fusion *f, uint32_t after, uint32_t before, uint32_t buffer)
{
	for (uint32_t k = after + 1; k < before; k++)
		if (!f->gone[k] && f->p->code.at[k].code == PLAN_TASK &&
		    f->p->task.at[f->p->code.at[k].a].out.buffer == buffer)
			return true;
	return false;
}

/* Returns the instruction that copies the elements of the operand, if it always runs before; otherwise
 * `at`. */
static uint32_t find_copy(const struct plan_fusion *f, uint32_t at, const struct plan_view *v)
{
	const struct plan *p = f->p;
	for (uint32_t k = at; k-- > 0 && !f->target[k + 1];) {
		const struct plan_instruction *i = &p->code.at[k];
		const struct plan_task *t = i->code == PLAN_TASK ? &p->task.at[i->a] : NULL;
		if (f->gone[k] || i->code == PLAN_LET || i->code == PLAN_CHECK)
			continue;
		if (!t || t->kernel == RT_TASK_UNIT)
			break;
		if (is_copy(f, t, v))
			return k;
	}
	return at;
}

/* Makes the product read the source of the copy that was made for its operand. */
static bool fuse_copy(struct plan_fusion *f, uint32_t at, unsigned operand)
{
	struct plan_task *product = &f->p->task.at[f->p->code.at[at].a];
	struct plan_view *v = &product->in[operand], before;
	uint32_t copied = find_copy(f, at, v), task = f->p->code.at[copied].a;
	if (copied == at)
		return false;
	const struct plan_task *copy = &f->p->task.at[task];
	if (copy->in[0].buffer == product->out.buffer || !before_copy(f, v, copy, &before) ||
	    !is_as_fast(f, v, &before, operand) || is_written(f, copied, at, copy->in[0].buffer))
		return false;
	plan_fusion_leave_out(f, v->buffer);
	*v = before;
	f->unused[task] = f->gone[copied] = true;
	return true;
}

static void fuse_copies(struct plan_fusion *f, uint32_t at)
{
	if (f->p->task.at[f->p->code.at[at].a].kernel != RT_TASK_GEMM || !f->wanted->transposes)
		return;
	for (unsigned operand = 0; operand < 2;)
		operand += !fuse_copy(f, at, operand);
}

void plan_products(struct plan *p, const struct plan_target *target)
{
	struct plan_fusion f;
	if ((!target->epilogues && !target->transposes) || !p->task.n)
		return;
	plan_fusion_open(&f, p, target);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_TASK && !f.gone[k])
			fuse_copies(&f, k);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_TASK && !f.gone[k])
			fuse_function(&f, k);
	plan_fusion_close(&f);
}
