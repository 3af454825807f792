/* require: what passes require, checked and reported at the statement that lacks it. */
#include "base/str.h"
#include "ir/edit.h"
#include "ir/print.h"
#include "pass/pass.h"
#include "pass/place.h"
#include "pass/reshard.h"
#include <string.h>

/* NULL, or why the statement lacks the property. */
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
	if (!m->op.at[op].def_n || !op_layout_read(m, op, &l))
		return NULL;
	return op_layout_not_local(m, &l);
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

/* The pass that establishes a property. */
static const char *establisher(unsigned property)
{
	for (unsigned i = 0; i < PASS_COUNT; i++)
		if (pass_info[i].establishes & property)
			return pass_info[i].name;
	return "another pass";
}

bool pass_check_requires(struct module *m, struct pass_context *cx)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		for (unsigned i = 0; i < CHECKS; i++) {
			const char *why = cx->pass->requires & checks[i].property ? checks[i].lacks(m, op) : NULL;
			if (!why)
				continue;
			struct buf text = {0};
			ir_print_statement(m, op, &text);
			diag_error(cx->d, m->op.at[op].at, "%s requires that the program is %s: '%s': %s", cx->pass->name,
				   checks[i].name, text.at, why);
			diag_note(cx->d, DIAG_NOWHERE, "run %s first", establisher(checks[i].property));
			buf_free(&text);
			return false;
		}
	return true;
}
