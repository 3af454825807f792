/* rank: the walk over the statements of a rank. */
#include "sim/rank.h"
#include "base/checked.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/unit.h"
#include "sim/needs.h"
#include <string.h>

struct instance { /* of a statement that is waited for */
	op_id op;
	uint32_t task, n; /* tasks task … task + n - 1; n 0: the rank takes no part */
	uint32_t next;    /* of the same statement, in `pending` + 1 */
};

struct message {  /* on its way to the statement that issues it */
	op_id op; /* 0: not come to yet */
	int64_t peer;
};

struct walk {
	struct sim_program *p;
	struct module *m;
	struct sim_rank *out;
	uint32_t rank;
	int64_t now;          /* of the host */
	int64_t iteration;    /* of the innermost loop */
	int64_t slow;         /* per mille */
	int64_t *index;       /* by index_id */
	uint32_t *handle;     /* by handle_id: stream */
	uint32_t current;     /* stream */
	VEC(uint32_t) last;   /* by stream: its last task; SIM_NONE */
	VEC(uint32_t) number; /* by channel of the rank: tasks on it */
	uint32_t *first,
	    *end; /* by op: the oldest and latest instance that was not waited for, in pending + 1 */
	VEC(struct instance) pending;
	bool *holds;               /* by value: memory was taken and not given back */
	bool *on;                  /* by mesh: the rank is in it; by 0, none, it is */
	struct message *posted;    /* by op */
	struct sim_makers *makers; /* NULL: needs are not asked for */
	bool in_group;
	uint32_t channel; /* of the Communications of the group; SIM_NONE: it has none */
	VEC(struct message) group;
};

static bool walk_region(struct walk *w, region_id r);

