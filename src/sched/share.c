/* share: see share.h. */
#include "sched/share.h"
#include <stdlib.h>
#include <string.h>

void sched_share_times(const struct sched_team *t)
{
	int64_t *time = mem_alloc(sizeof *time * ((size_t)t->event_n + 1));
	for (uint32_t e = 0; e < t->event_n; e++)
		time[e] = INT64_MAX;
	for (unsigned round = 0; round < 2; round++)
		for (uint32_t c = 0; c < t->member_n; c++) {
			const struct sched_member *m = &t->member[c];
			for (uint32_t x = 0; x < m->p->n; x++) {
				uint32_t e = m->event[x];
				if (e == SCHED_NONE)
					continue;
				int64_t *here = &m->p->node[x].time;
				if (round)
					*here = time[e];
				else
					time[e] = *here < time[e] ? *here : time[e];
			}
		}
	free(time);
}

struct kin { /* events that are of one family in all members so far */
	uint32_t before, member, family;
};

/* Returns the number of a pair in a list, from 1 on; adds it if it is new. */
static uint32_t find_kin(struct kin *at, uint32_t *n, struct kin k)
{
	uint32_t i = 0;
	while (i < *n && (at[i].before != k.before || at[i].member != k.member || at[i].family != k.family))
		i++;
	if (i == *n)
		at[(*n)++] = k;
	return i + 1;
}

void sched_share_families(const struct sched_team *t, struct arena *a)
{
	uint32_t *kin = arena_new_array(a, uint32_t, t->event_n), nodes = 0; /* 0: no member has it yet */
	for (uint32_t c = 0; c < t->member_n; c++)
		nodes += t->member[c].p->n;
	struct kin *list = arena_new_array(a, struct kin, nodes);
	uint32_t lists = 0;
	for (uint32_t c = 0; c < t->member_n; c++)
		for (uint32_t x = 0; x < t->member[c].p->n; x++) {
			uint32_t e = t->member[c].event[x],
			         family = sched_transfer(t->member[c].p, x)->family;
			if (e == SCHED_NONE)
				continue;
			bool none = family == SCHED_NONE || kin[e] == SCHED_NONE;
			kin[e] = none ? SCHED_NONE : find_kin(list, &lists, (struct kin){kin[e], c, family});
		}
	for (uint32_t c = 0; c < t->member_n; c++) {
		struct sched_problem *p = t->member[c].p;
		struct sched_family *made = arena_new_array(a, struct sched_family, lists + p->family_n);
		uint32_t *family = arena_new_array(a, uint32_t, lists + 1); /* by kin: number + 1 */
		if (p->family_n)
			memcpy(made, p->family, sizeof *made * p->family_n);
		for (uint32_t x = 0; x < p->n; x++) {
			uint32_t e = t->member[c].event[x], old = sched_transfer(p, x)->family;
			if (e == SCHED_NONE || old == SCHED_NONE)
				continue;
			if (kin[e] != SCHED_NONE && !family[kin[e]]) {
				made[p->family_n++] = p->family[old];
				family[kin[e]] = p->family_n;
			}
			p->transfer[p->node[x].transfer].family =
			    kin[e] == SCHED_NONE ? SCHED_NONE : family[kin[e]] - 1;
		}
		p->family = made;
	}
}
