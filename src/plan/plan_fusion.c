/* plan_fusion: see plan_fusion.h. */
#include "plan/plan_fusion.h"
#include "base/arena.h"
#include <stdlib.h>

/* ---- poison */

bool plan_fusion_is_poison(const struct plan_instruction *i)
{
	return i->code == PLAN_TASK && i->op == PLAN_TASK_POISONS;
}

void plan_fusion_keep_contents(const struct plan_fusion *f, uint32_t buffer)
{
	const struct plan *p = f->p;
	for (uint32_t k = 0; k < p->code.n && f->wanted->poisons; k++)
		if (plan_fusion_is_poison(&p->code.at[k]) && p->task.at[p->code.at[k].a].out.buffer == buffer)
			f->unused[p->code.at[k].a] = f->gone[k] = true;
}

/* ---- uses */

static void count_task(const struct plan_fusion *f, const struct plan_task *t)
{
	if (t->kernel == RT_TASK_UNIT)
		return;
	f->uses[t->out.buffer]++;
	for (unsigned k = 0; k < t->in_n; k++)
		if (!(t->scalars >> k & 1))
			f->uses[t->in[k].buffer]++;
}

static void count_collective(const struct plan_fusion *f, const struct plan_collective *c)
{
	if (c->has_in)
		f->uses[c->in.buffer]++;
	if (c->has_out)
		f->uses[c->out.buffer]++;
	for (unsigned k = 0; k < 2 && c->is_late; k++)
		f->uses[c->late[k].buffer]++;
}

static void count_uses(const struct plan_fusion *f)
{
	const struct plan *p = f->p;
	for (uint32_t k = 0; k < p->task.n; k++)
		count_task(f, &p->task.at[k]);
	for (uint32_t k = 0; k < p->step.n; k++)
		count_task(f, &p->step.at[k]);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (plan_fusion_is_poison(&p->code.at[k]))
			f->uses[p->task.at[p->code.at[k].a].out.buffer]--;
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

static void mark_targets(const struct plan_fusion *f)
{
	for (uint32_t k = 0; k < f->p->code.n; k++)
		if (jumps(&f->p->code.at[k]))
			f->target[f->p->code.at[k].to] = true;
}

/* ---- conditions */

bool plan_fusion_is_plain(const struct plan_buffer *buffer)
{
	return !buffer->symmetric && !buffer->view && !buffer->local;
}

bool plan_fusion_is_one(const struct plan *p, plan_reg r)
{
	return !p->varies[r] && p->reg.at[r] == 1;
}

bool plan_fusion_same_window(const struct plan *p, const struct plan_view *a, const struct plan_view *b)
{
	unsigned i = 0, j = 0;
	if (a->buffer != b->buffer || a->slot != b->slot || a->offset != b->offset || a->bytes || b->bytes)
		return false;
	for (;; i++, j++) {
		while (i < a->nd && plan_fusion_is_one(p, a->n[i]))
			i++;
		while (j < b->nd && plan_fusion_is_one(p, b->n[j]))
			j++;
		if (i == a->nd || j == b->nd)
			return i == a->nd && j == b->nd;
		if (a->n[i] != b->n[j] || a->stride[i] != b->stride[j])
			return false;
	}
}

struct plan_view plan_fusion_with_axes(const struct plan *p, const struct plan_view *v,
                                       const struct plan_view *like)
{
	struct plan_view out = *v;
	unsigned j = 0;
	out.nd = like->nd;
	for (unsigned i = 0; i < like->nd; i++) {
		while (j < v->nd && plan_fusion_is_one(p, v->n[j]))
			j++;
		out.n[i] = like->n[i];
		out.stride[i] = plan_fusion_is_one(p, like->n[i]) ? 0 : v->stride[j++];
	}
	return out;
}

uint32_t plan_fusion_next(const struct plan_fusion *f, uint32_t at)
{
	const struct plan_instruction *code = f->p->code.at;
	do
		at++;
	while (!f->target[at] && (f->gone[at] || code[at].code == PLAN_LET || code[at].code == PLAN_CHECK));
	return !f->target[at] && code[at].code == PLAN_TASK ? at : 0;
}

void plan_fusion_leave_out(const struct plan_fusion *f, uint32_t number)
{
	struct plan_buffer *buffer = &f->p->buffer.at[number];
	buffer->local = true;
	buffer->slots = buffer->slot_bytes = 0;
	plan_fusion_keep_contents(f, number);
}

/* ---- the plan without removed instructions */

static void renumber_code(struct plan_fusion *f)
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

void plan_fusion_open(struct plan_fusion *f, struct plan *p, const struct plan_target *target)
{
	*f = (struct plan_fusion){.p = p,
	                          .wanted = target,
	                          .uses = mem_zalloc(sizeof *f->uses * p->buffer.n),
	                          .target = mem_zalloc(p->code.n + 1),
	                          .gone = mem_zalloc(p->code.n),
	                          .unused = mem_zalloc(p->task.n)};
	count_uses(f);
	mark_targets(f);
}

void plan_fusion_close(struct plan_fusion *f)
{
	renumber_code(f);
	free(f->uses);
	free(f->target);
	free(f->gone);
	free(f->unused);
}
