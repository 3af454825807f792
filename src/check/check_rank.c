/* check_rank: walks one rank's statements and tracks how each orders the accesses.
 *
 *     synchronize(main)        stream i knows all that main knows by now
 *     T = shard_by_stream(…)   T is a part of X
 *     Y <- relu(T)             the next step of the current stream reads that part of X and writes Y */
#include "check/check_rank.h"
#include "check/access.h"
#include "check/check_handles.h"
#include "check/check_report.h"
#include "check/check_symmetric.h"
#include "check/check_view.h"
#include "check/checker.h"
#include "check/classes.h"
#include "check/match.h"
#include "check/progress.h"
#include "check/transfer.h"
#include "check/written.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include <string.h>

/* ---- scalars */

/* Ends the check with the walk's failure, unless the walk ended because a turn of the ranks does not hold.
 * Returns false. */
static bool report_failure(struct rank_check *w)
{
	enum diagnostic code;
	op_id op;
	const char *text = walk_failure(&w->walker, &code, &op);
	return text && check_unknown(w->c, w->m->op.at[op].at,
	                             arena_printf(w->c->arena, "%s on rank %lld", text, (long long)w->rank));
}

bool check_value(struct rank_check *w, expr_id e, uint32_t at, int64_t *out)
{
	enum diagnostic code;
	op_id op;
	return walk_value(&w->walker, 0, e, out) ||
	       check_unknown(w->c, at,
	                     arena_printf(w->c->arena, "%s on rank %lld",
	                                  walk_failure(&w->walker, &code, &op), (long long)w->rank));
}

bool check_scalar(struct rank_check *w, op_id op, unsigned k, enum walk_follow how, int64_t *out)
{
	return walk_scalar(&w->walker, op, k, how, out) || report_failure(w);
}

static bool follow_classes(void *to, op_id op, expr_id e, enum walk_follow how, int64_t value)
{
	(void)op;
	return how == WALK_PEER ? classes_peer(to, e, value) : classes_same(to, e);
}

static bool divides_ranks(void *to, op_id op, bool holds)
{
	return symmetric_divides(to, op, holds);
}

bool check_membership(const struct rank_check *w, team_id team, struct membership *out)
{
	return walk_membership(&w->c->walk_program, team, w->rank, out);
}

/* ---- streams */

