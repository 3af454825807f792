/* plan_control: carries out the instructions that only change registers. The planner uses it to fold,
 * dry runs to follow a plan, and the executor to run it. */
#ifndef HIRC_PLAN_PLAN_CONTROL_H
#define HIRC_PLAN_PLAN_CONTROL_H
#include "base/checked.h"
#include "base/str.h"
#include "plan/plan.h"

/* kind: enum expr_kind, ADD … NOT (b is ignored). An undefined operand gives PLAN_UNDEFINED; `and` and
 * `or` ignore b if a decides. */
static inline int64_t plan_apply(unsigned kind, int64_t a, int64_t b)
{
	int64_t r;
	if (a == PLAN_UNDEFINED)
		return a;
	if (kind == EXPR_AND || kind == EXPR_OR) {
		if ((a != 0) == (kind == EXPR_OR))
			return a != 0;
		return b == PLAN_UNDEFINED ? b : b != 0;
	}
	if (kind == EXPR_NOT)
		return !a;
	if (b == PLAN_UNDEFINED)
		return b;
	switch (kind) {
	case EXPR_ADD:
		return checked_add(a, b, &r) ? r : PLAN_UNDEFINED;
	case EXPR_SUB:
		return checked_sub(a, b, &r) ? r : PLAN_UNDEFINED;
	case EXPR_MUL:
		return checked_mul(a, b, &r) ? r : PLAN_UNDEFINED;
	case EXPR_DIV:
		return checked_mod(a, b, &r) && r == 0 && checked_floor_div(a, b, &r) ? r : PLAN_UNDEFINED;
	case EXPR_FLOOR_DIV:
		return checked_floor_div(a, b, &r) ? r : PLAN_UNDEFINED;
	case EXPR_CEIL_DIV:
		return checked_ceil_div(a, b, &r) ? r : PLAN_UNDEFINED;
	case EXPR_MOD:
		return checked_mod(a, b, &r) ? r : PLAN_UNDEFINED;
	case EXPR_MIN:
		return a < b ? a : b;
	case EXPR_MAX:
		return a > b ? a : b;
	case EXPR_EQ:
		return a == b;
	case EXPR_NE:
		return a != b;
	case EXPR_LT:
		return a < b;
	case EXPR_LE:
		return a <= b;
	case EXPR_GT:
		return a > b;
	case EXPR_GE:
		return a >= b;
	default:
		return PLAN_UNDEFINED;
	}
}

/* Returns the value that a LET computes. */
static inline int64_t plan_let(const struct plan *p, const struct plan_instruction *i, const int64_t *r)
{
	if (i->op != PLAN_LOOKUP)
		return plan_apply(i->op, r[i->b], r[i->c]);
	const struct plan_table *t = &p->table.at[i->c];
	return r[i->b] >= 0 && r[i->b] < t->n ? (int64_t)t->at[r[i->b]] : PLAN_UNDEFINED;
}

#define PLAN_OUTSIDE "an index is undefined or leads out of a buffer"

/* Returns the reason for which plan_control fails at an instruction. */
static inline const char *plan_failure(const struct plan *p, const struct plan_instruction *i)
{
	switch ((enum plan_code)i->code) {
	case PLAN_CHECK:
		return p->text.at[i->b].text;
	case PLAN_FOR:
		return "the bounds of the loop are undefined";
	case PLAN_IF:
		return "the condition is undefined";
	default:
		return "the stream is undefined";
	}
}

/* Returns the diagnostic number of a failure at an instruction. */
static inline enum diagnostic plan_failure_code(const struct plan *p, const struct plan_instruction *i)
{
	switch ((enum plan_code)i->code) {
	case PLAN_CHECK:
		return p->text.at[i->b].code;
	case PLAN_FOR:
	case PLAN_IF:
	case PLAN_STREAM:
	case PLAN_SYNC:
		return E_VALUE_UNDEFINED;
	default:
		return E_PLAN_CHECK;
	}
}

/* Prints a failure, with the values that its text shows. */
static inline void plan_failure_print(const struct plan *p, const struct plan_instruction *i,
                                      const int64_t *r, const char *why, struct buf *out)
{
	const struct plan_text *t = i->code == PLAN_CHECK ? &p->text.at[i->b] : NULL;
	unsigned k = 0;
	for (const char *c = why; *c; c++)
		if (*c != PLAN_VALUE[0] || !t || k == t->values)
			buf_putc(out, *c);
		else if (r[t->value[k++]] == PLAN_UNDEFINED)
			buf_puts(out, "undefined");
		else
			buf_puti(out, r[t->value[k - 1]]);
}

enum plan_step {
	PLAN_WORK, /* the caller must carry it out */
	PLAN_DONE, /* done; *at is the next instruction */
	PLAN_FAILS /* the rank cannot continue; plan_failure has the reason */
};

/* Carries out the instruction before *at if it only changes loops, conditions and registers. */
static inline enum plan_step plan_control(const struct plan *p, const struct plan_instruction *i, int64_t *r,
                                          uint32_t *at)
{
	bool jumps = false, fails = false;
	switch ((enum plan_code)i->code) {
	case PLAN_LET:
		r[i->a] = plan_let(p, i, r);
		break;
	case PLAN_CHECK:
		fails = r[i->a] == 0 || r[i->a] == PLAN_UNDEFINED;
		break;
	case PLAN_FOR:
		fails = r[i->b] == PLAN_UNDEFINED || r[i->c] == PLAN_UNDEFINED;
		r[i->a] = r[i->b];
		jumps = r[i->b] >= r[i->c];
		break;
	case PLAN_NEXT:
		jumps = ++r[i->a] < r[i->c];
		break;
	case PLAN_IF:
		fails = r[i->a] == PLAN_UNDEFINED;
		jumps = !r[i->a];
		break;
	case PLAN_GOTO:
		jumps = true;
		break;
	case PLAN_STREAM:
	case PLAN_SYNC:
		return i->op && r[i->a] == PLAN_UNDEFINED ? PLAN_FAILS : PLAN_WORK;
	default:
		return PLAN_WORK;
	}
	*at = jumps ? i->to : *at;
	return fails ? PLAN_FAILS : PLAN_DONE;
}

#endif
