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
	buf_printf(out, "on rank %u", r->rank);
	for (uint32_t k = 0; k < r->walker.loop.n; k++) {
		const struct walk_loop *l = &r->walker.loop.at[k];
		const index_id index = r->v->m->region.at[r->v->m->op.at[l->op].region].index;
		const struct index *i = &r->v->m->index.at[index];
		buf_puts(out, k ? ", " : ", iteration ");
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
	diag_note(v->d, DIAG_NOWHERE, "%s", text.at);
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

void value_report_pending(struct value_rank *r, op_id op, value_id value, fact_id fact)
{
	struct valuation *v = r->v;
	struct buf text = {0};
	if (!once(v, op))
		return;
	buf_printf(&text, "sums: %s needs all of a sum, but of ", op_info[v->m->op.at[op].kind].hir);
	put_name(v, value, &text);
	buf_puts(&text, " only ");
	put_pending(v, fact, &text);
	buf_puts(&text, " is added up (");
	put_place(r, &text);
	buf_putc(&text, ')');
	diag_error(v->d, E_WRONG_SHARE, v->m->op.at[op].at, "%s", text.at);
	diag_note(v->d, DIAG_NOWHERE, "add up the parts of all ranks and iterations before this statement");
	buf_free(&text);
}

void value_report_twice(struct valuation *v, op_id op, uint32_t rank, term_id term)
{
	struct buf text = {0}, what = {0};
	if (!once(v, op))
		return;
	facts_print(v->facts, facts_term(v->facts, term, v->facts->term.at[term].axis_n), 1, &what);
	buf_printf(&text, "sums: %s adds a part of %s more than once (on rank %u)",
	           op_info[v->m->op.at[op].kind].hir, what.at, rank);
	diag_error(v->d, E_WRONG_SHARE, v->m->op.at[op].at, "%s", text.at);
	diag_note(v->d, DIAG_NOWHERE, "each part of a sum must be added by one rank, in one iteration");
	buf_free(&text);
	buf_free(&what);
}

void value_report_mixed(struct valuation *v, op_id op, uint32_t rank, enum reduce_op reduce)
{
	if (!once(v, op))
		return;
	diag_error(v->d, E_WRONG_SHARE, v->m->op.at[op].at,
	           "sums: the operand of this %s is a part of another reduction than its op=%s (on rank %u)",
	           op_info[v->m->op.at[op].kind].hir, reduce_op_name(reduce), rank);
}

void value_report_undelivered(struct valuation *v, op_id op, uint32_t rank, value_id value,
                              const int64_t *index)
{
	struct buf text = {0};
	if (!once(v, op))
		return;
	buf_printf(&text, "mismatch: rank %u is to get element [", rank);
	for (unsigned a = 0; a < value_domain(v->m, value)->rank; a++)
		buf_printf(&text, "%s%lld", a ? ", " : "", (long long)index[a]);
	buf_puts(&text, "] of ");
	put_name(v, value, &text);
	buf_puts(&text, " here, but no rank that gives something to it has this element");
	diag_error(v->d, E_MISMATCH, v->m->op.at[op].at, "%s", text.at);
	diag_note(
	    v->d, DIAG_NOWHERE,
	    "between tensors of equal extents an element keeps its index; for blocks of other ranks, type "
	    "the result @swizzle1d, or receive into a buffer of one block");
	buf_free(&text);
}

void value_report_unwritten(struct value_rank *r, op_id op, value_id value, const int64_t *index)
{
	struct valuation *v = r->v;
	struct buf text = {0};
	v->wrong = true;
	if (op && !once(v, op))
		return;
	buf_printf(&text, "use: %s", op ? op_info[v->m->op.at[op].kind].hir : "the caller");
	buf_puts(&text, " reads element [");
	for (unsigned a = 0; a < value_domain(v->m, value)->rank; a++)
		buf_printf(&text, "%s%lld", a ? ", " : "", (long long)index[a]);
	buf_puts(&text, "] of ");
	put_name(v, value, &text);
	buf_puts(&text, ", which nothing has written (");
	put_place(r, &text);
	buf_putc(&text, ')');
	if (v->d)
		diag_error(v->d, E_UNWRITTEN_READ, op ? v->m->op.at[op].at : v->m->value.at[value].at, "%s",
		           text.at);
	buf_free(&text);
}

void value_report_copies(struct valuation *v, value_id output, uint32_t rank, const struct extent *box,
                         fact_id fact, fact_id other)
{
	struct buf text = {0}, x = {0};
	if (!v->d)
		return;
	buf_puts(&text, "element [");
	for (unsigned a = 0; a < value_domain(v->m, output)->rank; a++)
		buf_printf(&text, "%s%lld", a ? ", " : "", (long long)box[a].lo);
	buf_puts(&text, "] of the output ");
	put_name(v, output, &text);
	buf_printf(&text, " is not the same on rank %u as on the ranks before", rank);
	diag_warning(v->d, W_COPIES_DIFFER, v->m->value.at[output].at, "%s", text.at);
	facts_print(v->facts, fact, 3, &x);
	diag_note(v->d, DIAG_NOWHERE, "on rank %u it is %s", rank, x.at);
	x.n = 0;
	facts_print(v->facts, other, 3, &x);
	diag_note(v->d, DIAG_NOWHERE, "on a rank before it is %s", x.at);
	buf_free(&text);
	buf_free(&x);
}

void value_report_output(struct valuation *v, value_id output, uint32_t rank, fact_id fact)
{
	struct buf text = {0};
	v->wrong = true;
	if (!v->d)
		return;
	buf_puts(&text, "sums: the output ");
	put_name(v, output, &text);
	buf_printf(&text, " is a sum of which rank %u has added only ", rank);
	put_pending(v, fact, &text);
	diag_error(v->d, E_WRONG_SHARE, v->m->value.at[output].at, "%s", text.at);
	diag_note(v->d, DIAG_NOWHERE,
	          "add up the parts of all ranks and iterations, or state partial(…) in its type");
	buf_free(&text);
}
