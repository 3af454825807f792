/* sched_source: finds the consumers of sources, and sorts by them. */
#include "sched/sched_source.h"
#include "sched/role.h"
#include <stdlib.h>
#include <string.h>

static uint32_t consumer(const struct sched_problem *p, uint32_t comm)
{
	uint32_t x = comm;
	for (unsigned hop = 0; hop < 3 && p->succ.at[x] < p->succ.at[x + 1];
	     hop++) { /* at most three: wait, unpack, consumer */
		x = p->succ.item[p->succ.at[x]];
		if (hop > 0 && p->node[x].kind != SCHED_WAIT)
			break;
	}
	return x;
}

static int by_need(const void *a, const void *b)
{
	const struct sched_source *x = a, *y = b;
	if (x->needed != y->needed)
		return x->needed < y->needed ? -1 : 1;
	return (x->comm > y->comm) - (x->comm < y->comm);
}

void sched_sources(const struct sched_problem *p, const uint8_t *role, const int64_t *time, struct arena *a,
                   struct sched_sources *out)
{
	uint32_t next[SCHED_MAX_LANES], n = 0;
	memset(out->first, 0, sizeof out->first);
	for (uint32_t x = 0; x < p->n; x++)
		if (role[x] == SCHED_SOURCE) {
			out->first[p->node[x].lane + 1]++;
			n++;
		}
	for (uint32_t lane = 0; lane < p->lane_n; lane++) {
		out->first[lane + 1] += out->first[lane];
		next[lane] = out->first[lane];
	}
	out->at = arena_new_array(a, struct sched_source, n);
	for (uint32_t x = 0; x < p->n; x++)
		if (role[x] == SCHED_SOURCE)
			out->at[next[p->node[x].lane]++] = (struct sched_source){x, time[consumer(p, x)]};
	for (uint32_t lane = 0; lane < p->lane_n; lane++)
		if (out->first[lane + 1] > out->first[lane] + 1)
			qsort(out->at + out->first[lane], out->first[lane + 1] - out->first[lane],
			      sizeof *out->at, by_need);
}
