/* number: gives numbers to values and other things, and keeps numbers that names state. */
#include "ir/number.h"
#include "ir/number_axes.h"
#include "ir/number_counter.h"
#include "ir/print_order.h"
#include "ir/printed.h"
#include <string.h>

/* Returns the number in a default name (T3, i3, c3, main3); -1 for other names. */
static int32_t number_in_name(const struct module *m, name_id name, char prefix)
{
	const char *s = names_text(m->names, name);
	if (prefix == 'm' && strncmp(s, "main", 4) == 0)
		s += 3;
	else if (*s != prefix || prefix == 'm')
		return -1;
	if (prefix == 'm' && !s[1])
		return 1;
	int64_t n = 0;
	if (!s[1] || (s[1] == '0' && s[2]))
		return -1;
	for (s++; *s >= '0' && *s <= '9' && n <= INT32_MAX; s++)
		n = n * 10 + (*s - '0');
	return *s || n > NUMBER_MAX ? -1 : (int32_t)n;
}

bool ir_is_scalar_name(const struct module *m, name_id name)
{
	const char *text = name ? names_text(m->names, name) : "";
	return *text && strchr("bdf", *text) && number_in_name(m, name, *text) >= 0;
}

struct claim {
	int32_t number;
	uint32_t order, thing;
};

static int compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* Returns true if two loops may share a number, as loops of nvFuser that follow one another do. They may
 * not if the Hirc section must distinguish them. */
static bool may_share(const struct module *m, const uint8_t *kind_stated, uint32_t a, uint32_t b)
{
	if (!(a & b & PRINT_ORDER_INDEX))
		return false;
	index_id i = a & ~PRINT_ORDER_INDEX, k = b & ~PRINT_ORDER_INDEX;
	return !kind_stated[i] && !kind_stated[k] && m->index.at[i].name == m->index.at[k].name;
}

/* Claims the stated numbers. If two things state the same number, the later one loses it. */
static void claim_scalars(struct module *m, const struct print_order *o, struct number_counter *c)
{
	uint8_t *kind_stated = mem_zalloc(m->index.n);
	for (uint32_t i = 0; i < o->loop.n; i++)
		if (print_order_loop_kind_stated(m, o->loop.at[i]))
			kind_stated[m->region.at[m->op.at[o->loop.at[i]].region].index] = 1;
	VEC(struct claim) claims = {0};
	for (uint32_t i = 0; i < o->scalar.n; i++) {
		int32_t *n = print_order_scalar_number(m, o->scalar.at[i]);
		if (*n >= 0)
			vec_push(&claims, (struct claim){*n, i, o->scalar.at[i]});
	}
	if (claims.n)
		qsort(claims.at, claims.n, sizeof *claims.at, compare_claims);
	for (uint32_t i = 0, first = 0; i < claims.n; i++) {
		if (claims.at[i].number != claims.at[first].number)
			first = i;
		if (i != first && !may_share(m, kind_stated, claims.at[first].thing, claims.at[i].thing))
			*print_order_scalar_number(m, claims.at[i].thing) = -1;
		else
			number_counter_claim(c, claims.at[i].number);
	}
	vec_free(&claims);
	free(kind_stated);
}

static int32_t *thing_number(struct module *m, char kind, uint32_t thing)
{
	switch (kind) {
	case 'T':
		return &m->value.at[thing].number;
	case 'm':
		return &m->handle.at[thing].number;
	default:
		return &m->op.at[thing].number;
	}
}

/* Likewise for one kind of things. Files usually state numbers in order, and then none occurs twice. */
static void claim_numbers(struct module *m, char kind, const uint32_t *thing, uint32_t n,
                          struct number_counter *c)
{
	VEC(struct claim) claims = {0};
	bool rising = true;
	for (uint32_t i = 0; i < n; i++) {
		int32_t number = *thing_number(m, kind, thing[i]);
		if (number < 0)
			continue;
		rising &= !c->taken.n || c->taken.at[c->taken.n - 1] < number;
		number_counter_claim(c, number);
	}
	if (rising)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (*thing_number(m, kind, thing[i]) >= 0)
			vec_push(&claims, (struct claim){*thing_number(m, kind, thing[i]), i, thing[i]});
	qsort(claims.at, claims.n, sizeof *claims.at, compare_claims);
	for (uint32_t i = 1; i < claims.n; i++)
		if (claims.at[i].number == claims.at[i - 1].number)
			*thing_number(m, kind, claims.at[i].thing) = -1;
	vec_free(&claims);
}

static void allot_things(struct module *m, char kind, const uint32_t *thing, uint32_t n,
                         struct number_counter *c, int32_t first)
{
	claim_numbers(m, kind, thing, n, c);
	number_counter_start(c, first);
	for (uint32_t i = 0; i < n; i++)
		if (*thing_number(m, kind, thing[i]) < 0)
			*thing_number(m, kind, thing[i]) = number_counter_take(c, 1);
}

