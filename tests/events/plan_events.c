/* plan_events: makes the plan's list of a rank's events by a dry run of its instructions. */
#include "events/events.h"
#include "ir/unit.h"
#include "plan/plan_control.h"
#include <string.h>

struct ticket {
	op_id op;
	uint32_t nth;
};

struct queue {
	VEC(struct ticket) ticket;
	uint32_t first;
};

struct plan_account {
	const struct plan *p;
	const struct module *m;
	struct events *out;
	int64_t *reg;
	int64_t *handle; /* by handle_id: number of its stream */
	int64_t stream;
	uint32_t *issued;    /* by op_id */
	struct queue *queue; /* by number of the queue in the plan */
};

static void push(struct plan_account *x, const struct plan_instruction *i, struct event e)
{
	e.stream = x->stream;
	e.iteration = i->loop ? x->reg[i->loop] : -1;
	vec_push(&x->out->at, e);
}

static enum op_kind kind_of(const struct plan_account *x, op_id op)
{
	return (enum op_kind)x->m->op.at[op].kind;
}

/* Returns true if tasks of a statement are a part of a Communication. */
static bool communicates(const struct plan_account *x, op_id op)
{
	switch (kind_of(x, op)) {
	case OP_DISPATCH:
	case OP_COMBINE:
		return x->m->op.at[op].team;
	case OP_WAIT:
	case OP_POST:
	case OP_START_COALESCING:
	case OP_END_COALESCING:
		return true;
	default:
		return op_traits(x->m, op) & (TRAIT_COLLECTIVE | TRAIT_P2P);
	}
}

/* Returns the last event if it has this kind and statement; otherwise NULL. */
static struct event *last_event(struct plan_account *x, enum event_kind kind, op_id op)
{
	struct event *e = x->out->at.n ? &x->out->at.at[x->out->at.n - 1] : NULL;
	return e && e->kind == kind && e->op == op ? e : NULL;
}

static bool is_empty(const struct plan_account *x, const struct plan_view *v)
{
	for (unsigned k = 0; k < v->nd; k++)
		if (x->reg[v->n[k]] == 0)
			return true;
	return false;
}

/* Returns true if a task writes no element. */
static bool writes_nothing(const struct plan_account *x, const struct plan_task *t)
{
	bool nothing = t->kernel == RT_TASK_UNIT || is_empty(x, &t->out);
	for (uint32_t k = 0; k < t->steps && t->kernel == RT_TASK_UNIT; k++)
		nothing &= is_empty(x, &x->p->step.at[t->first + k].out);
	return nothing;
}

static void task(struct plan_account *x, const struct plan_instruction *i)
{
	op_id op = i->statement, unit = op ? ir_unit_of(x->m, op) : 0;
	op = unit ? unit : op; /* the copy of an output that is a view has no statement */
	if (op && !communicates(x, op) && !last_event(x, EVENT_WORK, op) &&
	    !writes_nothing(x, &x->p->task.at[i->a]))
		push(x, i, event_new(EVENT_WORK, op));
}

static void push_ticket(struct plan_account *x, uint32_t queue, op_id op, uint32_t nth)
{
	if (queue != PLAN_NO_QUEUE)
		vec_push(&x->queue[queue].ticket, (struct ticket){op, nth});
}

static void collective(struct plan_account *x, const struct plan_instruction *i)
{
	const struct plan_collective *c = &x->p->collective.at[i->a];
	const struct plan_team *team = &x->p->team.at[c->team];
	const op_id op = i->statement;
	bool is_fence = c->kind == COLLECTIVE_BARRIER;
	bool is_expert = kind_of(x, op) == OP_DISPATCH || kind_of(x, op) == OP_COMBINE;
	struct event e = event_new(is_fence ? EVENT_FENCE : EVENT_MEET, op),
	             *last = last_event(x, EVENT_MEET, op);
	e.n = team->n, e.device = team->rank;
	e.team = c->team;
	if (op_traits(x->m, op) & TRAIT_ROOTED)
		e.peer[0] = x->reg[c->root];
	if (is_expert && last) { /* another exchange of the same statement */
		push_ticket(x, i->b, op, last->nth);
		return;
	}
	e.nth = is_fence ? 0 : x->issued[op]++;
	push_ticket(x, i->b, op, e.nth);
	push(x, i, e);
}

/* Handles a message of a collective_permute: the send comes first. */
static void permute(struct plan_account *x, const struct plan_instruction *i)
{
	const struct plan_message *message = &x->p->message.at[i->a];
	const struct plan_team *team = &x->p->team.at[message->channel - 1];
	struct event e = event_new(EVENT_MEET, i->statement), *sent = last_event(x, EVENT_MEET, i->statement);
	if (!message->send && sent) {
		sent->peer[1] = x->reg[message->peer];
		return;
	}
	e.nth = x->issued[i->statement]++;
	e.team = message->channel - 1;
	e.n = team->n, e.device = team->rank;
	e.peer[0] = x->reg[message->peer];
	push(x, i, e);
}