static bool fail(struct walk *w, op_id op, const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool fail(struct walk *w, op_id op, const char *format, ...)
{
	struct buf text = {0};
	va_list args;
	if (w->p->failed)
		return false;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	diag_error(w->p->d, w->m->op.at[op].at, "%s on rank %u", text.at, w->rank);
	buf_free(&text);
	w->p->failed = true;
	return false;
}

/* ---- scalars */

static bool value_of(struct walk *w, op_id op, expr_id e, int64_t *out)
{
	const struct expr_env env = {
	    .rank = w->rank, .streams = w->p->streams ? w->p->streams : INT32_MAX, .index = w->index};
	static const char *const why[] = {[EXPR_UNDEFINED_PARAM] = "has no value",
	                                  [EXPR_OVERFLOW] = "has no value in 64 bits",
	                                  [EXPR_INDIVISIBLE] = "does not divide",
	                                  [EXPR_UNKNOWN] = "has no value here"};
	expr_id culprit = 0;
	enum expr_status s = expr_eval(w->m, e, &env, out, &culprit);
	struct buf text = {0};
	if (s == EXPR_OK)
		return true;
	expr_print_hir(w->m, culprit ? culprit : e, &text);
	fail(w, op, "'%s' %s", text.at, why[s]);
	buf_free(&text);
	return false;
}

static bool scalar(struct walk *w, op_id op, unsigned k, int64_t *out)
{
	if (op_role_count(w->m, op, ROLE_SCALAR) <= k)
		return fail(w, op, "the statement lacks an operand");
	const struct scalar *s = &w->m->scalar.at[op_operand_id(w->m, op, ROLE_SCALAR, k)];
	if (s->expr)
		return value_of(w, op, s->expr, out);
	*out = (int64_t)s->literal;
	return true;
}

/* ---- streams and tasks */

static uint32_t stream_numbered(struct walk *w, int64_t index)
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
static bool stream_named(struct walk *w, op_id op, uint32_t *out)
{
	int64_t index, streams = w->p->streams;
	if (op_role_count(w->m, op, ROLE_HANDLE)) {
		*out = w->handle[op_operand_id(w->m, op, ROLE_HANDLE, 0)];
		return true;
	}
	if (!scalar(w, op, 0, &index))
		return false;
	if (streams > 0)
		index = (index % streams + streams) % streams;
	if (index < 0 || index >= SIM_MAX_STREAMS)
		return fail(w, op, "stream %lld is not one of 0 … %d", (long long)index, SIM_MAX_STREAMS - 1);
	*out = stream_numbered(w, index);
	return true;
}

/* After what the current stream has been given, and `also`. Returns its number. */
static uint32_t add_task(struct walk *w, struct sim_task task)
{
	task.issue = w->now;
	task.iteration = w->iteration;
	task.stream = w->current;
	task.before = w->last.at[w->current];
	vec_push(&w->out->task, task);
	return w->out->task.n - 1;
}

/* The same, and the stream goes on after it. */
static void add_in_order(struct walk *w, struct sim_task task)
{
	uint32_t k = add_task(w, task); /* last may move */
	w->last.at[w->current] = k;
}

/* The task carries out a statement. */
static void carry_out(struct walk *w, op_id op, uint32_t task)
{
	if (w->makers)
		sim_makers_task(w->makers, op, task, w->out);
}

static void launch(struct walk *w)
{
	w->now += w->p->launch;
}

/* ---- memory */

static void give(struct walk *w, op_id op, value_id v)
{
	if (!w->holds[v])
		return;
	w->holds[v] = false;
	add_in_order(w,
	             (struct sim_task){
	                 .kind = SIM_GIVE, .op = op, .value = v, .bytes = w->p->held[v], .also = SIM_NONE});
}

static bool is_here(const struct walk *w, value_id v)
{
	return w->on[ir_type(w->m, w->m->value.at[v].type)->mesh];
}

/* What ranks of other meshes make is no work of this one. */
static bool makes_here(const struct walk *w, op_id op)
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
static void take(struct walk *w, op_id op, value_id v)
{
	if (!w->p->held[v] || w->holds[v] || !is_here(w, v))
		return;
	w->holds[v] = true;
	add_in_order(w,
	             (struct sim_task){
	                 .kind = SIM_TAKE, .op = op, .value = v, .bytes = w->p->held[v], .also = SIM_NONE});
}

static void take_results(struct walk *w, op_id op)
{
	for (unsigned k = 0; k < w->m->op.at[op].def_n; k++)
		take(w, op, op_def(w->m, op, k));
	if (op_is_unit(w->m, op))
		region_each (w->m, o, w->m->op.at[op].region)
			take_results(w, o);
}

static void give_dead(struct walk *w, op_id op)
{
	for (uint32_t k = w->p->dies[op]; k; k = w->p->dying.at[k - 1].next)
		give(w, op, w->p->dying.at[k - 1].value);
}

/* ---- channels */

static uint32_t local_of(struct walk *w, uint32_t channel, bool receives)
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
static uint32_t meet(struct walk *w, struct sim_task task, uint32_t channel, bool receives)
{
	task.channel = local_of(w, channel, receives);
	task.number = w->number.at[task.channel]++;
	task.also = SIM_NONE;
	return add_task(w, task);
}

static void join(struct walk *w, op_id op, uint32_t also)
{
	add_in_order(w, (struct sim_task){.kind = SIM_JOIN, .op = op, .also = also});
}

static void started(struct walk *w, op_id op, uint32_t task, uint32_t n)
{
	vec_push(&w->pending, ((struct instance){.op = op, .task = task, .n = n}));
	if (w->first[op])
		w->pending.at[w->end[op] - 1].next = w->pending.n;
	else
		w->first[op] = w->pending.n;
	w->end[op] = w->pending.n;
}

/* A collective; one that is no Communication ends before the stream goes on. */
static void collective(struct walk *w, op_id op)
{
	const struct op *o = &w->m->op.at[op];
	bool waits = !(o->flags & OP_ASYNC);
	uint32_t channel =
	    o->team ? sim_channel_of_team(w->p, o->team, SIM_CHANNEL_TEAM, op_backend(w->m, op), w->rank)
	            : SIM_NONE;
	take_results(w, op);
	if (o->flags & OP_GROUPED) { /* all are one, which end_group starts */
		w->channel = channel;
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
	carry_out(w, op, task);
	if (waits)
		join(w, op, task);
	else
		started(w, op, task, 1);
}

static void fence(struct walk *w, op_id op, team_id team)
{
	uint32_t channel = team ? sim_channel_of_team(w->p, team, SIM_CHANNEL_FENCE, 0, w->rank) : SIM_NONE;
	if (channel != SIM_NONE)
		join(w, op, meet(w, (struct sim_task){.kind = SIM_MEETING, .op = op}, channel, false));
}

/* ---- messages */

static uint32_t start_message(struct walk *w, const struct message *x)
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
	carry_out(w, x->op, task);
	return task;
}

static bool issue(struct walk *w, op_id by, const struct message *x)
{
	if (x->peer < 0 || x->peer >= w->p->ranks)
		return fail(w, by, "the peer is %lld, there are %lld ranks,", (long long)x->peer,
		            (long long)w->p->ranks);
	if (w->in_group)
		vec_push(&w->group, *x);
	else
		started(w, x->op, start_message(w, x), 1);
	return true;
}

static bool message(struct walk *w, op_id op)
{
	struct message x = {.op = op};
	if (!scalar(w, op, 0, &x.peer))
		return false;
	take_results(w, op);
	if (!w->p->posted[op])
		return issue(w, op, &x);
	w->posted[op] = x;
	return true;
}

static bool post(struct walk *w, op_id op)
{
	for (unsigned k = 0; k < op_role_count(w->m, op, ROLE_STATEMENT); k++) {
		const struct message *x = &w->posted[op_operand_id(w->m, op, ROLE_STATEMENT, k)];
		if (!x->op)
			return fail(w, op, "what is posted was not come to");
		if (!issue(w, op, x))
			return false;
	}
	return true;
}

static void end_group(struct walk *w, op_id op)
{
	uint32_t first = w->out->task.n;
	if (w->channel != SIM_NONE)
		meet(w,
		     (struct sim_task){
		         .kind = SIM_MEETING, .op = op, .time = w->p->time[op], .bytes = w->p->moved[op]},
		     w->channel, false);
	for (uint32_t k = 0; k < w->group.n; k++)
		start_message(w, &w->group.at[k]);
	started(w, op, first, w->out->task.n - first);
	w->group.n = 0;
	w->channel = SIM_NONE;
	w->in_group = false;
}

static bool wait_for(struct walk *w, op_id op)
{
	for (unsigned k = 0; k < op_role_count(w->m, op, ROLE_STATEMENT); k++) {
		op_id of = op_operand_id(w->m, op, ROLE_STATEMENT, k);
		if (!w->first[of])
			return fail(w, op, "there is nothing left to wait for");
		const struct instance *x = &w->pending.at[w->first[of] - 1];
		for (uint32_t i = 0; i < x->n; i++)
			join(w, op, x->task + i);
		w->first[of] = x->next;
	}
	return true;
}

/* ---- statements */

static bool for_loop(struct walk *w, op_id op)
{
	region_id body = w->m->op.at[op].region;
	index_id index = w->m->region.at[body].index;
	int64_t start, stop, outer = w->iteration;
	if (!scalar(w, op, 0, &start) || !scalar(w, op, 1, &stop))
		return false;
	for (int64_t i = start; i < stop; i++) {
		w->index[index] = w->iteration = i;
		if (!walk_region(w, body))
			return false;
	}
	w->iteration = outer;
	return true;
}

static bool condition(struct walk *w, op_id op)
{
	int64_t holds;
	region_id branch = w->m->op.at[op].region;
	if (!scalar(w, op, 0, &holds))
		return false;
	if (!holds)
		branch = w->m->region.at[branch].sibling;
	return !branch || walk_region(w, branch);
}

static bool meets(const struct walk *w, op_id op)
{
	const struct op *o = &w->m->op.at[op];
	return (op_traits(w->m, op) & TRAIT_COLLECTIVE || o->kind == OP_DISPATCH || o->kind == OP_COMBINE) &&
	       (o->team || o->flags & OP_ASYNC);
}

static void work(struct walk *w, op_id op)
{
	int64_t time = w->p->time[op], whole;
	take_results(w, op);
	if (w->slow != 1000)
		time = checked_mul(time, w->slow, &whole) ? (whole + 999) / 1000 : CLUSTER_MAX_TIME;
	add_in_order(w, (struct sim_task){.kind = SIM_WORK, .op = op, .time = time, .also = SIM_NONE});
	carry_out(w, op, w->out->task.n - 1);
}

static void deallocate(struct walk *w, op_id op)
{
	for (unsigned k = 0; k < op_role_count(w->m, op, ROLE_FREE); k++) {
		value_id v = op_operand_id(w->m, op, ROLE_FREE, k);
		op_id def = w->m->value.at[v].def;
		if (def && w->m->op.at[def].kind == OP_SYMMETRIC_VIEW)
			fence(w, op, w->m->op.at[def].team);
		else
			give(w, op, ir_root(w->m, v));
	}
}

static bool begin_view(struct walk *w, op_id op)
{
	int64_t index = 0;
	if (op_role_count(w->m, op, ROLE_SCALAR) && !scalar(w, op, 0, &index))
		return false;
	sim_makers_view(w->makers, op, index);
	return true;
}

static bool walk_op(struct walk *w, op_id op)
{
	struct module *m = w->m;
	uint32_t stream;
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_FOR:
		return for_loop(w, op);
	case OP_IF:
		return condition(w, op);
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
	if (makes && !meets(w, op) && !makes_here(w, op))
		return true;
	if (cost_is_launched(m, op))
		launch(w);
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_SYNCHRONIZE:
		if (!stream_named(w, op, &stream))
			return false;
		if (stream != w->current && op != w->p->ignored)
			join(w, op, w->last.at[stream]);
		return true;
	case OP_ALLOCATE:
		take_results(w, op);
		if (w->makers)
			sim_makers_allocate(w->makers, op);
		if (w->p->time[op])
			work(w, op);
		return true;
	case OP_DEALLOCATE:
		deallocate(w, op);
		return true;
	case OP_SYMMETRIC_VIEW:
		fence(w, op, m->op.at[op].team);
		return true;
	case OP_SEND:
	case OP_RECV:
		return message(w, op);
	case OP_POST:
		return post(w, op);
	case OP_END_COALESCING:
		end_group(w, op);
		return true;
	case OP_WAIT:
		return wait_for(w, op);
	default:
		break;
	}
	if (meets(w, op))
		collective(w, op);
	else
		work(w, op);
	return true;
}

