/* walk_events: makes the walk's list of a rank's events. */
#include "events/events.h"
#include "ir/edit.h"
#include "ir/unit.h"

struct instance { /* of a Communication; by transfer */
	op_id op;
	uint32_t nth;
	bool here; /* the rank takes part */
};

struct walk_account {
	struct walker w;
	struct walk_program *p;
	struct module *m;
	struct events *out;
	uint32_t *issued; /* by op_id */
	struct here_loops loops;
	VEC(struct instance) running;
};

/* ---- parts */

enum result_part {
	RESULT_NONE,
	RESULT_OPTIONAL, /* it has memory but no element; or its block is not known */
	RESULT_HERE
};

static enum result_part part_of_result(struct walk_account *x, op_id op, value_id v)
{
	if (!here_is(x->m, v, x->w.rank))
		return RESULT_NONE;
	struct here part = here_find(&x->loops, &x->w, v);
	if (part.known && !part.padded)
		return RESULT_NONE;
	if (x->m->op.at[op].kind == OP_ALLOCATE) /* all memory is filled */
		return RESULT_HERE;
	return !part.known || (part.elements > 0 && !part.open) ? RESULT_HERE : RESULT_OPTIONAL;
}

/* Returns the largest part among the results of a statement, or of the statements of a unit. */
static enum result_part find_part(struct walk_account *x, op_id op)
{
	const struct op *o = &x->m->op.at[op];
	enum result_part best = RESULT_NONE, part;
	for (unsigned k = 0; k < o->operand_n; k++) {
		const struct operand *p = ir_operand(x->m, op, k);
		if (p->role != ROLE_DEF && p->role != ROLE_WRITE)
			continue;
		part = part_of_result(x, op, p->id);
		best = part > best ? part : best;
	}
	if (!op_is_unit(x->m, op))
		return best;
	region_each (x->m, inner, o->region) {
		part = find_part(x, inner);
		best = part > best ? part : best;
	}
	return best;
}

/* Returns the value of which a Communication moves the rank's whole part; 0: it moves blocks. k: 1 for the
 * receive of a permute. */
static value_id whole_value(const struct walk_account *x, op_id op, unsigned k)
{
	value_id in = op_read(x->m, op, 0), out = op_result(x->m, op, 0);
	switch ((enum op_kind)x->m->op.at[op].kind) {
	case OP_SEND:
		return k ? 0 : in;
	case OP_RECV:
		return k ? 0 : out;
	case OP_COLLECTIVE_PERMUTE:
		return k ? out : in;
	case OP_ALLREDUCE:
	case OP_REDUCE:
		return !k && here_is(x->m, in, x->w.rank) ? in : 0;
	case OP_BROADCASTS:
		return k ? 0 : here_is(x->m, out, x->w.rank) ? out : in;
	default:
		return 0;
	}
}

static void find_moved(struct walk_account *x, op_id op, struct event *e)
{
	for (unsigned k = 0; k < 2; k++) {
		value_id v = whole_value(x, op, k);
		if (v && here_is(x->m, v, x->w.rank))
			e->part[k] = here_find(&x->loops, &x->w, v);
	}
}

/* ---- steps */

static void push(struct walk_account *x, const struct step *s, struct event e)
{
	e.stream = x->w.stream.at[s->stream];
	e.iteration = s->iteration;
	vec_push(&x->out->at, e);
}

static void work(struct walk_account *x, const struct step *s)
{
	struct event e = event_new(EVENT_WORK, s->op);
	enum op_kind kind = (enum op_kind)x->m->op.at[s->op].kind;
	if (kind == OP_ALLOCATE && !op_attr_is_true(x->m, s->op, "zero_init") &&
	    !op_attr_is_true(x->m, s->op, "resets_to_zero"))
		return;
	enum result_part part = find_part(x, s->op);
	if (kind == OP_EXTERN || part == RESULT_NONE)
		return;
	e.optional = part == RESULT_OPTIONAL;
	push(x, s, e);
}

/* Notes the transfer that a step starts. */
static void start(struct walk_account *x, const struct step *s, op_id op, uint32_t nth, bool here)
{
	if (s->transfer == WALK_NONE)
		return;
	while (x->running.n <= s->transfer)
		vec_push(&x->running, (struct instance){0});
	x->running.at[s->transfer] = (struct instance){op, nth, here};
}

static bool find_scalar(struct walk_account *x, op_id op, unsigned k, int64_t *out)
{
	return walk_scalar(&x->w, op, k, WALK_ANY, out);
}

/* Finds the root, or the devices that a permute sends to and receives from. */
static bool find_peers(struct walk_account *x, const struct membership *me, struct event *e)
{
	int64_t at;
	if (op_traits(x->m, e->op) & TRAIT_ROOTED)
		return find_scalar(x, e->op, 0, &e->peer[0]);
	for (unsigned k = 0; k < 2 && x->m->op.at[e->op].kind == OP_COLLECTIVE_PERMUTE; k++) {
		if (!find_scalar(x, e->op, k, &at))
			return false;
		e->peer[k] = at >= 0 && at < me->n ? me->device[at] : PLAN_UNDEFINED;
	}
	return true;
}