/* Adds the streams that the walk has met since the last call. */
static void add_streams(struct rank_check *w)
{
	for (uint32_t k = w->stream.n; k < w->walker.stream.n; k++) {
		struct stream s = {.number = w->walker.stream.at[k], .thread = w->thread.n};
		vec_push(&w->thread, (struct thread){.stream = s.number});
		vec_push(&w->stream, s);
	}
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

/* Makes the results of a statement: views of operands for an extern with view=, otherwise new buffers. */
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
		if (p->role == ROLE_READ) {
			list[n] = (struct access){.view = w->view[p->id],
			                          .kind = lists(writes, read++) ? ACCESS_WRITE : ACCESS_READ};
			if (o->kind == OP_SLICE)
				check_view_slice(w, op, &list[n].view);
			n++;
		} else if (p->role == ROLE_DEF || p->role == ROLE_WRITE)
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

/* ---- loops and branches */

static void begin_iteration(struct rank_check *w, const struct step *s)
{
	const uint32_t depth = w->walker.loop.n;
	const index_id index = w->m->region.at[w->m->op.at[s->op].region].index;
	w->iteration_of.n = depth - 1;
	vec_push(&w->iteration_of, w->c->iteration.n);
	vec_push(&w->c->iteration,
	         (struct iteration){s->iteration, index, depth > 1 ? w->iteration_of.at[depth - 2] : 0});
}

/* Saves the clocks of this rank's streams when a branch begins that only other ranks take: the branch does
 * not change them. */
static void save_clocks(struct rank_check *w)
{
	struct saved x = {.clock = mem_alloc(sizeof *x.clock * w->stream.n), .n = w->stream.n};
	for (uint32_t k = 0; k < x.n; k++)
		x.clock[k] = clock_copy(&w->stream.at[k].clock);
	vec_push(&w->saved, x);
}

static void restore_clocks(struct rank_check *w)
{
	struct saved x = w->saved.at[--w->saved.n];
	for (uint32_t k = 0; k < w->stream.n; k++) {
		struct stream *s = &w->stream.at[k];
		vec_free(&s->clock);
		s->clock = k < x.n ? x.clock[k] : (struct clock){0};
		clock_set(&s->clock, s->thread,
		          w->thread.at[s->thread].step); /* the work of other ranks counts as one step */
	}
	free(x.clock);
}

/* ---- steps */

/* All ranks of the team reach a dispatch or combine, in one order with the team's collectives. */
static void meet_experts(struct rank_check *w, op_id op)
{
	team_id team = w->m->op.at[op].team;
	struct membership me;
	if (check_membership(w, team, &me) && classes_meet(w, team, &me)) {
		uint32_t meeting = match_collective(w, op, &me, -1, &(struct check_moved){.elements = -1},
		                                    &(struct match_parts){0});
		progress_start(w, op, meeting);
		progress_stand(w, meeting);
	}
	compute_statement(w, op);
}

static void meet(struct rank_check *w, const struct step *s)
{
	if (op_traits(w->m, s->op) & TRAIT_COLLECTIVE)
		transfer_collective(w, s);
	else
		meet_experts(w, s->op);
}

static void view_statement(struct rank_check *w, op_id op)
{
	if (w->m->op.at[op].kind == OP_SELECT)
		check_view_select(w, op);
	else
		check_view_shard(w, op);
}

static void take_step(struct rank_check *w, const struct step *s)
{
	op_id op = s->op;
	switch ((enum step_kind)s->kind) {
	case STEP_WORK:
		compute_statement(w, op);
		break;
	case STEP_VIEW:
		view_statement(w, op);
		break;
	case STEP_ALLOCATE:
		if (s->others)
			check_view_buffer(w, op_def(w->m, op, 0));
		else
			allocate_buffer(w, op);
		break;
	case STEP_FREE:
		for (unsigned k = 0; k < op_role_count(w->m, op, ROLE_FREE); k++)
			access_free(w, op, op_operand_id(w->m, op, ROLE_FREE, k));
		break;
	case STEP_FENCE:
		if (s->others)
			w->view[op_def(w->m, op, 0)].storage = CHECK_NONE;
		else
			symmetric_view(w, op);
		break;
	case STEP_SHARE:
		handles_share(w, op);
		break;
	case STEP_MEET:
		meet(w, s);
		break;
	case STEP_ABSENT:
		transfer_absent(w, s);
		break;
	case STEP_PREPARE:
		transfer_prepare(w, s);
		break;
	case STEP_MESSAGE:
		transfer_message(w, s);
		break;
	case STEP_END_GROUP:
		transfer_end_group(w, s);
		break;
	case STEP_WAIT:
		transfer_wait(w, s);
		break;
	case STEP_MISSING:
		report_not_started(w, op, s->of);
		break;
	case STEP_JOIN:
		if (s->joined != s->stream)
			synchronize_stream(w, op, s->joined);
		break;
	case STEP_OTHERS:
		save_clocks(w);
		break;
	case STEP_END_OTHERS:
		restore_clocks(w);
		break;
	case STEP_ITERATION: /* take_steps has begun it */
	case STEP_GROUP:
	case STEP_LEAVE:
	case STEP_END:
	case STEP_FAILED:
		break;
	}
}

/* Returns true if the text leaves open which stream is current after a loop or condition that names a
 * stream. */
static bool forgets_stream(const struct module *m, op_id op)
{
	expr_id condition = m->op.at[op].kind == OP_IF ? op_scalar_expr(m, op, 0) : 0;
	return m->op.at[op].kind == OP_FOR || (condition && m->expr.at[condition].flags & EXPR_HAS_INDEX);
}

/* Returns true if the program was walked to its end. */
static bool take_steps(struct rank_check *w)
{
	uint64_t walked = 0;
	struct step s;
	while (walk_next(&w->walker, &s)) {
		if (!check_spend(w->c, w->walker.walked - walked))
			return false;
		walked = w->walker.walked;
		add_streams(w);
		w->current = s.stream;
		w->others = s.others;
		if (s.kind == STEP_ITERATION)
			begin_iteration(w, &s);
		if ((s.kind == STEP_ITERATION || s.kind == STEP_LEAVE) && w->c->names_stream[s.op] &&
		    forgets_stream(w->m, s.op))
			w->forgotten_at = w->walker.walked;
		w->now = w->walker.loop.n ? w->iteration_of.at[w->walker.loop.n - 1] : 0;
		take_step(w, &s);
		if (!check_goes_on(w->c))
			return false;
	}
	return w->walker.failed ? report_failure(w) : check_spend(w->c, w->walker.walked - walked);
}

static void stream_free(struct stream *s)
{
	vec_free(&s->clock);
	vec_free(&s->behind);
}

static void free_rank(struct rank_check *w)
{
	for (uint32_t k = 0; k < w->storage.n; k++) {
		vec_free(&w->storage.at[k].record);
		written_free(&w->storage.at[k]);
	}
	for (uint32_t k = 0; k < w->stream.n; k++)
		stream_free(&w->stream.at[k]);
	vec_free(&w->storage);
	for (uint32_t k = 0; k < w->saved.n; k++) {
		for (uint32_t i = 0; i < w->saved.at[k].n; i++)
			vec_free(&w->saved.at[k].clock[i]);
		free(w->saved.at[k].clock);
	}
	vec_free(&w->saved);
	vec_free(&w->iteration_of);
	vec_free(&w->stream);
	vec_free(&w->thread);
	transfer_free_all(w);
	symmetric_free_all(w);
	walk_end(&w->walker);
	free(w->view);
	free(w->storage_of);
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
	w.view = mem_zalloc(sizeof *w.view * m->value.n);
	w.storage_of = mem_alloc(sizeof *w.storage_of * m->value.n);
	w.posted = mem_zalloc(sizeof *w.posted * m->op.n);
	w.issued = mem_zalloc(sizeof *w.issued * m->op.n);
	w.announced = mem_zalloc(sizeof *w.announced * m->op.n);
	for (value_id v = 0; v < m->value.n; v++)
		w.storage_of[v] = w.view[v].storage = CHECK_NONE;
	vec_push(&w.symmetric, (struct symmetric){0});
	const struct walk_options options = {.streams = c->o->streams,
	                                     .follows = follow_classes,
	                                     .divides = c->is_symmetric ? divides_ranks : NULL,
	                                     .to = &w};
	walk_begin(&w.walker, &c->walk_program, rank, &options);
	add_streams(&w);
	for (uint32_t i = 0; i < m->input.n; i++)
		if (module_has_input(m, i, rank))
			check_view_input(&w, m->input.at[i].value);
	if (take_steps(&w)) {
		access_end(&w);
		transfer_end(&w);
	}
	free_rank(&w);
}
