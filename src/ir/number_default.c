/* number_default: finds names that state a number, and tests if all numbers are in names. */
#include "ir/number.h"
#include "ir/number_axes.h"
#include "ir/print_order.h"
#include <string.h>

/* ---- default names */

/* Writes the name and a NUL to `to`, which must have room for 32 bytes. Returns its length. */
static size_t default_name(char prefix, int32_t number, char *to)
{
	char *end = to;
	if (prefix == 'm')
		end = stpcpy(to, "main");
	else
		*end++ = prefix;
	if (prefix != 'm' || number != 1)
		end = str_put_int(end, number);
	*end = '\0';
	return (size_t)(end - to);
}

void ir_put_default_name(char prefix, int32_t number, struct buf *out)
{
	char text[32];
	buf_putn(out, text, default_name(prefix, number, text));
}

bool ir_is_default_name(const struct module *m, name_id name, char prefix, int32_t number)
{
	char text[32];
	const char *given = names_text(m->names, name);
	if (!name)
		return true;
	if (*given != prefix)
		return false;
	default_name(prefix, number, text);
	return !strcmp(given, text);
}

/* ---- defaults */

static bool hide(const struct module *m, name_id name, char prefix, int32_t *number, bool forget)
{
	if (*number == -1 || ir_is_default_name(m, name, prefix, *number))
		return false;
	if (forget)
		*number = -1;
	return true;
}

/* Returns true if the concise surface omits some numbers. forget: removes these. */
static bool any_hidden(struct module *m, bool forget)
{
	bool any = false;
	for (value_id v = 1; v < m->value.n; v++) {
		struct value *x = &m->value.at[v];
		any |= x->axis_base != -1;
		any |= hide(m, x->name, 'T', &x->number, forget);
		if (forget)
			x->axis_base = -1;
	}
	for (param_id p = 1; p < m->param.n; p++)
		any |= hide(m, m->param.at[p].name, 'i', &m->param.at[p].number, forget);
	for (index_id i = 1; i < m->index.n; i++)
		any |= hide(m, m->index.at[i].name, 'i', &m->index.at[i].number, forget);
	for (handle_id h = 1; h < m->handle.n; h++)
		any |= hide(m, m->handle.at[h].name, 'm', &m->handle.at[h].number, forget);
	for (op_id o = 1; o < m->op.n; o++)
		any |= hide(m, m->op.at[o].name, 'c', &m->op.at[o].number, forget);
	return any;
}

bool ir_has_nameless(const struct module *m)
{
	for (value_id v = 1; v < m->value.n; v++)
		if (!m->value.at[v].name)
			return true;
	for (param_id p = 1; p < m->param.n; p++)
		if (!m->param.at[p].name)
			return true;
	for (index_id i = 1; i < m->index.n; i++)
		if (!m->index.at[i].name)
			return true;
	for (handle_id h = 1; h < m->handle.n; h++)
		if (!m->handle.at[h].name)
			return true;
	for (op_id o = 1; o < m->op.n; o++)
		if (!m->op.at[o].name && m->op.at[o].flags & OP_ASYNC)
			return true;
	for (uint32_t k = 0; k < m->operand.n; k++)
		if (m->operand.at[k].role == ROLE_STATEMENT && !m->op.at[m->operand.at[k].id].name)
			return true;
	return false;
}

struct number_list {
	VEC(int32_t) number;
};

/* Lists all numbers of a program. */
static struct number_list list_numbers(struct module *m, const struct print_order *o)
{
	struct number_list l = {0};
	for (uint32_t i = 0; i < o->value.n; i++) {
		value_id v = o->value.at[i];
		vec_push(&l.number, m->value.at[v].number);
		for (unsigned a = 0; a < value_domain(m, v)->axis_n; a++)
			vec_push(&l.number, ir_axis_number(m, v, a));
	}
	for (uint32_t i = 0; i < o->scalar.n; i++)
		vec_push(&l.number, *print_order_scalar_number(m, o->scalar.at[i]));
	for (uint32_t i = 0; i < o->handle.n; i++)
		vec_push(&l.number, m->handle.at[o->handle.at[i]].number);
	for (uint32_t i = 0; i < o->numbered.n; i++)
		vec_push(&l.number, m->op.at[o->numbered.at[i]].number);
	return l;
}

bool ir_numbers_are_default(struct module *m)
{
	if (!any_hidden(m, false)) /* most programs state no numbers */
		return true;
	for (value_id v = 1; v < m->value.n; v++)
		if (number_has_broadcast(m, v))
			return false;
	struct ir_numbers *before = ir_numbers_save(m);
	struct print_order o;
	print_order_make(m, &o);
	ir_number_in_order(m, &o);
	struct number_list stated = list_numbers(m, &o);
	any_hidden(m, true);
	ir_number_in_order(m, &o);
	struct number_list anew = list_numbers(m, &o);
	bool same = stated.number.n == anew.number.n &&
	            !memcmp(stated.number.at, anew.number.at, sizeof *anew.number.at * anew.number.n);
	vec_free(&stated.number);
	vec_free(&anew.number);
	print_order_free(&o);
	ir_numbers_restore(m, before);
	return same;
}
