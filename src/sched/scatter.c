/* scatter: walks once over the sinks, with one open bucket a family. */
#include "sched/scatter.h"
#include <stdlib.h>

struct open {
	const struct sched_sink *first; /* its first member; NULL: none */
	int64_t bytes;                  /* of the operands */
};

void sched_scatter(const struct sched_problem *p, const struct sched_sinks *sink,
                   const struct sched_scatter_options *o, uint32_t *bucket, uint32_t *bucket_n)
{
	struct open *open = mem_zalloc(sizeof *open * ((size_t)p->family_n + 1));
	for (uint32_t i = 0; i < sink->n; i++) {
		const struct sched_sink *s = &sink->at[i];
		const struct sched_transfer *n = sched_transfer(p, s->comm);
		if (n->in > o->threshold)
			continue;
		struct open *b = &open[n->family];
		b->bytes += n->in;
		/* the operands are copied into the packed buffer */
		bool fits = b->bytes <= (int64_t)(o->share / 2 * (double)s->room);
		if (!b->first || s->when - b->first->when > o->span || !fits) {
			*b = (struct open){s, n->in};
			continue;
		}
		uint32_t *into = &bucket[p->node[b->first->comm].transfer];
		if (*into == SCHED_NONE)
			*into = (*bucket_n)++;
		bucket[p->node[s->comm].transfer] = *into;
	}
	free(open);
}
