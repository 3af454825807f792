/* plan_epilogues: see plan_epilogues.h.
 *
 *     0  task T[0; 8:4 4:1] = gemm(X[…], W[…], B[…])
 *     1  let r5 = r2 * 32                               →    0  let r5 = r2 * 32
 *     2  task H[r5; 8:4 4:1] = relu(T[0; 8:4 4:1])           1  task H[r5; 8:4 4:1] = relu of gemm(X[…], …)
 *
 * Nothing but scalars stands between the two, so that the product may be computed where its function was. */
#include "exec/plan_epilogues.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

struct fusion {
	struct plan *p;
	uint64_t functions;
	uint32_t *uses; /* by buffer: views of it, outputs, and buffers that show it */
	bool *target;   /* by instruction: another may go on with it */
	bool *gone;     /* by instruction */
	bool *unused;   /* by task */
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

/* ---- what fits */

/* Memory of this rank's own, which the plan places. */
static bool is_plain(const struct plan_buffer *b)
{
	return !b->symmetric && !b->view && !b->local;
}

static bool is_one(const struct plan *p, plan_reg r)
{
	return !p->varies[r] && p->reg.at[r] == 1;
}

/* The same elements, but for axes that have one. */
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

/* The view, with the axes of `like`, which has the same but for those of one element. */
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
	const struct plan_buffer *b = &f->p->buffer.at[t->out.buffer];
	return t->kernel == RT_TASK_GEMM && !t->accumulate && !t->function && f->uses[t->out.buffer] == 2 &&
	       b->input < 0 && is_plain(b);
}

/* Whether it is a function of the product and writes nothing that this reads. */
static bool is_function(const struct fusion *f, const struct plan_task *product, const struct plan_task *t)
{
	const struct plan_buffer *from = &f->p->buffer.at[product->out.buffer],
	                         *to = &f->p->buffer.at[t->out.buffer];
	if (t->kernel != RT_TASK_POINTWISE || !(f->functions >> t->op & 1) || t->scalars || t->in_n != 1 ||
	    from->dtype != to->dtype || !is_plain(to) || !same_window(f->p, &product->out, &t->in[0]))
		return false;
	for (unsigned k = 0; k < product->in_n; k++)
		if (product->in[k].buffer == t->out.buffer)
			return false;
	return true;
}

/* The instruction after this one and the scalars that follow; 0: another may lead to it. */
static uint32_t next_task(const struct fusion *f, uint32_t at)
{
	const struct plan_instruction *code = f->p->code.at;
	do
		at++;
	while (!f->target[at] && (code[at].code == PLAN_LET || code[at].code == PLAN_CHECK));
	return !f->target[at] && code[at].code == PLAN_TASK ? at : 0;
}

static void fuse(struct fusion *f, uint32_t at)
{
	struct plan *p = f->p;
	const struct plan_instruction *first = &p->code.at[at];
	uint32_t next = next_task(f, at);
	if (!next)
		return;
	struct plan_task *product = &p->task.at[first->a], *t = &p->task.at[p->code.at[next].a];
	if (!is_product(f, product) || !is_function(f, product, t))
		return;
	struct plan_buffer *b = &p->buffer.at[product->out.buffer];
	b->local = true;
	b->slots = b->slot_bytes = 0;
	product->function = (uint8_t)(t->op + 1);
	product->out = with_axes(p, &t->out, &product->out);
	f->unused[p->code.at[next].a] = true;
	p->code.at[next] = *first;
	f->gone[at] = true;
}

/* ---- the plan without what is gone */

static void renumber(struct fusion *f)
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

void plan_epilogues(struct plan *p, uint64_t functions)
{
	if (!functions || !p->task.n)
		return;
	struct fusion f = {.p = p,
	                   .functions = functions,
	                   .uses = mem_zalloc(sizeof *f.uses * p->buffer.n),
	                   .target = mem_zalloc(p->code.n + 1),
	                   .gone = mem_zalloc(p->code.n),
	                   .unused = mem_zalloc(p->task.n)};
	count_uses(&f);
	mark_targets(&f);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_TASK)
			fuse(&f, k);
	renumber(&f);
	free(f.uses);
	free(f.target);
	free(f.gone);
	free(f.unused);
}
