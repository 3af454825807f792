/* printed_rule: chooses the rule by which a program is printed, and finds the tensors that need a block.
 *
 *     hirc's rule    a parallel axis numbered n and a plain axis n+1 are halves; a block states all else
 *     by number      as nvFuser prints: printed_numbers.h. Listings without a section `Hirc` are read so
 *
 * A listing that nvFuser printed comes out as it went in: by number, if that needs fewer blocks. */
#include "ir/edit.h"
#include "ir/infer.h"
#include "ir/memory_order.h"
#include "ir/number.h"
#include "ir/number_axes.h"
#include "ir/permuted.h"
#include "ir/print_order.h"
#include "ir/printed_cover.h"
#include <stdlib.h>

/* Returns true if a domain has only plain logical axes in order. */
static bool is_plain(const struct domain *d)
{
	if (d->xform_n || d->loop_n != d->logical_n || d->alloc_n != d->logical_n)
		return false;
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->loop[i] != i || d->alloc[i] != i || !d->contiguous[i] ||
		    d->axis[i].place != PLACE_NONE || d->axis[i].kind != AXIS_ITER)
			return false;
	return true;
}

static bool is_allocated(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	return def && m->op.at[def].kind == OP_ALLOCATE;
}

static bool is_io(const struct module *m, value_id v)
{
	return m->value.at[v].flags & (VALUE_INPUT | VALUE_OUTPUT | VALUE_INOUT);
}

/* Returns the axes of the loop domain, as a bit set. */
static uint64_t loop_axes(const struct domain *d)
{
	uint64_t set = 0;
	for (unsigned i = 0; i < d->loop_n; i++)
		set |= (uint64_t)1 << d->loop[i];
	return set;
}

bool printed_permutation(const struct module *m, const struct printed_numbers *numbers, op_id op)
{
	const struct attrs *l = &m->attrs.at[m->op.at[op].attrs];
	const struct attr *dims = attrs_find(m, m->op.at[op].attrs, "dims");
	value_id v = op_result(m, op, 0);
	const struct domain *d = value_domain(m, v);
	bool in_loop = d->loop_n == d->rank;
	struct permuted p = {.n = d->rank};
	if (l->n != 1 || !dims || dims->kind != ATTR_INTS || dims->n != d->rank)
		return false;
	uint64_t shown = loop_axes(d);
	for (unsigned i = 0; i < d->rank; i++) {
		p.number[i] = shown >> i & 1 ? ir_axis_number(m, v, i) : -1;
		in_loop &= i < d->loop_n && d->loop[i] == i;
	}
	bool hidden = shown != ((uint64_t)1 << d->rank) - 1;
	if (!in_loop &&
	    (!numbers || (!hidden && d->rank != 2))) /* of two axes one may have been moved to the front */
		return false;
	if (permuted_find(m, &p, value_domain(m, op_read(m, op, 0)), d, numbers) != 1)
		return false;
	for (unsigned i = 0; i < d->rank; i++)
		if (dims->u.ints[i] != p.fitting[i])
			return false;
	return !permuted_is_identity(p.fitting, d->rank); /* nvFuser prints no permute that moves nothing */
}

/* Lists the printed ids of a value. */
static void list_ids(struct module *m, const struct print_order *o, const struct printed_numbers *by_number,
                     value_id v, struct printed_tensor *t)
{
	const struct domain *d = value_domain(m, v);
	uint64_t selected = o->selected[v];
	*t = (struct printed_tensor){
	    .id_n = d->loop_n, .mesh = value_type(m, v)->mesh, .by_number = by_number};
	op_id maker = by_number ? o->maker[v] : 0;
	t->reshaped = maker && m->op.at[maker].kind == OP_RESHAPE;
	t->permuted = maker && !t->reshaped && printed_permutation(m, by_number, maker);
	for (unsigned i = 0; i < d->loop_n; i++) {
		unsigned a = d->loop[i];
		t->id[i] = (struct printed_id){.axis = d->axis[a],
		                               .number = ir_axis_number(m, v, a),
		                               .named = selected >> a & 1,
		                               .product = m->expr.at[d->axis[a].extent].kind == EXPR_MUL};
	}
}

static bool needs_block(struct module *m, const struct print_order *o,
                        const struct printed_numbers *by_number, value_id v)
{
	domain_id id = value_type(m, v)->domain;
	const struct domain d = *ir_domain(m, id);
	struct printed_tensor t;
	if (o->selected[v] & ~loop_axes(&d))
		return true; /* the select names an axis that only a block prints */
	list_ids(m, o, by_number, v, &t);
	t.io = is_io(m, v);
	if (is_allocated(m, v))
		t.size = printed_size(m, &d);
	const char *why;
	return printed_domain(m, &t, &why) != id;
}

