/* recorded_ranks: the timeline of recorded graphs that differ from rank to rank.
 *
 * Each class of ranks is simulated by itself, with the rules of its own graph. A collective begins when its last
 * member is ready, so a member that is ready earlier holds its lane until then:
 *
 *     class 0    lane   ░░░░████     ready, waits for class 1, transfers
 *     class 1    lane       ████
 *
 * The waits are added to the times of the collectives, and all classes are simulated again, until no wait changes.
 * Each round settles at least one more meeting. Communication and work do not slow each other here, since the waits
 * would slow work, too.
 *
 * A recorded time may contain the wait for others, so a collective takes the shortest time of its members. */
#include "analysis/recorded_classes.h"
#include "sim/sim.h"
#include <string.h>

struct meeting {       /* a communication as a class has it */
	uint32_t comm; /* in recorded.comm */
	uint32_t class;
	uint32_t node;  /* of the class's problem */
	uint32_t first; /* the meeting of the first class that takes part; itself: it is this one */
	int64_t time;   /* ns, without waits */
	int64_t wait;
};

struct joint {
	struct recorded r;
	struct arena *a;
	struct sim *sim; /* by class */
	VEC(struct meeting) meeting;
	uint32_t *meeting_of; /* by index of recorded.comm */
};

/* ---- meetings */

/* Returns the communication of another class that meets this one; RECORDED_NONE: none. */
static uint32_t find_other(const struct joint *j, const struct recorded_comm *c, uint32_t class,
                           uint32_t other)
{
	const struct recorded *r = &j->r;
	if (c->what == RECORDED_COLLECTIVE)
		return recorded_collective(r, other, c->group, c->nth);
	int64_t rank = r->class.at[class].first, peer = recorded_peer(r, c, rank);
	if (c->what == RECORDED_SEND || peer < 0 || r->class_of[peer] != other)
		return RECORDED_NONE;
	return recorded_message(r, peer, RECORDED_SEND, rank, c->nth);
}

/* Returns true if a class has a member of the group of a collective. */
static bool takes_part(const struct joint *j, uint32_t class, group_id group)
{
	for (int64_t rank = 0; rank < j->r.ranks; rank++)
		if (j->r.class_of[rank] == class && recorded_is_member(&j->r, group, rank))
			return true;
	return false;
}

static void add_meetings(struct joint *j, uint32_t class)
{
	const struct block *b = &j->sim[class].block;
	for (uint32_t x = 0; x < b->p.n; x++) {
		uint32_t comm = j->r.comm_of[b->op[x]];
		if (comm == RECORDED_NONE)
			continue;
		const uint32_t number = j->meeting_of[comm] = j->meeting.n;
		vec_push(&j->meeting, ((struct meeting){.comm = comm,
		                                        .class = class,
		                                        .node = x,
		                                        .first = number,
		                                        .time = b->p.node[x].time}));
	}
}

/* Finds the first class of each collective. All take its shortest time. */
static void join_collectives(struct joint *j)
{
	bool *member = arena_new_array(j->a, bool, j->r.class.n *(size_t)j->r.m->group.n);
	for (uint32_t c = 0; c < j->r.class.n; c++)
		for (group_id g = 1; g < j->r.m->group.n; g++)
			member[c * (size_t)j->r.m->group.n + g] = takes_part(j, c, g);
	for (uint32_t k = 0; k < j->meeting.n; k++) {
		struct meeting *x = &j->meeting.at[k];
		const struct recorded_comm *c = &j->r.comm.at[x->comm];
		if (c->what != RECORDED_COLLECTIVE || !member[x->class * (size_t)j->r.m->group.n + c->group])
			continue;
		for (uint32_t other = 0; other < x->class && x->first == k; other++) {
			if (!member[other * (size_t)j->r.m->group.n + c->group])
				continue;
			uint32_t there = find_other(j, c, x->class, other);
			if (there != RECORDED_NONE)
				x->first = j->meeting_of[there];
		}
		struct meeting *first = &j->meeting.at[x->first];
		first->time = x->time < first->time ? x->time : first->time;
	}
	for (uint32_t k = 0; k < j->meeting.n; k++)
		j->meeting.at[k].time = j->meeting.at[j->meeting.at[k].first].time;
}

