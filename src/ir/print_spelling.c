/* print_spelling: prints operations that nvFuser spells in its own way, if that tells all about them.
 *
 *     Set.Permute( T0…, cache_op=Streaming )      permute(T0…, dims=(1, 0)): the numbers of the axes tell dims
 *     broadcast( T0…, flags = {true, false} )     reshape(T0…) that adds axes of one element
 *     squeeze( T0…, flags = {true, false} )       reshape(T0…) that drops them
 *
 * src/parse/sema_spelling.c reads these forms, and more. */
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/print_nvfuser.h"

/* Returns true if the numbers of the result's axes tell the permutation, as nvFuser numbers them. */
static bool numbers_tell_permutation(const struct nvfuser *p, op_id op)
{
	const struct attrs *l = &p->m->attrs.at[p->m->op.at[op].attrs];
	const struct attr *dims = attrs_find(p->m, p->m->op.at[op].attrs, "dims");
	value_id v = op_result(p->m, op, 0);
	const struct domain *d = value_domain(p->m, v);
	if (l->n != 1 || !dims || dims->kind != ATTR_INTS || dims->n != d->loop_n || d->loop_n != d->rank)
		return false;
	for (unsigned i = 0; i < d->loop_n; i++) {
		int64_t rank = 0;
		for (unsigned k = 0; k < d->loop_n; k++)
			rank += ir_axis_number(p->m, v, d->loop[k]) < ir_axis_number(p->m, v, d->loop[i]);
		if (d->loop[i] != i || dims->u.ints[i] != rank)
			return false;
	}
	return true;
}

/* Prints a reshape that only adds or drops axes of one element as nvFuser's broadcast or squeeze. Returns false if it
 * is another one. */
static bool put_flags(struct nvfuser *p, op_id op)
{
	value_id in = op_read(p->m, op, 0), out = op_result(p->m, op, 0);
	const struct domain *x = value_domain(p->m, in), *y = value_domain(p->m, out);
	bool adds = y->rank > x->rank, flag[IR_MAX_LOGICAL];
	const struct domain *longer = adds ? y : x, *shorter = adds ? x : y;
	unsigned k = 0;
	if (p->m->op.at[op].attrs || x->rank == y->rank)
		return false;
	for (unsigned i = 0; i < longer->rank; i++) {
		flag[i] = k == shorter->rank || longer->axis[i].extent != shorter->axis[k].extent;
		if (flag[i] && !expr_is_one(p->m, longer->axis[i].extent))
			return false;
		k += !flag[i];
	}
	if (k < shorter->rank)
		return false;
	buf_puts(p->out, adds ? "broadcast( " : "squeeze( ");
	nvfuser_tensor(p, in);
	buf_puts(p->out, ", flags = {");
	for (unsigned i = 0; i < longer->rank; i++)
		buf_printf(p->out, "%s%s", i ? ", " : "", flag[i] ? "true" : "false");
	buf_puts(p->out, "} )");
	return true;
}

bool nvfuser_spelling(struct nvfuser *p, op_id op)
{
	enum op_kind kind = (enum op_kind)p->m->op.at[op].kind;
	if (kind == OP_RESHAPE)
		return put_flags(p, op);
	if (kind != OP_PERMUTE || !numbers_tell_permutation(p, op))
		return false;
	buf_puts(p->out, "Set.Permute( ");
	nvfuser_tensor(p, op_read(p->m, op, 0));
	buf_puts(p->out, ", cache_op=Streaming )");
	return true;
}
