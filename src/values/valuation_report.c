/* valuation_report: messages. One for each statement. */
#include "ir/print.h"
#include "values/valuation.h"

static bool once(struct valuation *v, op_id op)
{
	v->wrong = true;
	if (!v->d || v->reported[op])
		return false;
	v->reported[op] = true;
	return true;
}

static void put_name(struct valuation *v, value_id value, struct buf *out)
{
	buf_putc(out, '\'');
	ir_print_value_name(v->m, value, out);
	buf_putc(out, '\'');
}

void value_input_name(const struct valuation *v, value_id value, struct buf *out)
{
	uint32_t k = 0;
	while (v->inputs_by_place && v->m->input.at[k].value != value)
		k++;
	if (v->inputs_by_place)
		buf_printf(out, "input %u", k + 1);
	else
		ir_print_value_name(v->m, value, out);
}

/* Appends `on rank 1, in iteration i = 2`. */
static void put_place(struct value_rank *r, struct buf *out)
{
	buf_printf(out, "rank %u", r->rank);
	for (uint32_t k = 0; k < r->walker.loop.n; k++) {
		const struct walk_loop *l = &r->walker.loop.at[k];
		const index_id index = r->v->m->region.at[r->v->m->op.at[l->op].region].index;
		const struct index *i = &r->v->m->index.at[index];
		buf_puts(out, ", ");
		if (i->name)
			buf_puts(out, names_text(r->v->m->names, i->name));
		else
			buf_printf(out, "i%d", i->number);
		buf_printf(out, " = %lld", (long long)l->at);
	}
}

static void put_axis(const struct part_axis *x, struct buf *out)
{
	struct part_span s = {0};
	unsigned n = 0;
	while (part_next(x, &s)) {
		if (n == 3) {
			buf_puts(out, ", …");
			return;
		}
		buf_printf(out, "%s[%lld, %lld)", n++ ? ", " : "", (long long)s.from, (long long)s.to);
	}
	if (!n)
		buf_puts(out, "none");
}

void value_report_part(struct value_rank *r, op_id op, value_id value, unsigned axis, struct part_span needs,
                       const struct part_axis *has)
{
	struct valuation *v = r->v;
	struct buf text = {0};
	if (!once(v, op))
		return;
	buf_printf(&text, "rank %u holds ", r->rank);
	put_axis(has, &text);
	buf_printf(&text, " of axis %u of ", axis);
	put_name(v, value, &text);
	buf_printf(&text, ", but needs [%lld, %lld)", (long long)needs.from, (long long)needs.to);
	diag_error(v->d, E_PLAN_CHECK, v->m->op.at[op].at, "%s", text.at);
	text.n = 0;
	put_place(r, &text);
	diag_note(v->d, DIAG_NOWHERE, "on %s", text.at);
	buf_free(&text);
}

/* Appends the parts of the first sum that lacks a part, as in `[0, 1) of [0, 4) (2 times), [2, 3) of [0, 4)`. */
static void put_pending(struct valuation *v, fact_id fact, struct buf *out)
{
	enum { MOST = 3 };
	const struct fact *x = &v->facts->fact.at[fact];
	const struct summand *first = NULL;
	unsigned n = 0;
	for (uint32_t k = 0; k < x->n && n <= MOST; k++) {
		const struct summand *s = &x->at[k];
		if (!s->share_n || (first && first->term != s->term))
			continue;
		first = first ? first : s;
		if (n++ == MOST) {
			buf_puts(out, ", …");
			return;
		}
		buf_puts(out, n > 1 ? "; " : "");
		for (unsigned a = 0; a < s->share_n; a++) {
			buf_puts(out, a ? ", " : "");
			facts_print_share(v->facts, &s->share[a], out);
		}
		if (s->factor >= 2)
			buf_printf(out, " (%g times)", s->factor);
	}
}

/* Appends `element [0, 4] of 'P'`. */
static void put_element(struct valuation *v, value_id value, const int64_t *index, struct buf *out)
{
	const unsigned n = value_domain(v->m, value)->rank;
	for (unsigned a = 0; a < n; a++)
		buf_printf(out, "%s%lld", a ? ", " : "element [", (long long)index[a]);
	buf_puts(out, n ? "] of " : "");
	put_name(v, value, out);
}