static bool needs_block_by_hirc(struct module *m, struct print_order *o, value_id v)
{
	if (o->selected[v] || !number_axes_are_in_a_row(m, v))
		return needs_block(m, o, NULL, v);
	/* the answer depends on the type and these two flags */
	enum { NO = 1, YES };
	uint32_t key = m->value.at[v].type * 4 + is_io(m, v) * 2 + is_allocated(m, v);
	while (o->block.n <= key)
		vec_push(&o->block, 0);
	if (!o->block.at[key])
		o->block.at[key] = needs_block(m, o, NULL, v) ? YES : NO;
	return o->block.at[key] == YES;
}

unsigned printed_reduced_of(struct module *m, const struct print_order *o, value_id v, uint8_t *axis)
{
	struct printed_tensor t;
	value_id whole = ir_unsharded(m, v);
	list_ids(m, o, o->rule == PRINTED_BY_HIRC ? NULL : &o->numbers, whole, &t);
	t.choice = o->choice ? &o->choice[whole] : NULL;
	return printed_reduced(m, &t, axis);
}

bool printed_needs_block(struct module *m, struct print_order *o, value_id v)
{
	if (is_plain(value_domain(m, v)) || o->term[v] || o->rule == PRINTED_BY_ALL_NUMBERS)
		return false;
	if (o->rule == PRINTED_BY_HIRC)
		return needs_block_by_hirc(m, o, v);
	return needs_block(m, o, &o->numbers, v);
}

/* ---- the rule */

/* Returns true if the rules may read the tensor in different ways. */
static bool depends_on_rule(const struct module *m, value_id v)
{
	const struct domain *d = value_domain(m, v);
	for (unsigned i = 0; i < d->loop_n; i++) {
		const struct axis *a = &d->axis[d->loop[i]];
		if (a->place != PLACE_NONE && (a->kind == AXIS_ITER || a->kind == AXIS_REDUCE))
			return true;
	}
	return false;
}

static void collect_numbers(struct module *m, struct print_order *o)
{
	for (uint32_t i = 0; i < o->value.n; i++) {
		value_id v = o->value.at[i];
		if (o->term[v])
			continue;
		const struct domain *d = value_domain(m, v);
		const int32_t *list = number_axis_list(m, v);
		for (unsigned k = 0; k < d->loop_n; k++) /* without a list, the numbers follow each other */
			printed_numbers_add(&o->numbers, list ? ir_axis_number(m, v, d->loop[k])
			                                      : m->value.at[v].axis_base + (int32_t)k);
	}
	printed_numbers_sort(&o->numbers);
}

/* Returns true if tensors that need a block by one rule also need one by the other. hirc: if by hirc's rule, then by
 * number; otherwise the other way round. */
static bool needs_no_more(struct module *m, struct print_order *o, bool hirc)
{
	for (uint32_t i = 0; i < o->value.n; i++) {
		value_id v = o->value.at[i];
		if (o->term[v] || !depends_on_rule(m, v))
			continue;
		if (needs_block_by_hirc(m, o, v) == hirc && needs_block(m, o, &o->numbers, v) != hirc)
			return false;
	}
	return true;
}

struct numbered { /* a value and the number of its tensor */
	int32_t number;
	value_id value;
};

