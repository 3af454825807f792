/* rank_meet: where a rank meets others: collectives, fences, messages, and waits for them. */
#include "ir/edit.h"
#include "sim/rank_walk.h"
#include <string.h>

/* ---- channels */

static uint32_t local_of(struct rank_walk *w, uint32_t channel, bool receives)
{
	struct sim_program *p = w->p;
	if (channel >= p->local_n) {
		p->local = mem_realloc(p->local, sizeof *p->local * 2 * p->channel.cap);
		memset(p->local + 2 * (size_t)p->local_n, 0,
		       sizeof *p->local * 2 * (p->channel.cap - p->local_n));
		p->local_n = p->channel.cap;
	}
	struct sim_seat *seat = &p->local[2 * (size_t)channel + receives];
	if (seat->walk != p->walks) {
		*seat = (struct sim_seat){p->walks, w->out->place.n};
		vec_push(&w->out->place, ((struct sim_place){channel, receives}));
		vec_push(&w->number, 0);
	}
	return seat->number;
}

/* A task on a channel; the stream goes on without it. */
static uint32_t meet(struct rank_walk *w, struct sim_task task, uint32_t channel, bool receives)
{
	task.channel = local_of(w, channel, receives);
	task.number = w->number.at[task.channel]++;
	task.also = SIM_NONE;
	return rank_add_task(w, task);
}

void rank_join(struct rank_walk *w, op_id op, uint32_t also)
{
	rank_add_in_order(w, (struct sim_task){.kind = SIM_JOIN, .op = op, .also = also});
}

static void started(struct rank_walk *w, op_id op, uint32_t task, uint32_t n)
{
	vec_push(&w->pending, ((struct rank_instance){.op = op, .task = task, .n = n}));
	if (w->first[op])
		w->pending.at[w->end[op] - 1].next = w->pending.n;
	else
		w->first[op] = w->pending.n;
	w->end[op] = w->pending.n;
}

/* A collective; one that is no Communication ends before the stream goes on. */
void rank_collective(struct rank_walk *w, op_id op)
{
	const struct op *o = &w->m->op.at[op];
	bool waits = !(o->flags & OP_ASYNC);
	uint32_t channel =
	    o->team ? sim_channel_of_team(w->p, o->team, SIM_CHANNEL_TEAM, op_backend(w->m, op), w->rank)
	            : SIM_NONE;
	rank_take_results(w, op);
	if (o->flags & OP_GROUPED) { /* all are one, which end_group starts */
		w->channel = channel;
		vec_push(&w->grouped, op);
		return;
	}
	if (channel == SIM_NONE) {
		if (!waits)
			started(w, op, 0, 0);
		return;
	}
	uint32_t task =
	    meet(w,
	         (struct sim_task){
	             .kind = SIM_MEETING, .op = op, .time = w->p->time[op], .bytes = w->p->moved[op]},
	         channel, false);
	rank_carry_out(w, op, task);
	if (waits)
		rank_join(w, op, task);
	else
		started(w, op, task, 1);
}

void rank_fence(struct rank_walk *w, op_id op, team_id team)
{
	uint32_t channel = team ? sim_channel_of_team(w->p, team, SIM_CHANNEL_FENCE, 0, w->rank) : SIM_NONE;
	if (channel != SIM_NONE)
		rank_join(w, op, meet(w, (struct sim_task){.kind = SIM_MEETING, .op = op}, channel, false));
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
	uint32_t task = meet(
	    w, (struct sim_task){.kind = SIM_MESSAGE, .op = x->op, .time = time, .bytes = w->p->moved[x->op]},
	    sim_channel_find(w->p, &key), !send);
	rank_carry_out(w, x->op, task);
	return task;
}

static bool issue(struct rank_walk *w, op_id by, const struct rank_message *x)
{
	if (x->peer < 0 || x->peer >= w->p->ranks)
		return rank_fail(w, by, "the peer is %lld, there are %lld ranks,", (long long)x->peer,
		                 (long long)w->p->ranks);
	if (w->in_group)
		vec_push(&w->group, *x);
	else
		started(w, x->op, start_message(w, x), 1);
	return true;
}

bool rank_message_issue(struct rank_walk *w, op_id op)
{
	struct rank_message x = {.op = op};
	if (!rank_scalar(w, op, 0, &x.peer))
		return false;
	rank_take_results(w, op);
	if (!w->p->posted[op])
		return issue(w, op, &x);
	w->posted[op] = x;
	return true;
}

bool rank_post(struct rank_walk *w, op_id op)
{
	for (unsigned k = 0; k < op_role_count(w->m, op, ROLE_STATEMENT); k++) {
		const struct rank_message *x = &w->posted[op_operand_id(w->m, op, ROLE_STATEMENT, k)];
		if (!x->op)
			return rank_fail(w, op, "what is posted was not come to");
		if (!issue(w, op, x))
			return false;
	}
	return true;
}

void rank_end_group(struct rank_walk *w, op_id op)
{
	uint32_t first = w->out->task.n;
	if (w->channel != SIM_NONE)
		meet(w,
		     (struct sim_task){
		         .kind = SIM_MEETING, .op = op, .time = w->p->time[op], .bytes = w->p->moved[op]},
		     w->channel, false);
	for (uint32_t k = 0; w->channel != SIM_NONE && k < w->grouped.n; k++)
		rank_carry_out(w, w->grouped.at[k], first);
	for (uint32_t k = 0; k < w->group.n; k++)
		start_message(w, &w->group.at[k]);
	started(w, op, first, w->out->task.n - first);
	w->group.n = w->grouped.n = 0;
	w->channel = SIM_NONE;
	w->in_group = false;
}

bool rank_wait(struct rank_walk *w, op_id op)
{
	for (unsigned k = 0; k < op_role_count(w->m, op, ROLE_STATEMENT); k++) {
		op_id of = op_operand_id(w->m, op, ROLE_STATEMENT, k);
		if (!w->first[of])
			return rank_fail(w, op, "there is nothing left to wait for");
		const struct rank_instance *x = &w->pending.at[w->first[of] - 1];
		for (uint32_t i = 0; i < x->n; i++)
			rank_join(w, op, x->task + i);
		w->first[of] = x->next;
	}
	return true;
}
