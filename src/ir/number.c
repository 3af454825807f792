/* number: counters that skip what is taken. */
#include "ir/number.h"
#include "ir/print_order.h"
#include "ir/printed.h"
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NUMBER = INT32_MAX / 2 }; /* larger ones are not kept, so that counters cannot overflow */

/* ---- counters */

struct counter {
	VEC(int32_t) taken; /* sorted once all stated numbers are in */
	uint32_t at;        /* first of taken that is >= next */
	int32_t next;
};

static int compare_numbers(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

static void counter_start(struct counter *c, int32_t first)
{
	if (c->taken.n)
		qsort(c->taken.at, c->taken.n, sizeof *c->taken.at, compare_numbers);
	c->next = first;
}

/* The smallest of `count` free numbers in a row. */
static int32_t counter_take(struct counter *c, int32_t count)
{
	for (;;) {
		while (c->at < c->taken.n && c->taken.at[c->at] < c->next)
			c->at++;
		if (c->at == c->taken.n || c->taken.at[c->at] >= c->next + count)
			break;
		c->next = c->taken.at[c->at] + 1;
	}
	int32_t first = c->next;
	c->next += count;
	return first;
}

/* ---- axis numbers: m->axis_ids holds, for a value, its domain and then axis_n numbers */

static const int32_t *stored_axes(const struct module *m, value_id v)
{
	int32_t base = m->value.at[v].axis_base;
	if (base > -2)
		return NULL;
	const int32_t *list = &m->axis_ids.at[-(base + 2)];
	/* the domain may have been changed since */
	return (domain_id)list[0] == value_type(m, v)->domain ? list + 1 : NULL;
}

int32_t ir_axis_number(const struct module *m, value_id v, unsigned a)
{
	const int32_t *list = stored_axes(m, v);
	return list ? list[a] : -1;
}

void ir_set_axis_numbers(struct module *m, value_id v, const int32_t *number)
{
	const int32_t *list = stored_axes(m, v);
	domain_id d = value_type(m, v)->domain;
	unsigned n = ir_domain(m, d)->axis_n;
	if (list && !memcmp(list, number, sizeof *number * n))
		return;
	m->value.at[v].axis_base =
	    -(int32_t)m->axis_ids.n - 2; /* lists are never changed: see ir_numbers_save */
	vec_push(&m->axis_ids, (int32_t)d);
	for (unsigned i = 0; i < n; i++)
		vec_push(&m->axis_ids, number[i]);
}

/* The axes as `ids` lists them. */
static unsigned listed_axes(const struct domain *d, uint8_t *out)
{
	unsigned n = d->loop_n;
	memcpy(out, d->loop, d->loop_n);
	for (unsigned a = 0; a < d->axis_n; a++)
		if (!memchr(d->loop, (int)a, d->loop_n))
			out[n++] = (uint8_t)a;
	return n;
}

void ir_print_axis_numbers(const struct module *m, value_id v, struct buf *out)
{
	const struct domain *d = value_domain(m, v);
	uint8_t axis[IR_MAX_AXES];
	unsigned n = listed_axes(d, axis);
	for (unsigned i = d->loop_n; i < n; i++)
		if (ir_axis_number(m, v, axis[i]) < 0)
			n = d->loop_n;
	buf_putc(out, '[');
	for (unsigned i = 0; i < n; i++)
		buf_printf(out, i ? " %d" : "%d", (int)ir_axis_number(m, v, axis[i]));
	buf_putc(out, ']');
}

bool ir_read_axis_numbers(struct module *m, value_id v, const int64_t *list, unsigned n)
{
	const struct domain *d = value_domain(m, v);
	uint8_t axis[IR_MAX_AXES];
	int32_t number[IR_MAX_AXES];
	if (n != d->loop_n && n != d->axis_n)
		return false;
	memset(number, -1, sizeof number);
	listed_axes(d, axis);
	for (unsigned i = 0; i < n; i++)
		if (list[i] >= 0 && list[i] <= MAX_NUMBER)
			number[axis[i]] = (int32_t)list[i];
	ir_set_axis_numbers(m, v, number);
	return true;
}

/* ---- allotting */

/* The number in a default name: T3, i3, c3, main3; -1 for other names. */
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
	return *s || n > MAX_NUMBER ? -1 : (int32_t)n;
}

struct allot {
	struct module *m;
	struct print_order order;
	struct counter value, scalar, axis, handle, statement;
};

