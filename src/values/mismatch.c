/* mismatch: see mismatch.h. */
#include "values/mismatch.h"
#include "ir/ir.h"
#include "values/evaluate.h"
#include <math.h>
#include <string.h>

enum { DRAWS = 4, MAX_DEPTH = 64, MAX_LEAVES = 64 };

static bool is_pointwise(const struct term *t)
{
	return t->kind < OP_KIND_COUNT && op_info[t->kind].traits & TRAIT_POINTWISE && t->kind != OP_CAST &&
	       t->kind != OP_BITCAST && t->kind != OP_UNIFORM;
}

/* ---- the innermost pair */

static bool same_element(const struct summand *a, const struct summand *b)
{
	const bool nan = isnan(a->factor) && isnan(b->factor);
	return (a->factor == b->factor || nan) && a->image_n == b->image_n && a->share_n == b->share_n &&
	       (!a->image_n || !memcmp(a->image, b->image, sizeof *a->image * a->image_n)) &&
	       (!a->share_n || !memcmp(a->share, b->share, sizeof *a->share * a->share_n));
}

/* Returns the only summand of a that b lacks; NULL if there is none or more than one. */
static const struct summand *find_only(const struct fact *a, const struct fact *b)
{
	const struct summand *only = NULL;
	for (uint32_t i = 0; i < a->n; i++) {
		bool found = false;
		for (uint32_t k = 0; k < b->n && !found; k++)
			found = a->at[i].term == b->at[k].term && same_element(&a->at[i], &b->at[k]);
		if (!found && only)
			return NULL;
		only = found ? only : &a->at[i];
	}
	return only;
}

/* Returns true if a term depends on an input, or on random numbers. */
static bool has_input(const struct facts *f, term_id term, unsigned *budget)
{
	const struct term *t = &f->term.at[term];
	bool found = t->kind == TERM_INPUT || t->kind == OP_UNIFORM;
	for (unsigned k = 0; k < t->operand_n && !found && *budget; k++) {
		const struct fact *x = &f->fact.at[(fact_id)t->key[k]];
		--*budget;
		for (uint32_t i = 0; i < x->n && !found; i++)
			found = has_input(f, x->at[i].term, budget);
	}
	return found;
}

/* Returns true if a factor is no constant, which may have zeros at some indices, or is one number. */
static bool is_factor(const struct facts *f, fact_id factor)
{
	const struct fact *x = &f->fact.at[factor];
	unsigned budget = 256;
	bool found =
	    x->n == 1 && (x->at[0].term == TERM_ONE || f->term.at[x->at[0].term].kind == TERM_NUMBER);
	for (uint32_t k = 0; k < x->n && !found; k++)
		found = has_input(f, x->at[k].term, &budget);
	return found;
}

static bool is_input(const struct facts *f, fact_id fact)
{
	const struct fact *x = &f->fact.at[fact];
	return x->n == 1 && f->term.at[x->at[0].term].kind == TERM_INPUT;
}

/* Returns true if operands that differ give results that differ. Most operations may hide a difference: topk gives
 * the same indices for 2*X, gather reads some elements only, a product of two numbers is that of their negatives. */
static bool shows_operand(const struct facts *f, const struct term *t, unsigned operand)
{
	switch (t->kind) {
	case TERM_CONTRACT:
		return is_factor(f, (fact_id)t->key[!operand]);
	case TERM_FLAT:
	case TERM_PIECES:
	case TERM_TOTAL:
	case OP_SUM:
	case OP_MAX:
	case OP_MIN:
	case OP_RESHAPE:
	case OP_SOFTMAX:
	case OP_SDPA:
		return true;
	case OP_LAYERNORM:
	case OP_RMSNORM: /* without eps= that of 2*X is that of X */
		return operand || strcmp(f->label.at[t->label], "eps=0 ") != 0;
	case OP_TAKE: /* each element is read for some indices, if these may be any */
		return operand == 0 && is_input(f, (fact_id)t->key[1]);
	default:
		return false;
	}
}

