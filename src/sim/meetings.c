/* meetings: makes units and the channels on which they meet.
 *
 * Two units share a channel if ranks of their classes are members of one channel of the program, or of
 * channels that a symmetry maps to one. By the definition of classes, this is the same for all ranks of a
 * class. */
#include "sim/meetings.h"

static bool make_units(struct sim_events *e, const struct sim_classes *c, bool each)
{
	int64_t tasks = 0;
	e->n = 0;
	e->unit = arena_new_array(e->arena, struct sim_unit, each ? c->rank_n : c->n);
	for (uint32_t r = 0; r < c->rank_n; r++) {
		if (c->of[r] == SIM_NONE || (!each && c->first[c->of[r]] != r))
			continue;
		struct sim_unit *u = &e->unit[e->n++];
		u->rank = r;
		u->class = c->of[r];
		if (!sim_rank_walk(e->p, r, true, &u->r))
			return false;
		tasks += u->r.task.n;
		if (tasks > SIM_MAX_TASKS) {
			diag_error(e->p->d, E_SIM_LIMIT, DIAG_NOWHERE,
			           "there is too much to simulate: more than %d tasks of %u ranks that "
			           "do not do alike",
			           SIM_MAX_TASKS, each ? c->rank_n : c->n);
			return false;
		}
	}
	return true;
}

/* Lists the tasks of a unit by channel. */
static void make_slots(struct sim_events *e, struct sim_unit *u)
{
	uint32_t n = u->r.place.n;
	uint32_t *count = arena_new_array(e->arena, uint32_t, n + 1);
	u->moment = arena_new_array(e->arena, struct sim_moment, u->r.task.n + 1);
	u->meeting = arena_new_array(e->arena, uint32_t, n + 1);
	u->slot = arena_new_array(e->arena, uint32_t *, n + 1);
	for (uint32_t k = 0; k < u->r.task.n; k++)
		if (u->r.task.at[k].kind >= SIM_MEETING)
			count[u->r.task.at[k].channel]++;
	for (uint32_t k = 0; k < n; k++) {
		u->slot[k] = arena_new_array(e->arena, uint32_t, count[k] + 1);
		u->slot[k][count[k]] = SIM_NONE;
		u->meeting[k] = SIM_NONE;
	}
	for (uint32_t k = 0; k < u->r.task.n; k++)
		if (u->r.task.at[k].kind >= SIM_MEETING)
			u->slot[u->r.task.at[k].channel][u->r.task.at[k].number] = k;
}

struct members {      /* for each joint: the walked ranks on it, and their number of the channel */
	uint32_t *at; /* by channel: begin of its list */
	struct sim_member *item;
};

static struct members members_of(const struct sim_program *p, const struct sim_classes *c)
{
	struct members m = {.at = mem_zalloc(sizeof *m.at * ((size_t)p->channel.n + 2))};
	for (uint32_t r = 0; r < c->rank_n; r++)
		for (uint32_t k = 0; k < c->place_n[r]; k++)
			m.at[c->place[r][k].joint + 2]++;
	for (uint32_t k = 2; k < p->channel.n + 2; k++)
		m.at[k] += m.at[k - 1];
	m.item = mem_alloc(sizeof *m.item * ((size_t)m.at[p->channel.n + 1] + 1));
	for (uint32_t r = 0; r < c->rank_n; r++)
		for (uint32_t k = 0; k < c->place_n[r]; k++)
			m.item[m.at[c->place[r][k].joint + 1]++] = (struct sim_member){r, k};
	return m;
}

static uint32_t instances_of(const struct sim_unit *u, uint32_t local)
{
	uint32_t n = 0;
	while (u->slot[local][n] != SIM_NONE)
		n++;
	return n;
}

/* Makes the meeting of a channel of the program. */
static void make_meeting(struct sim_events *e, const struct sim_classes *c, const struct members *all,
                         const uint32_t *unit_of, uint32_t channel)
{
	const struct sim_channel *ch = &e->p->channel.at[channel];
	uint32_t from = all->at[channel], to = all->at[channel + 1], number = e->meeting.n, come = 0;
	struct sim_meeting q = {.channel = channel,
	                        .member = e->member.n,
	                        .instance = e->instance.n,
	                        .messages = ch->kind == SIM_CHANNEL_MESSAGES};
	for (uint32_t k = from; k < to; k++) {
		come += c->place[all->item[k].unit][all->item[k].local].members;
		struct sim_member x = {unit_of[all->item[k].unit], all->item[k].local};
		struct sim_unit *u = &e->unit[x.unit];
		if (u->meeting[x.local] != SIM_NONE)
			continue; /* another rank of its class was added */
		u->meeting[x.local] = number;
		vec_push(&e->member, x);
		q.member_n++;
		uint32_t n = instances_of(u, x.local);
		q.instance_n = n > q.instance_n ? n : q.instance_n;
	}
	q.expected = q.member_n + (come < ch->n);
	for (uint32_t k = 0; k < q.instance_n; k++)
		vec_push(&e->instance, ((struct sim_instance){.begin = -1, .latest = -1}));
	vec_push(&e->meeting, q);
}

bool sim_meetings_make(struct sim_events *e, const struct sim_classes *c, bool each)
{
	if (!make_units(e, c, each))
		return false;
	uint32_t *unit_of = mem_alloc(sizeof *unit_of * ((size_t)c->rank_n + 1));
	struct members all = members_of(e->p, c);
	for (uint32_t r = 0, n = 0; r < c->rank_n;
	     r++) /* units are in the order of their ranks, as classes are */
		unit_of[r] = each && c->of[r] != SIM_NONE ? n++ : c->of[r];
	for (uint32_t k = 0; k < e->n; k++)
		make_slots(e, &e->unit[k]);
	for (uint32_t k = 0; k < e->n; k++)
		for (uint32_t i = 0; i < e->unit[k].r.place.n; i++)
			if (e->unit[k].meeting[i] == SIM_NONE)
				make_meeting(e, c, &all, unit_of, e->unit[k].r.place.at[i].joint);
	free(unit_of);
	free(all.at);
	free(all.item);
	return true;
}
