/* rank: makes the tasks of a rank from the walk over its statements. */
#include "analysis/symmetry_moves.h"
#include "base/checked.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/unit.h"
#include "sim/rank_walk.h"
#include <string.h>

bool rank_fail(struct rank_walk *w, enum diagnostic code, op_id op, const char *format, ...)
{
	struct buf text = {0};
	va_list args;
	if (w->p->failed)
		return false;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	diag_error(w->p->d, code, w->m->op.at[op].at, "%s on rank %u", text.at, w->rank);
	buf_free(&text);
	w->p->failed = true;
	return false;
}

/* Proves that ranks of an orbit find the same number, or peers that turn as the ranks do. */
static bool follow_orbit(void *to, op_id op, expr_id e, enum walk_follow how, int64_t value)
{
	struct rank_walk *w = to;
	const struct expr_env env = walk_env(&w->walker);
	struct symmetry *s = w->p->symmetry;
	bool peer = how == WALK_PEER;
	(void)op, (void)value;
	if (!peer && (!e || !moves_by_rank(w->m, e)))
		return true;
	w->out->by_rank = true;
	for (unsigned k = 0; s && k < s->n; k++)
		if (!(peer ? moves_as_rank : moves_not)(s, &s->turn[k], e, &env)) {
			s->broken = (int)k;
			return false;
		}
	return true;
}

/* Reports why the walk has failed, unless it ended because a turn of the ranks does not hold. Returns
 * false. */
static bool report_failure(struct rank_walk *w)
{
	enum diagnostic code;
	op_id op;
	const char *text = walk_failure(&w->walker, &code, &op);
	return text && rank_fail(w, code, op, "%s", text);
}

/* ---- streams and tasks */

/* Returns the place of a stream's last task. */
static uint32_t *last_task(struct rank_walk *w, uint32_t stream)
{
	while (w->last.n <= stream)
		vec_push(&w->last, SIM_NONE);
	return &w->last.at[stream];
}

/* Adds a task after all earlier work of the current stream, and after task.also. Returns its number. */
uint32_t rank_add_task(struct rank_walk *w, struct sim_task task)
{
	task.issue = w->now;
	task.host = w->host;
	task.iteration = w->step.iteration;
	task.stream = w->step.stream;
	task.before = *last_task(w, task.stream);
	vec_push(&w->out->task, task);
	return w->out->task.n - 1;
}

/* Adds a task that the stream waits for. */
void rank_add_in_order(struct rank_walk *w, struct sim_task task)
{
	uint32_t k = rank_add_task(w, task);
	*last_task(w, w->step.stream) = k;
}

/* Notes that a task runs a statement. */
void rank_carry_out(struct rank_walk *w, op_id op, uint32_t task)
{
	if (w->makers)
		sim_makers_task(w->makers, op, task, w->out);
}

/* ---- memory */

static void give(struct rank_walk *w, op_id op, value_id v)
{
	if (!w->holds[v])
		return;
	w->holds[v] = false;
	rank_add_in_order(
	    w, (struct sim_task){
	           .kind = SIM_GIVE, .op = op, .value = v, .bytes = w->p->held[v], .also = SIM_NONE});
}

static bool is_here(const struct rank_walk *w, value_id v)
{
	return w->on[ir_type(w->m, w->m->value.at[v].type)->mesh];
}

/* Returns true if this rank is in the mesh of a result, or if the statement has no results. */
static bool makes_here(const struct rank_walk *w, op_id op)
{
	bool any = false;
	for (unsigned k = 0; k < w->m->op.at[op].operand_n; k++) {
		const struct operand *x = ir_operand(w->m, op, k);
		if (x->role != ROLE_DEF && x->role != ROLE_WRITE)
			continue;
		if (is_here(w, x->id))
			return true;
		any = true;
	}
	if (op_is_unit(w->m, op))
		region_each (w->m, o, w->m->op.at[op].region)
			if (makes_here(w, o))
				return true;
	return !any && !op_is_unit(w->m, op);
}