/* Finds the only operands in which two terms differ. Returns false if they differ in anything else. */
static bool find_operands(const struct facts *f, term_id a, term_id b, fact_id *x, fact_id *y)
{
	const struct term *s = &f->term.at[a], *t = &f->term.at[b];
	int differs = -1;
	if (s->kind != t->kind || s->label != t->label || s->key_n != t->key_n ||
	    s->operand_n != t->operand_n || !s->operand_n)
		return false;
	for (uint32_t k = 0; k < s->key_n; k++)
		if (s->key[k] != t->key[k]) {
			if (differs >= 0 || k >= s->operand_n)
				return false;
			differs = (int)k;
		}
	*x = differs < 0 ? 0 : (fact_id)s->key[differs];
	*y = differs < 0 ? 0 : (fact_id)t->key[differs];
	return differs >= 0 && shows_operand(f, s, (unsigned)differs);
}

/* Returns true for operations that give the same if a number is added to all elements of an operand. */
static bool ignores_shifts(uint32_t kind)
{
	return kind == OP_SOFTMAX || kind == OP_SDPA || kind == OP_LAYERNORM;
}

static bool has_axis(const struct fact *x, uint32_t axis)
{
	for (uint32_t k = 0; k < x->n; k++)
		for (unsigned a = 0; a < x->at[k].image_n; a++)
			if (x->at[k].image[a].axis == axis)
				return true;
	return false;
}

/* Returns true if an axis that is not parallel has one element, or no operand has it, so that its elements are equal. A
 * softmax is constant then, and a sum is a multiple. */
static bool has_equal_elements(const struct facts *f, const struct term *t)
{
	uint32_t axis = 0;
	for (uint32_t k = t->operand_n; k < t->key_n; k++, axis++) {
		/* the axes of a sdpa are those of several operands; with causal=true a row sees some keys only */
		bool found = t->kind == OP_SDPA && !t->label;
		if (t->key[k] == EVALUATE_PARALLEL)
			continue;
		for (unsigned i = 0; i < t->operand_n && !found; i++)
			found = t->kind != OP_SDPA && has_axis(&f->fact.at[(fact_id)t->key[i]], axis);
		if (!found || k + 2 >= t->key_n || t->key[k + 2] == t->key[k + 1] + 1)
			return true;
		k += 2;
	}
	return false;
}

static struct mismatch find_innermost(const struct facts *f, fact_id a, fact_id b)
{
	struct mismatch m = {.a = a, .b = b};
	bool is_summed = false, is_extreme = false;
	for (unsigned depth = 0; depth < MAX_DEPTH; depth++) {
		const struct fact *x = &f->fact.at[m.a], *y = &f->fact.at[m.b];
		const struct summand *s = find_only(x, y), *t = find_only(y, x);
		fact_id in, other;
		if (x->n != y->n || !s || !t || !same_element(s, t) ||
		    f->term.at[s->term].kind == OP_SDPA_BACKWARD || /* a gradient may ignore an operand */
		    !find_operands(f, s->term, t->term, &in, &other))
			return m;
		const struct term *term = &f->term.at[s->term];
		if (ignores_shifts(term->kind) &&
		    (f->fact.at[in].n != 1 || f->fact.at[other].n != 1 || has_equal_elements(f, term) ||
		     has_equal_elements(f, &f->term.at[t->term]) || is_summed))
			return m;
		if (is_extreme && term->kind == TERM_PIECES) /* another piece may have the extreme */
			return m;
		is_extreme |= term->kind == OP_MAX || term->kind == OP_MIN;
		is_summed = term->kind == OP_SUM; /* that of a softmax is 1 */
		m.a = in;
		m.b = other;
	}
	return m;
}

/* ---- numbers for the tops of two facts */

struct leaf {
	uint64_t hash; /* of the term and its index */
	term_id term;
};
struct sampler {
	const struct facts *f;
	uint64_t seed;
	unsigned budget;
	bool fails;
	unsigned leaf_n;
	struct leaf leaf[MAX_LEAVES];
};

