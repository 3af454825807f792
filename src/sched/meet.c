/* meet: see meet.h. */
#include "sched/meet.h"
#include <stdlib.h>

static int64_t begin_of(const struct sched_part *part, const struct sched_meeting *x)
{
	return part[x->part].moment[x->place].begin;
}

static void find_places(const struct sched_part *part, uint32_t part_n, struct sched_meeting *meeting,
                        uint32_t meeting_n)
{
	for (uint32_t c = 0; c < part_n; c++) {
		uint32_t n = part[c].p.n, *place = mem_alloc(sizeof *place * ((size_t)n + 1));
		for (uint32_t k = 0; k < n; k++)
			place[part[c].order[k]] = k;
		for (uint32_t k = 0; k < meeting_n; k++)
			if (meeting[k].part == c)
				meeting[k].place = place[meeting[k].node];
		free(place);
	}
}

/* Finds the wait of each meeting for the others. Returns true if one has changed. */
static bool find_waits(struct sched_part *part, struct sched_meeting *meeting, uint32_t n)
{
	int64_t *latest = mem_zalloc(sizeof *latest * ((size_t)n + 1));
	bool changed = false;
	for (uint32_t k = 0; k < n; k++) {
		int64_t begin = begin_of(part, &meeting[k]), *last = &latest[meeting[k].first];
		*last = begin > *last ? begin : *last;
	}
	for (uint32_t k = 0; k < n; k++) {
		struct sched_meeting *x = &meeting[k];
		int64_t begin = begin_of(part, x), wait = latest[x->first] - begin;
		if (x->from != SCHED_NONE) {
			wait = begin_of(part, &meeting[x->from]) - begin;
			wait = wait > 0 ? wait : 0;
		}
		changed |= wait != x->wait;
		x->wait = wait;
		part[x->part].p.node[x->node].time = x->time + wait;
	}
	free(latest);
	return changed;
}

void sched_meet(struct sched_part *part, uint32_t part_n, struct sched_meeting *meeting, uint32_t meeting_n)
{
	uint32_t rounds = 0;
	find_places(part, part_n, meeting, meeting_n);
	for (uint32_t k = 0; k < meeting_n; k++) {
		meeting[k].wait = 0;
		part[meeting[k].part].p.node[meeting[k].node].time = meeting[k].time;
	}
	for (uint32_t c = 0; c < part_n; c++)
		part[c].p.contention_n = 0;
	do
		for (uint32_t c = 0; c < part_n; c++)
			part[c].result = sched_simulate(&part[c].p, part[c].order, part[c].moment);
	while (find_waits(part, meeting, meeting_n) && rounds++ <= meeting_n);
}