/* ---- times */

static int64_t begin_of(const struct joint *j, const struct meeting *x)
{
	return j->sim[x->class].moment[x->node].begin; /* the order is that of the nodes */
}

/* Finds the wait of each communication for the others. Returns true if one has changed. */
static bool find_waits(struct joint *j)
{
	int64_t *latest = mem_zalloc(sizeof *latest * ((size_t)j->meeting.n + 1));
	bool changed = false;
	for (uint32_t k = 0; k < j->meeting.n; k++) {
		const struct meeting *x = &j->meeting.at[k];
		int64_t begin = begin_of(j, x);
		latest[x->first] = begin > latest[x->first] ? begin : latest[x->first];
	}
	for (uint32_t k = 0; k < j->meeting.n; k++) {
		struct meeting *x = &j->meeting.at[k];
		const struct recorded_comm *c = &j->r.comm.at[x->comm];
		int64_t begin = begin_of(j, x), wait = latest[x->first] - begin;
		if (c->what == RECORDED_RECV) {
			int64_t peer = recorded_peer(&j->r, c, j->r.class.at[x->class].first);
			uint32_t sender = peer < 0 ? RECORDED_NONE : j->r.class_of[peer];
			uint32_t there =
			    sender == RECORDED_NONE || sender == x->class ? RECORDED_NONE
			                                                  : find_other(j, c, x->class,
			                                                               sender);
			wait = there == RECORDED_NONE
			           ? 0
			           : begin_of(j, &j->meeting.at[j->meeting_of[there]]) - begin;
			wait = wait > 0 ? wait : 0;
		}
		changed |= wait != x->wait;
		x->wait = wait;
		j->sim[x->class].block.p.node[x->node].time = x->time + wait;
	}
	free(latest);
	return changed;
}

static void simulate(struct joint *j)
{
	for (uint32_t c = 0; c < j->r.class.n; c++)
		j->sim[c].result = sched_simulate(&j->sim[c].block.p, j->sim[c].order, j->sim[c].moment);
}

/* Simulates until no wait changes. */
static void settle(struct joint *j)
{
	uint32_t rounds = 0;
	for (uint32_t k = 0; k < j->meeting.n; k++)
		j->sim[j->meeting.at[k].class].block.p.node[j->meeting.at[k].node].time =
		    j->meeting.at[k].time;
	for (uint32_t c = 0; c < j->r.class.n; c++)
		j->sim[c].bound = sched_bound(&j->sim[c].block.p, false);
	do
		simulate(j);
	while (find_waits(j) && rounds++ <= j->meeting.n);
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
		const struct meeting *x = &j->meeting.at[k];
		if (x->class == class && j->sim[class].block.p.node[x->node].kind != SCHED_COMM)
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

bool sim_recorded_ranks(struct module *m, const struct cost *cost, struct diag *d, struct timeline *t)
{
	struct joint j = {.a = arena_new()};
	recorded_find(m, module_ranks(m), j.a, &j.r);
	j.sim = arena_new_array(j.a, struct sim, j.r.class.n);
	j.meeting_of = arena_new_array(j.a, uint32_t, j.r.comm.n);
	bool ok = true;
	for (uint32_t c = 0; c < j.r.class.n && ok; c++) {
		ok = open_class(&j, c, cost, d);
		if (ok)
			add_meetings(&j, c);
	}
	if (ok) {
		join_collectives(&j);
		settle(&j);
		make_timeline(&j, t);
	}
	recorded_free(&j.r);
	vec_free(&j.meeting);
	arena_free(j.a);
	return ok;
}