static void allot_scalars(struct module *m, const struct print_order *o, struct number_counter *c)
{
	claim_scalars(m, o, c);
	number_counter_start(c, 0);
	for (uint32_t i = 0; i < o->scalar.n; i++)
		if (*print_order_scalar_number(m, o->scalar.at[i]) < 0)
			*print_order_scalar_number(m, o->scalar.at[i]) = number_counter_take(c, 1);
}

static void allot_axes(struct module *m, struct print_order *o)
{
	struct number_counter c = {.next = 0};
	number_allot_loop_axes(m, o, &c);
	printed_rule_set(m, o);
	for (uint32_t i = 0; i < o->value.n; i++)
		if (printed_needs_block(m, o, o->value.at[i]))
			number_allot_block(m, o->value.at[i], &c);
		else
			number_forget_block(m, o->value.at[i]);
	vec_free(&c.taken);
}

static void state_number(const struct module *m, name_id name, char prefix, int32_t *number)
{
	if (*number < 0 && name)
		*number = number_in_name(m, name, prefix);
	if (*number > NUMBER_MAX)
		*number = -1;
}

/* Sets the numbers that default names contain. */
static void state_numbers(struct module *m, const struct print_order *o)
{
	for (uint32_t i = 0; i < o->value.n; i++)
		state_number(m, m->value.at[o->value.at[i]].name, 'T', &m->value.at[o->value.at[i]].number);
	for (uint32_t i = 0; i < o->scalar.n; i++) {
		uint32_t x = o->scalar.at[i];
		state_number(
		    m, x & PRINT_ORDER_INDEX ? m->index.at[x & ~PRINT_ORDER_INDEX].name : m->param.at[x].name,
		    'i', print_order_scalar_number(m, x));
	}
	for (uint32_t i = 0; i < o->handle.n; i++)
		state_number(m, m->handle.at[o->handle.at[i]].name, 'm',
		             &m->handle.at[o->handle.at[i]].number);
	for (uint32_t i = 0; i < o->numbered.n; i++)
		state_number(m, m->op.at[o->numbered.at[i]].name, 'c', &m->op.at[o->numbered.at[i]].number);
}

/* The counters of ir_number, except that of axes. */
struct allot {
	struct number_counter value, scalar, handle, statement;
};

static void avoid(const struct module *m, name_id name, char prefix, struct number_counter *c)
{
	int32_t n = name ? number_in_name(m, name, prefix) : -1;
	if (n >= 0)
		number_counter_claim(c, n);
}

/* Keeps default names distinct. In the concise surface a tensor hides a scalar of its name where an
 * operand is expected, and scalars and streams share a name space. So a default name must not belong to
 * a thing of another kind. */
static void avoid_names(const struct module *m, const struct print_order *o, struct allot *a)
{
	for (uint32_t i = 0; i < o->value.n; i++)
		avoid(m, m->value.at[o->value.at[i]].name, 'i', &a->scalar);
	for (uint32_t i = 0; i < o->scalar.n; i++) {
		uint32_t x = o->scalar.at[i];
		name_id name =
		    x & PRINT_ORDER_INDEX ? m->index.at[x & ~PRINT_ORDER_INDEX].name : m->param.at[x].name;
		avoid(m, name, 'T', &a->value);
		avoid(m, name, 'm', &a->handle);
	}
	for (uint32_t i = 0; i < o->handle.n; i++)
		avoid(m, m->handle.at[o->handle.at[i]].name, 'i', &a->scalar);
}

void ir_find_names_meet(struct module *m)
{
	bool meet = false;
	uint8_t *number = mem_zalloc(names_count(m->names) + 1);
	for (uint32_t k = 0; k < m->param.n; k++)
		number[m->param.at[k].name] = 1;
	for (uint32_t k = 0; k < m->index.n; k++)
		number[m->index.at[k].name] = 1;
	number[0] = 0;
	for (uint32_t v = 0; v < m->value.n && !meet; v++)
		meet = number[m->value.at[v].name];
	free(number);
	m->names_meet = meet;
}

void ir_number_in_order(struct module *m, struct print_order *o)
{
	struct allot a = {.value.next = 0};
	ir_find_names_meet(m);
	state_numbers(m, o);
	avoid_names(m, o, &a);
	allot_things(m, 'T', o->value.at, o->value.n, &a.value, 0);
	allot_things(m, 'm', o->handle.at, o->handle.n, &a.handle, 1);
	allot_things(m, 'c', o->numbered.at, o->numbered.n, &a.statement, 0);
	allot_scalars(m, o, &a.scalar);
	allot_axes(m, o);
	vec_free(&a.value.taken);
	vec_free(&a.handle.taken);
	vec_free(&a.statement.taken);
	vec_free(&a.scalar.taken);
}

void ir_number(struct module *m)
{
	struct print_order o;
	print_order_make(m, &o);
	ir_number_in_order(m, &o);
	print_order_free(&o);
}
