/* check: walks the ranks one after the other, or only those that stand for others, then compares their
 * statements. */
#include "check/check.h"
#include "analysis/recorded_classes.h"
#include "check/check_rank.h"
#include "check/check_recorded.h"
#include "check/check_report.h"
#include "check/checker.h"
#include "check/classes.h"
#include "check/match.h"
#include "check/progress.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include "ir/number.h"
#include <stdio.h>
#include <string.h>

enum { PROGRESS_BITS = 13 }; /* log2 of the work between two calls of o->progress: tens of milliseconds */

bool check_spend(struct checker *c, uint64_t work)
{
	uint64_t before = c->work;
	c->work += work;
	if (c->o->progress && (before >> PROGRESS_BITS) != (c->work >> PROGRESS_BITS))
		c->o->progress(c->o->to, (double)c->rank_now / (double)c->o->ranks);
	if (c->work > c->most && check_goes_on(c))
		c->status = CHECK_TOO_LONG;
	return check_goes_on(c);
}

bool check_unknown(struct checker *c, uint32_t at, const char *what)
{
	if (check_goes_on(c)) {
		c->status = CHECK_UNKNOWN;
		c->result->at = at;
		snprintf(c->result->what, sizeof c->result->what, "%s", what);
	}
	return false;
}

/* Returns the symmetric view that a value is, or is a part of; 0: none. */
static value_id shown_by(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	while (def && m->op.at[def].kind != OP_SYMMETRIC_VIEW &&
	       op_info[m->op.at[def].kind].form == FORM_VIEW) {
		v = op_read(m, def, 0);
		def = m->value.at[v].def;
	}
	return def && m->op.at[def].kind == OP_SYMMETRIC_VIEW ? v : 0;
}

static void find_returned(struct checker *c)
{
	const struct module *m = c->m;
	for (uint32_t i = 0; i < m->output.n; i++) {
		value_id shown = shown_by(m, m->output.at[i]);
		if (shown)
			c->is_shown[shown] = true;
		else
			c->is_returned[ir_root(m, m->output.at[i])] = true;
	}
	for (uint32_t i = 0; i < m->input.n; i++)
		if (m->value.at[m->input.at[i].value].flags & VALUE_INOUT)
			c->is_returned[m->input.at[i].value] = true;
}

/* Returns the first statement of a body that names a stream by an index; 0: none. */
static op_id find_set_stream(const struct module *m, region_id body)
{
	region_each (m, op, body)
		if (m->op.at[op].kind == OP_SET_CURRENT_STREAM && op_role_count(m, op, ROLE_SCALAR))
			return op;
	return 0;
}

/* Marks the loops and conditions around a set_stream. */
static void mark_owners(struct checker *c, op_id op)
{
	const struct module *m = c->m;
	for (region_id r = m->op.at[op].parent; m->region.at[r].owner;
	     r = m->op.at[m->region.at[r].owner].parent)
		c->names_stream[m->region.at[r].owner] = true;
}

static void find_statements(struct checker *c)
{
	for (op_id op = ir_walk_first(c->m); op; op = ir_walk(c->m, op)) {
		c->is_symmetric |= c->m->op.at[op].kind == OP_SYMMETRIC_VIEW;
		if (c->m->op.at[op].kind == OP_SET_CURRENT_STREAM)
			mark_owners(c, op);
		if (c->m->op.at[op].kind == OP_FOR)
			c->set_stream[op] = find_set_stream(c->m, c->m->op.at[op].region);
		for (unsigned k = 0; c->m->op.at[op].kind == OP_SHARE_MEM_HANDLES &&
		                     k < op_role_count(c->m, op, ROLE_STATEMENT);
		     k++)
			c->is_shared[op_operand_id(c->m, op, ROLE_STATEMENT, k)] = true;
	}
}

/* Fills slices_of. */
static void find_slices(struct checker *c)
{
	uint32_t n = c->m->type.n;
	if (!c->is_symmetric)
		return;
	c->slices_of = arena_new_array(c->arena, domain_id, n);
	for (type_id k = 1; k < n; k++) {
		type_id t = k, next;
		while ((next = infer_symmetric(c->m, t, -1)))
			t = next;
		c->slices_of[k] = ir_type(c->m, t)->domain;
	}
}

/* Walks a rank for all ranks for which it stands. */
static void walk_for(struct checker *c, int64_t rank)
{
	c->weight = 1;
	c->rank_now = rank;
	for (int64_t r = rank + 1; c->symmetry && r < c->o->ranks; r++)
		c->weight += c->symmetry->least[r] == rank;
	check_rank(c, rank);
}

