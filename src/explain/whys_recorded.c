/* whys_recorded: the reasons for exposed communication in a recorded program, whose host is idle in waits.
 * Its statements are the nodes of a problem with the dependences of each. */
#include "explain/explain_rows.h"
#include <stdlib.h>

enum { LOOKS = 8000000 }; /* nodes looked at, for all waits */

struct search {
	struct explain_making *k;
	const struct sched_problem *p;
	const struct sim *s;
	uint32_t *place;   /* by node: its place in the order */
	uint32_t *reached; /* by node: the round in which it was reached */
	uint32_t *stack, round;
	int64_t looks;
};

static bool find_needing(struct search *s, uint32_t comm)
{
	uint32_t n = 0;
	s->round++;
	s->stack[n++] = comm;
	s->reached[comm] = s->round;
	while (n) {
		uint32_t x = s->stack[--n];
		for (uint32_t i = s->p->succ.at[x]; i < s->p->succ.at[x + 1]; i++) {
			uint32_t y = s->p->succ.item[i];
			s->looks++;
			if (s->reached[y] == s->round)
				continue;
			s->reached[y] = s->round;
			s->stack[n++] = y;
		}
		if (s->looks > LOOKS)
			return false;
	}
	return true;
}

static bool computes(const struct search *s, uint32_t node)
{
	return s->p->node[node].kind != SCHED_COMM && s->p->node[node].time > 0;
}

/* Returns true if all nodes that a node needs come before a place. */
static bool is_ready(const struct search *s, uint32_t node, uint32_t place)
{
	for (uint32_t i = s->p->pred.at[node]; i < s->p->pred.at[node + 1]; i++)
		if (s->place[s->p->pred.item[i]] >= place)
			return false;
	return true;
}

/* Finds the next node after a place: preferably one that could have run before, otherwise the first. */
static enum explain_why find_next_node(struct search *s, uint32_t from, op_id *other)
{
	uint32_t first = SCHED_NONE;
	for (uint32_t k = from; k < s->p->n; k++) {
		uint32_t x = s->s->order[k];
		s->looks++;
		if (!computes(s, x))
			continue;
		first = first == SCHED_NONE ? x : first;
		if (s->reached[x] == s->round || !is_ready(s, x, from - 1))
			continue;
		*other = s->s->block.op[x];
		return EXPLAIN_ORDER;
	}
	if (first == SCHED_NONE)
		return EXPLAIN_LAST;
	*other = s->s->block.op[first];
	return EXPLAIN_REST;
}

/* Returns the time when all nodes that a node needs are over. */
static int64_t find_ready_time(const struct search *s, uint32_t node)
{
	int64_t at = 0;
	for (uint32_t i = s->p->pred.at[node]; i < s->p->pred.at[node + 1]; i++) {
		int64_t end = s->s->moment[s->place[s->p->pred.item[i]]].end;
		at = end > at ? end : at;
	}
	return at;
}

/* Returns the statement that occupied or held up the host before a place, after `since`; 0: only launches
 * did. */
static op_id before_on_host(struct search *s, uint32_t k, int64_t since)
{
	for (; k-- > 0; s->looks++) {
		uint32_t x = s->s->order[k];
		if (s->p->node[x].kind == SCHED_COMM)
			continue;
		if (s->s->moment[k].end <= since)
			break;
		if (computes(s, x))
			return s->s->block.op[x];
		if (s->s->moment[k].stall > 0)
			return s->s->block.op[s->p->node[x].comm];
	}
	return 0;
}

/* Returns the comm before a place on its lane; 0: none. */
static op_id before_on_lane(struct search *s, uint32_t k)
{
	uint32_t lane = s->p->node[s->s->order[k]].lane;
	for (; k-- > 0; s->looks++) {
		uint32_t x = s->s->order[k];
		if (s->p->node[x].kind == SCHED_COMM && s->p->node[x].lane == lane)
			return s->s->block.op[x];
	}
	return 0;
}

static void explain_wait(struct search *s, uint32_t wait)
{
	uint32_t comm = s->p->node[wait].comm;
	const struct sched_moment *m = &s->s->moment[s->place[wait]], *c = &s->s->moment[s->place[comm]];
	struct explain_row *r = explain_row_of(s->k, s->s->block.op[comm]);
	int64_t queued = c->begin - c->start, later = c->start - find_ready_time(s, comm);
	enum explain_why why = EXPLAIN_UNKNOWN;
	op_id other = 0;
	int64_t late = s->s->late ? s->s->late[comm] : 0;
	if (late > 0 && 2 * late >= m->stall) {
		why = EXPLAIN_LATE;
	} else if (s->looks <= LOOKS && queued > 0 && 2 * queued >= m->stall) {
		why = EXPLAIN_BUSY;
		other = before_on_lane(s, s->place[comm]);
	} else if (s->looks <= LOOKS && later > 0 && 2 * later >= m->stall) {
		other = before_on_host(s, s->place[comm], find_ready_time(s, comm));
		why = other ? EXPLAIN_STREAM : EXPLAIN_LAUNCH;
	} else if (s->looks <= LOOKS && find_needing(s, comm)) {
		why = find_next_node(s, s->place[wait] + 1, &other);
	}
	explain_add_why(r, m->stall, why, other);
}

void explain_find_recorded_whys(struct explain_making *k, const struct sim *sim)
{
	struct search s = {.k = k, .p = &sim->block.p, .s = sim};
	uint32_t n = s.p->n;
	s.place = mem_alloc(sizeof *s.place * ((size_t)n + 1));
	s.reached = mem_zalloc(sizeof *s.reached * ((size_t)n + 1));
	s.stack = mem_alloc(sizeof *s.stack * ((size_t)n + 1));
	for (uint32_t i = 0; i < n; i++)
		s.place[sim->order[i]] = i;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x = sim->order[i];
		if (sched_awaited(&s.p->node[x]) != SCHED_NONE && sim->moment[i].stall > 0)
			explain_wait(&s, x);
	}
	free(s.place);
	free(s.reached);
	free(s.stack);
}
