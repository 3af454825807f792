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
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

struct fusion {
	struct plan *p;
	const struct plan_target *wanted;
	uint32_t *uses; /* by buffer: number of its views, outputs, and buffers that show it */
	bool *target;   /* by instruction: a jump may lead to it */
	bool *gone;     /* by instruction: it is removed */
	bool *unused;   /* by task: it is removed */
};

/* ---- uses */

static void count_task(const struct fusion *f, const struct plan_task *t)
{
	if (t->kernel == RT_TASK_UNIT)
		return;
	f->uses[t->out.buffer]++;
	for (unsigned k = 0; k < t->in_n; k++)
		if (!(t->scalars >> k & 1))
			f->uses[t->in[k].buffer]++;
}

static void count_collective(const struct fusion *f, const struct plan_collective *c)
{
	if (c->has_in)
		f->uses[c->in.buffer]++;
	if (c->has_out)
		f->uses[c->out.buffer]++;
	for (unsigned k = 0; k < 2 && c->is_late; k++)
		f->uses[c->late[k].buffer]++;
}

static void count_uses(const struct fusion *f)
{
	const struct plan *p = f->p;
	for (uint32_t k = 0; k < p->task.n; k++)
		count_task(f, &p->task.at[k]);
	for (uint32_t k = 0; k < p->step.n; k++)
		count_task(f, &p->step.at[k]);
	for (uint32_t k = 0; k < p->collective.n; k++)
		count_collective(f, &p->collective.at[k]);
	for (uint32_t k = 0; k < p->message.n; k++)
		f->uses[p->message.at[k].data.buffer]++;
	for (uint32_t k = 0; k < p->output.n; k++)
		if (p->output.at[k].buffer != UINT32_MAX)
			f->uses[p->output.at[k].buffer]++;
	for (uint32_t k = 0; k < p->buffer.n; k++)
		if (p->buffer.at[k].view)
			f->uses[p->buffer.at[k].of]++;
}

static bool jumps(const struct plan_instruction *i)
{
	return i->code == PLAN_FOR || i->code == PLAN_NEXT || i->code == PLAN_IF || i->code == PLAN_GOTO;
}

static void mark_targets(const struct fusion *f)
{
	for (uint32_t k = 0; k < f->p->code.n; k++)
		if (jumps(&f->p->code.at[k]))
			f->target[f->p->code.at[k].to] = true;
}

/* ---- conditions */

/* Returns true if the memory is private to this rank and the plan places it. */
static bool is_plain(const struct plan_buffer *buffer)
{
	return !buffer->symmetric && !buffer->view && !buffer->local;
}

static bool is_one(const struct plan *p, plan_reg r)
{
	return !p->varies[r] && p->reg.at[r] == 1;
}

/* Returns true if both windows have the same elements; axes of extent 1 are ignored. */
static bool same_window(const struct plan *p, const struct plan_view *a, const struct plan_view *b)
{
	unsigned i = 0, j = 0;
	if (a->buffer != b->buffer || a->slot != b->slot || a->offset != b->offset || a->bytes || b->bytes)
		return false;
	for (;; i++, j++) {
		while (i < a->nd && is_one(p, a->n[i]))
			i++;
		while (j < b->nd && is_one(p, b->n[j]))
			j++;
		if (i == a->nd || j == b->nd)
			return i == a->nd && j == b->nd;
		if (a->n[i] != b->n[j] || a->stride[i] != b->stride[j])
			return false;
	}
}

/* Returns the view with the axes of `like`; both have the same axes apart from those with one element. */
static struct plan_view with_axes(const struct plan *p, const struct plan_view *v,
                                  const struct plan_view *like)
{
	struct plan_view out = *v;
	unsigned j = 0;
	out.nd = like->nd;
	for (unsigned i = 0; i < like->nd; i++) {
		while (j < v->nd && is_one(p, v->n[j]))
			j++;
		out.n[i] = like->n[i];
		out.stride[i] = is_one(p, like->n[i]) ? 0 : v->stride[j++];
	}
	return out;
}

