/* plan_flops: see plan_flops.h. */
#include "exec/plan_flops.h"
#include "exec/scalar_op.h"
#include <stdlib.h>
#include <string.h>

static double of_task(const struct plan_task *t, const int64_t *r)
{
	double flops = 2;
	if (t->kernel != RT_TASK_GEMM)
		return 0;
	for (unsigned k = 0; k < t->out.nd; k++)
		flops *= (double)r[t->out.n[k]];
	return flops * (double)r[t->in[0].n[t->in[0].nd - 1]];
}

double plan_flops(const struct plan *p)
{
	int64_t *r = mem_alloc(sizeof *r * (p->reg.n + 1));
	double flops = 0;
	memcpy(r, p->reg.at, sizeof *r * p->reg.n);
	for (uint32_t at = 0; p->code.at[at].code != PLAN_END;) {
		const struct plan_instruction *i = &p->code.at[at++];
		switch ((enum plan_code)i->code) {
		case PLAN_LET:
			r[i->a] = plan_let(p, i, r);
			break;
		case PLAN_FOR:
			r[i->a] = r[i->b];
			if (r[i->b] >= r[i->c])
				at = i->to;
			break;
		case PLAN_NEXT:
			if (++r[i->a] < r[i->c])
				at = i->to;
			break;
		case PLAN_IF:
			if (!r[i->a])
				at = i->to;
			break;
		case PLAN_GOTO:
			at = i->to;
			break;
		case PLAN_TASK:
			flops += of_task(&p->task.at[i->a], r);
			break;
		default:
			break;
		}
	}
	free(r);
	return flops;
}
