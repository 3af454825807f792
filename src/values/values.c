/* values: see values.h. */
#include "values/values.h"
#include "ir/edit.h"
#include "ir/number.h"
#include "ir/print.h"
#include "values/mismatch.h"
#include "values/valuation.h"
#include <string.h>

/* ---- one step */

/* Makes the view of other ranks' buffers. The rank goes on when all ranks of the team have come here. */
static void take_fence(struct value_rank *r, op_id op)
{
	struct module *m = r->v->m;
	uint32_t meeting;
	if (m->op.at[op].kind == OP_SYMMETRIC_VIEW) {
		value_meet_fence(r, op, m->op.at[op].team, value_view_get(r, op_read(m, op, 0)), &meeting);
		return;
	}
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_FREE); k++) {
		const value_id value = op_operand_id(m, op, ROLE_FREE, k);
		const op_id def = m->value.at[value].def;
		if (def && m->op.at[def].kind == OP_SYMMETRIC_VIEW) {
			struct value_view own = *value_view_get(r, value);
			value_meet_fence(r, op, m->op.at[def].team, &own, &meeting);
		} else {
			value_view_end(r, value);
		}
	}
}

static void take_work(struct value_rank *r, const struct step *s)
{
	const enum op_kind kind = (enum op_kind)r->v->m->op.at[s->op].kind;
	if (kind == OP_DISPATCH || kind == OP_COMBINE)
		value_meet_experts(r, s);
	else if (op_info[kind].traits & TRAIT_COLLECTIVE)
		value_meet_collective(r, s);
	else if (value_is_reshard(r->v, s->op))
		value_meet_reshard(r, s->op);
	else
		value_local(r, s->op);
}

static void take_step(struct value_rank *r, const struct step *s)
{
	struct module *m = r->v->m;
	if (s->others)
		return;
	r->v->writer = s->op;
	switch ((enum step_kind)s->kind) {
	case STEP_WORK:
		take_work(r, s);
		break;
	case STEP_VIEW:
		value_view_step(r, s);
		break;
	case STEP_ALLOCATE:
		value_view_make(r, op_def(m, s->op, 0));
		break;
	case STEP_FREE:
	case STEP_FENCE:
		take_fence(r, s->op);
		break;
	case STEP_MEET:
		take_work(r, s);
		break;
	case STEP_MESSAGE:
		value_meet_message(r, s);
		break;
	case STEP_PREPARE:
		value_meet_prepare(r, s);
		break;
	case STEP_ABSENT:
		value_meet_absent(r, s);
		break;
	case STEP_END_GROUP:
		value_meet_end_group(r, s);
		break;
	case STEP_WAIT:
		value_meet_wait(r, s);
		break;
	case STEP_MISSING:
	case STEP_FAILED:
		r->failed = true;
		break;
	default:
		break;
	}
}

/* ---- all ranks */

static void open_rank(struct valuation *v, uint32_t rank)
{
	struct value_rank *r = &v->rank[rank];
	const struct walk_options o = {.streams = v->o->streams};
	struct module *m = v->m;
	r->v = v;
	r->rank = rank;
	r->view = arena_new_array(v->arena, struct value_view *, m->value.n);
	r->storage_of = arena_new_array(v->arena, uint32_t, m->value.n);
	r->posted = v->program.is_posted ? arena_new_array(v->arena, struct value_party, m->op.n) : NULL;
	for (uint32_t k = 0; k < m->value.n; k++)
		r->storage_of[k] = VALUE_NONE;
	for (unsigned k = 0; k < m->input.n; k++)
		value_view_input(r, k);
	walk_begin(&r->walker, &v->program, rank, &o);
}

static void close_rank(struct value_rank *r)
{
	walk_end(&r->walker);
	for (uint32_t k = 0; k < r->transfer.n; k++)
		vec_free(&r->transfer.at[k].meeting);
	vec_free(&r->transfer);
	vec_free(&r->group);
	vec_free(&r->waits);
}

void valuation_open(struct valuation *v, struct module *m, struct diag *d, struct facts *facts,
                    const struct values_options *o, const struct valuation_mode *mode,
                    struct values_result *result)
{
	*v = (struct valuation){
	    .m = m, .d = d, .facts = facts, .o = o, .arena = arena_new(), .result = result};
	v->is_logical = mode->is_logical;
	v->inputs_by_place = mode->inputs_by_place;
	v->half_lowered = mode->half_lowered;
	v->rank_n = v->is_logical ? 1 : (uint32_t)o->ranks;
	walk_program_open(&v->program, m, v->rank_n);
	vec_push(&v->part, NULL);
	vec_push(&v->symmetric, (struct value_symmetric){0});
	vec_push(&v->channel, (struct value_channel){0});
	vec_push(&v->meeting, (struct value_meeting){0});
	v->steps = mem_zalloc(sizeof *v->steps * m->value.n);
	v->reported = arena_new_array(v->arena, uint8_t, m->op.n);
	v->meets = arena_new_array(v->arena, uint16_t, m->op.n);
	v->trusted = arena_new_array(v->arena, bool, m->op.n);
	v->rank = arena_new_array(v->arena, struct value_rank, v->rank_n);
	for (uint32_t k = 0; k < v->rank_n; k++)
		open_rank(v, k);
}

