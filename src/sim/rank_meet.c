/* rank_meet: collectives, fences, messages and waits of a rank. */
#include "analysis/symmetry.h"
#include "ir/edit.h"
#include "sim/rank_walk.h"
#include <string.h>

/* ---- channels */

static struct sim_local *find_local(struct sim_program *p, uint32_t channel, bool receives)
{
	if (channel >= p->local_n) {
		p->local = mem_realloc(p->local, sizeof *p->local * 2 * p->channel.cap);
		memset(p->local + 2 * (size_t)p->local_n, 0,
		       sizeof *p->local * 2 * (p->channel.cap - p->local_n));
		p->local_n = p->channel.cap;
	}
	return &p->local[2 * (size_t)channel + receives];
}

/* Joins the channel of a slice to the channel of its least rank, if that rank is the least of an orbit. by:
 * team, kind and backend. */
static void join_slice(struct sim_program *p, const struct sim_asked *by, uint32_t rank, struct sim_place *x)
{
	const struct sim_channel *ch = &p->channel.at[x->channel];
	uint32_t least = SIM_NONE;
	x->members = 0;
	for (uint32_t k = 0; k < ch->n; k++) {
		uint32_t of = p->symmetry->least[ch->device[k]];
		least = of < least ? of : least;
		x->members += of == rank;
	}
	x->joint = sim_channel_of_team(p, by->team, (enum sim_channel_kind)by->kind, by->backend, least);
}

/* Joins the channel of messages to the one whose sender is the least of its orbit. */
static void join_messages(struct sim_program *p, struct sim_place *x)
{
	struct sim_channel key = p->channel.at[x->channel];
	key.ends[1] = symmetry_back(p->symmetry, key.ends[1], key.ends[0]);
	key.ends[0] = p->symmetry->least[key.ends[0]];
	x->joint = sim_channel_find(p, &key);
}

/* Returns the rank's number of a channel. by NULL: a channel of messages. */
static uint32_t local_of(struct rank_walk *w, const struct sim_asked *by, uint32_t channel, bool receives)
{
	struct sim_program *p = w->p;
	struct sim_local *local = find_local(p, channel, receives);
	if (local->walk == p->walks)
		return local->number;
	struct sim_place x = {.channel = channel, .joint = channel, .members = 1, .receives = receives};
	*local = (struct sim_local){p->walks, w->out->place.n};
	if (p->symmetry && by)
		join_slice(p, by, w->rank, &x);
	else if (p->symmetry)
		join_messages(p, &x);
	vec_push(&w->out->place, x);
	vec_push(&w->number, 0);
	return w->out->place.n - 1;
}

/* Adds a task on a channel. The stream does not wait for it. */
static uint32_t add_meeting(struct rank_walk *w, struct sim_task task, uint32_t local)
{
	task.channel = local;
	task.number = w->number.at[task.channel]++;
	task.also = SIM_NONE;
	return rank_add_task(w, task);
}

/* Returns the rank's channel of a team, as an index into `asked`; SIM_NONE: no slice of the team holds the
 * rank. */
static uint32_t ask_channel(struct rank_walk *w, team_id team, enum sim_channel_kind kind, name_id backend)
{
	if (!team)
		return SIM_NONE;
	uint32_t k = w->asked[team];
	while (k && (w->out->asked.at[k - 1].kind != kind || w->out->asked.at[k - 1].backend != backend))
		k = w->out->asked.at[k - 1].next;
	if (!k) {
		struct sim_asked x = {.team = team,
		                      .kind = (uint8_t)kind,
		                      .backend = backend,
		                      .channel = sim_channel_of_team(w->p, team, kind, backend, w->rank),
		                      .place = SIM_NONE,
		                      .next = w->asked[team]};
		vec_push(&w->out->asked, x);
		k = w->asked[team] = w->out->asked.n;
	}
	return w->out->asked.at[k - 1].channel == SIM_NONE ? SIM_NONE : k - 1;
}

static uint32_t meet_asked(struct rank_walk *w, struct sim_task task, uint32_t asked)
{
	struct sim_asked *x = &w->out->asked.at[asked];
	x->place = local_of(w, x, x->channel, false);
	return add_meeting(w, task, x->place);
}

bool sim_rank_meets_alike(struct sim_program *p, uint32_t rank, const struct sim_asked *asked, uint32_t n,
                          struct sim_place *place, uint32_t place_n)
{
	p->walks++;
	for (uint32_t k = 0; k < place_n; k++)
		place[k].channel = SIM_NONE;
	for (uint32_t k = 0; k < n; k++) {
		const struct sim_asked *x = &asked[k];
		uint32_t channel =
		    sim_channel_of_team(p, x->team, (enum sim_channel_kind)x->kind, x->backend, rank);
		if ((channel == SIM_NONE) != (x->channel == SIM_NONE))
			return false;
		if (x->place == SIM_NONE)
			continue;
		struct sim_local *local = find_local(p, channel, false);
		if (local->walk == p->walks ? local->number != x->place : place[x->place].channel != SIM_NONE)
			return false;
		*local = (struct sim_local){p->walks, x->place};
		place[x->place] = (struct sim_place){.channel = channel, .joint = channel, .members = 1};
		if (p->symmetry)
			join_slice(p, x, rank, &place[x->place]);
	}
	return true;
}

void rank_join(struct rank_walk *w, op_id op, uint32_t also)
{
	rank_add_in_order(w, (struct sim_task){.kind = SIM_JOIN, .op = op, .also = also});
}

/* Keeps the tasks of a transfer until a wait needs them. */
static void keep_transfer(struct rank_walk *w, uint32_t transfer, uint32_t task, uint32_t n)
{
	while (w->transfer.n <= transfer)
		vec_push(&w->transfer, (struct rank_transfer){0});
	w->transfer.at[transfer] = (struct rank_transfer){task, n};
}

