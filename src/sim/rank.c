/* rank: the walk over the statements of a rank. */
#include "analysis/symmetry_moves.h"
#include "base/checked.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/unit.h"
#include "sim/rank_walk.h"
#include <string.h>

static bool walk_region(struct rank_walk *w, region_id r);

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

/* ---- scalars */

static struct expr_env env_of(const struct rank_walk *w)
{
	return (struct expr_env){
	    .rank = w->rank, .streams = w->p->streams ? w->p->streams : INT32_MAX, .index = w->index};
}

static bool value_of(struct rank_walk *w, op_id op, expr_id e, int64_t *out)
{
	const struct expr_env env = env_of(w);
	static const char *const why[] = {[EXPR_UNDEFINED_PARAM] = "has no value",
	                                  [EXPR_OVERFLOW] = "has no value in 64 bits",
	                                  [EXPR_INDIVISIBLE] = "does not divide",
	                                  [EXPR_UNKNOWN] = "has no value here"};
	expr_id offending = 0;
	enum expr_status s = expr_eval(w->m, e, &env, out, &offending);
	struct buf text = {0};
	if (s == EXPR_OK)
		return true;
	expr_print_hir(w->m, offending ? offending : e, &text);
	rank_fail(w, E_VALUE_UNDEFINED, op, "'%s' %s", text.at, why[s]);
	buf_free(&text);
	return false;
}

static bool read_scalar(struct rank_walk *w, op_id op, unsigned k, int64_t *out)
{
	if (op_role_count(w->m, op, ROLE_SCALAR) <= k)
		return rank_fail(w, E_VALUE_UNDEFINED, op, "the statement lacks an operand");
	const struct scalar *s = &w->m->scalar.at[op_operand_id(w->m, op, ROLE_SCALAR, k)];
	if (s->expr)
		return value_of(w, op, s->expr, out);
	*out = (int64_t)s->literal;
	return true;
}

/* Returns true if ranks of an orbit find the same value, or, as peers, one that turns as they do. */
static bool check_orbit(struct rank_walk *w, expr_id e, bool peer)
{
	const struct expr_env env = env_of(w);
	struct symmetry *s = w->p->symmetry;
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

bool rank_scalar(struct rank_walk *w, op_id op, unsigned k, int64_t *out)
{
	return read_scalar(w, op, k, out) && check_orbit(w, op_scalar_expr(w->m, op, k), false);
}

bool rank_peer(struct rank_walk *w, op_id op, int64_t *out)
{
	return read_scalar(w, op, 0, out) && check_orbit(w, op_scalar_expr(w->m, op, 0), true);
}

/* ---- streams and tasks */

static uint32_t stream_numbered(struct rank_walk *w, int64_t index)
{
	uint32_t k = 0;
	while (k < w->out->stream.n && w->out->stream.at[k] != index)
		k++;
	if (k == w->out->stream.n) {
		vec_push(&w->out->stream, index);
		vec_push(&w->last, SIM_NONE);
	}
	return k;
}

/* The stream that set_stream or synchronize names: a handle or an index. */
static bool stream_named(struct rank_walk *w, op_id op, uint32_t *out)
{
	int64_t index, streams = w->p->streams;
	if (op_role_count(w->m, op, ROLE_HANDLE)) {
		*out = w->handle[op_operand_id(w->m, op, ROLE_HANDLE, 0)];
		return true;
	}
	if (!rank_scalar(w, op, 0, &index))
		return false;
	if (streams > 0)
		index = (index % streams + streams) % streams;
	if (index < 0 || index >= SIM_MAX_STREAMS)
		return rank_fail(w, E_STREAM_INDEX, op, "stream %lld is not one of 0 … %d", (long long)index,
		                 SIM_MAX_STREAMS - 1);
	*out = stream_numbered(w, index);
	return true;
}

/* After all earlier work of the current stream, and `also`. Returns its number. */
uint32_t rank_add_task(struct rank_walk *w, struct sim_task task)
{
	task.issue = w->now;
	task.iteration = w->iteration;
	task.stream = w->current;
	task.before = w->last.at[w->current];
	vec_push(&w->out->task, task);
	return w->out->task.n - 1;
}

/* Adds a task, after which the stream goes on. */
void rank_add_in_order(struct rank_walk *w, struct sim_task task)
{
	uint32_t k = rank_add_task(w, task); /* last may move */
	w->last.at[w->current] = k;
}

/* The task carries out a statement. */
void rank_carry_out(struct rank_walk *w, op_id op, uint32_t task)
{
	if (w->makers)
		sim_makers_task(w->makers, op, task, w->out);
}

static void launch_statement(struct rank_walk *w)
{
	w->now += w->p->launch;
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

/* Returns true if this rank makes a result: those of other meshes are no work of this one. */
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

/* A buffer that nobody gave back is the same in the next iteration. */
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

static bool for_loop(struct rank_walk *w, op_id op)
{
	region_id body = w->m->op.at[op].region;
	index_id index = w->m->region.at[body].index;
	int64_t start, stop, outer = w->iteration;
	if (!rank_scalar(w, op, 0, &start) || !rank_scalar(w, op, 1, &stop))
		return false;
	for (int64_t i = start; i < stop; i++) {
		w->index[index] = w->iteration = i;
		if (!walk_region(w, body))
			return false;
	}
	w->iteration = outer;
	return true;
}

static bool walk_branch(struct rank_walk *w, op_id op)
{
	int64_t holds;
	region_id branch = w->m->op.at[op].region;
	if (!rank_scalar(w, op, 0, &holds))
		return false;
	if (!holds)
		branch = w->m->region.at[branch].sibling;
	return !branch || walk_region(w, branch);
}

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
	if (op_role_count(w->m, op, ROLE_SCALAR) && !read_scalar(w, op, 0, &index))
		return false;
	sim_makers_view(w->makers, op, index);
	return true;
}

static bool walk_op(struct rank_walk *w, op_id op)
{
	struct module *m = w->m;
	uint32_t stream;
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_FOR:
		return for_loop(w, op);
	case OP_IF:
		return walk_branch(w, op);
	case OP_GET_CURRENT_STREAM:
		w->handle[op_operand_id(m, op, ROLE_HANDLE, 0)] = w->current;
		return true;
	case OP_SET_CURRENT_STREAM:
		return stream_named(w, op, &w->current);
	case OP_SHARE_MEM_HANDLES:
		return true;
	case OP_START_COALESCING:
		w->in_group = true;
		return true;
	default:
		break;
	}
	if (w->makers && op_traits(m, op) & TRAIT_VIEW && !begin_view(w, op))
		return false;
	if (op_traits(m, op) & TRAIT_VIEW && !cost_is_launched(m, op))
		return true;
	enum op_form form = op_info[m->op.at[op].kind].form;
	bool makes = form == FORM_CALL || form == FORM_ALLOC || op_is_unit(m, op);
	if (makes && !has_meeting(w, op) && !makes_here(w, op))
		return true;
	if (cost_is_launched(m, op))
		launch_statement(w);
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_SYNCHRONIZE:
		if (!stream_named(w, op, &stream))
			return false;
		if (stream != w->current && op != w->p->ignored)
			rank_join(w, op, w->last.at[stream]);
		return true;
	case OP_ALLOCATE:
		rank_take_results(w, op);
		if (w->makers)
			sim_makers_allocate(w->makers, op);
		if (w->p->time[op])
			add_work_task(w, op);
		return true;
	case OP_DEALLOCATE:
		deallocate_buffers(w, op);
		return true;
	case OP_SYMMETRIC_VIEW:
		rank_fence(w, op, m->op.at[op].team);
		return true;
	case OP_SEND:
	case OP_RECV:
		return rank_message_issue(w, op);
	case OP_POST:
		return rank_post(w, op);
	case OP_END_COALESCING:
		rank_end_group(w, op);
		return true;
	case OP_WAIT:
		return rank_wait(w, op);
	default:
		break;
	}
	if (has_meeting(w, op))
		rank_collective(w, op);
	else
		add_work_task(w, op);
	return true;
}

