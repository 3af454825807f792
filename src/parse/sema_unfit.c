/* sema_unfit: warns of numbers that the dtype of the tensors beside them does not have.
 *
 *     X + 0.5        X of i32: adds 0
 *     B < 300        B of u8: compares with 44 */
#include "base/dtype.h"
#include "parse/sema_call.h"
#include <inttypes.h>
#include <math.h>

/* Returns the dtype that the numbers of a pointwise operation take: that of its last tensor, or of its result. */
static enum dtype taken_dtype(const struct module *m, const struct op *o)
{
	const struct operand *use = m->operand.at + o->operand;
	value_id last = 0, result = 0;
	for (unsigned i = 0; i < o->operand_n; i++)
		if (use[i].role == ROLE_READ)
			last = use[i].id;
		else if (use[i].role != ROLE_SCALAR)
			result = use[i].id;
	return (enum dtype)m->type.at[m->value.at[last && o->kind != OP_WHERE ? last : result].type].dtype;
}

/* Returns true if the dtype has the number, or if its value is not known yet. */
static bool fits(const struct module *m, const struct scalar *x, enum dtype t, double *number)
{
	int64_t whole;
	if (x->expr && !expr_is_const(m, x->expr, &whole))
		return true;
	*number = x->expr ? (double)whole : x->literal;
	if (isinf(*number)) /* taken as the least or the largest number */
		return true;
	if (!x->expr && !(*number == trunc(*number) && *number >= -0x1p63 && *number < 0x1p63))
		return false;
	whole = x->expr ? whole : (int64_t)*number;
	return whole >= dtype_least(t) && whole <= dtype_most(t);
}

void sema_warn_unfit(struct sema *s, op_id op, uint32_t at)
{
	const struct module *m = s->m;
	const struct op *o = &m->op.at[op];
	if (!(op_info[o->kind].traits & TRAIT_POINTWISE))
		return;
	enum dtype t = taken_dtype(m, o);
	double number;
	if (!dtype_is_integer(t))
		return;
	for (unsigned i = 0; i < o->operand_n; i++) {
		const struct operand *use = &m->operand.at[o->operand + i];
		if (use->role != ROLE_SCALAR || fits(m, &m->scalar.at[use->id], t, &number))
			continue;
		if (isnan(number) || (fabs(number) < 0x1p31 && number != trunc(number)))
			diag_warning(s->d, W_NUMBER_UNFIT, at, "%s: %s has no number %g: it becomes %g",
			             op_info[o->kind].hir, dtype_name(t), number,
			             isnan(number) ? 0 : trunc(number) + 0.0);
		else
			diag_warning(s->d, W_NUMBER_UNFIT, at,
			             "%s: %s has no number %.17g, only those from %" PRId64 " to %" PRId64,
			             op_info[o->kind].hir, dtype_name(t), number, dtype_least(t),
			             dtype_most(t));
	}
}