/* Lists the peers of a collective_permute. task SIM_NONE: of a group, which has no task yet. */
static bool list_peers(struct rank_walk *w, op_id op, uint32_t asked, uint32_t task)
{
	struct sim_peer x = {.task = task, .op = op};
	if (!w->p->peers || asked == SIM_NONE || w->m->op.at[op].kind != OP_COLLECTIVE_PERMUTE)
		return true;
	const struct sim_channel *ch = &w->p->channel.at[w->out->asked.at[asked].channel];
	if (!walk_scalar(&w->walker, op, 0, WALK_ANY, &x.to) ||
	    !walk_scalar(&w->walker, op, 1, WALK_ANY, &x.from))
		return false;
	x.to = x.to >= 0 && x.to < ch->n ? (int64_t)ch->device[x.to] : -1;
	x.from = x.from >= 0 && x.from < ch->n ? (int64_t)ch->device[x.from] : -1;
	vec_push(&w->out->peer, x);
	return true;
}

bool rank_collective(struct rank_walk *w, const struct step *s)
{
	op_id op = s->op;
	const struct op *o = &w->m->op.at[op];
	bool waits = !(o->flags & OP_ASYNC);
	uint32_t asked = ask_channel(w, o->team, SIM_CHANNEL_TEAM, op_backend(w->m, op));
	rank_take_results(w, op);
	if (o->flags & OP_GROUPED) { /* end_group starts the whole group as one task */
		w->group_asked = asked;
		vec_push(&w->grouped, op);
		return list_peers(w, op, asked, SIM_NONE);
	}
	if (asked == SIM_NONE) {
		if (!waits)
			keep_transfer(w, s->transfer, 0, 0);
		return true;
	}
	uint32_t task =
	    meet_asked(w,
	               (struct sim_task){
	                   .kind = SIM_MEETING, .op = op, .time = w->p->time[op], .bytes = w->p->moved[op]},
	               asked);
	rank_carry_out(w, op, task);
	if (waits)
		rank_join(w, op, task);
	else
		keep_transfer(w, s->transfer, task, 1);
	return list_peers(w, op, asked, task);
}

void rank_fence(struct rank_walk *w, op_id op, team_id team)
{
	uint32_t asked = ask_channel(w, team, SIM_CHANNEL_FENCE, 0);
	if (asked != SIM_NONE)
		rank_join(w, op, meet_asked(w, (struct sim_task){.kind = SIM_MEETING, .op = op}, asked));
}

/* ---- messages */

static uint32_t start_message(struct rank_walk *w, const struct rank_message *x)
{
	bool send = w->m->op.at[x->op].kind == OP_SEND;
	uint32_t from = send ? w->rank : (uint32_t)x->peer, to = send ? (uint32_t)x->peer : w->rank;
	struct sim_channel key = {
	    .kind = SIM_CHANNEL_MESSAGES, .n = 2, .ends = {from, to}, .backend = op_backend(w->m, x->op)};
	int64_t time = cost_op_is_recorded(w->p->cost, x->op)
	                   ? w->p->time[x->op]
	                   : cost_message_time(w->p->cost, from, to, w->p->moved[x->op]);
	uint32_t task = add_meeting(
	    w, (struct sim_task){.kind = SIM_MESSAGE, .op = x->op, .time = time, .bytes = w->p->moved[x->op]},
	    local_of(w, NULL, sim_channel_find(w->p, &key), !send));
	rank_carry_out(w, x->op, task);
	if (w->p->peers)
		vec_push(&w->out->peer,
		         ((struct sim_peer){task, x->op, send ? x->peer : -1, send ? -1 : x->peer}));
	return task;
}

bool rank_message_issue(struct rank_walk *w, const struct step *s)
{
	struct rank_message x = {.op = s->of, .peer = s->peer};
	if (s->op == s->of)
		rank_take_results(w, s->of);
	if (x.peer < 0 || x.peer >= w->p->ranks)
		return rank_fail(w, E_PEER, s->op, "the peer is %lld, there are %lld ranks,",
		                 (long long)x.peer, (long long)w->p->ranks);
	if (s->transfer == WALK_NONE)
		vec_push(&w->group, x);
	else
		keep_transfer(w, s->transfer, start_message(w, &x), 1);
	return true;
}

void rank_message_absent(struct rank_walk *w, const struct step *s)
{
	if (s->transfer != WALK_NONE)
		keep_transfer(w, s->transfer, 0, 0);
}

void rank_end_group(struct rank_walk *w, const struct step *s)
{
	op_id op = s->op;
	uint32_t first = w->out->task.n;
	if (w->group_asked != SIM_NONE)
		meet_asked(
		    w,
		    (struct sim_task){
		        .kind = SIM_MEETING, .op = op, .time = w->p->time[op], .bytes = w->p->moved[op]},
		    w->group_asked);
	for (uint32_t k = 0; w->group_asked != SIM_NONE && k < w->grouped.n; k++)
		rank_carry_out(w, w->grouped.at[k], first);
	for (uint32_t k = w->out->peer.n; k && w->out->peer.at[k - 1].task == SIM_NONE; k--)
		w->out->peer.at[k - 1].task = first;
	for (uint32_t k = 0; k < w->group.n; k++)
		start_message(w, &w->group.at[k]);
	keep_transfer(w, s->transfer, first, w->out->task.n - first);
	w->group.n = w->grouped.n = 0;
	w->group_asked = SIM_NONE;
}

void rank_wait(struct rank_walk *w, const struct step *s)
{
	const struct rank_transfer x = w->transfer.at[s->transfer];
	for (uint32_t i = 0; i < x.n; i++)
		rank_join(w, s->op, x.task + i);
}