/* Adds the memory of a buffer. A loop's buffer that was not freed keeps its memory in the next iteration. */
static void take_buffer(struct rank_walk *w, op_id op, value_id v)
{
	if (!w->p->held[v] || w->holds[v] || !is_here(w, v))
		return;
	w->holds[v] = true;
	rank_add_in_order(
	    w, (struct sim_task){
	           .kind = SIM_TAKE, .op = op, .value = v, .bytes = w->p->held[v], .also = SIM_NONE});
}

void rank_take_results(struct rank_walk *w, op_id op)
{
	for (unsigned k = 0; k < w->m->op.at[op].def_n; k++)
		take_buffer(w, op, op_def(w->m, op, k));
	if (op_is_unit(w->m, op))
		region_each (w->m, o, w->m->op.at[op].region)
			rank_take_results(w, o);
}

static void give_dead(struct rank_walk *w, op_id op)
{
	for (uint32_t k = w->p->dies[op]; k; k = w->p->dying.at[k - 1].next)
		give(w, op, w->p->dying.at[k - 1].value);
}

/* ---- statements */

static bool has_meeting(const struct rank_walk *w, op_id op)
{
	const struct op *o = &w->m->op.at[op];
	return (op_traits(w->m, op) & TRAIT_COLLECTIVE || o->kind == OP_DISPATCH || o->kind == OP_COMBINE) &&
	       (o->team || o->flags & OP_ASYNC);
}

static void add_work_task(struct rank_walk *w, op_id op)
{
	int64_t time = w->p->time[op], whole;
	rank_take_results(w, op);
	if (w->slow != 1000)
		time = checked_mul(time, w->slow, &whole) ? (whole + 999) / 1000 : CLUSTER_MAX_TIME;
	rank_add_in_order(w, (struct sim_task){.kind = SIM_WORK, .op = op, .time = time, .also = SIM_NONE});
	rank_carry_out(w, op, w->out->task.n - 1);
}

/* Adds a task for a copy that a run leaves out: its results are there when earlier work of the stream is done. */
static void leave_out_copy(struct rank_walk *w, op_id op)
{
	rank_take_results(w, op);
	rank_add_in_order(w, (struct sim_task){.kind = SIM_VIEW, .op = op, .also = SIM_NONE});
	rank_carry_out(w, op, w->out->task.n - 1);
}

static void deallocate_buffers(struct rank_walk *w, op_id op)
{
	for (unsigned k = 0; k < op_role_count(w->m, op, ROLE_FREE); k++) {
		value_id v = op_operand_id(w->m, op, ROLE_FREE, k);
		op_id def = w->m->value.at[v].def;
		if (def && w->m->op.at[def].kind == OP_SYMMETRIC_VIEW)
			rank_fence(w, op, w->m->op.at[def].team);
		else
			give(w, op, ir_root(w->m, v));
	}
}

static bool begin_view(struct rank_walk *w, op_id op)
{
	int64_t index = 0;
	if (op_role_count(w->m, op, ROLE_SCALAR) && !walk_scalar(&w->walker, op, 0, WALK_ANY, &index))
		return report_failure(w);
	sim_makers_view(w->makers, op, index);
	return true;
}

static bool is_missing(struct rank_walk *w, op_id op)
{
	return rank_fail(w, E_WAIT_NOTHING, op,
	                 w->m->op.at[op].kind == OP_POST ? "the posted message was not issued before its post"
	                                                 : "there is nothing left to wait for");
}

