/* print_experts: see the header. */
#include "ir/print_experts.h"
#include "base/diag.h"
#include "ir/build.h"
#include "ir/infer.h"
#include "ir/unit.h"
#include <string.h>

enum { ROWS, EXPERTS, WEIGHTS, SOURCES, TO, FROM, RESULTS };

struct experts {
	struct module *m;
	unsigned dispatches;
	uint32_t *uses; /* by value: reads, writes, frees, and 1 for an output */
};

static bool is_experts(const struct module *m, op_id op)
{
	return m->op.at[op].kind == OP_DISPATCH || m->op.at[op].kind == OP_COMBINE;
}

/* Returns true if a dispatch or combine stands in the regions of a statement. */
static bool holds_experts(const struct module *m, op_id op)
{
	for (region_id r = m->op.at[op].region; r; r = m->region.at[r].sibling)
		region_each (m, inner, r)
			if (is_experts(m, inner) || holds_experts(m, inner))
				return true;
	return false;
}

/* Returns the combine that follows a dispatch in its region, or 0. *clear: no other dispatch or combine, and none in
 * a loop, stands before it. */
static op_id find_combine(const struct module *m, op_id dispatch, bool *clear)
{
	op_id op = m->op.at[dispatch].next;
	*clear = true;
	for (; op && !is_experts(m, op); op = m->op.at[op].next)
		*clear &= !holds_experts(m, op);
	return op && m->op.at[op].kind == OP_COMBINE ? op : 0;
}

/* Returns true if the attributes of a statement are what nvFuser prints: n, and perhaps a backend. */
static bool has_plain_attrs(const struct module *m, op_id op, uint32_t n)
{
	const struct attr *backend = op_attr(m, op, "backend");
	return m->attrs.at[m->op.at[op].attrs].n == n + (backend != NULL) &&
	       (!backend || backend->kind == ATTR_NAME);
}

static bool is_in_unit(const struct module *m, op_id op)
{
	for (; op; op = m->region.at[m->op.at[op].parent].owner)
		if (op_is_unit(m, op))
			return true;
	return false;
}

/* Returns true if a result that is printed nowhere is as the reader makes it. */
static bool is_by_rule(struct experts *e, op_id op, unsigned k)
{
	struct module *m = e->m;
	value_id v = op_result(m, op, k), operand[3];
	for (unsigned i = 0; i < 3; i++)
		operand[i] = op_read(m, op, i);
	const struct infer_draft draft = {.kind = OP_DISPATCH,
	                                  .operand_n = 3,
	                                  .operand = operand,
	                                  .attrs = m->op.at[op].attrs,
	                                  .result = k,
	                                  .result_n = RESULTS,
	                                  .first = m->value.at[op_result(m, op, ROWS)].type};
	struct diag *silent = diag_new(NULL, DIAG_TEXT, COLOR_NEVER);
	type_id type = infer_type(m, silent, &draft);
	diag_free(silent);
	return !m->value.at[v].name && type == m->value.at[v].type;
}

/* Returns true if the reader finds the results k of a dispatch that `combine` uses `by` times. */
static bool is_found(struct experts *e, op_id op, unsigned k, unsigned by)
{
	uint32_t uses = e->uses[op_result(e->m, op, k)];
	if (!uses || k >= TO)
		return uses == by && is_by_rule(e, op, k);
	return uses == by || e->dispatches == 1;
}

static bool is_short(struct experts *e, op_id op)
{
	const struct module *m = e->m;
	bool clear;
	op_id combine = find_combine(m, op, &clear);
	if (m->op.at[op].def_n != RESULTS || !op_attr(m, op, "num_experts") || !has_plain_attrs(m, op, 1) ||
	    is_in_unit(m, op))
		return false;
	if (combine && op_read(m, combine, 2) != op_result(m, op, SOURCES))
		combine = 0;
	if (combine &&
	    (!clear || !has_plain_attrs(m, combine, 0) || op_read(m, combine, 3) != op_result(m, op, TO) ||
	     op_read(m, combine, 4) != op_result(m, op, FROM)))
		return false;
	bool own_weights = combine && op_read(m, combine, 1) == op_result(m, op, WEIGHTS);
	return is_found(e, op, EXPERTS, 0) && is_found(e, op, WEIGHTS, own_weights) &&
	       is_found(e, op, SOURCES, combine != 0) && is_found(e, op, TO, combine != 0) &&
	       is_found(e, op, FROM, combine != 0);
}

static void count_uses(struct experts *e)
{
	struct module *m = e->m;
	for (op_id op = 1; op < m->op.n; op++) {
		if (!m->op.at[op].parent || m->op.at[op].flags & OP_DEAD)
			continue;
		for (unsigned i = 0; i < m->op.at[op].operand_n; i++) {
			const struct operand *p = ir_operand(m, op, i);
			if (p->role == ROLE_READ || p->role == ROLE_WRITE || p->role == ROLE_FREE)
				e->uses[p->id]++;
		}
	}
	for (uint32_t i = 0; i < m->output.n; i++)
		e->uses[m->output.at[i]]++;
}

void print_experts_find(struct module *m, struct print_order *o)
{
	struct experts e = {.m = m};
	for (op_id op = 1; op < m->op.n; op++)
		e.dispatches += m->op.at[op].kind == OP_DISPATCH && m->op.at[op].parent &&
		                !(m->op.at[op].flags & OP_DEAD);
	if (!e.dispatches)
		return;
	e.uses = mem_zalloc(sizeof *e.uses * m->value.n);
	count_uses(&e);
	for (op_id op = 1; op < m->op.n; op++) {
		if (m->op.at[op].kind != OP_DISPATCH || !m->op.at[op].parent ||
		    m->op.at[op].flags & OP_DEAD || !is_short(&e, op))
			continue;
		for (unsigned k = EXPERTS; k < RESULTS; k++)
			o->term[op_result(m, op, k)] = k >= TO || !e.uses[op_result(m, op, k)];
	}
	free(e.uses);
}

bool print_experts_is_short(const struct module *m, const struct print_order *o, op_id op)
{
	value_id counts = m->op.at[op].kind == OP_DISPATCH  ? op_result(m, op, TO)
	                  : m->op.at[op].kind == OP_COMBINE ? op_read(m, op, 3)
	                                                    : 0;
	return counts && o->term[counts];
}
