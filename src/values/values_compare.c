/* values_compare: compares the outputs of two programs.
 *
 * Both are walked with one table of terms, so equal facts have equal ids. A source is walked as one rank, if one rank
 * may stand for all. A half-lowered program is walked so, too, and else on all ranks, which then meet at each set that
 * stands for Communications. */
#include "ir/edit.h"
#include "ir/number.h"
#include "ir/print.h"
#include "values/mismatch.h"
#include "values/valuation.h"
#include <string.h>

static bool uses_rank(const struct module *m, op_id op)
{
	const struct op *o = &m->op.at[op];
	for (uint32_t k = 0; k < o->operand_n; k++) {
		const struct operand *x = &m->operand.at[o->operand + k];
		if (x->role == ROLE_SCALAR && m->scalar.at[x->id].expr &&
		    m->expr.at[m->scalar.at[x->id].expr].flags & EXPR_HAS_RANK)
			return true;
	}
	return false;
}

/* No statement may depend on the rank, and none may be a message or a Communication. A pack takes the elements of one rank
 * in the order of its memory. */
bool values_can_be_logical(const struct module *m)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		const struct op *o = &m->op.at[op];
		if (op_info[o->kind].traits & TRAIT_P2P || o->flags & OP_ASYNC ||
		    o->kind == OP_SYMMETRIC_VIEW || o->kind == OP_PACK || o->kind == OP_UNPACK ||
		    uses_rank(m, op))
			return false;
	}
	return true;
}

/* Returns true if a program was not lowered: it has no buffers, loops and conditions. */
static bool is_source(const struct module *m)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		const struct op *o = &m->op.at[op];
		if (op_info[o->kind].form == FORM_HOST || o->kind == OP_FOR || o->kind == OP_IF ||
		    o->kind == OP_ALLOCATE || op_role_count(m, op, ROLE_WRITE))
			return false;
	}
	return values_can_be_logical(m);
}

struct difference {
	value_id output;
	uint32_t rank;
	struct extent box[IR_MAX_LOGICAL];
	fact_id a, b;
	struct mismatch found;
};

struct comparison {
	struct valuation a, b;
	struct difference first;
	struct diag *d;
	const char *name; /* of the other program */
	enum values_relation relation;
};

static void put_index(const struct extent *box, unsigned n, struct buf *out)
{
	buf_putc(out, '[');
	for (unsigned a = 0; a < n; a++)
		buf_printf(out, "%s%lld", a ? ", " : "", (long long)box[a].lo);
	buf_putc(out, ']');
}

/* Reports the first element that differs, else the first that cannot be compared. */
static void report_difference(struct comparison *c, value_id output, uint32_t rank, const struct extent *box,
                              fact_id a, fact_id b)
{
	struct module *m = c->a.m;
	const unsigned n = value_domain(m, output)->rank;
	const struct mismatch found = mismatch_find(c->a.facts, facts_within(c->a.facts, a, box, n),
	                                            facts_within(c->a.facts, b, box, n));
	if (c->relation == VALUES_DIFFERS || (c->relation == VALUES_NOT_RELATED && !found.is_known))
		return;
	c->relation = found.is_known ? VALUES_DIFFERS : VALUES_NOT_RELATED;
	struct difference *d = &c->first;
	*d = (struct difference){.output = output, .rank = rank, .found = found, .a = a, .b = b};
	memcpy(d->box, box, sizeof *box * n);
}

static void put_fact(const struct facts *f, fact_id fact, struct buf *out)
{
	out->n = 0;
	facts_print(f, fact, 3, out);
}

