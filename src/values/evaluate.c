/* evaluate: see evaluate.h. */
#include "values/evaluate.h"
#include "ir/ir.h"
#include <string.h>

enum {
	MAX_PRODUCTS = 8,   /* summands of one result; with more, complete operands are not taken apart */
	MAX_PENDING = 1024, /* the same for pending operands; with more, the result is not known */
	MAX_FIXED = 4,      /* fixed indices of one operation; with more, they stay in its term */
	NOT_SEEN = UINT32_MAX
};

/* The numbering of the iteration space's dims by their first use in the operands. */
struct numbering {
	uint32_t seen_n, of[TERM_MAX_AXES]; /* of: by dim; NOT_SEEN */
	uint32_t dim[TERM_MAX_AXES];        /* by number */
	int64_t origin[TERM_MAX_AXES];      /* by dim: index of the term where the dim's index is 0 */
};

static void number_dim(struct numbering *n, uint32_t dim, int64_t origin)
{
	if (n->of[dim] != NOT_SEEN)
		return;
	n->of[dim] = n->seen_n;
	n->dim[n->seen_n++] = dim;
	n->origin[dim] = origin;
}

static bool keeps_place(const struct application *x, uint32_t dim)
{
	return x->has_place || x->dim[dim].kind == EVALUATE_WHOLE || x->dim[dim].kind == EVALUATE_INSIDE;
}

static void number_operand(const struct facts *f, const struct application *x, fact_id operand,
                           struct numbering *n)
{
	const struct fact *o = &f->fact.at[operand];
	for (uint32_t k = 0; k < o->n; k++)
		for (unsigned a = 0; a < o->at[k].image_n; a++) {
			const struct image_axis *i = &o->at[k].image[a];
			if (i->axis < AXIS_REPEATED)
				number_dim(n, i->axis, keeps_place(x, i->axis) ? 0 : i->offset);
		}
}

/* Returns true if the result depends on a dim even if no operand does: the softmax of equal elements depends on their
 * number, and a rank may have added up some of them. */
static bool needs_dim(const struct application *x, uint32_t dim)
{
	const struct evaluate_axis *d = &x->dim[dim];
	return d->kind == EVALUATE_PARALLEL ? x->has_all_dims : d->hi != d->lo + 1 || x->has_all_dims;
}

/* Makes the operation's term of operands that are not taken apart any more. Appends the spans of reduced dims
 * to share. */
static struct summand make_term(struct facts *f, const struct application *x, const fact_id *operand,
                                struct image_axis *image, struct share_span *share)
{
	struct numbering n = {0};
	struct image_axis to[TERM_MAX_AXES] = {{0}};
	uint64_t key[TERM_MAX_OPERANDS + 4 * TERM_MAX_AXES + 1];
	int64_t reduced[TERM_MAX_AXES][2];
	struct summand s = {.factor = 1, .image = image, .share = share};
	struct term t = {.kind = x->kind, .label = x->label, .key = key, .operand_n = (uint8_t)x->operand_n};
	memset(n.of, 0xff, sizeof n.of);
	for (unsigned k = 0; k < x->operand_n; k++)
		number_operand(f, x, operand[k], &n);
	for (uint32_t d = 0; d < x->dim_n; d++)
		if (needs_dim(x, d))
			number_dim(&n, d, 0);
	for (uint32_t d = 0; d < x->dim_n; d++) {
		to[d] = (struct image_axis){.axis = n.of[d], .offset = -n.origin[d]};
		if (n.of[d] == NOT_SEEN)
			to[d] = (struct image_axis){.axis = AXIS_FIXED};
	}
	for (unsigned k = 0; k < x->operand_n; k++)
		key[t.key_n++] = facts_move(f, operand[k], to);
	for (uint32_t c = 0; c < n.seen_n; c++) {
		const uint32_t d = n.dim[c];
		const struct evaluate_axis *dim = &x->dim[d];
		key[t.key_n++] = dim->kind;
		if (dim->kind != EVALUATE_PARALLEL) {
			key[t.key_n++] = (uint64_t)(dim->lo + n.origin[d]);
			key[t.key_n++] = (uint64_t)(dim->hi + n.origin[d]);
		}
		if (dim->kind == EVALUATE_REDUCED) {
			reduced[t.reduced_n][0] = dim->lo + n.origin[d];
			reduced[t.reduced_n++][1] = dim->hi + n.origin[d];
		} else if (dim->kind != EVALUATE_INSIDE) {
			image[s.image_n++] = (struct image_axis){.axis = d, .offset = n.origin[d]};
			t.axis_n++;
		}
	}
	t.reduced = (const int64_t(*)[2])reduced;
	s.term = facts_intern(f, &t);
	for (uint32_t c = 0, r = 0; c < n.seen_n; c++) {
		const uint32_t d = n.dim[c];
		const struct evaluate_axis *dim = &x->dim[d];
		if (dim->kind != EVALUATE_REDUCED)
			continue;
		if (dim->share_lo > dim->lo || dim->share_hi < dim->hi)
			share[s.share_n++] = (struct share_span){.of = s.term,
			                                         .axis = r,
			                                         .lo = dim->share_lo + n.origin[d],
			                                         .hi = dim->share_hi + n.origin[d]};
		r++;
	}
	return s;
}

