/* plan_writes: see plan_writes.h. */
#include "plan/plan_writes.h"
#include <stdlib.h>

static void add_write(struct plan_writes *w, uint32_t buffer, uint32_t at)
{
	if (!w->first[buffer])
		w->first[buffer] = at + 1;
	w->last[buffer] = at + 1;
}

static void add_task(struct plan_writes *w, const struct plan_task *t, uint32_t at)
{
	add_write(w, t->out.buffer, at);
	for (unsigned k = 0; k < t->in_n; k++) {
		if (!(t->scalars >> k & 1) && t->writes >> k & 1)
			add_write(w, t->in[k].buffer, at);
	}
}

static void add_collective(struct plan_writes *w, const struct plan_collective *c,
                           const struct plan_instruction *i, uint32_t at)
{
	if (c->has_out) {
		w->used[c->out.buffer] = i->statement;
		add_write(w, c->out.buffer, at);
	}
	for (unsigned k = 0; k < 2 && c->is_late; k++)
		w->used[c->late[k].buffer] = i->statement;
}

static void add_instruction(struct plan_writes *w, const struct plan *p, uint32_t at)
{
	const struct plan_instruction *i = &p->code.at[at];
	if (i->code == PLAN_COLLECTIVE)
		add_collective(w, &p->collective.at[i->a], i, at);
	if (i->code == PLAN_MESSAGE && !p->message.at[i->a].send) {
		w->used[p->message.at[i->a].data.buffer] = i->statement;
		add_write(w, p->message.at[i->a].data.buffer, at);
	}
	if (i->code != PLAN_TASK || i->op == PLAN_TASK_POISONS)
		return;
	const struct plan_task *t = &p->task.at[i->a];
	if (t->kernel != RT_TASK_UNIT)
		add_task(w, t, at);
	for (uint32_t s = t->first; s < t->first + (t->kernel == RT_TASK_UNIT ? t->steps : 0); s++)
		add_task(w, &p->step.at[s], at);
}

void plan_writes_open(struct plan_writes *w, const struct plan *p)
{
	const size_t n = p->buffer.n;
	*w = (struct plan_writes){.first = mem_zalloc(sizeof *w->first * n),
	                          .last = mem_zalloc(sizeof *w->last * n),
	                          .used = mem_zalloc(sizeof *w->used * n)};
	for (uint32_t k = 0; k < p->code.n; k++)
		add_instruction(w, p, k);
}

void plan_writes_close(struct plan_writes *w)
{
	free(w->first);
	free(w->last);
	free(w->used);
}