static void print_difference(const struct comparison *c)
{
	const struct difference *x = &c->first;
	struct module *m = c->a.m;
	struct buf text = {0}, fact = {0};
	if (c->relation == VALUES_COMPUTES)
		return;
	buf_puts(&text, "element ");
	put_index(x->box, value_domain(m, x->output)->rank, &text);
	buf_puts(&text, " of the output '");
	ir_print_value_name(m, x->output, &text);
	buf_printf(&text, "' on rank %u ", x->rank);
	if (c->relation == VALUES_DIFFERS)
		diag_error(c->d, E_VALUES_DIFFER, m->value.at[x->output].at,
		           "values: %sdiffers from that of %s", text.at, c->name);
	else
		diag_note(c->d, m->value.at[x->output].at, "%scannot be related to that of %s", text.at,
		          c->name);
	put_fact(c->a.facts, x->a, &fact);
	diag_note(c->d, DIAG_NOWHERE, "here it is %s", fact.at);
	put_fact(c->a.facts, x->b, &fact);
	diag_note(c->d, DIAG_NOWHERE, "in %s it is %s", c->name, fact.at);
	if (x->found.a != x->a && x->found.a && x->found.b) {
		put_fact(c->a.facts, x->found.a, &fact);
		text.n = 0;
		facts_print(c->a.facts, x->found.b, 3, &text);
		diag_note(c->d, DIAG_NOWHERE, "the innermost difference is %s, against %s", fact.at, text.at);
	}
	buf_free(&text);
	buf_free(&fact);
}

/* Joins an output of all ranks of the other program. */
static void join_output(struct valuation *v, value_id output, struct contents *out)
{
	for (uint32_t k = v->rank_n; k-- > 0;) {
		const struct value_view *x = value_view_get(&v->rank[k], output);
		struct contents found = {0};
		out->n = value_domain(v->m, output)->rank;
		if (!x->unknown)
			value_view_read(v, x, true, &found);
		for (uint32_t c = 0; c < found.cell.n; c++)
			contents_write(out, found.cell.at[c].axis, found.cell.at[c].fact);
		vec_free(&found.cell);
	}
}

/* Returns the box of one element. */
static void box_of(const int64_t *index, unsigned n, struct extent *out)
{
	for (unsigned a = 0; a < n; a++)
		out[a] = (struct extent){index[a], index[a] + 1};
}

/* Reads an output of the other program: where both have as many ranks that differ, that of the same rank, else
 * that of any rank that has the element. */
static void read_other(struct comparison *c, value_id output, uint32_t rank, const struct contents *all,
                       const struct extent *box, struct contents *out)
{
	out->n = all->n;
	if (!c->b.is_logical && c->b.rank_n == c->a.rank_n) {
		const struct value_view *x = value_view_get(&c->b.rank[rank], output);
		struct contents own = {0};
		int64_t index[IR_MAX_LOGICAL];
		if (!x->unknown)
			value_view_read(&c->b, x, true, &own);
		own.n = all->n;
		const bool has = contents_cover(&own, box, index);
		if (has)
			contents_read(&own, box, out);
		vec_free(&own.cell);
		if (has)
			return;
	}
	contents_read(all, box, out);
}

/* Compares a box of an output, which has one fact, with the other program. */
static void compare_cell(struct comparison *c, uint32_t i, uint32_t rank, const struct contents *all,
                         const struct cell *cell)
{
	const value_id output = c->a.m->output.at[i];
	struct contents there = {0};
	struct extent at[IR_MAX_LOGICAL];
	int64_t index[IR_MAX_LOGICAL];
	read_other(c, c->b.m->output.at[i], rank, all, cell->axis, &there);
	if (!contents_cover(&there, cell->axis, index)) {
		box_of(index, all->n, at);
		report_difference(c, output, rank, at, cell->fact, FACT_UNKNOWN);
	}
	for (uint32_t k = 0; k < there.cell.n; k++)
		if (!cell->fact || !there.cell.at[k].fact ||
		    valuation_differs(c->a.facts, &there.cell.at[k], cell->fact, all->n))
			report_difference(c, output, rank, there.cell.at[k].axis, cell->fact,
			                  there.cell.at[k].fact);
	vec_free(&there.cell);
}