static bool meet(struct walk_account *x, const struct step *s)
{
	struct event e = event_new(EVENT_MEET, s->op);
	struct membership me;
	bool here = walk_membership(x->p, x->m->op.at[s->op].team, x->w.rank, &me);
	start(x, s, s->op, x->issued[s->op], here);
	if (!here)
		return true;
	e.nth = x->issued[s->op]++;
	e.n = me.n, e.device = me.device;
	if (!find_peers(x, &me, &e))
		return false;
	find_moved(x, s->op, &e);
	push(x, s, e);
	return true;
}

static void fence(struct walk_account *x, const struct step *s, op_id view)
{
	struct event e = event_new(EVENT_FENCE, s->op);
	struct membership me;
	if (!walk_membership(x->p, x->m->op.at[view].team, x->w.rank, &me) || me.n == 1)
		return;
	e.n = me.n, e.device = me.device;
	push(x, s, e);
}

static void end_views(struct walk_account *x, const struct step *s)
{
	for (unsigned k = 0; k < op_role_count(x->m, s->op, ROLE_FREE); k++) {
		op_id def = x->m->value.at[op_operand_id(x->m, s->op, ROLE_FREE, k)].def;
		if (def && x->m->op.at[def].kind == OP_SYMMETRIC_VIEW)
			fence(x, s, def);
	}
}

static void message(struct walk_account *x, const struct step *s)
{
	struct event e = event_new(EVENT_MESSAGE, s->op);
	start(x, s, s->of, x->issued[s->of], true);
	e.of = s->of;
	e.nth = x->issued[s->of]++;
	e.peer[0] = s->peer;
	find_moved(x, s->of, &e);
	push(x, s, e);
}

static void end_group(struct walk_account *x, const struct step *s)
{
	struct event e = event_new(EVENT_END_GROUP, s->op);
	e.nth = x->issued[s->op]++;
	start(x, s, s->op, e.nth, true);
	push(x, s, e);
}

static void wait_for(struct walk_account *x, const struct step *s)
{
	struct event e = event_new(EVENT_WAIT, s->op);
	struct instance of = x->running.at[s->transfer];
	e.of = of.op, e.nth = of.nth;
	if (of.here)
		push(x, s, e);
}

/* Returns true if the rank takes part in a Communication. */
static bool takes_part(struct walk_account *x, op_id op)
{
	struct membership me;
	const struct op *o = &x->m->op.at[op];
	if (o->kind == OP_SEND || o->kind == OP_RECV)
		return here_is(x->m, o->kind == OP_SEND ? op_read(x->m, op, 0) : op_result(x->m, op, 0),
		               x->w.rank);
	return o->kind == OP_END_COALESCING || walk_membership(x->p, o->team, x->w.rank, &me);
}

/* Returns false if the rank ends here. */
static bool take_step(struct walk_account *x, const struct step *s)
{
	struct event e;
	switch ((enum step_kind)s->kind) {
	case STEP_ITERATION:
		push(x, s, event_new(EVENT_ITERATION, s->op));
		return true;
	case STEP_WORK:
	case STEP_ALLOCATE:
		work(x, s);
		return true;
	case STEP_MEET:
		return meet(x, s);
	case STEP_FENCE:
		fence(x, s, s->op);
		return true;
	case STEP_FREE:
		end_views(x, s);
		return true;
	case STEP_MESSAGE:
		message(x, s);
		return true;
	case STEP_ABSENT:
		start(x, s, s->of, x->issued[s->of], false);
		return true;
	case STEP_GROUP:
		push(x, s, event_new(EVENT_GROUP, s->op));
		return true;
	case STEP_END_GROUP:
		end_group(x, s);
		return true;
	case STEP_WAIT:
		wait_for(x, s);
		return true;
	case STEP_MISSING:
		if (!takes_part(x, s->of))
			return true;
		e = event_new(EVENT_MISSING, s->op);
		e.of = s->of;
		push(x, s, e);
		return false;
	case STEP_JOIN:
		e = event_new(EVENT_JOIN, s->op);
		e.peer[0] = x->w.stream.at[s->joined];
		push(x, s, e);
		return true;
	case STEP_VIEW:
	case STEP_SHARE:
	case STEP_PREPARE:
	case STEP_LEAVE:
	case STEP_OTHERS:
	case STEP_END_OTHERS:
	case STEP_END:
	case STEP_FAILED:
		break;
	}
	return true;
}

void events_of_walk(struct walk_program *p, int64_t rank, int64_t streams, struct events *out)
{
	struct walk_account x = {.p = p, .m = p->m, .out = out};
	const struct walk_options options = {.streams = streams, .whole_units = true};
	enum diagnostic code;
	struct step s;
	op_id op;
	x.issued = mem_zalloc(sizeof *x.issued * p->m->op.n);
	here_open(&x.loops, p->m);
	walk_begin(&x.w, p, rank, &options);
	bool goes_on = true;
	while (goes_on && out->at.n < EVENTS_MOST && walk_next(&x.w, &s))
		goes_on = take_step(&x, &s);
	out->complete = s.kind == STEP_END;
	if (x.w.failed)
		buf_puts(&out->why, walk_failure(&x.w, &code, &op));
	walk_end(&x.w);
	free(x.issued);
	here_close(&x.loops, p->m);
	vec_free(&x.running);
}