static void put_corner(struct valuation *v, value_id value, const struct extent *box, struct buf *out)
{
	int64_t index[IR_MAX_LOGICAL];
	for (unsigned a = 0; a < value_domain(v->m, value)->rank; a++)
		index[a] = box[a].lo;
	put_element(v, value, index, out);
}

static void put_term(struct valuation *v, term_id term, struct buf *out)
{
	facts_print(v->facts, facts_term(v->facts, term, v->facts->term.at[term].axis_n), 1, out);
}

/* Adds a note at the statement that wrote a box of an operand, unless it is the reported one. */
static void note_writer(struct valuation *v, op_id reported, op_id writer, uint32_t rank)
{
	if (writer && writer != reported)
		diag_note(v->d, v->m->op.at[writer].at, "rank %u has written this element here", rank);
}

void value_report_pending(struct value_rank *r, op_id op, value_id value, const struct cell *cell)
{
	struct valuation *v = r->v;
	struct buf text = {0};
	if (!once(v, op))
		return;
	buf_printf(&text, "sums: %s needs all of a sum, but of ", op_info[v->m->op.at[op].kind].hir);
	put_corner(v, value, cell->axis, &text);
	buf_puts(&text, " only ");
	put_pending(v, cell->fact, &text);
	buf_puts(&text, " is added up (");
	put_place(r, &text);
	buf_putc(&text, ')');
	diag_error(v->d, E_WRONG_SHARE, v->m->op.at[op].at, "%s", text.at);
	note_writer(v, op, cell->by, r->rank);
	diag_note(v->d, DIAG_NOWHERE, "add up the parts of all ranks and iterations before this statement");
	buf_free(&text);
}

static const char each_part_once[] = "each part of a sum must be added by one rank, in one iteration";

void value_report_added_again(struct value_rank *r, op_id op, const struct cell *before, term_id term)
{
	struct valuation *v = r->v;
	struct buf text = {0};
	if (!once(v, op))
		return;
	buf_printf(&text, "sums: %s adds a part of ", op_info[v->m->op.at[op].kind].hir);
	put_term(v, term, &text);
	buf_puts(&text, " to ");
	put_corner(v, op_result(v->m, op, 0), before->axis, &text);
	buf_puts(&text, " that is in it already (");
	put_place(r, &text);
	buf_putc(&text, ')');
	diag_error(v->d, E_WRONG_SHARE, v->m->op.at[op].at, "%s", text.at);
	note_writer(v, op, before->by, r->rank);
	diag_note(v->d, DIAG_NOWHERE, "%s", each_part_once);
	buf_free(&text);
}

/* Returns the statement that wrote a box of what a member of a meeting gives; 0: none, or it is not known. */
static op_id find_writer(struct valuation *v, const struct value_party *p, const struct extent *box)
{
	struct contents found = {0};
	value_view_read_box(v, &p->in, box, &found);
	op_id by = found.cell.n ? found.cell.at[0].by : 0;
	vec_free(&found.cell);
	return by;
}

void value_report_given_twice(struct valuation *v, const struct value_party *one,
                              const struct value_party *other, const struct extent *box, term_id term)
{
	const op_id op = one->op;
	struct buf text = {0};
	if (!once(v, op))
		return;
	buf_printf(&text, "sums: %s adds the same part of ", op_info[v->m->op.at[op].kind].hir);
	put_term(v, term, &text);
	buf_printf(&text, " from rank %u and from rank %u, for ", one->rank, other->rank);
	put_corner(v, op_result(v->m, op, 0), box, &text);
	diag_error(v->d, E_WRONG_SHARE, v->m->op.at[op].at, "%s", text.at);
	note_writer(v, op, find_writer(v, other, box), other->rank);
	diag_note(v->d, DIAG_NOWHERE, "%s", each_part_once);
	buf_free(&text);
}