static void compare_output(struct comparison *c, uint32_t i)
{
	const value_id output = c->a.m->output.at[i];
	struct contents all = {0};
	join_output(&c->b, c->b.m->output.at[i], &all);
	for (uint32_t k = 0; k < c->a.rank_n; k++) {
		const struct value_view *x = value_view_get(&c->a.rank[k], output);
		struct value_view part = *x;
		struct contents found = {.n = x->axis_n}, boxes = {0};
		part.is_all = false;
		if (x->absent || x->storage == VALUE_NONE)
			continue;
		value_view_boxes(&part, &boxes);
		if (!x->unknown)
			value_view_read(&c->a, x, true, &found);
		for (uint32_t n = 0; n < boxes.cell.n; n++) {
			int64_t index[IR_MAX_LOGICAL];
			struct extent at[IR_MAX_LOGICAL];
			if (contents_cover(&found, boxes.cell.at[n].axis, index))
				continue;
			box_of(index, x->axis_n, at);
			report_difference(c, output, k, at, FACT_UNKNOWN, FACT_UNKNOWN);
		}
		for (uint32_t n = 0; n < found.cell.n; n++)
			compare_cell(c, i, k, &all, &found.cell.at[n]);
		vec_free(&found.cell);
		vec_free(&boxes.cell);
	}
	vec_free(&all.cell);
}

/* Returns true if an input has no name, as in nvFuser's listings. */
static bool has_nameless_input(const struct module *m)
{
	for (uint32_t k = 0; k < m->input.n; k++)
		if (!m->value.at[m->input.at[k].value].name)
			return true;
	return false;
}

/* Compares with the first program in one mode. Prints nothing if it is not related and another mode is tried. */
static enum values_status compare_in_mode(struct comparison *c, struct module *m, struct module *against,
                                          const struct values_options *o, const struct valuation_mode *mode,
                                          bool is_last)
{
	const struct valuation_mode other = {.is_logical = values_can_be_logical(against),
	                                     .half_lowered = true, /* it is before all passes */
	                                     .inputs_by_place = mode->inputs_by_place};
	struct values_options there = *o;
	struct values_result trusted = {0};
	struct facts facts;
	facts_open(&facts);
	there.ranks = module_ranks(against);
	c->relation = VALUES_COMPUTES;
	valuation_open(&c->a, m, NULL, &facts, o, mode, &trusted);
	valuation_open(&c->b, against, NULL, &facts, &there, &other, &trusted);
	enum values_status status = valuation_walk(&c->b);
	if (status == VALUES_PROVED)
		status = valuation_walk(&c->a);
	for (uint32_t i = 0; i < m->output.n && status == VALUES_PROVED; i++)
		compare_output(c, i);
	if (is_last || c->relation != VALUES_NOT_RELATED)
		print_difference(c);
	valuation_close(&c->a);
	valuation_close(&c->b);
	facts_close(&facts);
	return status;
}

enum values_status values_compare(struct module *m, struct module *against, struct diag *d,
                                  const struct values_options *o, const char *name, enum values_relation *out)
{
	struct ir_numbers *saved = ir_numbers_save(m), *other = ir_numbers_save(against);
	struct comparison c = {.d = d, .name = name};
	struct valuation_mode mode = {.half_lowered = o->half_lowered,
	                              .is_logical =
	                                  o->half_lowered ? values_can_be_logical(m) : is_source(m)};
	const bool retry = o->half_lowered && mode.is_logical;
	ir_number(m);
	ir_number(against);
	mode.inputs_by_place = has_nameless_input(m) || has_nameless_input(against);
	enum values_status status = compare_in_mode(&c, m, against, o, &mode, !retry);
	if (retry &&
	    c.relation == VALUES_NOT_RELATED) { /* as where the order of blocks depends on the rank */
		mode.is_logical = false;
		status = compare_in_mode(&c, m, against, o, &mode, true);
	}
	*out = c.relation;
	ir_numbers_restore(m, saved);
	ir_numbers_restore(against, other);
	return status;
}