static bool is_product(const struct fusion *f, const struct plan_task *t)
{
	const struct plan_buffer *buffer = &f->p->buffer.at[t->out.buffer];
	return t->kernel == RT_TASK_GEMM && !t->accumulate && !t->function && f->uses[t->out.buffer] == 2 &&
	       buffer->input < 0 && is_plain(buffer);
}

/* Returns true if a task is a function of the product and writes nothing that the product reads. */
static bool is_function(const struct fusion *f, const struct plan_task *product, const struct plan_task *t)
{
	const struct plan_buffer *from = &f->p->buffer.at[product->out.buffer],
	                         *to = &f->p->buffer.at[t->out.buffer];
	if (t->kernel != RT_TASK_POINTWISE || !(f->wanted->epilogues >> t->op & 1) || t->scalars ||
	    t->in_n != 1 || from->dtype != to->dtype || !is_plain(to) ||
	    !same_window(f->p, &product->out, &t->in[0]))
		return false;
	for (unsigned k = 0; k < product->in_n; k++)
		if (product->in[k].buffer == t->out.buffer)
			return false;
	return true;
}

/* Returns the next instruction that is no scalar; 0 if a jump may lead to one in between. */
static uint32_t next_task(const struct fusion *f, uint32_t at)
{
	const struct plan_instruction *code = f->p->code.at;
	do
		at++;
	while (!f->target[at] && (f->gone[at] || code[at].code == PLAN_LET || code[at].code == PLAN_CHECK));
	return !f->target[at] && code[at].code == PLAN_TASK ? at : 0;
}

/* Removes the memory of a buffer that nothing uses any more. */
static void leave_out(const struct fusion *f, uint32_t number)
{
	struct plan_buffer *buffer = &f->p->buffer.at[number];
	buffer->local = true;
	buffer->slots = buffer->slot_bytes = 0;
}

static void fuse_function(struct fusion *f, uint32_t at)
{
	struct plan *p = f->p;
	const struct plan_instruction *first = &p->code.at[at];
	uint32_t next = next_task(f, at);
	if (!next)
		return;
	struct plan_task *product = &p->task.at[first->a], *t = &p->task.at[p->code.at[next].a];
	if (!is_product(f, product) || !is_function(f, product, t))
		return;
	leave_out(f, product->out.buffer);
	product->function = (uint8_t)(t->op + 1);
	product->out = with_axes(p, &t->out, &product->out);
	f->unused[p->code.at[next].a] = true;
	p->code.at[next] = *first;
	f->gone[at] = true;
}

/* ---- copies of operands */

/* Finds the operand's window on the source of a copy. Returns false if the copy does more than to
 * transpose matrices, or if a product would not read the source as fast. */
