/* walk: the statements of a rank, in the order in which it issues them.
 *
 *     main = get_current_stream()     main: the stream that is current
 *     for i in 0..4 parallel(stream)  its body four times, i = 0, 1, 2, 3
 *       set_stream(i)                 stream i modulo the number of streams is current
 *       synchronize(main)             stream i knows all that main knows by now
 *       T = shard_by_stream(X, i)     T: a part of X
 *       Y <- relu(T)                  the next step of stream i reads that part of X and writes Y
 *     if rank == 0 { … }              the branch that the rank takes                              */
#include "check/checker.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include <string.h>

static bool walk_region(struct rank_check *w, region_id r);

/* ---- scalars */

bool check_value(struct rank_check *w, expr_id e, uint32_t at, int64_t *out)
{
	const struct expr_env env = {
	    .rank = w->rank, .streams = w->c->o->streams ? w->c->o->streams : INT32_MAX, .index = w->index};
	expr_id offending = 0;
	enum expr_status s = expr_eval(w->m, e, &env, out, &offending);
	struct buf text = {0};
	if (s == EXPR_OK)
		return true;
	expr_print_hir(w->m, offending ? offending : e, &text);
	static const char *const why[] = {[EXPR_UNDEFINED_PARAM] = "has no value",
	                                  [EXPR_OVERFLOW] = "has no value in 64 bits",
	                                  [EXPR_INDIVISIBLE] = "does not divide",
	                                  [EXPR_UNKNOWN] = "has no value here"};
	check_unknown(w->c, at,
	              arena_printf(w->c->arena, "'%s' %s on rank %lld", text.at, why[s], (long long)w->rank));
	buf_free(&text);
	return false;
}

bool check_scalar(struct rank_check *w, op_id op, unsigned k, int64_t *out)
{
	const struct op *o = &w->m->op.at[op];
	if (op_role_count(w->m, op, ROLE_SCALAR) <= k)
		return check_unknown(w->c, o->at, "the statement lacks an operand");
	const struct scalar *s = &w->m->scalar.at[op_operand_id(w->m, op, ROLE_SCALAR, k)];
	if (s->expr)
		return check_value(w, s->expr, o->at, out);
	*out = (int64_t)s->literal;
	return true;
}

bool check_control(struct rank_check *w, op_id op, unsigned k, int64_t *out)
{
	return check_scalar(w, op, k, out) && classes_same(w, op_scalar_expr(w->m, op, k));
}

/* ---- streams */

static uint32_t stream_numbered(struct rank_check *w, int64_t number)
{
	for (uint32_t k = 0; k < w->stream.n; k++)
		if (w->stream.at[k].number == number)
			return k;
	struct stream s = {.number = number, .thread = w->thread.n};
	vec_push(&w->thread, (struct thread){.stream = number});
	vec_push(&w->stream, s);
	return w->stream.n - 1;
}

/* The stream that set_stream or synchronize names: a handle or an index. */
static bool stream_named(struct rank_check *w, op_id op, uint32_t *out)
{
	int64_t index;
	if (op_role_count(w->m, op, ROLE_HANDLE)) {
		*out = w->handle[op_operand_id(w->m, op, ROLE_HANDLE, 0)];
		return true;
	}
	if (!check_control(w, op, 0, &index))
		return false;
	index = expr_stream(index, w->c->o->streams);
	if (index < 0)
		return check_unknown(w->c, w->m->op.at[op].at, "the index of the stream is negative");
	*out = stream_numbered(w, index);
	return check_spend(w->c, *out);
}

static void synchronize_stream(struct rank_check *w, op_id op, uint32_t stream)
{
	clock_join(check_clock(w), &w->stream.at[stream].clock);
	if (!w->others)
		progress_join(w, op, stream);
}

uint32_t check_step(struct rank_check *w)
{
	struct stream *s = &w->stream.at[w->current];
	if (!w->others)
		progress_issue(w);
	clock_set(&s->clock, s->thread, ++w->thread.at[s->thread].step);
	return w->thread.at[s->thread].step;
}

/* ---- statements */

static bool lists(const struct attr *a, unsigned k)
{
	for (uint32_t i = 0; a && a->kind == ATTR_INTS && i < a->n; i++)
		if (a->u.ints[i] == (int64_t)k)
			return true;
	return a && a->kind == ATTR_INT && a->u.i == (int64_t)k;
}

/* Results: of an extern with view= those are views of its operands, else buffers of their own. */
static void bind_results(struct rank_check *w, op_id op)
{
	for (unsigned k = 0; k < w->m->op.at[op].def_n; k++) {
		value_id v = op_def(w->m, op, k), of = ir_view_of(w->m, op, k);
		if (of) {
			w->view[v] = w->view[of];
			w->view[v].vague = true;
		} else {
			check_view_buffer(w, v);
		}
	}
}