static int compare_spans(const void *a, const void *b)
{
	const struct share_span *x = a, *y = b;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return (x->axis > y->axis) - (x->axis < y->axis);
}

/* Applies the operation to one summand of each linear operand. */
static fact_id apply_once(struct facts *f, const struct application *x, const uint32_t *pick)
{
	struct image_axis image[TERM_MAX_AXES];
	struct share_span share[4 * TERM_MAX_AXES];
	fact_id operand[TERM_MAX_OPERANDS];
	double factor = 1;
	for (unsigned k = 0; k < x->operand_n; k++) {
		operand[k] = x->operand[k];
		if (!(x->linear >> k & 1))
			continue;
		struct summand one = f->fact.at[operand[k]].at[pick[k]];
		factor *= one.factor;
		one.factor = 1;
		one.share_n = 0;
		operand[k] = facts_summand(f, REDUCE_SUM, one);
	}
	if (x->commutes && operand[0] > operand[1]) {
		const fact_id first = operand[0];
		operand[0] = operand[1];
		operand[1] = first;
	}
	struct summand s = make_term(f, x, operand, image, share);
	s.factor *= factor;
	for (unsigned k = 0; k < x->operand_n; k++) {
		const struct summand *one = &f->fact.at[x->operand[k]].at[pick[k]];
		for (unsigned i = 0; x->linear >> k & 1 && i < one->share_n; i++) {
			if (s.share_n == sizeof share / sizeof *share)
				return FACT_UNKNOWN;
			share[s.share_n++] = one->share[i];
		}
	}
	qsort(share, s.share_n, sizeof *share, compare_spans);
	for (unsigned i = 1; i < s.share_n; i++)
		if (!compare_spans(&share[i - 1], &share[i]))
			return FACT_UNKNOWN; /* two parts of one sum are multiplied */
	return facts_summand(f, x->reduce, s);
}

/* Removes reduced dims of one element, of which every reduction is that element. Returns true if no other
 * reduced dim is left. */
static bool remove_single(struct facts *f, struct application *x)
{
	struct image_axis to[TERM_MAX_AXES];
	bool any = false, left = false;
	for (uint32_t d = 0; d < x->dim_n; d++) {
		const bool single = x->dim[d].kind == EVALUATE_REDUCED && x->dim[d].hi == x->dim[d].lo + 1;
		left |= x->dim[d].kind == EVALUATE_REDUCED && !single;
		any |= single;
		to[d] =
		    (struct image_axis){.axis = single ? AXIS_FIXED : d, .offset = single ? x->dim[d].lo : 0};
	}
	for (unsigned k = 0; k < x->operand_n && any; k++)
		x->operand[k] = facts_move(f, x->operand[k], to);
	return !left;
}