void value_report_mixed(struct valuation *v, const struct value_party *p, const struct cell *cell,
                        enum reduce_op reduce)
{
	struct buf text = {0};
	const char *has = reduce_op_name(v->facts->fact.at[cell->fact].reduce);
	if (!once(v, p->op))
		return;
	put_corner(v, op_read(v->m, p->op, 0), cell->axis, &text);
	diag_error(v->d, E_WRONG_SHARE, v->m->op.at[p->op].at,
	           "sums: %s is a part of a reduction by %s on rank %u, but this %s has op=%s", text.at, has,
	           p->rank, op_info[v->m->op.at[p->op].kind].hir, reduce_op_name(reduce));
	note_writer(v, p->op, cell->by, p->rank);
	diag_note(v->d, DIAG_NOWHERE, "write op=%s, or add up all parts of the operand before this statement",
	          has);
	buf_free(&text);
}

void value_report_undelivered(struct valuation *v, const struct value_meeting *m, unsigned member,
                              unsigned giver, const int64_t *index)
{
	const struct value_party *p = &m->party[member], *from = &m->party[giver];
	struct buf text = {0};
	if (!once(v, p->op))
		return;
	buf_printf(&text, "mismatch: rank %u is to get ", p->rank);
	put_element(v, op_result(v->m, p->op, 0), index, &text);
	buf_puts(&text, " here, but no rank that gives something to it has this element");
	diag_error(v->d, E_MISMATCH, v->m->op.at[p->op].at, "%s", text.at);
	text.n = 0;
	for (unsigned a = 0; a < from->in.axis_n; a++) {
		buf_puts(&text, a ? " × " : "");
		put_axis(&from->in.part->axis[a], &text);
	}
	diag_note(v->d, v->m->op.at[from->op].at, "rank %u gives %s here", from->rank, text.at);
	diag_note(v->d, DIAG_NOWHERE,
	          "between tensors of equal extents an element keeps its index; for blocks of other ranks, "
	          "type the result @swizzle1d, or receive into a buffer of one block%s",
	          v->m->op.at[p->op].kind == OP_COLLECTIVE_PERMUTE ? ", or by_place=true" : "");
	buf_free(&text);
}

void value_report_cut(struct valuation *v, const struct value_party *from, const struct value_party *to)
{
	struct buf text = {0};
	if (!once(v, from->op))
		return;
	buf_printf(&text, "mismatch: rank %u gives rank %u its block of ", from->rank, to->rank);
	put_name(v, op_result(v->m, from->op, 0), &text);
	buf_puts(&text, " here, but that rank takes its block of ");
	put_name(v, op_result(v->m, to->op, 0), &text);
	buf_puts(&text, ", which has other elements");
	diag_error(v->d, E_MISMATCH, v->m->op.at[from->op].at, "%s", text.at);
	text.n = 0;
	buf_printf(&text, "rank %u is here", to->rank);
	diag_note(v->d, v->m->op.at[to->op].at, "%s", text.at);
	buf_free(&text);
}

void value_report_unwritten(struct value_rank *r, op_id op, value_id value, const int64_t *index)
{
	struct valuation *v = r->v;
	struct buf text = {0};
	v->wrong = true;
	if (op && !once(v, op))
		return;
	buf_printf(&text, "lifetime: %s", op ? op_info[v->m->op.at[op].kind].hir : "the caller");
	buf_puts(&text, " reads ");
	put_element(v, value, index, &text);
	buf_puts(&text, ", which nothing has written (");
	put_place(r, &text);
	buf_putc(&text, ')');
	if (v->d)
		diag_error(v->d, E_UNWRITTEN_READ, op ? v->m->op.at[op].at : v->m->value.at[value].at, "%s",
		           text.at);
	text.n = 0;
	put_name(v, value, &text);
	if (v->d && op)
		diag_note(v->d, v->m->value.at[value].at, "%s is made here", text.at);
	buf_free(&text);
}

void value_report_overwritten(struct value_rank *r, op_id op, value_id from, value_id to)
{
	struct valuation *v = r->v;
	struct buf text = {0};
	if (!once(v, op))
		return;
	buf_printf(&text, "overwritten: %s writes elements of ", op_info[v->m->op.at[op].kind].hir);
	put_name(v, to, &text);
	buf_puts(&text, " that it still reads");
	if (from != to) {
		buf_puts(&text, " through ");
		put_name(v, from, &text);
	}
	buf_puts(&text, " (");
	put_place(r, &text);
	buf_putc(&text, ')');
	diag_error(v->d, E_READ_OVERWRITTEN, v->m->op.at[op].at, "%s", text.at);
	text.n = 0;
	put_name(v, from, &text);
	diag_note(v->d, DIAG_NOWHERE, "copy %s by a `set` before this statement, and read the copy", text.at);
	buf_free(&text);
}

