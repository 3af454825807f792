/* gate: see gate.h. */
#include "cli/gate.h"
#include "analysis/symmetry.h"
#include "ir/edit.h"
#include "ir/number.h"
#include "plan/plan_accept.h"
#include "values/values.h"
#include <stdlib.h>

struct gate {
	struct module *m;
	struct ir_numbers *numbers; /* saved numbers of m, to restore: the gate may not change m */
	int64_t ranks;
	struct plan_target target;
	uint64_t most, work;        /* most instructions to walk, and those left */
	struct plan_counts *counts; /* by rank; NULL: not wanted */
	struct plan_lists lists;    /* memory of the counts */
	enum plan_verdict *verdict; /* by rank; set for ranks that were asked */
	bool *asked;
};

static void gate_open(struct gate *g, struct module *m, int64_t ranks, int64_t streams, uint64_t work)
{
	*g = (struct gate){.m = m, .ranks = ranks, .most = work, .work = work};
	g->target = (struct plan_target){.streams = streams, .externs = true, .unplaced = true};
	g->counts = mem_zalloc(sizeof *g->counts * (size_t)ranks);
	g->verdict = mem_zalloc(sizeof *g->verdict * (size_t)ranks);
	g->asked = mem_zalloc(sizeof *g->asked * (size_t)ranks);
	g->numbers = ir_numbers_save(m);
	ir_number(m); /* gives nameless values the names that hirc run gives them */
}

static void gate_close(struct gate *g)
{
	for (int64_t r = 0; r < g->ranks; r++)
		plan_counts_free(&g->counts[r]);
	plan_lists_free(&g->lists);
	free(g->counts);
	free(g->verdict);
	free(g->asked);
	ir_numbers_restore(g->m, g->numbers);
}

static enum plan_verdict ask_rank(struct gate *g, int64_t rank, struct diag *d)
{
	struct plan_counts again = {0}; /* for a rank that was asked before, and now reports its errors */
	bool first = !g->asked[rank];
	g->asked[rank] = true;
	g->verdict[rank] = plan_accept(g->m, d, rank, g->ranks, &g->target, &g->work, &g->lists,
	                               first ? &g->counts[rank] : &again);
	plan_counts_free(&again);
	return g->verdict[rank];
}

/* Returns the number of elements that a statement moves; a callback for check_options. */
static bool count_moved(void *gate, int64_t rank, op_id op, uint32_t nth, struct check_moved *out)
{
	struct gate *g = gate;
	if (!g->asked[rank]) {
		struct diag *nowhere = diag_new(NULL, DIAG_TEXT, 0);
		ask_rank(g, rank, nowhere);
		diag_free(nowhere);
	}
	const struct plan_moved *known = plan_counts_get(&g->counts[rank], op, nth);
	if (known)
		*out = (struct check_moved){known->elements, known->has_blocks, known->given, known->taken};
	return known;
}

/* ---- the choice of ranks */

static int64_t count_statements(const struct module *m)
{
	int64_t n = 0;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		n++;
	return n;
}

static bool accepts(struct gate *g, int64_t rank, struct diag *d)
{
	if (g->asked[rank] && g->verdict[rank] != PLAN_REFUSED)
		return true;
	bool accepted = ask_rank(g, rank, d) != PLAN_REFUSED;
	plan_counts_free(&g->counts[rank]);
	return accepted;
}

static bool accepts_all(struct gate *g, struct diag *d)
{
	struct arena *arena = arena_new();
	struct symmetry *s = NULL;
	bool accepted = true;
	if (g->ranks * count_statements(g->m) > GATE_STATEMENTS)
		s = symmetry_find(&(struct symmetry_frame){.m = g->m, .ranks = g->ranks, .arena = arena});
	for (int64_t r = 0; r < g->ranks && accepted; r++)
		if (!s || s->least[r] == r || r == g->ranks - 1)
			accepted = accepts(g, r, d);
	arena_free(arena);
	if (!g->work)
		diag_note(d, DIAG_NOWHERE, "the plan was followed for %llu instructions, not to its end",
		          (unsigned long long)g->most);
	return accepted;
}