static int compare_numbered(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

/* How a listing without a block would be read by all its numbers. */
enum all_numbers { ALL_UNDECIDED, ALL_OTHERWISE, ALL_THE_SAME };

/* Reads all tensors by all numbers. If that gives their domains, *choice becomes the readings by value. */
static enum all_numbers read_all(struct module *m, struct print_order *o, struct printed_choice **choice)
{
	VEC(struct numbered) of = {0};
	VEC(struct printed_tensor) t = {0};
	bool hidden = false; /* a select names an axis that only a block prints */
	for (uint32_t i = 0; i < o->value.n; i++) {
		value_id v = o->value.at[i];
		if (!o->term[v])
			vec_push(&of, (struct numbered){m->value.at[v].number, v});
		hidden |= !o->term[v] && o->selected[v] & ~loop_axes(value_domain(m, v));
	}
	enum all_numbers found = ALL_UNDECIDED;
	if (of.n && of.n <= PRINTED_COVER_TENSORS && !hidden) {
		qsort(of.at, of.n, sizeof *of.at, compare_numbered);
		struct printed_choice *read = mem_zalloc(2 * of.n * sizeof *read);
		for (uint32_t i = 0; i < of.n; i++) {
			struct printed_tensor x;
			list_ids(m, o, &o->numbers, of.at[i].value, &x);
			x.io = is_io(m, of.at[i].value);
			if (is_allocated(m, of.at[i].value))
				x.size = printed_size(m, value_domain(m, of.at[i].value));
			vec_push(&t, x);
		}
		bool inner;
		if (printed_cover(m, t.at, t.n, &o->numbers, PRINTED_COVER_ALL,
		                  (struct printed_choice *[]){read, read + of.n}, &inner) == 1)
			found = ALL_THE_SAME;
		for (uint32_t i = 0; i < of.n && found == ALL_THE_SAME; i++) {
			const char *why;
			t.at[i].choice = &read[i];
			if (printed_domain(m, &t.at[i], &why) != value_type(m, of.at[i].value)->domain)
				found = ALL_OTHERWISE;
		}
		if (found == ALL_THE_SAME) {
			*choice = mem_zalloc(m->value.n * sizeof **choice);
			for (uint32_t i = 0; i < of.n; i++)
				(*choice)[of.at[i].value] = read[i];
		}
		free(read);
	}
	vec_free(&of);
	vec_free(&t);
	return found;
}

static bool needs_some_block(struct module *m, struct print_order *o)
{
	for (uint32_t i = 0; i < o->value.n; i++)
		if (printed_needs_block(m, o, o->value.at[i]))
			return true;
	return false;
}

/* Returns true if the numbers of all axes tell a permutation that those of its result alone do not. */
static bool numbers_tell_permutation(const struct module *m, const struct print_order *o)
{
	for (uint32_t i = 0; i < o->value.n; i++) {
		op_id maker = o->maker[o->value.at[i]];
		if (maker && m->op.at[maker].kind == OP_PERMUTE && !printed_permutation(m, NULL, maker) &&
		    printed_permutation(m, &o->numbers, maker))
			return true;
	}
	return false;
}

static void choose_rule(struct module *m, struct print_order *o)
{
	bool matters = false;
	for (uint32_t i = 0; i < o->value.n && !matters; i++)
		matters = depends_on_rule(m, o->value.at[i]);
	o->rule = PRINTED_BY_HIRC;
	o->rule_stated = false;
	if (!matters)
		return;
	collect_numbers(m, o);
	bool hirc = needs_no_more(m, o, true), number = needs_no_more(m, o, false);
	o->rule_stated = !number;
	if (number && (!hirc || numbers_tell_permutation(m, o)))
		o->rule = PRINTED_BY_NUMBER;
	if (hirc || number)
		return;
	for (o->numbers.way = PRINTED_AS_OWN; o->numbers.way < PRINTED_WAY_N; o->numbers.way++)
		if (needs_no_more(m, o, false)) {
			o->rule = PRINTED_BY_NUMBER;
			return;
		}
}

/* Returns true if a listing without a section `Hirc` would be read with more slices in some team. */
static bool names_one_slice(struct module *m)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		team_id team = m->op.at[op].team;
		if (team && printed_team_is_slice((enum op_kind)m->op.at[op].kind) &&
		    infer_whole_team(m, value_type(m, op_read(m, op, 0))->mesh, team) != team)
			return true;
	}
	return false;
}

/* Returns true if a listing without a section `Hirc` would be read with another order in memory of v, or of a tensor that
 * v shows. `set`, by value: a collective before needs an order of it. */
static bool reads_other_order(struct module *m, struct print_order *o, value_id v, int axis, bool *set)
{
	for (struct memory_order x = {.axis = axis}; v; v = memory_order_shown(m, v, &x)) {
		type_id own = m->value.at[v].type, read = set[v] ? 0 : memory_order_type(m, own, x);
		set[v] |= axis != MEMORY_NO_AXIS;
		if (!read)
			return false;
		if (read != own)
			return !printed_needs_block(m, o, v);
	}
	return false;
}

static bool reads_other_orders(struct module *m, struct print_order *o)
{
	bool *set = mem_zalloc(m->value.n), other = false;
	int axis;
	for (op_id op = ir_walk_first(m); op && !other; op = ir_walk(m, op))
		other = memory_order_needed(m, op, &axis) &&
		        (reads_other_order(m, o, op_read(m, op, 0), axis, set) ||
		         reads_other_order(m, o, op_result(m, op, 0), axis, set));
	free(set);
	return other;
}

bool printed_team_is_slice(enum op_kind kind)
{
	return op_info[kind].traits & TRAIT_COLLECTIVE && !op_info[kind].scalar[0];
}

void printed_rule_set(struct module *m, struct print_order *o)
{
	choose_rule(m, o);
	if (o->numbers.used.n) {
		struct printed_choice *choice = NULL;
		bool block = needs_some_block(m, o);
		enum all_numbers read = block || !o->rule_stated ? read_all(m, o, &choice) : ALL_UNDECIDED;
		if (block && read == ALL_THE_SAME) {
			o->rule = PRINTED_BY_ALL_NUMBERS;
			o->rule_stated = false;
			o->choice = choice;
			choice = NULL;
		} else if (!block &&
		           read == ALL_OTHERWISE) { /* a tensor that has a block is read by itself */
			o->rule_stated = true;
		}
		free(choice);
	}
	o->rule_stated |= names_one_slice(m) || reads_other_orders(m, o);
}