void value_report_other_dispatch(struct valuation *v, op_id op, unsigned operand, bool same)
{
	static const char *const role[] = {"rows", "weights", "sources", "counts of sent rows",
	                                   "counts of received rows"};
	struct buf text = {0};
	if (!once(v, op))
		return;
	put_name(v, op_read(v->m, op, operand), &text);
	diag_error(v->d, E_OTHER_DISPATCH, v->m->op.at[op].at, "experts: %s is given as the %s, but %s",
	           text.at, role[operand],
	           same ? "is another result of the dispatch" : "is of another dispatch than the sources");
	diag_note(v->d, DIAG_NOWHERE,
	          "a combine takes rows, weights, sources and both counts of one dispatch, in this order");
	buf_free(&text);
}

/* Adds a note for each of two facts, `on rank 1 it is relu(X)`. */
static void note_facts(struct valuation *v, const char *one, fact_id fact, const char *other, fact_id another)
{
	struct buf x = {0};
	facts_print(v->facts, fact, 3, &x);
	diag_note(v->d, DIAG_NOWHERE, "on %s it is %s", one, x.at);
	x.n = 0;
	facts_print(v->facts, another, 3, &x);
	diag_note(v->d, DIAG_NOWHERE, "on %s it is %s", other, x.at);
	buf_free(&x);
}

void value_report_copies(struct valuation *v, value_id output, uint32_t rank, const struct extent *box,
                         fact_id fact, fact_id other, bool surely)
{
	struct buf text = {0};
	v->wrong |= surely;
	if (!v->d)
		return;
	put_corner(v, output, box, &text);
	buf_printf(&text, ", an output, is not the same on rank %u as on the ranks before", rank);
	if (surely)
		diag_error(v->d, E_COPIES_DIFFER, v->m->value.at[output].at, "copies: %s", text.at);
	else
		diag_warning(v->d, W_COPIES_DIFFER, v->m->value.at[output].at, "%s", text.at);
	text.n = 0;
	buf_printf(&text, "rank %u", rank);
	note_facts(v, text.at, fact, "a rank before", other);
	buf_free(&text);
}

void value_report_givers(struct valuation *v, const struct value_party *one, const struct value_party *other,
                         const struct extent *box, fact_id fact, fact_id another)
{
	struct buf text = {0}, first = {0}, second = {0};
	if (!once(v, one->op))
		return;
	buf_printf(&text, "copies: rank %u and rank %u both give ", one->rank, other->rank);
	put_corner(v, op_read(v->m, one->op, 0), box, &text);
	diag_error(v->d, E_COPIES_DIFFER, v->m->op.at[one->op].at, "%s here, but not the same values",
	           text.at);
	buf_printf(&first, "rank %u", one->rank);
	buf_printf(&second, "rank %u", other->rank);
	note_facts(v, first.at, fact, second.at, another);
	diag_note(v->d, DIAG_NOWHERE, "a rank gets the element from any rank that holds it");
	buf_free(&text);
	buf_free(&first);
	buf_free(&second);
}

void value_report_output(struct valuation *v, value_id output, uint32_t rank, const struct cell *cell)
{
	struct buf text = {0};
	v->wrong = true;
	if (!v->d)
		return;
	buf_puts(&text, "sums: the output has to be whole, but of ");
	put_corner(v, output, cell->axis, &text);
	buf_printf(&text, " rank %u has added up only ", rank);
	put_pending(v, cell->fact, &text);
	diag_error(v->d, E_WRONG_SHARE, v->m->value.at[output].at, "%s", text.at);
	note_writer(v, 0, cell->by, rank);
	diag_note(v->d, DIAG_NOWHERE,
	          "add up the parts of all ranks and iterations, or state partial(…) in its type");
	buf_free(&text);
}