static double sample_fact(struct sampler *s, fact_id fact, const struct image_axis *image, unsigned n);

static bool fact_is_free(const struct facts *f, fact_id fact, unsigned *budget);

/* Returns true if a term may be any number, as inputs and products with them. Others are positive at least somewhere. */
static bool term_is_free(const struct facts *f, term_id term, unsigned *budget)
{
	const struct term *t = &f->term.at[term];
	bool some = false;
	if (t->kind == TERM_INPUT)
		return true;
	if (!*budget)
		return false;
	--*budget;
	switch (t->kind) {
	case TERM_CONTRACT:
	case OP_MUL: /* a square is not negative */
		for (unsigned k = 0; k < 2 && t->key[0] != t->key[1]; k++)
			some |= fact_is_free(f, (fact_id)t->key[k], budget);
		return some;
	case OP_SUM:
	case OP_MAX:
	case OP_MIN:
	case OP_TAKE:
	case OP_RESHAPE:
	case OP_LAYERNORM:
	case OP_RMSNORM:
	case TERM_FLAT:
	case TERM_PIECES:
	case TERM_TOTAL:
		return fact_is_free(f, (fact_id)t->key[0], budget);
	case OP_SDPA:
		return fact_is_free(f, (fact_id)t->key[2], budget);
	default:
		return false;
	}
}

static bool fact_is_free(const struct facts *f, fact_id fact, unsigned *budget)
{
	const struct fact *x = &f->fact.at[fact];
	bool some = false;
	for (uint32_t k = 0; k < x->n && !some; k++)
		some = term_is_free(f, x->at[k].term, budget);
	return some;
}

/* Returns true for a sum of softmaxes or layernorms, which is 1 or 0 along their axis. */
static bool is_known_sum(const struct facts *f, const struct term *t)
{
	bool known = false;
	if (t->kind != OP_SUM)
		return false;
	const struct fact *x = &f->fact.at[(fact_id)t->key[0]];
	for (uint32_t k = 0; k < x->n; k++)
		known |= ignores_shifts(f->term.at[x->at[k].term].kind);
	return known;
}

/* Returns the number of a term that is not taken apart. Whole numbers, as those of one_hot, are not random. */
static double sample_leaf(struct sampler *s, term_id term, const struct image_axis *image, unsigned n)
{
	uint64_t h = hash_number(HASH_START, term);
	for (unsigned a = 0; a < n; a++)
		h = hash_number(hash_number(h, image[a].axis), (uint64_t)image[a].offset);
	unsigned k = 0;
	while (k < s->leaf_n && s->leaf[k].hash != h)
		k++;
	if (k == MAX_LEAVES)
		s->fails = true;
	else if (k == s->leaf_n)
		s->leaf[s->leaf_n++] = (struct leaf){h, term};
	h = hash_number(h, s->seed);
	const double x = (double)(h >> 11) / (double)(1ull << 53);
	unsigned budget = 256, other = 256;
	s->fails |= !has_input(s->f, term, &other); /* a constant, such as layernorm(0) */
	const struct term *t = &s->f->term.at[term];
	s->fails |= is_known_sum(s->f, t) || (ignores_shifts(t->kind) && has_equal_elements(s->f, t));
	s->fails |= t->kind == OP_IOTA || t->kind == OP_SCAN || t->kind == OP_PUT || t->kind == OP_ONE_HOT ||
	            t->kind == OP_TOPK || t->kind == OP_CAST;
	s->fails |= t->kind == OP_SDPA_BACKWARD; /* of one key, the gradient of q is 0 */
	return term_is_free(s->f, term, &budget) ? x * 3 - 1.2 : x * 0.9 + 0.05;
}

static double sample_operation(struct sampler *s, const struct term *t, const double *x)
{
	enum pointwise op;
	if (t->kind == OP_WHERE)
		return x[0] > 0.5 ? x[1] : x[2]; /* the condition may be an input */
	if (op_pointwise((enum op_kind)t->kind, &op) && pointwise_class(op) != CLASS_LOGICAL &&
	    pointwise_class(op) != CLASS_INTEGER)
		return pointwise_value(op, x);
	s->fails = true;
	return 0;
}

