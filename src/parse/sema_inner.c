/* sema_inner: the layouts of values that a listing does not print.
 *
 *     T1… = clamp(T0…, double(0), double(1))        a = maximum(T0, 0)        nvFuser has no tensor for a
 *                                                   T1 = minimum(a, 1)
 *
 * Such a value is printed as a tensor later. Its layout is open until a pass gives it the one that its neighbours need.
 * Where neither they nor those of a neighbour with an open layout are spread over devices, there is one layout only, and
 * the value has it at once: nvFuser's form has no words for an open layout. Values that print inside a statement stay open, which is how the printer knows them. */
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/print_order.h"
#include "parse/nvfuser.h"
#include <stdlib.h>

/* Returns true if a value is spread over devices or streams. */
static bool is_spread(const struct module *m, value_id v)
{
	const struct domain *d = value_domain(m, v);
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->axis[d->loop[i]].place != PLACE_NONE)
			return true;
	return false;
}

static bool is_value(const struct operand *u)
{
	return u->role == ROLE_READ || u->role == ROLE_WRITE || u->role == ROLE_DEF;
}

static bool is_open(const struct module *m, value_id v)
{
	return (m->value.at[v].flags & VALUE_OPEN) != 0;
}

/* Marks the open values of a statement of which a value is spread, or open and marked. Returns true if one was not
 * marked. */
static bool mark_statement(const struct module *m, op_id op, bool *spread)
{
	const struct op *o = &m->op.at[op];
	const struct operand *use = &m->operand.at[o->operand];
	bool any = false, more = false;
	for (unsigned i = 0; i < o->operand_n; i++)
		any |= is_value(&use[i]) && (spread[use[i].id] || is_spread(m, use[i].id));
	for (unsigned i = 0; i < o->operand_n && any; i++)
		if (is_value(&use[i]) && is_open(m, use[i].id) && !spread[use[i].id])
			more = spread[use[i].id] = true;
	return more;
}

static bool has_open(const struct module *m)
{
	for (value_id v = 1; v < m->value.n; v++)
		if (is_open(m, v))
			return true;
	return false;
}

void nv_close_layouts(struct nv_reader *r)
{
	struct module *m = r->s->m;
	struct print_order order;
	if (!has_open(m))
		return;
	bool more = true, *spread = mem_zalloc(m->value.n);
	VEC(op_id) all = {0};
	for (op_id o = ir_walk_first(m); o; o = ir_walk(m, o))
		vec_push(&all, o);
	while (more) { /* forward and backward, so that chains take one turn */
		more = false;
		for (uint32_t i = 0; i < all.n; i++)
			more |= mark_statement(m, all.at[i], spread);
		for (uint32_t i = all.n; i-- > 0;)
			more |= mark_statement(m, all.at[i], spread);
	}
	vec_free(&all);
	print_order_make(m, &order);
	for (value_id v = 1; v < m->value.n; v++)
		if (!spread[v] && !order.term[v])
			m->value.at[v].flags &= ~(uint32_t)VALUE_OPEN;
	print_order_free(&order);
	free(spread);
}