static bool walk_region(struct rank_walk *w, region_id r)
{
	for (op_id op = w->m->region.at[r].first; op; op = w->m->op.at[op].next) {
		if (++w->p->steps > SIM_MAX_STEPS || w->out->task.n > SIM_MAX_TASKS)
			return rank_fail(w, E_SIM_LIMIT, op,
			                 "there are too many statements to simulate: more than %lld, or %d",
			                 (long long)SIM_MAX_STEPS, SIM_MAX_TASKS);
		if (!walk_op(w, op))
			return false;
		give_dead(w, op);
	}
	return true;
}

bool sim_rank_walk(struct sim_program *p, uint32_t rank, bool needs, struct sim_rank *out)
{
	struct module *m = p->m;
	struct arena *a = arena_new();
	struct rank_walk w = {.p = p, .m = m, .out = out, .rank = rank, .iteration = -1};
	p->walks++;
	out->task.n = out->place.n = out->stream.n = out->need.n = out->asked.n = 0;
	out->by_rank = false;
	w.now = p->delay ? p->delay[rank] : 0;
	w.slow = p->slow ? p->slow[rank] : 1000;
	w.index = arena_new_array(a, int64_t, m->index.n + 1);
	w.handle = arena_new_array(a, uint32_t, m->handle.n + 1);
	w.first = arena_new_array(a, uint32_t, m->op.n);
	w.end = arena_new_array(a, uint32_t, m->op.n);
	w.holds = arena_new_array(a, bool, m->value.n);
	w.posted = arena_new_array(a, struct rank_message, m->op.n);
	w.asked = arena_new_array(a, uint32_t, m->team.n + 1);
	w.group_asked = SIM_NONE;
	w.on = arena_new_array(a, bool, m->mesh.n + 1);
	for (mesh_id k = 0; k < m->mesh.n; k++)
		w.on[k] = sim_rank_is_on(p, k, rank);
	w.current = stream_numbered(&w, -1);
	w.makers = needs ? sim_makers_new(m, a) : NULL;
	bool ok = walk_region(&w, m->body);
	if (needs)
		sim_makers_free(w.makers);
	vec_free(&w.last);
	vec_free(&w.number);
	vec_free(&w.pending);
	vec_free(&w.group);
	vec_free(&w.grouped);
	arena_free(a);
	return ok;
}

void sim_rank_free(struct sim_rank *r)
{
	vec_free(&r->task);
	vec_free(&r->need);
	vec_free(&r->place);
	vec_free(&r->stream);
	vec_free(&r->asked);
}
