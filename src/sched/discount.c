/* discount: see discount.h. */
#include "sched/discount.h"
#include <string.h>

void sched_discount(const struct sched_problem *p, unsigned percent, struct arena *a,
                    struct sched_problem *out)
{
	struct sched_family *family = arena_new_array(a, struct sched_family, p->family_n);
	*out = *p;
	out->node = arena_new_array(a, struct sched_node, p->n);
	out->family = family;
	if (p->n)
		memcpy(out->node, p->node, sizeof *p->node * p->n);
	for (uint32_t x = 0; x < p->n; x++)
		if (p->node[x].kind == SCHED_COMM && p->node[x].time > 0)
			out->node[x].time = (p->node[x].time * 100 + percent - 1) / percent;
	for (uint32_t f = 0; f < p->family_n; f++) {
		struct sched_point *point = arena_new_array(a, struct sched_point, p->family[f].n);
		family[f] = p->family[f];
		family[f].point = point;
		for (unsigned i = 0; i < p->family[f].n; i++)
			point[i] = (struct sched_point){p->family[f].point[i].bytes,
			                                p->family[f].point[i].time * 100 / percent};
	}
}

void sched_discount_undo(const struct sched_problem *p, struct sched_schedule *s)
{
	struct sched_problem *q = &s->b.p;
	q->family = p->family;
	for (uint32_t k = 0; k < q->n; k++) {
		struct sched_node *n = &q->node[k];
		const struct sched_origin *o = &s->b.origin[k];
		if (n->kind == SCHED_COMM)
			n->time = o->bucket == SCHED_NONE ? p->node[o->node].time
			                                  : sched_family_time(&p->family[n->family], n->in);
	}
	s->result = sched_simulate(q, s->order, NULL);
}