static bool walk_region(struct walk *w, region_id r)
{
	for (op_id op = w->m->region.at[r].first; op; op = w->m->op.at[op].next) {
		if (++w->p->steps > SIM_MAX_STEPS || w->out->task.n > SIM_MAX_TASKS)
			return fail(w, op, "there are too many statements to simulate: more than %lld, or %d",
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
	struct walk w = {.p = p, .m = m, .out = out, .rank = rank, .iteration = -1};
	p->walks++;
	out->task.n = out->place.n = out->stream.n = out->need.n = 0;
	w.now = p->delay ? p->delay[rank] : 0;
	w.slow = p->slow ? p->slow[rank] : 1000;
	w.index = arena_new_array(a, int64_t, m->index.n + 1);
	w.handle = arena_new_array(a, uint32_t, m->handle.n + 1);
	w.first = arena_new_array(a, uint32_t, m->op.n);
	w.end = arena_new_array(a, uint32_t, m->op.n);
	w.holds = arena_new_array(a, bool, m->value.n);
	w.posted = arena_new_array(a, struct message, m->op.n);
	w.channel = SIM_NONE;
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
	arena_free(a);
	return ok;
}

void sim_rank_free(struct sim_rank *r)
{
	vec_free(&r->task);
	vec_free(&r->need);
	vec_free(&r->place);
	vec_free(&r->stream);
}