bool gate_accepts(struct module *m, struct diag *d, int64_t ranks, int64_t streams)
{
	struct gate g;
	gate_open(&g, m, ranks, streams, GATE_WORK);
	bool accepted = accepts_all(&g, d);
	gate_close(&g);
	return accepted;
}

/* Adds a note about the first extern. */
static void note_extern(const struct module *m, struct diag *d)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		const struct attr *callee = op_attr(m, op, "callee");
		if (m->op.at[op].kind != OP_EXTERN)
			continue;
		diag_note(d, m->op.at[op].at, "hirc run has no kernel for '%s', an extern",
		          callee ? names_text(m->names, callee->u.name) : "extern");
		return;
	}
}

/* Proves the program, with the numbers of elements that the gate's plans move. */
static enum check_status prove_plans(struct gate *g, struct diag *d, const struct check_options *o,
                                     struct check_result *out)
{
	struct check_options with = *o;
	unsigned errors = diag_error_count(d);
	with.moved = count_moved;
	with.plans = g;
	enum check_status status = check_program(g->m, d, &with, out);
	return diag_error_count(d) > errors ? CHECK_WRONG : status;
}

/* Proves the contents of the memory of a program that is ordered, in at most so many steps. A program that takes more
 * keeps the result of the first proof. */
static enum check_status prove_contents(struct module *m, struct diag *d, const struct check_options *o,
                                        uint64_t most, struct check_result *out)
{
	const struct values_options with = {.ranks = o->ranks, .streams = o->streams, .work = most};
	struct values_result found;
	enum values_status status = VALUES_TOO_LONG;
	if ((uint64_t)(out->accesses + out->communications) <= VALUES_MAX_WORK &&
	    (!most || (uint64_t)(out->accesses + out->communications) <= most))
		status = values_prove(m, d, &with, &found);
	switch (status) {
	case VALUES_WRONG:
		return CHECK_WRONG;
	case VALUES_PROVED:
		out->taken_as_written = 0;
		out->trusted = found.trusted;
		out->trusted_n = found.trusted_n;
		break;
	case VALUES_TOO_LONG:
		out->unproved =
		    "this is left out for programs of more than 4194304 accesses and Communications";
		_Static_assert(VALUES_MAX_WORK == 4194304, "the sentence above and hirc-check(1) name it");
		break;
	case VALUES_STOPPED:
		out->unproved = "the ranks wait for each other if each host blocks at its waits";
		break;
	}
	out->too_long = status == VALUES_TOO_LONG;
	return CHECK_CLEAN;
}

enum check_status gate_prove(struct module *m, struct diag *d, const struct check_options *o,
                             struct check_result *out)
{
	struct gate g;
	gate_open(&g, m, o->ranks, o->streams, o->work);
	enum check_status status = prove_plans(&g, d, o, out);
	out->refused = status == CHECK_CLEAN && !accepts_all(&g, d);
	if (out->refused)
		status = CHECK_WRONG;
	else if (status == CHECK_CLEAN)
		status = prove_contents(m, d, o, o->work / GATE_CONTENTS, out);
	gate_close(&g);
	return status;
}

enum check_status gate_check(struct module *m, struct diag *d, const struct check_options *o,
                             struct check_result *out)
{
	struct gate g;
	gate_open(&g, m, o->ranks, o->streams, o->work);
	enum check_status status = prove_plans(&g, d, o, out);
	if ((status == CHECK_CLEAN || status == CHECK_UNKNOWN) && !accepts_all(&g, d))
		status = CHECK_WRONG;
	if (status == CHECK_CLEAN)
		status = prove_contents(m, d, o, 0, out);
	if (status == CHECK_CLEAN)
		note_extern(m, d);
	gate_close(&g);
	return status;
}
