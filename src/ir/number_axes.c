/* number_axes: handles axis numbers that are consecutive or in lists. */
#include "ir/number_axes.h"
#include "ir/number.h"
#include <string.h>

/* ---- keeping */

const int32_t *number_axis_list(const struct module *m, value_id v)
{
	int32_t base = m->value.at[v].axis_base;
	if (base > -2)
		return NULL;
	const int32_t *list = &m->axis_ids.at[-(base + 2)];
	/* the domain may have changed since */
	return (domain_id)list[0] == value_type(m, v)->domain ? list + 1 : NULL;
}

static bool in_loop(const struct domain *d, unsigned axis)
{
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->loop[i] == axis)
			return true;
	return false;
}

/* Returns the plain loop axis that gets its number together with parallel axis `outer`: the other half
 * of its split or, for a partial axis, the rf reduction of the same rank. -1: none. */
static int find_paired_axis(const struct domain *d, unsigned outer)
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

void number_axis_places(const struct domain *d, uint8_t *place)
{
	uint8_t n = 0;
	memset(place, NUMBER_NO_PLACE, d->axis_n);
	for (unsigned i = 0; i < d->loop_n; i++) {
		unsigned x = d->loop[i];
		if (place[x] != NUMBER_NO_PLACE)
			continue;
		int inner = find_paired_axis(d, x);
		place[x] = n++;
		if (inner >= 0 && place[inner] == NUMBER_NO_PLACE)
			place[inner] = n++;
	}
}

/* Returns the number of an entry of a list. */
static int32_t plain_number(int32_t entry)
{
	return entry < 0 ? entry : entry & ~NUMBER_BROADCAST;
}

/* Lists the entries of all axes of v; -1: the axis has no number. */
static void all_numbers(const struct module *m, value_id v, int32_t *number)
{
	const struct domain *d = value_domain(m, v);
	const int32_t *list = number_axis_list(m, v);
	int32_t base = m->value.at[v].axis_base;
	uint8_t place[IR_MAX_AXES];
	if (list) {
		memcpy(number, list, sizeof *number * d->axis_n);
		return;
	}
	number_axis_places(d, place);
	for (unsigned a = 0; a < d->axis_n; a++)
		number[a] = base >= 0 && place[a] != NUMBER_NO_PLACE ? base + place[a] : -1;
}

int32_t ir_axis_number(const struct module *m, value_id v, unsigned a)
{
	int32_t number[IR_MAX_AXES];
	all_numbers(m, v, number);
	return plain_number(number[a]);
}

bool ir_axis_is_broadcast(const struct module *m, value_id v, unsigned a)
{
	const int32_t *list = number_axis_list(m, v);
	return list && list[a] >= 0 && list[a] & NUMBER_BROADCAST;
}

bool number_has_broadcast(const struct module *m, value_id v)
{
	const int32_t *list = number_axis_list(m, v);
	for (unsigned a = 0; list && a < value_domain(m, v)->axis_n; a++)
		if (list[a] >= 0 && list[a] & NUMBER_BROADCAST)
			return true;
	return false;
}

bool number_axes_are_in_a_row(const struct module *m, value_id v)
{
	const int32_t *list = number_axis_list(m, v);
	if (!list)
		return m->value.at[v].axis_base >= 0;
	const struct domain *d = value_domain(m, v);
	uint8_t place[IR_MAX_AXES];
	number_axis_places(d, place);
	for (unsigned i = 0; i < d->loop_n; i++)
		if (list[d->loop[i]] < 0 || plain_number(list[d->loop[i]]) - place[d->loop[i]] !=
		                                plain_number(list[d->loop[0]]) - place[d->loop[0]])
			return false;
	return true;
}

void ir_set_axis_numbers(struct module *m, value_id v, const int32_t *number)
{
	const int32_t *list = number_axis_list(m, v);
	domain_id d = value_type(m, v)->domain;
	unsigned n = ir_domain(m, d)->axis_n;
	if (list && !memcmp(list, number, sizeof *number * n))
		return;
	m->value.at[v].axis_base = -(int32_t)m->axis_ids.n - 2; /* lists are immutable, see ir_numbers_save */
	vec_push(&m->axis_ids, (int32_t)d);
	for (unsigned i = 0; i < n; i++)
		vec_push(&m->axis_ids, number[i]);
}

/* ---- `ids` of the concise surface */