enum finding {
	FOUND_NOTHING,
	FOUND_ALIKE, /* each rank walked and the ranks for which it stands have the same errors */
	FOUND_OTHER, /* the ranks for which others stand may have other errors */
};

static enum finding finding_of(const struct checker *c)
{
	if (c->asymmetric || c->status == CHECK_UNKNOWN || (c->reported.n && c->unlike))
		return FOUND_OTHER;
	return c->reported.n || c->status != CHECK_CLEAN ? FOUND_ALIKE : FOUND_NOTHING;
}

/* Checks by walking all ranks, or those that stand for the others. */
static enum check_status check_ranks(struct module *m, struct diag *d, const struct check_options *o,
                                     struct symmetry *symmetry, struct check_result *out, enum finding *found)
{
	struct checker c = {.m = m,
	                    .d = d,
	                    .o = o,
	                    .symmetry = symmetry,
	                    .result = out,
	                    .most = o->work,
	                    .arena = arena_new()};
	memset(out, 0, sizeof *out);
	out->ranks = o->ranks;
	parts_init(&c.parts);
	spreads_init(&c.spreads);
	walk_program_open(&c.walk_program, m, o->ranks);
	vec_push(&c.channel, (struct channel){0});
	vec_push(&c.arrival, (struct arrival){0});
	vec_push(&c.known, (struct known_spread){0});
	vec_push(&c.iteration, (struct iteration){0});
	c.set_stream = arena_new_array(c.arena, op_id, m->op.n);
	c.names_stream = arena_new_array(c.arena, bool, m->op.n);
	c.is_shared = arena_new_array(c.arena, bool, m->op.n);
	c.is_returned = arena_new_array(c.arena, bool, m->value.n);
	c.is_shown = arena_new_array(c.arena, bool, m->value.n);
	find_statements(&c);
	find_slices(&c);
	find_returned(&c);
	for (int64_t rank = 0; rank < o->ranks && check_goes_on(&c); rank++)
		if (classes_stands(&c, (uint32_t)rank))
			walk_for(&c, rank);
	if (check_goes_on(&c) && match_end(&c))
		progress_check(&c);
	if (c.status == CHECK_CLEAN && !c.asymmetric)
		for (uint32_t k = 0; k < c.incomplete.n; k++)
			report_incomplete(&c, &c.incomplete.at[k]);
	*found = finding_of(&c);
	for (uint32_t k = 0; k < c.channel.n; k++)
		vec_free(&c.channel.at[k].entry);
	vec_free(&c.channel);
	vec_free(&c.arrival);
	walk_program_close(&c.walk_program);
	vec_free(&c.moves);
	vec_free(&c.known);
	hash_table_free(&c.channels);
	hash_table_free(&c.knowns);
	vec_free(&c.reported);
	vec_free(&c.incomplete);
	vec_free(&c.shift);
	vec_free(&c.iteration);
	progress_free(&c.progress);
	parts_free(&c.parts);
	spreads_free(&c.spreads);
	arena_free(c.arena);
	return c.status;
}

/* Checks by walking the ranks that stand for the others. Returns false if these may have other errors: then
 * the caller walks all ranks. */
static bool check_classes(struct module *m, struct diag *d, const struct check_options *o,
                          struct check_result *out, enum check_status *status)
{
	struct check_options unseen = *o; /* its findings are reported later */
	struct arena *arena = arena_new();
	struct symmetry *s =
	    symmetry_find(&(struct symmetry_frame){.m = m, .ranks = o->ranks, .arena = arena});
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, 0);
	enum finding found = FOUND_OTHER;
	bool again = s;
	unseen.witness = NULL;
	while (again) {
		*status = check_ranks(m, nowhere, &unseen, s, out, &found);
		again = found == FOUND_OTHER && s->broken >= 0 && symmetry_give_up(s);
	}
	if (found == FOUND_ALIKE)
		*status = check_ranks(m, d, o, s, out, &found);
	diag_free(nowhere);
	arena_free(arena);
	return found != FOUND_OTHER;
}

enum check_status check_program(struct module *m, struct diag *d, const struct check_options *o,
                                struct check_result *out)
{
	struct ir_numbers *saved = ir_numbers_save(m);
	enum check_status status = CHECK_CLEAN;
	enum finding found;
	ir_number(m); /* gives nameless values names such as T3 */
	if (o->each || !check_classes(m, d, o, out, &status))
		status = check_ranks(m, d, o, NULL, out, &found);
	if (status == CHECK_CLEAN && recorded_has_classes(m))
		status = check_recorded(m, d, o->ranks, out);
	ir_numbers_restore(m, saved);
	return status;
}