static bool is_reduction(uint32_t kind)
{
	return kind == OP_SUM || kind == OP_MAX || kind == OP_MIN || kind == OP_PROD;
}

/* Takes only pending operands apart, and those of one summand. Returns the number of products. */
static uint64_t keep_together(const struct facts *f, struct application *x)
{
	uint64_t products = 1;
	for (unsigned k = 0; k < x->operand_n; k++) {
		const uint32_t n = f->fact.at[x->operand[k]].n;
		if (n > 1 && facts_is_complete(f, x->operand[k]))
			x->linear &= ~(1u << k);
		else if (x->linear >> k & 1)
			products *= n;
	}
	return products;
}

/* Makes dims of fixed indices in operands, so that an operation on a row is the row of the operation on all rows.
 * Equal numbers of several operands are one dim. fixed: by new dim, its index. Returns the number of new dims. */
static unsigned free_fixed(struct facts *f, struct application *x, int64_t *fixed)
{
	unsigned n = 0;
	for (unsigned k = 0; k < x->operand_n && !x->has_place; k++) {
		const struct fact *o = &f->fact.at[x->operand[k]];
		for (uint32_t i = 0; i < o->n; i++)
			for (unsigned a = 0; a < o->at[i].image_n; a++) {
				const struct image_axis *e = &o->at[i].image[a];
				if (e->axis != AXIS_FIXED ||
				    facts_find_fixed(o->at[i].image, a, fixed, n) < n)
					continue;
				if (n == MAX_FIXED || x->dim_n + n == TERM_MAX_AXES)
					return 0;
				fixed[n++] = e->offset;
			}
	}
	for (unsigned k = 0; k < x->operand_n && n; k++)
		x->operand[k] = facts_free(f, x->operand[k], fixed, n, x->dim_n);
	for (unsigned c = 0; c < n; c++)
		x->dim[x->dim_n + c] = (struct evaluate_axis){.kind = EVALUATE_PARALLEL};
	x->dim_n += n;
	return n;
}

static fact_id evaluate_free(struct facts *f, struct application x);

fact_id evaluate(struct facts *f, const struct application *given)
{
	struct application x = *given;
	int64_t fixed[MAX_FIXED];
	struct image_axis to[TERM_MAX_AXES];
	if (is_reduction(x.kind) && remove_single(f, &x))
		return x.operand[0];
	const unsigned first = x.dim_n, n = free_fixed(f, &x, fixed);
	fact_id made = evaluate_free(f, x);
	for (unsigned d = 0; d < x.dim_n; d++)
		to[d] = (struct image_axis){.axis = d};
	for (unsigned c = 0; c < n; c++)
		to[first + c] = (struct image_axis){.axis = AXIS_FIXED, .offset = fixed[c]};
	return n ? facts_move(f, made, to) : made;
}

/* Returns 0 as the sum of zeros, of which some may be here. */
static fact_id sum_zeros(struct facts *f, const struct application *x)
{
	struct image_axis image[TERM_MAX_AXES];
	struct share_span share[TERM_MAX_AXES];
	struct application sum = *x;
	const fact_id one = facts_number(f, 1);
	sum.kind = OP_SUM;
	sum.label = 0;
	sum.operand_n = 1;
	sum.operand[0] = one;
	sum.has_all_dims = false;
	struct summand s = make_term(f, &sum, &one, image, share);
	s.factor = 0;
	s.image_n = 0;
	return facts_summand(f, x->reduce, s);
}

