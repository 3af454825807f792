/* valuation_experts: dispatch and combine.
 *
 *     rows, e, w, s, to, from = dispatch(X, E, P)       rows: a term of X and E; e, s, to, from: of E; w: of P and E
 *     Y = combine(rows, w, s, to, from)                 a term of all
 *
 * The rows that a rank gets are data, so both statements are taken on trust. But a combine gets sources and counts of
 * one dispatch, and rows and weights that were made of its rows and weights. */
#include "values/valuation.h"
#include <stdlib.h>

enum { ROWS = 0, WEIGHTS = 2, SOURCES = 3 /* results of a dispatch; the counts follow */ };

/* Joins an operand of all members. Returns its fact, if that is one for all elements. */
static fact_id join_operand(struct valuation *v, const struct value_meeting *m, unsigned operand)
{
	struct contents all = {0};
	fact_id fact = FACT_UNKNOWN;
	struct extent box[IR_MAX_LOGICAL];
	bool known = true;
	for (unsigned k = 0; k < m->n && known; k++) {
		const struct value_view *x = &m->party[k].more[operand];
		struct contents found = {0};
		if (!value_view_is_there(x))
			continue;
		known = !x->unknown;
		all.n = x->axis_n;
		for (unsigned a = 0; a < x->axis_n; a++)
			box[a] = (struct extent){0, x->part->axis[a].extent};
		if (known)
			value_view_read(v, x, true, &found);
		for (uint32_t i = 0; i < found.cell.n; i++)
			contents_write(&all, found.cell.at[i].axis, found.cell.at[i].fact);
		vec_free(&found.cell);
	}
	int64_t index[IR_MAX_LOGICAL];
	if (known && all.cell.n == 1 && contents_cover(&all, box, index))
		fact = all.cell.at[0].fact;
	vec_free(&all.cell);
	return fact;
}

/* Lists the operands that a result depends on. */
static unsigned list_operands(enum op_kind kind, unsigned reads, unsigned result, uint8_t *of)
{
	unsigned n = 0;
	for (unsigned k = 0; k < reads; k++)
		if (kind == OP_COMBINE || k == 1 || (k == 0 && result == ROWS) || (k == 2 && result == WEIGHTS))
			of[n++] = (uint8_t)k;
	return n;
}

/* Writes a result on all members: a term of its operands, or, if one is 0, an element that is not known. */
static void write_result(struct valuation *v, const struct value_meeting *m, const fact_id *operand, unsigned result)
{
	const op_id op = m->party[0].op;
	const unsigned reads = op_role_count(v->m, op, ROLE_READ);
	uint8_t of[TERM_MAX_OPERANDS];
	uint64_t key[TERM_MAX_OPERANDS + 1];
	bool known = true;
	struct term t = {.kind = v->m->op.at[op].kind, .label = value_label(&v->rank[m->party[0].rank], op, 0)};
	t.operand_n = (uint8_t)list_operands((enum op_kind)t.kind, reads, result, of);
	t.key = key;
	t.key_n = t.operand_n + 1u;
	for (unsigned k = 0; k < t.operand_n; k++) {
		key[k] = operand[of[k]];
		known &= operand[of[k]] != FACT_UNKNOWN;
	}
	key[t.operand_n] = result;
	for (unsigned k = 0; k < m->n; k++) {
		const struct value_view *out = &m->party[k].more[reads + result];
		struct contents boxes = {0};
		if (!value_view_is_there(out))
			continue;
		if (!known || out->unknown) {
			value_view_write_unknown(v, out);
			continue;
		}
		t.axis_n = out->axis_n;
		fact_id fact = facts_term(v->facts, facts_intern(v->facts, &t), out->axis_n);
		v->writer = m->party[k].op;
		value_view_boxes(out, &boxes);
		for (uint32_t b = 0; b < boxes.cell.n; b++)
			value_view_write(v, out, boxes.cell.at[b].axis, fact);
		vec_free(&boxes.cell);
	}
}

/* ---- the dispatch of a combine */

struct routing { /* dispatches with equal ones send rows to the same places */
	uint64_t experts;
	uint32_t label;
};

static struct routing routing_of(const struct term *dispatch)
{
	const bool tokens_first = dispatch->key[dispatch->operand_n] == ROWS;
	return (struct routing){dispatch->key[tokens_first], dispatch->label};
}

/* Returns the dispatch whose result a fact is; NULL if it is none. */
static const struct term *find_dispatch(const struct facts *f, fact_id fact)
{
	const struct fact *x = &f->fact.at[fact];
	const struct term *t = fact && x->n == 1 ? &f->term.at[x->at->term] : NULL;
	return t && t->kind == OP_DISPATCH ? t : NULL;
}

struct search {
	const struct facts *f;
	struct routing of;
	bool *seen; /* by term_id */
	bool found, other;
};

/* Finds the dispatches whose results a fact was made of. */
static void search_fact(struct search *s, fact_id fact)
{
	const struct fact *x = &s->f->fact.at[fact];
	for (uint32_t k = 0; k < x->n; k++) {
		const struct term *t = &s->f->term.at[x->at[k].term];
		if (s->seen[x->at[k].term] || t->kind == OP_COMBINE)
			continue;
		s->seen[x->at[k].term] = true;
		if (t->kind == OP_DISPATCH) {
			const struct routing r = routing_of(t);
			const bool same = r.experts == s->of.experts && r.label == s->of.label;
			s->found |= same;
			s->other |= !same;
			continue;
		}
		for (unsigned i = 0; i < t->operand_n; i++)
			search_fact(s, (fact_id)t->key[i]);
	}
}

/* Returns true if a fact was made of results of other dispatches alone. */
static bool is_of_others(const struct facts *f, fact_id fact, const struct routing *of)
{
	struct search s = {.f = f, .of = *of, .seen = mem_zalloc(sizeof *s.seen * f->term.n)};
	search_fact(&s, fact);
	free(s.seen);
	return s.other && !s.found;
}

/* Reports the first operand that belongs to another dispatch than the sources. */
static void check_combine(struct valuation *v, op_id op, const fact_id *operand)
{
	const struct term *sources = find_dispatch(v->facts, operand[2]);
	if (!sources)
		return;
	const struct routing of = routing_of(sources);
	for (unsigned k = 0; k < 5; k++) {
		const struct term *t = find_dispatch(v->facts, operand[k]);
		const bool others = is_of_others(v->facts, operand[k], &of);
		if (!others && (k < 2 || !t || t->key[t->operand_n] == SOURCES + k - 2))
			continue;
		value_report_other_dispatch(v, op, k, !others);
		return;
	}
}

void value_experts(struct valuation *v, struct value_meeting *m)
{
	const op_id op = m->party[0].op;
	fact_id operand[TERM_MAX_OPERANDS];
	value_trust(v, op);
	for (unsigned k = 0; k < op_role_count(v->m, op, ROLE_READ); k++) {
		operand[k] = join_operand(v, m, k);
		if (operand[k] && !facts_is_complete(v->facts, operand[k]))
			operand[k] = FACT_UNKNOWN;
	}
	if (v->m->op.at[op].kind == OP_COMBINE)
		check_combine(v, op, operand);
	for (unsigned i = 0; i < op_result_count(v->m, op); i++)
		write_result(v, m, operand, i);
}