static double sample_term(struct sampler *s, term_id term, const struct image_axis *image, unsigned n)
{
	const struct term *t = &s->f->term.at[term];
	double x[TERM_MAX_OPERANDS];
	if (term == TERM_ONE)
		return 1;
	if (!is_pointwise(t) || !s->budget)
		return sample_leaf(s, term, image, n);
	s->fails |= t->label != 0; /* of integers: functions that differ for reals may be equal */
	s->budget--;
	for (unsigned k = 0; k < t->operand_n; k++)
		x[k] = sample_fact(s, (fact_id)t->key[k], image, n);
	return sample_operation(s, t, x);
}

/* image: the index of the fact's axes. */
static double sample_fact(struct sampler *s, fact_id fact, const struct image_axis *image, unsigned n)
{
	const struct fact *x = &s->f->fact.at[fact];
	double sum = 0;
	s->fails |= !fact || (x->n > 1 && x->reduce != REDUCE_SUM);
	for (uint32_t k = 0; k < x->n && !s->fails; k++) {
		struct image_axis at[TERM_MAX_AXES];
		const struct summand *e = &x->at[k];
		s->fails |= e->share_n != 0;
		for (unsigned a = 0; a < e->image_n; a++) {
			at[a] = e->image[a];
			if (at[a].axis >= AXIS_REPEATED || at[a].axis >= n)
				continue;
			at[a] = image[e->image[a].axis];
			at[a].offset += e->image[a].offset;
		}
		sum += e->factor * sample_term(s, e->term, at, e->image_n);
	}
	return sum;
}

static bool fact_is_rigid(const struct facts *f, fact_id fact, unsigned *budget);

/* Returns true if a term consists of inputs, products, sums and pointwise operations only: no law that hirc does
 * not know relates it to another one. */
static bool term_is_rigid(const struct facts *f, term_id term, unsigned *budget)
{
	const struct term *t = &f->term.at[term];
	bool rigid = t->kind == TERM_INPUT || t->kind == TERM_NUMBER || t->kind == TERM_CONTRACT ||
	             t->kind == OP_SUM || is_pointwise(t) ||
	             (t->kind == OP_TAKE && is_input(f, (fact_id)t->key[1]));
	if (!rigid || !*budget ||
	    ((t->kind == TERM_CONTRACT || t->kind == OP_SUM) && has_equal_elements(f, t)))
		return false;
	--*budget;
	for (unsigned k = 0; k < t->operand_n && rigid; k++)
		rigid = fact_is_rigid(f, (fact_id)t->key[k], budget);
	return rigid;
}

static bool fact_is_rigid(const struct facts *f, fact_id fact, unsigned *budget)
{
	const struct fact *x = &f->fact.at[fact];
	bool rigid = fact != FACT_UNKNOWN;
	for (uint32_t k = 0; k < x->n && rigid; k++)
		rigid = !x->at[k].share_n && term_is_rigid(f, x->at[k].term, budget);
	return rigid;
}

static bool has_leaf(const struct sampler *s, uint64_t hash)
{
	for (unsigned k = 0; k < s->leaf_n; k++)
		if (s->leaf[k].hash == hash)
			return true;
	return false;
}

/* Sets *rigid to false if a term that only one fact has may be equal to others of another form. */
static void check_own(const struct facts *f, const struct sampler *own, const struct sampler *other,
                      bool *rigid)
{
	unsigned budget = 4096;
	for (unsigned k = 0; k < own->leaf_n; k++) {
		const struct term *t = &f->term.at[own->leaf[k].term];
		if (has_leaf(other, own->leaf[k].hash))
			continue;
		*rigid &= term_is_rigid(f, own->leaf[k].term, &budget);
		/* a sum over a part of an axis and a sum over another part may be a sum over both */
		for (unsigned i = 0; i < other->leaf_n; i++) {
			const struct term *o = &f->term.at[other->leaf[i].term];
			*rigid &= o == t || o->kind != t->kind || o->operand_n != t->operand_n ||
			          !t->operand_n || memcmp(o->key, t->key, sizeof *t->key * t->operand_n) != 0;
		}
	}
}