void valuation_close(struct valuation *v)
{
	for (uint32_t k = 0; k < v->rank_n; k++)
		close_rank(&v->rank[k]);
	for (uint32_t k = 0; k < v->storage.n; k++)
		vec_free(&v->storage.at[k].contents.cell);
	value_meet_free(v);
	walk_program_close(&v->program);
	vec_free(&v->storage);
	vec_free(&v->unused);
	vec_free(&v->part);
	hash_table_free(&v->parts);
	vec_free(&v->symmetric);
	free(v->steps);
	arena_free(v->arena);
}

static bool is_waiting(struct value_rank *r)
{
	while (r->waits.n && r->v->meeting.at[r->waits.at[r->waits.n - 1]].done)
		r->waits.n--;
	return r->waits.n;
}

/* Walks a rank until it waits for others, or the work is done. Returns false if it still waits. */
static bool walk_on(struct value_rank *r)
{
	struct valuation *v = r->v;
	struct step s;
	bool moves = false;
	while (!r->ended && !r->failed && !is_waiting(r)) {
		r->failed = v->o->work && v->work++ > v->o->work;
		r->ended = !walk_next(&r->walker, &s);
		moves = true;
		if (s.kind == STEP_FAILED)
			r->failed = true;
		else if (!r->ended)
			take_step(r, &s);
	}
	return moves;
}

enum values_status valuation_walk(struct valuation *v)
{
	bool moves = true, all = false;
	while (moves && !all) {
		moves = false;
		all = true;
		for (uint32_t k = 0; k < v->rank_n; k++) {
			moves |= walk_on(&v->rank[k]);
			all &= v->rank[k].ended;
			if (v->rank[k].failed)
				return v->o->work && v->work > v->o->work ? VALUES_TOO_LONG : VALUES_STOPPED;
		}
	}
	return all ? VALUES_PROVED : VALUES_STOPPED;
}

/* ---- outputs */

bool valuation_differs(struct facts *f, const struct cell *a, fact_id b, unsigned n)
{
	return a->fact && b && a->fact != b &&
	       facts_within(f, a->fact, a->axis, n) != facts_within(f, b, a->axis, n);
}

bool valuation_differs_surely(struct facts *f, const struct cell *a, fact_id b, unsigned n)
{
	return valuation_differs(f, a, b, n) &&
	       mismatch_find(f, facts_within(f, a->fact, a->axis, n), facts_within(f, b, a->axis, n))
	           .is_known;
}

/* Compares the copies of an output on the ranks. */
static void compare_copies(struct valuation *v, value_id output)
{
	struct contents all = {.n = value_domain(v->m, output)->rank};
	bool told = false;
	for (uint32_t k = 0; k < v->rank_n && !told; k++) {
		const struct value_view *x = value_view_get(&v->rank[k], output);
		struct contents found = {0}, before = {0};
		if (!x->unknown)
			value_view_read(v, x, true, &found);
		for (uint32_t c = 0; c < found.cell.n; c++) {
			const struct cell *cell = &found.cell.at[c];
			before.cell.n = 0;
			contents_read(&all, cell->axis, &before);
			for (uint32_t i = 0; i < before.cell.n && !told; i++) {
				const struct cell *other = &before.cell.at[i];
				told = valuation_differs(v->facts, other, cell->fact, all.n);
				if (told)
					value_report_copies(
					    v, output, k, other->axis, cell->fact, other->fact,
					    valuation_differs_surely(v->facts, other, cell->fact, all.n));
			}
			contents_write(&all, cell->axis, cell->fact);
		}
		vec_free(&found.cell);
		vec_free(&before.cell);
	}
	vec_free(&all.cell);
}

/* Reports an output that is a sum of which a part is missing. */
static void check_pending(struct valuation *v, value_id output)
{
	for (uint32_t k = 0; k < v->rank_n && !v->wrong; k++) {
		struct contents found = {0};
		if (!value_view_get(&v->rank[k], output)->unknown)
			value_view_read(v, value_view_get(&v->rank[k], output), true, &found);
		for (uint32_t c = 0; c < found.cell.n && !v->wrong; c++)
			if (!facts_is_complete(v->facts, found.cell.at[c].fact))
				value_report_output(v, output, k, &found.cell.at[c]);
		vec_free(&found.cell);
	}
}

static void check_outputs(struct valuation *v)
{
	for (uint32_t i = 0; i < v->m->output.n && !v->wrong; i++) {
		const value_id output = v->m->output.at[i];
		enum reduce_op pending;
		for (uint32_t k = 0; k < v->rank_n && !v->wrong; k++)
			value_view_check_written(&v->rank[k], 0, output);
		if (value_find_pending(v->m, output, &pending))
			continue;
		check_pending(v, output);
		if (!v->wrong)
			compare_copies(v, output);
	}
}

enum values_status values_prove(struct module *m, struct diag *d, const struct values_options *o,
                                struct values_result *out)
{
	struct ir_numbers *saved = ir_numbers_save(m);
	struct facts facts;
	struct valuation v;
	*out = (struct values_result){0};
	ir_number(m);
	facts_open(&facts);
	valuation_open(&v, m, d, &facts, o, &(struct valuation_mode){0}, out);
	enum values_status status = valuation_walk(&v);
	if (status == VALUES_PROVED && !v.wrong)
		check_outputs(&v);
	if (v.wrong)
		status = VALUES_WRONG;
	valuation_close(&v);
	facts_close(&facts);
	ir_numbers_restore(m, saved);
	return status;
}
