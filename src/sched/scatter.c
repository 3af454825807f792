/* scatter: walks once through the original order, with one open bucket a family. */
#include "sched/scatter.h"
#include "sched/role.h"
#include <stdlib.h>

struct open {
	uint32_t first; /* its first member; SCHED_NONE: none */
	int64_t since;
	int64_t bytes; /* of the operands */
};

void sched_scatter(const struct sched_problem *p, const uint8_t *role, const struct sched_scatter_options *o,
                   uint32_t *bucket, uint32_t *bucket_n)
{
	struct open *open = mem_alloc(sizeof *open * ((size_t)p->family_n + 1));
	int64_t when = 0;
	for (uint32_t f = 0; f < p->family_n; f++)
		open[f].first = SCHED_NONE;
	for (uint32_t x = 0; x < p->n; when += sched_host_time(p, x++)) {
		const struct sched_node *n = &p->node[x];
		if (role[x] != SCHED_SINK || n->family == SCHED_NONE || n->in > o->threshold)
			continue;
		struct open *b = &open[n->family];
		b->bytes += n->in;
		/* the operands are copied into the packed buffer */
		bool fits = b->bytes <= (int64_t)(o->share / 2 * (double)o->room[x]);
		if (b->first == SCHED_NONE || when - b->since > o->span || !fits) {
			*b = (struct open){x, when, n->in};
			continue;
		}
		if (bucket[b->first] == SCHED_NONE)
			bucket[b->first] = (*bucket_n)++;
		bucket[x] = bucket[b->first];
	}
	free(open);
}