/* A statement of the current stream: it reads its operands and writes its results. */
static void compute_statement(struct rank_check *w, op_id op)
{
	const struct op *o = &w->m->op.at[op];
	const struct attr *writes = o->kind == OP_EXTERN ? op_attr(w->m, op, "writes") : NULL;
	struct access *list = mem_alloc(sizeof *list * (o->operand_n + 1u));
	unsigned n = 0, read = 0;
	value_id result = op_result(w->m, op, 0);
	bind_results(w, op);
	for (unsigned k = 0; k < o->operand_n; k++) {
		const struct operand *p = ir_operand(w->m, op, k);
		if (p->role == ROLE_READ)
			list[n++] =
			    (struct access){.view = w->view[p->id],
			                    .kind = lists(writes, read++) ? ACCESS_WRITE : ACCESS_READ};
		else if (p->role == ROLE_DEF || p->role == ROLE_WRITE)
			list[n++] = (struct access){.view = w->view[p->id], .kind = ACCESS_WRITE};
	}
	if (!result || check_view_is_here(w, result)) {
		uint32_t step = check_step(w);
		access_all(w, op, list, n, check_clock(w), w->stream.at[w->current].thread, step);
	}
	free(list);
}

static void allocate_buffer(struct rank_check *w, op_id op)
{
	value_id v = op_def(w->m, op, 0);
	check_view_buffer(w, v);
	if (!op_attr_is_true(w->m, op, "zero_init") && !op_attr_is_true(w->m, op, "resets_to_zero") &&
	    !w->c->o->strict)
		return;
	struct access a = {.view = w->view[v], .kind = ACCESS_ALLOCATE};
	uint32_t step = check_step(w);
	access_all(w, op, &a, 1, check_clock(w), w->stream.at[w->current].thread, step);
}

/* The first statement of a body that names a stream by an index. */
static op_id find_set_stream(const struct module *m, region_id body)
{
	for (op_id op = m->region.at[body].first; op; op = m->op.at[op].next)
		if (m->op.at[op].kind == OP_SET_CURRENT_STREAM && op_role_count(m, op, ROLE_SCALAR))
			return op;
	return 0;
}

static bool for_loop(struct rank_check *w, op_id op)
{
	region_id body = w->m->op.at[op].region;
	index_id index = w->m->region.at[body].index;
	struct loop *loop = &w->loop[w->loop_n];
	uint32_t outer = w->now;
	*loop = (struct loop){.op = op, .set_stream = find_set_stream(w->m, body)};
	if (!check_control(w, op, 0, &loop->start) || !check_control(w, op, 1, &loop->stop))
		return false;
	w->loop_n++;
	for (int64_t i = loop->start; i < loop->stop; i++) {
		w->index[index] = loop->at = i;
		w->now = w->c->turn.n;
		vec_push(&w->c->turn, (struct turn){i, index, outer});
		if (!check_spend(w->c, 1) || !walk_region(w, body))
			return false;
	}
	w->now = outer;
	w->loop_n--;
	return true;
}

/* A branch that only other ranks take. The clocks of this rank's streams stay as they are. */
static bool walk_others(struct rank_check *w, region_id branch)
{
	uint32_t n = w->stream.n, current = w->current;
	struct clock *saved = mem_alloc(sizeof *saved * n);
	for (uint32_t k = 0; k < n; k++)
		saved[k] = clock_copy(&w->stream.at[k].clock);
	w->others++;
	bool ok = walk_region(w, branch);
	w->others--;
	w->current = current;
	for (uint32_t k = 0; k < w->stream.n; k++) {
		struct stream *s = &w->stream.at[k];
		vec_free(&s->clock);
		s->clock = k < n ? saved[k] : (struct clock){0};
		clock_set(&s->clock, s->thread,
		          w->thread.at[s->thread].step); /* the work of others is a step of it */
	}
	free(saved);
	return ok;
}

static bool walk_condition(struct rank_check *w, op_id op)
{
	int64_t holds;
	region_id branch = w->m->op.at[op].region, other = w->m->region.at[branch].sibling;
	if (!check_control(w, op, 0, &holds))
		return false;
	if (!holds) {
		branch = other;
		other = w->m->op.at[op].region;
	}
	if (w->c->is_symmetric && other && symmetric_divides(w, op, holds != 0) && !walk_others(w, other))
		return false;
	return !branch || walk_region(w, branch);
}

/* Returns true if a statement counts in a branch that only other ranks take. Meetings do not: another report
 * tells of them. */
static bool is_of_others(struct rank_check *w, op_id op)
{
	switch ((enum op_kind)w->m->op.at[op].kind) {
	case OP_SYMMETRIC_VIEW:
		w->view[op_def(w->m, op, 0)].storage = CHECK_NONE;
		return false;
	case OP_ALLOCATE:
		check_view_buffer(w, op_def(w->m, op, 0));
		return false;
	case OP_DEALLOCATE:
	case OP_SEND:
	case OP_RECV:
	case OP_POST:
	case OP_SHARE_MEM_HANDLES:
	case OP_START_COALESCING:
	case OP_END_COALESCING:
	case OP_WAIT:
	case OP_DISPATCH:
	case OP_COMBINE:
		return false;
	default:
		return !(op_traits(w->m, op) & TRAIT_COLLECTIVE);
	}
}