struct input_set {
	unsigned n;
	term_id at[MAX_LEAVES];
	unsigned budget; /* 0: some inputs are not in the set */
};

static void add_inputs(const struct facts *f, fact_id fact, struct input_set *set)
{
	const struct fact *x = &f->fact.at[fact];
	for (uint32_t i = 0; i < x->n && set->budget; i++) {
		const struct term *t = &f->term.at[x->at[i].term];
		unsigned k = 0;
		set->budget--;
		for (unsigned o = 0; o < t->operand_n; o++)
			add_inputs(f, (fact_id)t->key[o], set);
		while (k < set->n && set->at[k] != x->at[i].term)
			k++;
		if (t->kind != TERM_INPUT || k < set->n)
			continue;
		if (set->n == MAX_LEAVES)
			set->budget = 0;
		else
			set->at[set->n++] = x->at[i].term;
	}
}

/* Returns true if one fact may depend on an input that the other one does not. */
static bool have_other_inputs(const struct facts *f, fact_id a, fact_id b)
{
	struct input_set x = {.budget = 4096}, y = x;
	unsigned common = 0;
	add_inputs(f, a, &x);
	add_inputs(f, b, &y);
	for (unsigned i = 0; i < x.n; i++)
		for (unsigned k = 0; k < y.n; k++)
			common += x.at[i] == y.at[k];
	return x.budget && y.budget && (common < x.n || common < y.n);
}

/* Returns true if a term that only one fact has is a sum or product, and one that only the other has is of another
 * kind: sum(A) may be A[0] + A[1]. */
static bool have_other_sums(const struct facts *f, const struct sampler *x, const struct sampler *y)
{
	for (unsigned k = 0; k < x->leaf_n; k++)
		for (unsigned i = 0; i < y->leaf_n; i++) {
			const uint32_t a = f->term.at[x->leaf[k].term].kind,
			               b = f->term.at[y->leaf[i].term].kind;
			if (a != b &&
			    (a == OP_SUM || a == TERM_CONTRACT || b == OP_SUM || b == TERM_CONTRACT) &&
			    !has_leaf(y, x->leaf[k].hash) && !has_leaf(x, y->leaf[i].hash))
				return true;
		}
	return false;
}

/* Returns true if two facts are different functions for sure. */
static bool are_apart(const struct facts *f, fact_id a, fact_id b)
{
	struct image_axis own[TERM_MAX_AXES];
	bool apart = false;
	for (unsigned k = 0; k < TERM_MAX_AXES; k++)
		own[k] = (struct image_axis){.axis = k};
	for (uint64_t draw = 0; draw < DRAWS && !apart; draw++) {
		struct sampler x = {.f = f, .seed = draw, .budget = 256}, y = x;
		double p = sample_fact(&x, a, own, TERM_MAX_AXES), q = sample_fact(&y, b, own, TERM_MAX_AXES);
		bool rigid = true;
		check_own(f, &x, &y, &rigid);
		check_own(f, &y, &x, &rigid);
		if (x.fails || y.fails || !rigid ||
		    (have_other_sums(f, &x, &y) && !have_other_inputs(f, a, b)))
			return false;
		apart = isfinite(p) && isfinite(q) && fabs(p - q) > 1e-6 * (1 + fabs(p) + fabs(q));
	}
	return apart;
}

struct mismatch mismatch_find(struct facts *f, fact_id a, fact_id b)
{
	struct mismatch m = {.a = a, .b = b};
	if (!a || !b)
		return m;
	m = find_innermost(f, a, b);
	m.is_known = m.a && m.b && are_apart(f, m.a, m.b);
	return m;
}
