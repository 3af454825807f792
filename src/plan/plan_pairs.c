/* plan_pairs: see plan_pairs.h. */
#include "plan/plan_pairs.h"
#include "plan/plan_control.h"
#include <stdlib.h>
#include <string.h>

static void add_plan_pair(plan_pairs *out, struct plan_pair pair)
{
	for (uint32_t k = 0; k < out->n; k++)
		if (out->at[k].sender == pair.sender && out->at[k].receiver == pair.receiver &&
		    out->at[k].channel == pair.channel)
			return;
	vec_push(out, pair);
}

void plan_pairs_find(const struct plan *p, plan_pairs *out)
{
	if (!p->message.n)
		return;
	int64_t *r = mem_alloc(sizeof *r * (p->reg.n + 1));
	memcpy(r, p->reg.at, sizeof *r * p->reg.n);
	for (uint32_t at = 0; p->code.at[at].code != PLAN_END;) {
		const struct plan_instruction *i = &p->code.at[at++];
		if (i->code != PLAN_MESSAGE) {
			plan_control(p, i, r, &at);
			continue;
		}
		const struct plan_message *m = &p->message.at[i->a];
		int own = (int)p->rank, peer = (int)r[m->peer];
		if (r[m->peer] >= 0 && r[m->peer] < p->ranks)
			add_plan_pair(
			    out, (struct plan_pair){m->send ? own : peer, m->send ? peer : own, m->channel});
	}
	free(r);
}