/* Adds the tasks of a step. */
static bool add_step(struct rank_walk *w, const struct step *s)
{
	struct module *m = w->m;
	op_id op = s->op;
	if (s->kind == STEP_ITERATION || s->kind == STEP_LEAVE || s->kind == STEP_SHARE ||
	    s->kind == STEP_GROUP)
		return true;
	if (w->makers && op_traits(m, op) & TRAIT_VIEW && !begin_view(w, op))
		return false;
	if (op_traits(m, op) & TRAIT_VIEW && !cost_is_launched(m, op))
		return true;
	enum op_form form = op_info[m->op.at[op].kind].form;
	bool makes = form == FORM_CALL || form == FORM_ALLOC || op_is_unit(m, op);
	if (makes && !has_meeting(w, op) && !makes_here(w, op))
		return true;
	if (s->part == 0 && !rank_issue(w, op))
		return false;
	switch ((enum step_kind)s->kind) {
	case STEP_JOIN:
		if (s->joined != s->stream && op != w->p->ignored)
			rank_join(w, op, *last_task(w, s->joined));
		return true;
	case STEP_ALLOCATE:
		rank_take_results(w, op);
		if (w->makers)
			sim_makers_allocate(w->makers, op);
		if (w->p->time[op])
			add_work_task(w, op);
		return true;
	case STEP_FREE:
		deallocate_buffers(w, op);
		return true;
	case STEP_FENCE:
		rank_fence(w, op, m->op.at[op].team);
		return true;
	case STEP_PREPARE:
		rank_take_results(w, op);
		return true;
	case STEP_ABSENT:
		rank_message_absent(w, s);
		return true;
	case STEP_MESSAGE:
		return rank_message_issue(w, s);
	case STEP_END_GROUP:
		rank_end_group(w, s);
		return true;
	case STEP_WAIT:
		rank_wait(w, s);
		return true;
	case STEP_MISSING:
		return is_missing(w, op);
	default:
		break;
	}
	if (has_meeting(w, op))
		return rank_collective(w, s) || report_failure(w);
	if (w->p->left_out[op])
		leave_out_copy(w, op);
	else
		add_work_task(w, op);
	return true;
}

static bool walk_statements(struct rank_walk *w)
{
	uint64_t walked = 0;
	while (walk_next(&w->walker, &w->step)) {
		w->p->steps += (int64_t)(w->walker.walked - walked);
		walked = w->walker.walked;
		bool is_statement = w->step.kind != STEP_ITERATION;
		if (w->p->steps > SIM_MAX_STEPS || (is_statement && w->out->task.n > SIM_MAX_TASKS))
			return rank_fail(w, E_SIM_LIMIT, w->step.op,
			                 "there are too many statements to simulate: more than %lld, or %d",
			                 (long long)SIM_MAX_STEPS, SIM_MAX_TASKS);
		if (!add_step(w, &w->step))
			return false;
		if (is_statement && !w->step.more)
			give_dead(w, w->step.op);
	}
	return !w->walker.failed || report_failure(w);
}

bool sim_rank_walk(struct sim_program *p, uint32_t rank, bool needs, struct sim_rank *out)
{
	struct module *m = p->m;
	struct arena *a = arena_new();
	struct rank_walk w = {.p = p, .m = m, .out = out, .rank = rank};
	const struct walk_options options = {
	    .streams = p->streams, .whole_units = true, .follows = follow_orbit, .to = &w};
	p->walks++;
	out->task.n = out->place.n = out->stream.n = out->need.n = out->asked.n = out->peer.n = 0;
	out->by_rank = false;
	w.now = p->begin + (p->delay ? p->delay[rank] : 0);
	w.slow = p->slow ? p->slow[rank] : 1000;
	w.holds = arena_new_array(a, bool, m->value.n);
	w.asked = arena_new_array(a, uint32_t, m->team.n + 1);
	w.group_asked = SIM_NONE;
	w.shift = arena_new_array(a, struct rank_shift, p->symmetry ? m->team.n * p->symmetry->n : 0);
	w.on = arena_new_array(a, bool, m->mesh.n + 1);
	for (mesh_id k = 0; k < m->mesh.n; k++)
		w.on[k] = sim_rank_is_on(p, k, rank);
	w.makers = needs ? sim_makers_new(m, a) : NULL;
	walk_begin(&w.walker, &p->walk_program, rank, &options);
	bool ok = walk_statements(&w);
	for (uint32_t k = 0; k < w.walker.stream.n; k++)
		vec_push(&out->stream, w.walker.stream.at[k]);
	walk_end(&w.walker);
	if (needs)
		sim_makers_free(w.makers);
	vec_free(&w.last);
	vec_free(&w.number);
	vec_free(&w.transfer);
	vec_free(&w.group);
	vec_free(&w.grouped);
	arena_free(a);
	return ok;
}

void sim_rank_free(struct sim_rank *r)
{
	vec_free(&r->task);
	vec_free(&r->peer);
	vec_free(&r->need);
	vec_free(&r->place);
	vec_free(&r->stream);
	vec_free(&r->asked);
}
