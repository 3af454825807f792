/* sema_order: the order in memory that nvFuser has given the tensors of a Communication: it gives them the order that the
 * Communication needs (ir/memory_order.h), but a container shows no order in memory. A tensor with a TransformPrinter
 * keeps the order that is stated there. */
#include "base/arena.h"
#include "ir/edit.h"
#include "ir/memory_order.h"
#include "ir/number.h"
#include "ir/number_axes.h"
#include "ir/print.h"
#include "parse/nvfuser.h"
#include <stdlib.h>
#include <string.h>

/* Returns the tensor of the listing that a value is, or NULL. */
static const struct nv_tensor *find_printed(const struct nv_reader *r, value_id v)
{
	for (uint32_t i = 0; i < r->tensor.n; i++)
		if (r->tensor.at[i].value == v)
			return &r->tensor.at[i];
	return NULL;
}

/* Gives a value a type that has the same axes. */
static void set_type(struct module *m, value_id v, type_id t)
{
	int32_t number[IR_MAX_AXES];
	const int32_t *list = number_axis_list(m, v);
	if (list)
		memcpy(number, list, sizeof *list * value_domain(m, v)->axis_n);
	m->value.at[v].type = t;
	if (list)
		ir_set_axis_numbers(m, v, number);
}

/* Makes the axis, if it is one, outermost in the memory of v and of the tensors that it shows, unless an earlier Communication
 * has set another order: `set` is by value_id. A tensor that states this order states it for the others, too. Returns the
 * first tensor of the listing that has another order now and states none, or NULL. */
static const struct nv_tensor *reorder(struct nv_reader *r, value_id v, int axis, bool *set)
{
	struct module *m = r->s->m;
	const struct nv_tensor *changed = NULL;
	bool stated = false;
	for (struct memory_order o = {.axis = axis}; v; v = memory_order_shown(m, v, &o)) {
		const struct nv_tensor *printed = find_printed(r, v);
		type_id before = m->value.at[v].type, t = set[v] ? 0 : memory_order_type(m, before, o);
		set[v] |= axis != MEMORY_NO_AXIS || t != before;
		if (!t || (printed && printed->block && t != before))
			break;
		stated |= printed && printed->block;
		if (!changed && t != before)
			changed = printed;
		set_type(m, v, t);
	}
	return stated ? NULL : changed;
}

static void warn_order(struct nv_reader *r, op_id op, const struct nv_tensor *t, int axis)
{
	const struct module *m = r->s->m;
	const char *name = names_text(m->names, t->name);
	if (axis == MEMORY_NO_AXIS)
		diag_warning(
		    r->s->d, W_PRINTED_ORDER, m->op.at[op].at,
		    "'%s' is read with each stream's block in one place of the memory, as this %s needs it",
		    name, op_info[m->op.at[op].kind].hir);
	else
		diag_warning(r->s->d, W_PRINTED_ORDER, m->op.at[op].at,
		             "'%s' is read with axis %d outermost in memory, as this %s needs it", name, axis,
		             op_info[m->op.at[op].kind].hir);
	diag_note(r->s->d, DIAG_NOWHERE,
	          "nvFuser prints no order in memory in a container; TransformPrinter shows it");
}

void nv_orders(struct nv_reader *r)
{
	struct module *m = r->s->m;
	bool *set = mem_zalloc(m->value.n);
	for (op_id o = ir_walk_first(m); o; o = ir_walk(m, o)) {
		int axis;
		if (!memory_order_needed(m, o, &axis))
			continue;
		value_id from = op_read(m, o, 0), to = op_result(m, o, 0);
		const struct nv_tensor *first = reorder(r, from, axis, set),
		                       *second = reorder(r, to, axis, set);
		if (first || second)
			warn_order(r, o, second ? second : first, axis);
	}
	free(set);
}
