/* recorded_ranks: the timeline of recorded graphs that differ from rank to rank.
 *
 * Each class of ranks is simulated with the rules of its own graph. Its collectives wait for the other members
 * (sched/meet.h). A recorded time may contain the wait for others, so a collective takes the shortest time of its
 * members. */
#include "analysis/recorded_classes.h"
#include "sched/meet.h"
#include "sim/sim.h"
#include <string.h>

struct joint {
	struct recorded r;
	struct arena *a;
	struct sim *sim; /* by class */
	VEC(struct sched_meeting) meeting;
};

/* Adds the communications of all classes. All members of a collective take its shortest time. */
static void add_meetings(struct joint *j)
{
	const struct recorded_meeting *of = recorded_meetings(&j->r, j->a);
	uint32_t *number = arena_new_array(j->a, uint32_t, j->r.comm.n); /* its meeting, by communication */
	for (uint32_t c = 0; c < j->r.class.n; c++) {
		const struct block *b = &j->sim[c].block;
		for (uint32_t x = 0; x < b->p.n; x++) {
			uint32_t comm = j->r.comm_of[b->op[x]];
			if (comm == RECORDED_NONE)
				continue;
			number[comm] = j->meeting.n;
			vec_push(&j->meeting, ((struct sched_meeting){.part = c,
			                                              .node = x,
			                                              .first = of[comm].first,
			                                              .from = of[comm].from,
			                                              .time = b->p.node[x].time}));
		}
	}
	for (uint32_t k = 0; k < j->meeting.n; k++) {
		struct sched_meeting *x = &j->meeting.at[k];
		x->first = number[x->first];
		x->from = x->from == RECORDED_NONE ? SCHED_NONE : number[x->from];
		struct sched_meeting *first = &j->meeting.at[x->first];
		first->time = x->time < first->time ? x->time : first->time;
	}
	for (uint32_t k = 0; k < j->meeting.n; k++) {
		struct sched_meeting *x = &j->meeting.at[k];
		x->time = j->meeting.at[x->first].time;
		j->sim[x->part].block.p.node[x->node].time = x->time;
	}
}

static void simulate(struct joint *j)
{
	struct sched_part *part = arena_new_array(j->a, struct sched_part, j->r.class.n);
	for (uint32_t c = 0; c < j->r.class.n; c++) {
		struct sim *s = &j->sim[c];
		s->bound = sched_bound(&s->block.p, true);
		part[c] = (struct sched_part){.p = s->block.p, .order = s->order, .moment = s->moment};
	}
	sched_meet(part, j->r.class.n, j->meeting.at, j->meeting.n);
	for (uint32_t c = 0; c < j->r.class.n; c++) {
		int64_t *late = arena_new_array(j->a, int64_t, part[c].p.n);
		for (uint32_t k = 0; k < j->meeting.n; k++)
			if (j->meeting.at[k].part == c)
				late[j->meeting.at[k].node] = j->meeting.at[k].wait;
		j->sim[c].late = late;
		j->sim[c].result = part[c].result;
	}
}

/* ---- the timeline */

static bool open_class(struct joint *j, uint32_t class, const struct cost *cost, struct diag *d)
{
	struct module *m = j->r.m;
	struct sim *s = &j->sim[class];
	int64_t *inside = arena_new_array(j->a, int64_t, m->op.n);
	const struct block_frame frame = {.inside = inside, .buckets = BLOCK_PACKED};
	region_id body = j->r.class.at[class].body;
	*s = (struct sim){.m = m};
	if (!block_find_inside(m, body, frame.buckets, cost, d, inside) ||
	    !block_make(m, body, &frame, cost, d, j->a, &s->block))
		return false;
	s->block.p.contention_n = 0; /* a wait for others, which is added to a time, slows nothing */
	s->order = arena_new_array(j->a, uint32_t, s->block.p.n);
	s->moment = arena_new_array(j->a, struct sched_moment, s->block.p.n);
	for (uint32_t x = 0; x < s->block.p.n; x++)
		s->order[x] = x;
	return true;
}

/* Lists the ranks of a class, and names it after them: `ranks 0-3,6`. */
static void put_ranks(const struct joint *j, uint32_t class, struct timeline *t, struct timeline_class *out)
{
	struct buf name = {0};
	for (int64_t rank = 0; rank < j->r.ranks; rank++) {
		struct timeline_ranks *last = out->ranks.n ? &out->ranks.at[out->ranks.n - 1] : NULL;
		if (j->r.class_of[rank] != class)
			continue;
		out->count++;
		if (last && last->last + 1 == rank)
			last->last = (uint32_t)rank;
		else
			vec_push(&out->ranks, ((struct timeline_ranks){(uint32_t)rank, (uint32_t)rank}));
	}
	buf_puts(&name, out->count == 1 ? "rank " : "ranks ");
	for (uint32_t k = 0; k < out->ranks.n && k < 8; k++) {
		const struct timeline_ranks *r = &out->ranks.at[k];
		buf_printf(&name, r->first == r->last ? "%s%u" : "%s%u-%u", k ? "," : "", r->first, r->last);
	}
	if (out->ranks.n > 8)
		buf_puts(&name, ",…");
	out->name = arena_printf(t->arena, "%s", name.at);
	buf_free(&name);
}

/* Returns the ns for which the host waits in receives and barriers, which are no work. */
static int64_t waits_of_host(const struct joint *j, uint32_t class)
{
	int64_t waits = 0;
	for (uint32_t k = 0; k < j->meeting.n; k++) {
		const struct sched_meeting *x = &j->meeting.at[k];
		if (x->part == class && j->sim[class].block.p.node[x->node].kind != SCHED_COMM)
			waits += x->wait;
	}
	return waits;
}

static void make_timeline(const struct joint *j, struct timeline *t)
{
	sim_recorded_open(t, j->r.m);
	t->ranks = j->r.ranks;
	for (uint32_t c = 0; c < j->r.class.n; c++) {
		struct timeline_class class = {0};
		put_ranks(j, c, t, &class);
		sim_recorded_add(&j->sim[c], t, &class);
	}
	timeline_finish(t);
	for (uint32_t c = 0; c < j->r.class.n; c++)
		t->class.at[c].work = t->class.at[c].lane.at[0].busy =
		    j->sim[c].result.host - waits_of_host(j, c);
}

static bool simulate_classes(struct module *m, const struct cost *cost, struct diag *d, struct arena *a,
                             struct timeline *t, struct sim **of)
{
	struct joint j = {.a = a};
	recorded_find(m, module_ranks(m), j.a, &j.r);
	j.sim = arena_new_array(j.a, struct sim, j.r.class.n);
	bool ok = true;
	for (uint32_t c = 0; c < j.r.class.n && ok; c++)
		ok = open_class(&j, c, cost, d);
	if (ok) {
		add_meetings(&j);
		simulate(&j);
		make_timeline(&j, t);
		*of = j.sim;
	}
	recorded_free(&j.r);
	vec_free(&j.meeting);
	return ok;
}

bool sim_recorded_run(struct module *m, const struct cost *cost, struct diag *d, struct arena *a,
                      struct timeline *t, struct sim **of)
{
	if (recorded_has_classes(m))
		return simulate_classes(m, cost, d, a, t, of);
	*of = arena_new_array(a, struct sim, 1);
	if (!sim_run(m, cost, NULL, d, a, *of))
		return false;
	sim_recorded_timeline(*of, t);
	return true;
}