static void message(struct plan_account *x, const struct plan_instruction *i)
{
	struct event e = event_new(EVENT_MESSAGE, i->statement);
	if (kind_of(x, i->statement) == OP_COLLECTIVE_PERMUTE) {
		permute(x, i);
		return;
	}
	e.of = i->c ? i->c : i->statement;
	e.nth = x->issued[e.of]++;
	e.peer[0] = x->reg[x->p->message.at[i->a].peer];
	push_ticket(x, i->b, e.of, e.nth);
	push(x, i, e);
}

static void end_group(struct plan_account *x, const struct plan_instruction *i)
{
	struct event e = event_new(EVENT_END_GROUP, i->statement);
	if (kind_of(x, i->statement) == OP_COLLECTIVE_PERMUTE) {
		push_ticket(x, i->b, i->statement, x->issued[i->statement] - 1);
		return;
	}
	e.nth = x->issued[i->statement]++;
	push_ticket(x, i->b, i->statement, e.nth);
	push(x, i, e);
}

/* Returns false if there is nothing to wait for. */
static bool wait_for(struct plan_account *x, const struct plan_instruction *i)
{
	struct queue *q = &x->queue[i->a];
	struct event e = event_new(EVENT_WAIT, i->statement);
	bool found = q->first < q->ticket.n;
	if (!found) {
		e.kind = EVENT_MISSING;
		push(x, i, e);
		return false;
	}
	struct ticket t = q->ticket.at[q->first++];
	e.of = t.op, e.nth = t.nth;
	if (kind_of(x, i->statement) == OP_WAIT)
		push(x, i, e);
	else if (x->m->op.at[t.op].flags & OP_ASYNC || kind_of(x, t.op) == OP_END_COALESCING)
		vec_push(&x->out->settled, e);
	return true;
}

static int64_t named_stream(const struct plan_account *x, const struct plan_instruction *i)
{
	return i->op ? x->reg[i->a] : x->handle[i->a];
}

/* Returns false if the rank ends here. */
static bool work(struct plan_account *x, const struct plan_instruction *i)
{
	struct event e;
	switch ((enum plan_code)i->code) {
	case PLAN_HANDLE:
		x->handle[i->a] = x->stream;
		return true;
	case PLAN_STREAM:
		x->stream = named_stream(x, i);
		return true;
	case PLAN_SYNC:
		e = event_new(EVENT_JOIN, i->statement);
		e.peer[0] = named_stream(x, i);
		push(x, i, e);
		return true;
	case PLAN_TASK:
		task(x, i);
		return true;
	case PLAN_COLLECTIVE:
		collective(x, i);
		return true;
	case PLAN_MESSAGE:
		message(x, i);
		return true;
	case PLAN_GROUP:
		if (kind_of(x, i->statement) != OP_COLLECTIVE_PERMUTE)
			push(x, i, event_new(EVENT_GROUP, i->statement));
		return true;
	case PLAN_END_GROUP:
		end_group(x, i);
		return true;
	case PLAN_WAIT:
		return wait_for(x, i);
	default:
		return true;
	}
}

/* Notes the begin of an iteration: where a FOR enters its body, and where a NEXT jumps back. */
static void iterate(struct plan_account *x, const struct plan_instruction *i, uint32_t at)
{
	struct event e = event_new(EVENT_ITERATION, i->statement);
	if (i->code == PLAN_FOR ? at == i->to : i->code != PLAN_NEXT || at != i->to)
		return;
	e.stream = x->stream;
	e.iteration = x->reg[i->a];
	vec_push(&x->out->at, e);
}

static void follow(struct plan_account *x)
{
	uint64_t left = 1u << 22;
	for (uint32_t at = 0; x->out->at.n < EVENTS_MOST && left; left--) {
		const struct plan_instruction *i = &x->p->code.at[at++];
		if (i->code == PLAN_END) {
			x->out->complete = true;
			return;
		}
		enum plan_step step = plan_control(x->p, i, x->reg, &at);
		if (step == PLAN_FAILS) {
			plan_failure_print(x->p, i, x->reg, plan_failure(x->p, i), &x->out->why);
			return;
		}
		if (step == PLAN_DONE)
			iterate(x, i, at);
		else if (!work(x, i))
			return;
	}
}

void events_of_plan(const struct module *m, struct diag *d, int64_t rank, int64_t ranks,
                    const struct plan_target *target, struct events *out, struct plan **plan)
{
	struct plan *p = *plan = plan_build(m, d, rank, ranks, target);
	struct plan_account x = {.p = p, .m = m, .out = out, .stream = WALK_FIRST_STREAM};
	out->refused = !p;
	if (!p)
		return;
	out->idle = p->idle;
	x.reg = mem_alloc(sizeof *x.reg * p->reg.n);
	memcpy(x.reg, p->reg.at, sizeof *x.reg * p->reg.n);
	x.handle = mem_zalloc(sizeof *x.handle * (p->handles + 1));
	for (uint32_t k = 0; k <= p->handles; k++)
		x.handle[k] = WALK_FIRST_STREAM;
	x.issued = mem_zalloc(sizeof *x.issued * m->op.n);
	x.queue = mem_zalloc(sizeof *x.queue * (p->queues + 1));
	follow(&x);
	for (uint32_t k = 0; k < p->queues; k++)
		vec_free(&x.queue[k].ticket);
	free(x.reg);
	free(x.handle);
	free(x.issued);
	free(x.queue);
}
