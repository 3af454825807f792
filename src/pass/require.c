/* require: checks the properties that passes require, and reports the statement that lacks one. */
#include "base/str.h"
#include "ir/edit.h"
#include "ir/print.h"
#include "ir/unit.h"
#include "pass/pass.h"
#include "pass/place.h"
#include "pass/reshard.h"
#include <string.h>

/* Returns NULL, or the reason why the statement lacks the property. */
static const char *lacks_sharded(struct module *m, op_id op)
{
	for (unsigned k = 0; k < m->op.at[op].def_n; k++)
		if (m->value.at[op_def(m, op, k)].flags & VALUE_OPEN)
			return "its result has no layout yet";
	return NULL;
}

static const char *lacks_decomposed(struct module *m, op_id op)
{
	struct op_layout l;
	if (!op_layout_read(m, op, &l))
		return NULL;
	return m->op.at[op].def_n ? op_layout_not_local(m, &l) : op_layout_lacks(m, &l, false);
}

static const char *lacks_lowered(struct module *m, op_id op)
{
	struct reshard r;
	if (op_traits(m, op) & TRAIT_COLLECTIVE && !(m->op.at[op].flags & OP_ASYNC) && m->op.at[op].team)
		return "it is no Communication yet";
	if (m->op.at[op].kind != OP_SET || !op_result(m, op, 0))
		return NULL;
	reshard_classify(m, m->value.at[op_read(m, op, 0)].type, m->value.at[op_result(m, op, 0)].type, &r);
	return r.kind == RESHARD_LOCAL ? NULL : "it changes the layout over devices";
}

static const struct {
	unsigned property;
	const char *name;
	const char *(*lacks)(struct module *m, op_id op);
} checks[] = {
    {IR_SHARDED, "sharded", lacks_sharded},
    {IR_DECOMPOSED, "decomposed", lacks_decomposed},
    {IR_LOWERED, "lowered", lacks_lowered},
};
enum { CHECKS = sizeof checks / sizeof *checks };

bool pass_is_lowered(struct module *m, op_id op)
{
	bool lowered = true;
	for (unsigned k = 0; k < CHECKS && lowered; k++)
		lowered = !checks[k].lacks(m, op);
	return lowered;
}

/* Returns the pass that establishes a property. */
static const char *establisher(unsigned property)
{
	for (unsigned i = 0; i < PASS_COUNT; i++)
		if (pass_info[i].establishes & property)
			return pass_info[i].name;
	return "another pass";
}

/* Returns the first statement that lacks one of the properties, and *check, the failed check; 0: none. */
static op_id find_lack(struct module *m, unsigned properties, unsigned *check, const char **why)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		for (*check = 0; *check < CHECKS; ++*check)
			if (properties & checks[*check].property && (*why = checks[*check].lacks(m, op)))
				return op;
	return 0;
}

/* Returns true if units are local: no pass may put communication into one. */
static bool check_units(struct module *m, struct diag *d)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		struct op_layout l;
		if (!ir_unit_of(m, op))
			continue;
		const char *why = op_layout_read(m, op, &l) ? op_layout_not_local(m, &l) : NULL;
		why = why ? why : lacks_lowered(m, op);
		if (!why)
			continue;
		diag_error(d, E_UNIT_RULE, m->op.at[op].at, "a unit moves nothing between devices: %s", why);
		diag_note(d, m->op.at[ir_unit_of(m, op)].at, "the unit begins here");
		return false;
	}
	return true;
}

bool pass_check_requires(struct module *m, struct pass_context *cx)
{
	unsigned check;
	const char *why;
	if (cx->pass->requires & IR_SHARDED && !check_units(m, cx->d))
		return false;
	op_id op = find_lack(m, cx->pass->requires, &check, &why);
	if (!op)
		return true;
	struct buf text = {0};
	ir_print_statement(m, op, &text);
	diag_error(cx->d, E_PASS_REQUIRES, m->op.at[op].at, "%s requires that the program is %s: '%s': %s",
	           cx->pass->name, checks[check].name, text.at, why);
	diag_note(cx->d, DIAG_NOWHERE, "run %s first", establisher(checks[check].property));
	buf_free(&text);
	return false;
}

bool pass_check_establishes(struct module *m, struct pass_context *cx)
{
	unsigned check, properties = cx->pass->establishes;
	const char *why;
	op_id op = find_lack(m, properties, &check, &why);
	if (op) {
		struct buf text = {0};
		ir_print_statement(m, op, &text);
		diag_error(cx->d, E_PASS_ESTABLISHES, m->op.at[op].at,
		           "%s left a program that is not %s: '%s': %s", cx->pass->name, checks[check].name,
		           text.at, why);
		buf_free(&text);
		return false;
	}
	unsigned missing = properties & (IR_BOUND | IR_STREAMED) & ~ir_properties(m);
	if (missing)
		diag_error(cx->d, E_PASS_ESTABLISHES, DIAG_NOWHERE, "%s left a program that is not %s",
		           cx->pass->name, missing & IR_BOUND ? "bound" : "streamed");
	return !missing;
}