static int32_t *scalar_number(struct module *m, uint32_t s)
{
	return s & PRINT_ORDER_INDEX ? &m->index.at[s & ~PRINT_ORDER_INDEX].number : &m->param.at[s].number;
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

/* Loops that follow one another may share a number, as nvFuser's join loops do, unless the Hirc
 * section must tell them apart. */
static bool may_share(const struct module *m, const uint8_t *kind_stated, uint32_t a, uint32_t b)
{
	if (!(a & b & PRINT_ORDER_INDEX))
		return false;
	index_id i = a & ~PRINT_ORDER_INDEX, k = b & ~PRINT_ORDER_INDEX;
	return !kind_stated[i] && !kind_stated[k] && m->index.at[i].name == m->index.at[k].name;
}

/* Notes the stated numbers; of two things with one number the later loses it. */
static void claim_scalars(struct allot *a)
{
	struct module *m = a->m;
	uint8_t *kind_stated = mem_zalloc(m->index.n);
	for (uint32_t i = 0; i < a->order.loop.n; i++)
		if (print_order_loop_kind_stated(m, a->order.loop.at[i]))
			kind_stated[m->region.at[m->op.at[a->order.loop.at[i]].region].index] = 1;
	VEC(struct claim) claims = {0};
	for (uint32_t i = 0; i < a->order.scalar.n; i++) {
		int32_t *n = scalar_number(m, a->order.scalar.at[i]);
		if (*n >= 0)
			vec_push(&claims, (struct claim){*n, i, a->order.scalar.at[i]});
	}
	if (claims.n)
		qsort(claims.at, claims.n, sizeof *claims.at, compare_claims);
	for (uint32_t i = 0, first = 0; i < claims.n; i++) {
		if (claims.at[i].number != claims.at[first].number)
			first = i;
		if (i != first && !may_share(m, kind_stated, claims.at[first].thing, claims.at[i].thing))
			*scalar_number(m, claims.at[i].thing) = -1;
		else
			vec_push(&a->scalar.taken, claims.at[i].number);
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

static void claim(struct module *m, char kind, const uint32_t *thing, uint32_t n, struct counter *c)
{
	VEC(struct claim) claims = {0};
	for (uint32_t i = 0; i < n; i++)
		if (*thing_number(m, kind, thing[i]) >= 0)
			vec_push(&claims, (struct claim){*thing_number(m, kind, thing[i]), i, thing[i]});
	if (claims.n)
		qsort(claims.at, claims.n, sizeof *claims.at, compare_claims);
	for (uint32_t i = 0; i < claims.n; i++) {
		if (i && claims.at[i].number == claims.at[i - 1].number)
			*thing_number(m, kind, claims.at[i].thing) = -1;
		else
			vec_push(&c->taken, claims.at[i].number);
	}
	vec_free(&claims);
}

/* Axis numbers are unique in one tensor only as far as a file states them. */
static void claim_axes(struct allot *a)
{
	for (uint32_t i = 0; i < a->order.value.n; i++) {
		value_id v = a->order.value.at[i];
		const int32_t *list = stored_axes(a->m, v);
		for (unsigned k = 0; list && k < value_domain(a->m, v)->axis_n; k++)
			if (list[k] >= 0 && list[k] <= MAX_NUMBER)
				vec_push(&a->axis.taken, list[k]);
	}
}

static bool in_loop(const struct domain *d, unsigned axis)
{
	return memchr(d->loop, (int)axis, d->loop_n) != NULL;
}

/* The plain loop axis that gets its number together with parallel axis `outer`: the other half of
 * its split, or of a partial the rf reduction of the same rank. -1: none. */
static int together(const struct domain *d, unsigned outer)
{
	if (d->axis[outer].place == PLACE_NONE)
		return -1;
	for (unsigned x = 0; x < d->xform_n; x++) {
		const struct xform *f = &d->xform[x];
		if ((f->kind == XFORM_SPLIT_OUTER || f->kind == XFORM_SPLIT_INNER) && f->out[0] == outer)
			return in_loop(d, f->out[1]) && d->axis[f->out[1]].place == PLACE_NONE ? f->out[1]
			                                                                       : -1;
	}
	if (d->axis[outer].kind != AXIS_PARTIAL)
		return -1;
	unsigned before = 0;
	for (unsigned i = 0; i < outer; i++)
		before += d->axis[i].kind == AXIS_PARTIAL;
	for (unsigned i = 0; i < d->logical_n; i++)
		if (d->axis[i].kind == AXIS_REDUCE && d->axis[i].rf && in_loop(d, i) &&
		    d->axis[i].place == PLACE_NONE && before-- == 0)
			return (int)i;
	return -1;
}

static void allot_loop(struct allot *a, value_id v)
{
	const struct domain *d = value_domain(a->m, v);
	int32_t number[IR_MAX_AXES];
	for (unsigned i = 0; i < d->axis_n; i++)
		number[i] = ir_axis_number(a->m, v, i);
	for (unsigned i = 0; i < d->loop_n; i++) {
		unsigned x = d->loop[i];
		if (number[x] >= 0)
			continue;
		int inner = together(d, x);
		if (inner >= 0 && number[inner] < 0) {
			number[x] = counter_take(&a->axis, 2);
			number[inner] = number[x] + 1;
		} else {
			number[x] = counter_take(&a->axis, 1);
		}
	}
	ir_set_axis_numbers(a->m, v, number);
}

/* Axes that only a TransformPrinter block prints, in its order. */
static void allot_block(struct allot *a, value_id v)
{
	const struct domain d = *value_domain(a->m, v);
	int32_t number[IR_MAX_AXES];
	for (unsigned i = 0; i < d.axis_n; i++)
		number[i] = ir_axis_number(a->m, v, i);
	for (unsigned pass = 0; pass < 3; pass++) {
		unsigned n = pass == 0 ? d.logical_n : pass == 1 ? d.alloc_n : d.axis_n;
		for (unsigned i = 0; i < n; i++) {
			unsigned x = pass == 1 ? d.alloc[i] : i;
			if (number[x] < 0)
				number[x] = counter_take(&a->axis, 1);
		}
	}
	ir_set_axis_numbers(a->m, v, number);
}

/* A foreign dump may have stated numbers that hirc never prints. */
static void forget_block(struct module *m, value_id v)
{
	const struct domain *d = value_domain(m, v);
	int32_t number[IR_MAX_AXES];
	for (unsigned a = 0; a < d->axis_n; a++)
		number[a] = in_loop(d, a) ? ir_axis_number(m, v, a) : -1;
	ir_set_axis_numbers(m, v, number);
}

static void allot_things(struct module *m, char kind, const uint32_t *thing, uint32_t n, struct counter *c,
                         int32_t first)
{
	claim(m, kind, thing, n, c);
	counter_start(c, first);
	for (uint32_t i = 0; i < n; i++)
		if (*thing_number(m, kind, thing[i]) < 0)
			*thing_number(m, kind, thing[i]) = counter_take(c, 1);
}

static void state_number(const struct module *m, name_id name, char prefix, int32_t *number)
{
	if (*number < 0 && name)
		*number = number_in_name(m, name, prefix);
	if (*number > MAX_NUMBER)
		*number = -1;
}

/* A name that holds a number states it. */
static void state_numbers(struct module *m, const struct print_order *o)
{
	for (uint32_t i = 0; i < o->value.n; i++)
		state_number(m, m->value.at[o->value.at[i]].name, 'T', &m->value.at[o->value.at[i]].number);
	for (uint32_t i = 0; i < o->scalar.n; i++) {
		uint32_t x = o->scalar.at[i];
		state_number(
		    m, x & PRINT_ORDER_INDEX ? m->index.at[x & ~PRINT_ORDER_INDEX].name : m->param.at[x].name,
		    'i', scalar_number(m, x));
	}
	for (uint32_t i = 0; i < o->handle.n; i++)
		state_number(m, m->handle.at[o->handle.at[i]].name, 'm',
		             &m->handle.at[o->handle.at[i]].number);
	for (uint32_t i = 0; i < o->numbered.n; i++)
		state_number(m, m->op.at[o->numbered.at[i]].name, 'c', &m->op.at[o->numbered.at[i]].number);
}

static void avoid(const struct module *m, name_id name, char prefix, struct counter *c)
{
	int32_t n = name ? number_in_name(m, name, prefix) : -1;
	if (n >= 0)
		vec_push(&c->taken, n);
}

/* In the concise surface a tensor hides a scalar of its name where an operand stands, and scalars and
 * streams share one name space: a default name must not be one that a thing of another kind has. */
static void avoid_names(struct allot *a)
{
	const struct module *m = a->m;
	const struct print_order *o = &a->order;
	for (uint32_t i = 0; i < o->value.n; i++)
		avoid(m, m->value.at[o->value.at[i]].name, 'i', &a->scalar);
	for (uint32_t i = 0; i < o->scalar.n; i++) {
		uint32_t x = o->scalar.at[i];
		name_id name = x & PRINT_ORDER_INDEX ? m->index.at[x & ~PRINT_ORDER_INDEX].name : m->param.at[x].name;
		avoid(m, name, 'T', &a->value);
		avoid(m, name, 'm', &a->handle);
	}
	for (uint32_t i = 0; i < o->handle.n; i++)
		avoid(m, m->handle.at[o->handle.at[i]].name, 'i', &a->scalar);
}

void ir_number(struct module *m)
{
	struct allot a = {.m = m};
	print_order_make(m, &a.order);
	state_numbers(m, &a.order);
	avoid_names(&a);
	const struct print_order *o = &a.order;
	allot_things(m, 'T', o->value.at, o->value.n, &a.value, 0);
	allot_things(m, 'm', o->handle.at, o->handle.n, &a.handle, 1);
	allot_things(m, 'c', o->numbered.at, o->numbered.n, &a.statement, 0);
	claim_scalars(&a);
	counter_start(&a.scalar, 0);
	for (uint32_t i = 0; i < o->scalar.n; i++)
		if (*scalar_number(m, o->scalar.at[i]) < 0)
			*scalar_number(m, o->scalar.at[i]) = counter_take(&a.scalar, 1);
	claim_axes(&a);
	counter_start(&a.axis, 0);
	for (uint32_t i = 0; i < o->value.n; i++)
		allot_loop(&a, o->value.at[i]);
	for (uint32_t i = 0; i < o->value.n; i++)
		if (printed_needs_block(m, o, o->value.at[i]))
			allot_block(&a, o->value.at[i]);
		else
			forget_block(m, o->value.at[i]);
	vec_free(&a.value.taken);
	vec_free(&a.handle.taken);
	vec_free(&a.statement.taken);
	vec_free(&a.scalar.taken);
	vec_free(&a.axis.taken);
	print_order_free(&a.order);
}

/* ---- default names */

void ir_put_default_name(char prefix, int32_t number, struct buf *out)
{
	if (prefix != 'm')
		buf_putc(out, prefix);
	else
		buf_puts(out, "main");
	if (prefix != 'm' || number != 1)
		buf_puti(out, number);
}

bool ir_is_default_name(const struct module *m, name_id name, char prefix, int32_t number)
{
	if (!name)
		return true;
	struct buf b = {0};
	ir_put_default_name(prefix, number, &b);
	bool same = strcmp(b.at, names_text(m->names, name)) == 0;
	buf_free(&b);
	return same;
}

/* ---- defaults */

/* Forgets what the concise surface does not show. */
static void forget_hidden(struct module *m)
{
	for (value_id v = 1; v < m->value.n; v++) {
		m->value.at[v].axis_base = -1;
		if (!ir_is_default_name(m, m->value.at[v].name, 'T', m->value.at[v].number))
			m->value.at[v].number = -1;
	}
	for (param_id p = 1; p < m->param.n; p++)
		if (!ir_is_default_name(m, m->param.at[p].name, 'i', m->param.at[p].number))
			m->param.at[p].number = -1;
	for (index_id i = 1; i < m->index.n; i++)
		if (!ir_is_default_name(m, m->index.at[i].name, 'i', m->index.at[i].number))
			m->index.at[i].number = -1;
	for (handle_id h = 1; h < m->handle.n; h++)
		if (!ir_is_default_name(m, m->handle.at[h].name, 'm', m->handle.at[h].number))
			m->handle.at[h].number = -1;
	for (op_id o = 1; o < m->op.n; o++)
		if (!ir_is_default_name(m, m->op.at[o].name, 'c', m->op.at[o].number))
			m->op.at[o].number = -1;
}

bool ir_numbers_are_default(struct module *m)
{
	struct ir_numbers *before = ir_numbers_save(m);
	ir_number(m);
	/* all numbers as they are, in one list; then all as they would be */
	VEC(int32_t) number = {0};
	struct print_order o;
	print_order_make(m, &o);
	bool same = true;
	for (unsigned pass = 0; pass < 2 && same; pass++) {
		uint32_t at = 0;
#define NUMBER(n)                                                                                            \
	do {                                                                                                 \
		if (!pass)                                                                                   \
			vec_push(&number, (n));                                                              \
		else if (number.at[at++] != (n))                                                             \
			same = false;                                                                        \
	} while (0)
		for (uint32_t i = 0; i < o.value.n; i++) {
			value_id v = o.value.at[i];
			NUMBER(m->value.at[v].number);
			for (unsigned a = 0; a < value_domain(m, v)->axis_n; a++)
				NUMBER(ir_axis_number(m, v, a));
		}
		for (uint32_t i = 0; i < o.scalar.n; i++)
			NUMBER(*scalar_number(m, o.scalar.at[i]));
		for (uint32_t i = 0; i < o.handle.n; i++)
			NUMBER(m->handle.at[o.handle.at[i]].number);
		for (uint32_t i = 0; i < o.numbered.n; i++)
			NUMBER(m->op.at[o.numbered.at[i]].number);
#undef NUMBER
		if (!pass) {
			forget_hidden(m);
			ir_number(m);
		}
	}
	print_order_free(&o);
	vec_free(&number);
	ir_numbers_restore(m, before);
	return same;
}
