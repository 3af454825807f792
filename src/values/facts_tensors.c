/* facts_tensors: completes a sum over several tensors that lie side by side.
 *
 *     S: f32[8@x] = cat(A, B)     W = sum(S), on two ranks
 *
 *     rank 0     sum(A) {[0, 4) of [0, 8)}
 *     rank 1     sum(B) {[4, 8) of [0, 8)}
 *     joined     sum(A) over [0, 4) + sum(B) over [4, 8), which is all of the sum
 *
 * A rank knows only the tensors of which it has elements. So its shares are those of the whole axis, until the shares of
 * all tensors are together. Where zeros are added up, a summand has the factor 0. So are the parts of one sum that have
 * several factors, as in W + W of which each part is added twice in its step: after the last step's first W all parts
 * are there, and its second W is a part alone, again. */
#include "values/contents.h"
#include "values/evaluate.h"
#include <string.h>

enum { MAX_SHARES = 256 };

/* Returns true if a summand is a share of its own term, which an operation made. */
static bool is_share(const struct facts *f, const struct summand *s)
{
	const struct term *t = &f->term.at[s->term];
	bool own = s->share_n && t->kind != TERM_INPUT && t->reduced_n <= IR_MAX_LOGICAL;
	for (unsigned i = 0; i < s->share_n; i++)
		own = own && s->share[i].of == s->term;
	return own;
}

/* Returns true if the terms reduce as many elements along each axis. */
static bool have_equal_extents(const struct term *a, const struct term *b)
{
	bool equal = a->reduced_n == b->reduced_n;
	for (unsigned k = 0; k < a->reduced_n && equal; k++)
		equal = a->reduced[k][1] - a->reduced[k][0] == b->reduced[k][1] - b->reduced[k][0];
	return equal;
}

/* Sets the box of a share; the first elements of the reduced axes have the index 0. */
static void find_box(const struct facts *f, const struct summand *s, struct extent *box)
{
	const struct term *t = &f->term.at[s->term];
	for (unsigned k = 0; k < t->reduced_n; k++)
		box[k] = (struct extent){0, t->reduced[k][1] - t->reduced[k][0]};
	for (unsigned i = 0; i < s->share_n; i++) {
		const int64_t first = t->reduced[s->share[i].axis][0];
		box[s->share[i].axis] = (struct extent){s->share[i].lo - first, s->share[i].hi - first};
	}
}

/* Returns true if the shares of a fact that are like its summand k are all of a sum. */
static bool covers(const struct facts *f, const struct fact *x, uint32_t k)
{
	const struct term *t = &f->term.at[x->at[k].term];
	struct contents all = {.n = t->reduced_n};
	struct extent box[IR_MAX_LOGICAL];
	int64_t index[IR_MAX_LOGICAL];
	for (uint32_t i = 0; i < x->n; i++)
		if (is_share(f, &x->at[i]) && have_equal_extents(t, &f->term.at[x->at[i].term])) {
			find_box(f, &x->at[i], box);
			contents_write(&all, box, 1);
		}
	for (unsigned a = 0; a < t->reduced_n; a++)
		box[a] = (struct extent){0, t->reduced[a][1] - t->reduced[a][0]};
	const bool covered = contents_cover(&all, box, index);
	vec_free(&all.cell);
	return covered;
}

/* Returns the sum over a share alone. The key of a term is written by evaluate. */
static fact_id sum_share(struct facts *f, enum reduce_op reduce, const struct summand *s)
{
	const struct term t = f->term.at[s->term];
	struct application x = {.kind = t.kind, .label = t.label, .operand_n = t.operand_n, .reduce = reduce};
	struct image_axis to[TERM_MAX_AXES] = {{0}};
	unsigned at = t.operand_n, r = 0, axis = 0;
	for (unsigned k = 0; k < t.operand_n; k++) {
		x.operand[k] = (fact_id)t.key[k];
		x.linear |= (t.kind == OP_SUM || t.kind == TERM_CONTRACT) && facts_is_sum(f, x.operand[k])
		                ? 1u << k
		                : 0;
	}
	while (at < t.key_n) {
		struct evaluate_axis *d = &x.dim[x.dim_n];
		d->kind = (enum evaluate_dim)t.key[at++];
		if (d->kind != EVALUATE_PARALLEL) {
			d->lo = (int64_t)t.key[at++];
			d->hi = (int64_t)t.key[at++];
		}
		for (unsigned i = 0; i < s->share_n && d->kind == EVALUATE_REDUCED; i++)
			if (s->share[i].axis == r) {
				d->lo = s->share[i].lo;
				d->hi = s->share[i].hi;
			}
		d->share_lo = d->lo;
		d->share_hi = d->hi;
		r += d->kind == EVALUATE_REDUCED;
		if (d->kind == EVALUATE_PARALLEL || d->kind == EVALUATE_WHOLE)
			to[x.dim_n] = s->image[axis++];
		x.dim_n++;
	}
	return facts_move(f, evaluate(f, &x), to);
}

/* Returns true if the sum over a share alone was joined before. Then the share is that sum again. */
static bool is_sum_again(struct facts *f, const struct fact *x, uint32_t k)
{
	const struct term share = f->term.at[x->at[k].term];
	fact_id alone = FACT_UNKNOWN;
	for (uint32_t i = 0; i < x->n; i++) {
		const struct summand *s = &x->at[i];
		if (s->share_n || f->term.at[s->term].kind != share.kind ||
		    f->term.at[s->term].label != share.label)
			continue;
		alone = alone ? alone : sum_share(f, x->reduce, &x->at[k]);
		const struct fact *y = &f->fact.at[alone];
		if (y->n == 1 && y->at[0].term == s->term && y->at[0].image_n == s->image_n &&
		    !memcmp(y->at[0].image, s->image, sizeof *s->image * s->image_n))
			return true;
	}
	return false;
}

/* Joins all summands, those in a set as sums of their own. */
static fact_id join_shares_alone(struct facts *f, const struct fact *x, const bool *set)
{
	struct addend *list = mem_alloc(sizeof *list * x->n);
	uint32_t n = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		struct summand s = x->at[i];
		const bool alone = set[i];
		if (alone && s.factor == 0 && facts_identity(x->reduce) == 0)
			continue;
		list[n] = (struct addend){s.factor, 0};
		s.factor = 1;
		list[n++].fact = alone ? sum_share(f, x->reduce, &s) : facts_summand(f, x->reduce, s);
	}
	const fact_id made =
	    n ? facts_join(f, x->reduce, list, n, NULL) : facts_number(f, facts_identity(x->reduce));
	free(list);
	return made;
}

fact_id facts_join_tensors(struct facts *f, fact_id fact)
{
	const struct fact x = f->fact.at[fact];
	bool set[MAX_SHARES] = {false}, any = false;
	if (x.n < 2 || x.n > MAX_SHARES)
		return fact;
	for (uint32_t k = 0; k < x.n && !any; k++) {
		if (!is_share(f, &x.at[k]) || !covers(f, &x, k))
			continue;
		for (uint32_t i = 0; i < x.n; i++)
			any |= set[i] =
			    is_share(f, &x.at[i]) &&
			    have_equal_extents(&f->term.at[x.at[k].term], &f->term.at[x.at[i].term]);
	}
	for (uint32_t k = 0; k < x.n; k++)
		any |= set[k] |= is_share(f, &x.at[k]) && facts_is_sum(f, fact) && is_sum_again(f, &x, k);
	return any ? join_shares_alone(f, &x, set) : fact;
}