static void walk_op(struct rank_check *w, op_id op)
{
	struct module *m = w->m;
	uint32_t stream;
	if (w->others && !is_of_others(w, op))
		return;
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_FOR:
		for_loop(w, op);
		break;
	case OP_IF:
		walk_condition(w, op);
		break;
	case OP_UNIT:
	case OP_LAUNCH_KERNEL:
		walk_region(w, m->op.at[op].region);
		break;
	case OP_GET_CURRENT_STREAM:
		w->handle[op_operand_id(m, op, ROLE_HANDLE, 0)] = w->current;
		break;
	case OP_SET_CURRENT_STREAM:
		if (stream_named(w, op, &stream))
			w->current = stream;
		break;
	case OP_SYNCHRONIZE:
		if (stream_named(w, op, &stream) && stream != w->current)
			synchronize_stream(w, op, stream);
		break;
	case OP_ALLOCATE:
		allocate_buffer(w, op);
		break;
	case OP_DEALLOCATE:
		for (unsigned k = 0; k < op_role_count(m, op, ROLE_FREE); k++)
			access_free(w, op, op_operand_id(m, op, ROLE_FREE, k));
		break;
	case OP_SYMMETRIC_VIEW:
		symmetric_view(w, op);
		break;
	case OP_SELECT:
		check_view_select(w, op);
		break;
	case OP_SHARD_BY_STREAM:
		check_view_shard(w, op);
		break;
	case OP_SEND:
	case OP_RECV:
		transfer_message(w, op);
		break;
	case OP_POST:
		transfer_post(w, op);
		break;
	case OP_SHARE_MEM_HANDLES:
		handles_share(w, op);
		break;
	case OP_START_COALESCING:
		w->in_group = true;
		break;
	case OP_END_COALESCING:
		transfer_end_group(w, op);
		break;
	case OP_WAIT:
		transfer_wait(w, op);
		break;
	case OP_DISPATCH:
	case OP_COMBINE: { /* all ranks of the team come to it, in one order with its other collectives */
		struct membership me;
		if (team_membership(w, m->op.at[op].team, &me) && classes_meet(w, m->op.at[op].team, &me)) {
			uint32_t meeting =
			    match_collective(w, op, &me, -1, &(struct check_moved){.elements = -1});
			progress_start(w, op, meeting);
			progress_stand(w, meeting);
		}
		compute_statement(w, op);
		break;
	}
	default:
		if (op_traits(m, op) & TRAIT_COLLECTIVE)
			transfer_collective(w, op);
		else
			compute_statement(w, op);
	}
}

static bool walk_region(struct rank_check *w, region_id r)
{
	for (op_id op = w->m->region.at[r].first; op; op = w->m->op.at[op].next) {
		if (!check_spend(w->c, 1))
			return false;
		walk_op(w, op);
	}
	return check_goes_on(w->c);
}

static void stream_free(struct stream *s)
{
	vec_free(&s->clock);
	vec_free(&s->behind);
}

static void free_walk(struct rank_check *w)
{
	for (uint32_t k = 0; k < w->storage.n; k++) {
		vec_free(&w->storage.at[k].record);
		written_free(&w->storage.at[k]);
	}
	for (uint32_t k = 0; k < w->stream.n; k++)
		stream_free(&w->stream.at[k]);
	vec_free(&w->storage);
	vec_free(&w->stream);
	vec_free(&w->thread);
	transfer_free_all(w);
	symmetric_free_all(w);
	free(w->index);
	free(w->view);
	free(w->storage_of);
	free(w->handle);
	free(w->posted);
	free(w->announced);
	free(w->issued);
}

void check_rank(struct checker *c, int64_t rank)
{
	struct module *m = c->m;
	struct rank_check w = {.c = c, .m = m, .rank = rank};
	if (!check_spend(c, m->value.n))
		return;
	w.index = mem_zalloc(sizeof *w.index * (m->index.n + 1));
	w.view = mem_zalloc(sizeof *w.view * m->value.n);
	w.storage_of = mem_alloc(sizeof *w.storage_of * m->value.n);
	w.handle = mem_zalloc(sizeof *w.handle * (m->handle.n + 1));
	w.posted = mem_zalloc(sizeof *w.posted * m->op.n);
	w.issued = mem_zalloc(sizeof *w.issued * m->op.n);
	w.announced = mem_zalloc(sizeof *w.announced * m->op.n);
	for (value_id v = 0; v < m->value.n; v++)
		w.storage_of[v] = w.view[v].storage = CHECK_NONE;
	vec_push(&w.symmetric, (struct symmetric){0});
	w.current = stream_numbered(&w, INITIAL_STREAM);
	for (uint32_t i = 0; i < m->input.n; i++)
		check_view_input(&w, m->input.at[i].value);
	if (walk_region(&w, m->body)) {
		transfer_end(&w);
		access_end(&w);
	}
	free_walk(&w);
}
