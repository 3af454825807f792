/* plan_flops: see plan_flops.h. */
#include "plan/plan_flops.h"
#include "plan/plan_control.h"
#include <stdlib.h>
#include <string.h>

static double of_task(const struct plan_task *t, const int64_t *r)
{
	double flops = 2;
	if (t->kernel != RT_TASK_GEMM && t->kernel != RT_TASK_ATTENTION && t->kernel != RT_TASK_GRADIENT)
		return 0;
	for (unsigned k = 0; k < t->out.nd; k++)
		flops *= (double)r[t->out.n[k]];
	if (t->kernel == RT_TASK_ATTENTION) /* the scores, then the weighted sums */
		return (flops +
		        flops / (double)r[t->out.n[t->out.nd - 1]] * (double)r[t->in[0].n[t->in[0].nd - 1]]) *
		       (double)r[t->in[1].n[t->in[1].nd - 2]];
	if (t->kernel ==
	    RT_TASK_GRADIENT) { /* the scores, the slopes of the weights except for v, the sums */
		const struct plan_view *q = &t->in[0], *k = &t->in[1], *g = &t->in[RT_ATTENTION_SLOPE];
		unsigned last = t->out.nd - 1;
		double depth = (double)r[q->n[last]], width = (double)r[g->n[last]];
		flops /= (double)r[t->out.n[last]] * (double)r[t->out.n[last - 1]];
		return flops * (double)r[q->n[last - 1]] * (double)r[k->n[last - 1]] *
		       (t->op == RT_GRADIENT_V ? depth + width : 2 * depth + width);
	}
	return flops * (double)r[t->in[0].n[t->in[0].nd - 1]];
}

double plan_flops(const struct plan *p)
{
	int64_t *r = mem_alloc(sizeof *r * (p->reg.n + 1));
	double flops = 0;
	memcpy(r, p->reg.at, sizeof *r * p->reg.n);
	for (uint32_t at = 0; p->code.at[at].code != PLAN_END;) {
		const struct plan_instruction *i = &p->code.at[at++];
		if (i->code == PLAN_TASK)
			flops += of_task(&p->task.at[i->a], r);
		else
			plan_control(p, i, r, &at);
	}
	free(r);
	return flops;
}
