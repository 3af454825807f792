/* sched_source: finds the time by which each source is needed, and sorts by it.
 *
 *     comm; wait; view; …; product   →   needed when the product starts
 *
 * A view may run long before the work that uses it, for example while the host waits anyway. That delays
 * nothing, so the view needs the source no earlier than the work does.
 */
#include "sched/sched_source.h"
#include "sched/role.h"
#include <stdlib.h>
#include <string.h>

/* Returns true if a node takes no time of the host, apart from its launch. */
static bool is_idle(const struct sched_problem *p, const uint8_t *role, uint32_t x)
{
	return p->node[x].kind == SCHED_COMM ? role[x] == SCHED_SOURCE : p->node[x].time <= 0;
}

/* Returns the time when each node is needed: its own start, or for an idle node that of the first user. */
static int64_t *find_due(const struct sched_problem *p, const uint8_t *role, const int64_t *start)
{
	int64_t *due = mem_alloc(sizeof *due * ((size_t)p->n + 1));
	for (uint32_t x = p->n; x-- > 0;) {
		int64_t first = INT64_MAX;
		for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++)
			first = due[p->succ.item[i]] < first ? due[p->succ.item[i]] : first;
		due[x] = first < INT64_MAX && is_idle(p, role, x) && first > start[x] ? first : start[x];
	}
	return due;
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
	int64_t *due = find_due(p, role, time);
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
			out->at[next[p->node[x].lane]++] = (struct sched_source){.comm = x, .needed = due[x]};
	for (uint32_t lane = 0; lane < p->lane_n; lane++)
		if (out->first[lane + 1] > out->first[lane] + 1)
			qsort(out->at + out->first[lane], out->first[lane + 1] - out->first[lane],
			      sizeof *out->at, by_need);
	free(due);
}