/* Evaluates an application whose operands have no fixed indices. */
static fact_id evaluate_free(struct facts *f, struct application x)
{
	uint32_t pick[TERM_MAX_OPERANDS] = {0};
	uint64_t products = 1;
	for (unsigned k = 0; k < x.operand_n; k++) {
		if (!x.operand[k])
			return FACT_UNKNOWN;
		if (x.linear >> k & 1 && !f->fact.at[x.operand[k]].n)
			return sum_zeros(f, &x);
		products *= x.linear >> k & 1 ? f->fact.at[x.operand[k]].n : 1;
	}
	if (products > MAX_PRODUCTS || x.together)
		products = keep_together(f, &x);
	if (products > MAX_PENDING)
		return FACT_UNKNOWN;
	struct addend *list = mem_alloc(sizeof *list * products);
	for (unsigned n = 0; n < products; n++) {
		list[n] = (struct addend){1, apply_once(f, &x, pick)};
		for (unsigned k = 0; k < x.operand_n; k++) { /* the next combination */
			if (!(x.linear >> k & 1))
				continue;
			if (++pick[k] < f->fact.at[x.operand[k]].n)
				break;
			pick[k] = 0;
		}
	}
	fact_id made = facts_join(f, x.reduce, list, (unsigned)products, NULL);
	free(list);
	return made;
}

/* ---- reshape */

static fact_id reshape_summand(struct facts *f, enum reduce_op reduce, const struct summand *of,
                               const struct reshape *r)
{
	uint64_t key[8 * TERM_MAX_AXES];
	struct image_axis image[TERM_MAX_AXES], in[TERM_MAX_AXES] = {{0}};
	struct summand one = *of,
	               s = {.factor = of->factor, .share_n = of->share_n, .share = of->share, .image = image};
	struct term t = {.kind = OP_RESHAPE, .key = key, .key_n = 1, .operand_n = 1};
	uint32_t number = 0, number_of[TERM_MAX_AXES];
	int64_t origin[TERM_MAX_AXES] = {0};
	memset(number_of, 0xff, sizeof number_of);
	for (unsigned a = 0; a < of->image_n; a++) {
		const struct image_axis *i = &of->image[a];
		if (i->axis >= AXIS_REPEATED || r->pair[i->axis] == 255 || number_of[i->axis] != NOT_SEEN)
			continue;
		number_of[i->axis] = number;
		origin[i->axis] = i->offset;
		image[number++] = (struct image_axis){.axis = r->pair[i->axis], .offset = i->offset};
	}
	for (unsigned a = 0; a < r->in_n; a++)
		in[a] = (struct image_axis){.axis = number_of[a], .offset = -origin[a]};
	uint32_t inner = number; /* axes of groups follow those that stay */
	for (unsigned g = 0; g < r->group_n; g++) {
		const struct reshape_group *group = &r->group[g];
		key[t.key_n++] = (uint64_t)group->in_n << 32 | group->out_n;
		for (unsigned a = 0; a < group->in_n; a++) {
			in[group->in + a] = (struct image_axis){.axis = inner++};
			key[t.key_n++] = (uint64_t)group->in_extent[a];
		}
		for (unsigned a = 0; a < group->out_n; a++) {
			image[number++] = (struct image_axis){.axis = group->out + a};
			key[t.key_n++] = (uint64_t)group->out_extent[a];
		}
	}
	one.factor = 1;
	one.share_n = 0;
	key[0] = facts_move(f, facts_summand(f, REDUCE_SUM, one), in);
	t.axis_n = (uint8_t)number;
	s.image_n = (uint16_t)number;
	s.term = facts_intern(f, &t);
	return facts_summand(f, reduce, s);
}

fact_id evaluate_reshape(struct facts *f, fact_id operand, const struct reshape *r)
{
	const uint32_t n = f->fact.at[operand].n;
	double number;
	if (!operand || facts_is_number(f, operand, &number))
		return operand;
	struct addend *list = mem_alloc(sizeof *list * n);
	for (uint32_t k = 0; k < n; k++) {
		const struct summand one = f->fact.at[operand].at[k];
		list[k] = (struct addend){1, reshape_summand(f, f->fact.at[operand].reduce, &one, r)};
	}
	fact_id made = facts_join(f, f->fact.at[operand].reduce, list, n, NULL);
	free(list);
	return made;
}

fact_id evaluate_total(struct facts *f, fact_id fact)
{
	struct application x = {
	    .kind = TERM_TOTAL, .dim_n = IR_MAX_LOGICAL, .operand_n = 1, .operand = {fact}};
	uint32_t pick = 0;
	return apply_once(f, &x, &pick);
}
