/* valuation_reduced: the reduced dims of an operation, in one box of its other dims.
 *
 *     T = cat(A, B)     W = sum(T)     the operand has the pieces [0, 4): A and [4, 8): B
 *
 * If the operands are one piece, the result is its sum, of which the elements that are here are a share. If all elements
 * are here, each of several pieces is a sum of its own. Otherwise this rank does not know all pieces: facts_join finds
 * out if shares of several terms are one sum. */
#include "values/valuation_local.h"
#include <string.h>

struct run { /* a box of the reduced dims, and the operands' facts */
	struct extent at[INFER_MAX_DIMS];
	fact_id in[TERM_MAX_OPERANDS];
};

struct reduced {
	struct local_op *x;
	struct extent *box; /* by dim */
	unsigned n, dim[INFER_MAX_DIMS];
	struct extent whole[INFER_MAX_DIMS];
	bool hole, all_here;
	VEC(struct run) run;
};

static bool list_dims(struct reduced *s)
{
	struct local_op *x = s->x;
	s->all_here = true;
	x->reduced_n = 1;
	for (unsigned d = 0; d < x->axes.dim_n; d++) {
		const struct evaluate_axis *a = &x->apply.dim[d];
		if (x->axes.kind[d] != DIM_REDUCED)
			continue;
		if (x->cut[d].n < 2)
			return false;
		s->whole[s->n] = (struct extent){a->lo, a->hi};
		s->dim[s->n++] = d;
		s->all_here &= part_count(x->here[d]) == a->hi - a->lo;
		x->reduced_n *= (double)(a->hi - a->lo);
	}
	return true;
}

static bool same_operands(const struct reduced *s, const struct run *a, const struct run *b)
{
	return !memcmp(a->in, b->in, sizeof *a->in * s->x->operand_n);
}

/* Adds a box. Intervals of one reduced dim with equal facts are joined. */
static void add_run(struct reduced *s, const struct run *next)
{
	struct run *last = s->run.n ? &s->run.at[s->run.n - 1] : NULL;
	if (last && s->n == 1 && last->at[0].hi == next->at[0].lo && same_operands(s, last, next))
		last->at[0].hi = next->at[0].hi;
	else
		vec_push(&s->run, *next);
}

/* Reads the operands in all boxes of the reduced dims that are here. */
static void read_boxes(struct reduced *s)
{
	struct local_op *x = s->x;
	uint32_t at[INFER_MAX_DIMS] = {0};
	for (;;) {
		struct run next = {0};
		bool empty = false;
		unsigned i = 0;
		for (unsigned k = 0; k < s->n; k++) {
			const int64_t *cut = &x->cut[s->dim[k]].at[at[k]];
			s->box[s->dim[k]] = next.at[k] = (struct extent){cut[0], cut[1]};
			empty |= !part_has(x->here[s->dim[k]], (struct part_span){cut[0], cut[1]});
		}
		for (unsigned k = 0; k < x->operand_n && !empty; k++) {
			bool none = false;
			next.in[k] = local_operand_fact(x, k, s->box, &none);
			empty |= none;
		}
		if (!empty)
			add_run(s, &next);
		s->hole |= empty;
		while (i < s->n && ++at[i] + 1 >= x->cut[s->dim[i]].n)
			at[i++] = 0;
		if (i == s->n)
			return;
	}
}

/* Joins boxes with equal facts, so that each is a piece as large as it can be. */
static void join_pieces(struct reduced *s)
{
	struct contents pieces = {.n = s->n};
	if (s->n > IR_MAX_LOGICAL)
		return;
	for (uint32_t k = 0; k < s->run.n; k++) {
		uint32_t kind = 0;
		while (!same_operands(s, &s->run.at[kind], &s->run.at[k]))
			kind++;
		contents_write(&pieces, s->run.at[k].at, kind + 1);
	}
	struct run *from = mem_alloc(sizeof *from * s->run.n);
	memcpy(from, s->run.at, sizeof *from * s->run.n);
	s->run.n = 0;
	for (uint32_t k = 0; k < pieces.cell.n; k++) {
		struct run piece = from[pieces.cell.at[k].fact - 1];
		memcpy(piece.at, pieces.cell.at[k].axis, sizeof *piece.at * s->n);
		vec_push(&s->run, piece);
	}
	free(from);
	vec_free(&pieces.cell);
}

/* Returns the fact of a run, which is a share of the whole, or a sum of its own. */
static fact_id evaluate_run(struct reduced *s, const struct run *run, bool alone)
{
	fact_id in[TERM_MAX_OPERANDS];
	for (unsigned k = 0; k < s->x->operand_n; k++)
		in[k] = s->x->apply.together
		            ? facts_align(s->x->r->v->facts, run->in[k], run->at, s->dim, s->n)
		            : run->in[k];
	for (unsigned i = 0; i < s->n; i++) {
		struct evaluate_axis *a = &s->x->apply.dim[s->dim[i]];
		a->share_lo = run->at[i].lo;
		a->share_hi = run->at[i].hi;
		a->lo = alone ? run->at[i].lo : s->whole[i].lo;
		a->hi = alone ? run->at[i].hi : s->whole[i].hi;
	}
	return local_evaluate(s->x, in);
}

static fact_id join_runs(struct reduced *s)
{
	struct facts *f = s->x->r->v->facts;
	struct addend *list = mem_alloc(sizeof *list * (s->run.n + 1));
	bool several = false;
	fact_id made = FACT_UNKNOWN;
	for (uint32_t k = 1; k < s->run.n; k++)
		several |= !same_operands(s, &s->run.at[0], &s->run.at[k]);
	s->x->in_pieces = several;
	if (several && s->all_here)
		join_pieces(s);
	/* else the sum of one summand would be complete where a piece lacks another one: A here, A + B there */
	s->x->apply.together = several && !s->all_here;
	for (uint32_t k = 0; k < s->run.n; k++)
		list[k] = (struct addend){1, evaluate_run(s, &s->run.at[k], several && s->all_here)};
	if (s->run.n)
		made = facts_join(f, s->x->apply.reduce, list, s->run.n, NULL);
	for (unsigned i = 0; i < s->n; i++) {
		s->x->apply.dim[s->dim[i]].lo = s->whole[i].lo;
		s->x->apply.dim[s->dim[i]].hi = s->whole[i].hi;
	}
	s->x->apply.together = false;
	free(list);
	return made;
}

fact_id local_join_reduced(struct local_op *x, struct extent *box)
{
	struct reduced s = {.x = x, .box = box};
	fact_id made = FACT_UNKNOWN;
	x->is_empty = false;
	if (!list_dims(&s))
		return facts_number(x->r->v->facts, facts_identity(x->apply.reduce));
	read_boxes(&s);
	x->is_empty = s.hole && !s.n;
	if (!x->is_empty)
		made = join_runs(&s);
	vec_free(&s.run);
	return made;
}