static bool before_copy(const struct fusion *f, const struct plan_view *v, const struct plan_task *copy,
                        struct plan_view *out)
{
	const struct plan *p = f->p;
	const struct plan_view *to = &copy->out, *from = &copy->in[0];
	unsigned used = 0, axes = 0;
	*out = *v;
	out->buffer = from->buffer, out->slot = from->slot, out->offset = from->offset;
	for (unsigned j = 0; j < to->nd; j++)
		axes |= is_one(p, to->n[j]) ? 0 : 1u << j;
	for (unsigned i = 0; i < v->nd; i++) {
		unsigned j = 0;
		if (is_one(p, v->n[i]) || v->stride[i] == 0)
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
static bool is_aligned(const struct fusion *f, const struct plan_view *v)
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
static bool is_as_fast(const struct fusion *f, const struct plan_view *copy, const struct plan_view *from,
                       unsigned operand)
{
	unsigned sum = copy->nd - (operand == 0 ? 1u : 2u);
	bool narrow = dtype_bytes(f->p->buffer.at[copy->buffer].dtype) == 1;
	if (narrow && (copy->stride[sum] == 1 || from->stride[sum] != 1))
		return false;
	return is_matrix(from) && (is_aligned(f, from) || !is_aligned(f, copy));
}

static bool is_copy(const struct fusion *f, const struct plan_task *t, const struct plan_view *v)
{
	const struct plan_buffer *to = &f->p->buffer.at[t->out.buffer],
	                         *from = &f->p->buffer.at[t->in[0].buffer];
	return t->kernel == RT_TASK_COPY && !t->scalars && t->out.buffer == v->buffer &&
	       t->out.slot == v->slot && t->out.offset == v->offset && f->uses[v->buffer] == 2 &&
	       to->input < 0 && is_plain(to) && is_plain(from) && to->dtype == from->dtype &&
	       !t->in[0].bytes && !t->out.bytes && !v->bytes;
}

/* Returns true if a task between two instructions may write the buffer. */
static bool is_written(const struct fusion *f, uint32_t after, uint32_t before, uint32_t buffer)
{
	for (uint32_t k = after + 1; k < before; k++)
		if (!f->gone[k] && f->p->code.at[k].code == PLAN_TASK &&
		    f->p->task.at[f->p->code.at[k].a].out.buffer == buffer)
			return true;
	return false;
}

/* Returns the instruction that copies the elements of the operand, if it always runs before; otherwise
 * `at`. */
static uint32_t find_copy(const struct fusion *f, uint32_t at, const struct plan_view *v)
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
static bool fuse_copy(struct fusion *f, uint32_t at, unsigned operand)
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
	leave_out(f, v->buffer);
	*v = before;
	f->unused[task] = f->gone[copied] = true;
	return true;
}

static void fuse_copies(struct fusion *f, uint32_t at)
{
	if (f->p->task.at[f->p->code.at[at].a].kernel != RT_TASK_GEMM || !f->wanted->transposes)
		return;
	for (unsigned operand = 0; operand < 2;)
		operand += !fuse_copy(f, at, operand);
}

/* ---- the plan without removed instructions */

static void renumber_code(struct fusion *f)
{
	struct plan *p = f->p;
	uint32_t *code_at = mem_alloc(sizeof *code_at * p->code.n),
	         *task_at = mem_zalloc(sizeof *task_at * (p->task.n + 1));
	uint32_t n = 0;
	for (uint32_t k = 0; k < p->task.n; k++) {
		task_at[k] = n;
		p->task.at[n] = p->task.at[k];
		n += !f->unused[k];
	}
	p->task.n = n;
	n = 0;
	for (uint32_t k = 0; k < p->code.n; k++) {
		code_at[k] = n;
		p->code.at[n] = p->code.at[k];
		n += !f->gone[k];
	}
	p->code.n = n;
	for (uint32_t k = 0; k < n; k++) {
		struct plan_instruction *i = &p->code.at[k];
		if (jumps(i))
			i->to = code_at[i->to];
		else if (i->code == PLAN_TASK)
			i->a = task_at[i->a];
	}
	free(code_at);
	free(task_at);
}

void plan_products(struct plan *p, const struct plan_target *target)
{
	if ((!target->epilogues && !target->transposes) || !p->task.n)
		return;
	struct fusion f = {.p = p,
	                   .wanted = target,
	                   .uses = mem_zalloc(sizeof *f.uses * p->buffer.n),
	                   .target = mem_zalloc(p->code.n + 1),
	                   .gone = mem_zalloc(p->code.n),
	                   .unused = mem_zalloc(p->task.n)};
	count_uses(&f);
	mark_targets(&f);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_TASK && !f.gone[k])
			fuse_copies(&f, k);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_TASK && !f.gone[k])
			fuse_function(&f, k);
	renumber_code(&f);
	free(f.uses);
	free(f.target);
	free(f.gone);
	free(f.unused);
}