/* Lists the axes in the order of `ids`. */
static unsigned listed_axes(const struct domain *d, uint8_t *out)
{
	unsigned n = d->loop_n;
	memcpy(out, d->loop, d->loop_n);
	for (unsigned a = 0; a < d->axis_n; a++)
		if (!in_loop(d, a))
			out[n++] = (uint8_t)a;
	return n;
}

void ir_print_axis_numbers(const struct module *m, value_id v, struct buf *out)
{
	const struct domain *d = value_domain(m, v);
	uint8_t axis[IR_MAX_AXES];
	int32_t number[IR_MAX_AXES];
	unsigned n = listed_axes(d, axis);
	all_numbers(m, v, number);
	for (unsigned i = d->loop_n; i < n; i++)
		if (number[axis[i]] < 0)
			n = d->loop_n;
	buf_putc(out, '[');
	for (unsigned i = 0; i < n; i++) {
		buf_puts(out, i ? " " : "");
		if (ir_axis_is_broadcast(m, v, axis[i]))
			buf_putc(out, 'b');
		buf_puti(out, plain_number(number[axis[i]]));
	}
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
		if (list[i] >= 0 && plain_number((int32_t)list[i]) <= NUMBER_MAX)
			number[axis[i]] = (int32_t)list[i];
	ir_set_axis_numbers(m, v, number);
	return true;
}

/* ---- allotting */

static void claim_axis_numbers(const struct module *m, value_id v, struct number_counter *c)
{
	const struct domain *d = value_domain(m, v);
	const int32_t *list = number_axis_list(m, v);
	int32_t base = m->value.at[v].axis_base;
	for (unsigned i = 0; i < d->loop_n && base >= 0; i++)
		number_counter_claim(c, base + (int32_t)i);
	for (unsigned a = 0; a < d->axis_n && list; a++)
		if (list[a] >= 0)
			number_counter_claim(c, plain_number(list[a]));
}

/* Numbers the axes of a value one by one. This is needed if some have numbers already, or if there are
 * not enough consecutive free numbers. */
static void allot_singly(struct module *m, value_id v, struct number_counter *c)
{
	const struct domain *d = value_domain(m, v);
	int32_t number[IR_MAX_AXES];
	all_numbers(m, v, number);
	for (unsigned i = 0; i < d->loop_n; i++) {
		unsigned x = d->loop[i];
		if (number[x] >= 0)
			continue;
		int inner = find_paired_axis(d, x);
		if (inner >= 0 && number[inner] < 0) {
			number[x] = number_counter_take(c, 2);
			number[inner] = number[x] + 1;
		} else {
			number[x] = number_counter_take(c, 1);
		}
	}
	ir_set_axis_numbers(m, v, number);
}

void number_allot_loop_axes(struct module *m, const struct print_order *o, struct number_counter *c)
{
	for (uint32_t i = 0; i < o->value.n; i++)
		claim_axis_numbers(m, o->value.at[i], c);
	number_counter_start(c, 0);
	for (uint32_t i = 0; i < o->value.n; i++) {
		value_id v = o->value.at[i];
		if (m->value.at[v].axis_base >= 0)
			continue;
		int32_t base =
		    number_axis_list(m, v) ? -1 : number_counter_take_next(c, value_domain(m, v)->loop_n);
		if (base >= 0)
			m->value.at[v].axis_base = base;
		else
			allot_singly(m, v, c);
	}
}

void number_allot_block(struct module *m, value_id v, struct number_counter *c)
{
	const struct domain d = *value_domain(m, v);
	int32_t number[IR_MAX_AXES];
	all_numbers(m, v, number);
	for (unsigned pass = 0; pass < 3; pass++) {
		unsigned n = pass == 0 ? d.logical_n : pass == 1 ? d.alloc_n : d.axis_n;
		for (unsigned i = 0; i < n; i++) {
			unsigned x = pass == 1 ? d.alloc[i] : i;
			if (number[x] < 0)
				number[x] = number_counter_take(c, 1);
		}
	}
	ir_set_axis_numbers(m, v, number);
}

void number_forget_block(struct module *m, value_id v)
{
	const struct domain *d = value_domain(m, v);
	int32_t number[IR_MAX_AXES];
	if (m->value.at[v].axis_base >= 0)
		return;
	all_numbers(m, v, number);
	for (unsigned a = 0; a < d->axis_n; a++)
		if (!in_loop(d, a))
			number[a] = -1;
	ir_set_axis_numbers(m, v, number);
}
