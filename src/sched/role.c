/* role: walks forward to find the nodes that need comms, and back to find those that comms need. */
#include "sched/role.h"
#include <stdlib.h>

enum { CHEAP = 100 }; /* a source needs at most 1 / CHEAP of all work */

/* Adds up the host time of a node and all that it needs, up to `most`. A node on two paths counts twice. */
static void add_needs(const struct sched_problem *p, uint32_t x, int64_t most, int64_t *needs)
{
	needs[x] = p->node[x].kind == SCHED_COMM ? 0 : p->node[x].time;
	for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
		needs[x] += needs[p->pred.item[i]];
	needs[x] = needs[x] < most ? needs[x] : most;
}

uint8_t *sched_roles(const struct sched_problem *p, struct arena *a)
{
	uint8_t *role = arena_new_array(a, uint8_t, p->n);
	bool *needs_comm = mem_zalloc((size_t)p->n + 1), *needed_by_comm = mem_zalloc((size_t)p->n + 1);
	int64_t *needs = mem_alloc(sizeof *needs * ((size_t)p->n + 1)), work = 1;
	for (uint32_t x = 0; x < p->n; x++)
		work += p->node[x].kind == SCHED_COMM ? 0 : p->node[x].time;
	for (uint32_t x = 0; x < p->n; x++) {
		add_needs(p, x, work, needs);
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++) {
			uint32_t y = p->pred.item[i];
			needs_comm[x] |= needs_comm[y] || p->node[y].kind == SCHED_COMM;
		}
	}
	for (uint32_t x = p->n; x-- > 0;)
		for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++) {
			uint32_t y = p->succ.item[i];
			needed_by_comm[x] |= needed_by_comm[y] || p->node[y].kind == SCHED_COMM;
		}
	for (uint32_t x = 0; x < p->n; x++) {
		bool late = false;
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
			late |= role[p->pred.item[i]] == SCHED_LATE || role[p->pred.item[i]] == SCHED_SINK;
		if (p->node[x].kind != SCHED_COMM)
			role[x] = late ? SCHED_LATE : SCHED_PLAIN;
		else if (!needs_comm[x] && needs[x] < work / CHEAP)
			role[x] = SCHED_SOURCE;
		else
			role[x] = needed_by_comm[x] ? SCHED_INNER : SCHED_SINK;
	}
	free(needs_comm);
	free(needed_by_comm);
	free(needs);
	return role;
}
