/* facts: see facts.h. */
#include "values/facts.h"
#include "ir/ir.h"
#include "values/evaluate.h"
#include <math.h>
#include <string.h>

enum { MAX_SUMMANDS = 32 /* of a complete sum; with more, it becomes a term */ };

void facts_open(struct facts *f)
{
	*f = (struct facts){.arena = arena_new()};
	vec_push(&f->term, (struct term){0});
	vec_push(&f->fact, (struct fact){0});
	vec_push(&f->label, "");
	facts_intern(f, &(struct term){.kind = TERM_NUMBER});
}

void facts_close(struct facts *f)
{
	vec_free(&f->term);
	vec_free(&f->fact);
	vec_free(&f->label);
	vec_free(&f->scratch);
	hash_table_free(&f->terms);
	hash_table_free(&f->known);
	hash_table_free(&f->labels);
	arena_free(f->arena);
}

uint32_t facts_label(struct facts *f, const char *text)
{
	struct hash_probe p = {.hash = hash_text(text)};
	if (!*text)
		return 0;
	for (uint32_t k; (k = hash_next(&f->labels, &p));)
		if (!strcmp(f->label.at[k], text))
			return k;
	vec_push(&f->label, arena_strndup(f->arena, text, strlen(text)));
	hash_insert(&f->labels, p.hash, f->label.n - 1);
	return f->label.n - 1;
}

static const void *keep_bytes(struct facts *f, const void *at, size_t n)
{
	return n ? memcpy(arena_alloc(f->arena, n), at, n) : NULL;
}

static bool bytes_equal(const void *a, const void *b, size_t n)
{
	return !n || !memcmp(a, b, n);
}

term_id facts_intern(struct facts *f, const struct term *t)
{
	struct hash_probe p = {.hash = hash_number(hash_number(HASH_START, t->kind), t->label)};
	p.hash = hash_block(p.hash, t->key, sizeof *t->key * t->key_n);
	for (uint32_t k; (k = hash_next(&f->terms, &p));) {
		const struct term *o = &f->term.at[k];
		if (o->kind == t->kind && o->label == t->label && o->key_n == t->key_n &&
		    bytes_equal(o->key, t->key, sizeof *t->key * t->key_n))
			return k;
	}
	struct term new = *t;
	new.key = keep_bytes(f, t->key, sizeof *t->key * t->key_n);
	new.reduced = keep_bytes(f, t->reduced, sizeof *t->reduced * t->reduced_n);
	vec_push(&f->term, new);
	hash_insert(&f->terms, p.hash, f->term.n - 1);
	return f->term.n - 1;
}

/* ---- facts */

/* Rounds a factor, so that equal products of factors have equal bits. All NaNs are one. */
static double round_factor(double x)
{
	int e;
	double fraction = frexp(x, &e);
	return isfinite(x) ? ldexp(nearbyint(ldexp(fraction, 40)), e - 40) : isnan(x) ? (double)NAN : x;
}

/* Returns true if two factors are one number. NaN is one, too. */
static bool same_factor(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static uint64_t hash_summand(uint64_t h, const struct summand *s)
{
	uint64_t bits;
	memcpy(&bits, &s->factor, sizeof bits);
	h = hash_number(hash_number(h, bits), s->term);
	h = hash_block(h, s->image, sizeof *s->image * s->image_n);
	return hash_block(h, s->share, sizeof *s->share * s->share_n);
}

static int compare_bytes(const void *a, size_t m, const void *b, size_t n)
{
	int c = m && n ? memcmp(a, b, m < n ? m : n) : 0;
	return c ? c : (m > n) - (m < n);
}

static int compare_element(const struct summand *a, const struct summand *b)
{
	if (a->term != b->term)
		return a->term < b->term ? -1 : 1;
	return compare_bytes(a->image, sizeof *a->image * a->image_n, b->image,
	                     sizeof *b->image * b->image_n);
}

static int compare_share(const struct summand *a, const struct summand *b)
{
	return compare_bytes(a->share, sizeof *a->share * a->share_n, b->share,
	                     sizeof *b->share * b->share_n);
}

static int compare_summand(const void *a, const void *b)
{
	int c = compare_element(a, b);
	return c ? c : compare_share(a, b);
}

static fact_id intern_fact(struct facts *f, enum reduce_op reduce, const struct summand *at, uint32_t n)
{
	struct hash_probe p = {.hash = hash_number(HASH_START, n)};
	reduce = n <= 1 && (!n || !at->share_n) ? REDUCE_SUM : reduce;
	p.hash = hash_number(p.hash, reduce);
	for (uint32_t k = 0; k < n; k++)
		p.hash = hash_summand(p.hash, &at[k]);
	for (uint32_t k; (k = hash_next(&f->known, &p));) {
		const struct fact *o = &f->fact.at[k];
		bool same = o->n == n && o->reduce == reduce;
		for (uint32_t i = 0; i < n && same; i++)
			same =
			    same_factor(o->at[i].factor, at[i].factor) && !compare_summand(&o->at[i], &at[i]);
		if (same)
			return k;
	}
	struct summand *kept = arena_new_array(f->arena, struct summand, n);
	for (uint32_t k = 0; k < n; k++) {
		kept[k] = at[k];
		kept[k].image = keep_bytes(f, at[k].image, sizeof *at[k].image * at[k].image_n);
		kept[k].share = keep_bytes(f, at[k].share, sizeof *at[k].share * at[k].share_n);
	}
	vec_push(&f->fact, (struct fact){reduce, n, kept});
	hash_insert(&f->known, p.hash, f->fact.n - 1);
	return f->fact.n - 1;
}

fact_id facts_of(struct facts *f, enum reduce_op reduce, struct summand *at, uint32_t n)
{
	if (n)
		qsort(at, n, sizeof *at, compare_summand);
	return intern_fact(f, reduce, at, n);
}

fact_id facts_number(struct facts *f, double number)
{
	struct summand s = {.factor = round_factor(number), .term = TERM_ONE};
	return intern_fact(f, REDUCE_SUM, &s, number != 0);
}

fact_id facts_term(struct facts *f, term_id term, unsigned n)
{
	struct image_axis image[TERM_MAX_AXES];
	struct summand s = {.factor = 1, .term = term, .image_n = (uint16_t)n, .image = image};
	for (unsigned a = 0; a < n; a++)
		image[a] = (struct image_axis){.axis = a};
	return intern_fact(f, REDUCE_SUM, &s, 1);
}

fact_id facts_summand(struct facts *f, enum reduce_op reduce, struct summand s)
{
	s.factor = round_factor(s.factor);
	return intern_fact(f, reduce, &s, s.factor != 0 || s.share_n);
}

bool facts_is_complete(const struct facts *f, fact_id fact)
{
	for (uint32_t k = 0; k < f->fact.at[fact].n; k++)
		if (f->fact.at[fact].at[k].share_n)
			return false;
	return true;
}

bool facts_is_sum(const struct facts *f, fact_id fact)
{
	return f->fact.at[fact].reduce == REDUCE_SUM || f->fact.at[fact].reduce == REDUCE_AVG;
}

bool facts_is_number(const struct facts *f, fact_id fact, double *out)
{
	const struct fact *x = &f->fact.at[fact];
	*out = x->n ? x->at[0].factor : 0;
	return fact && (!x->n || (x->n == 1 && x->at[0].term == TERM_ONE));
}

/* ---- shares */

static int compare_span(const struct share_span *a, const struct share_span *b)
{
	if (a->of != b->of)
		return a->of < b->of ? -1 : 1;
	return (a->axis > b->axis) - (a->axis < b->axis);
}

/* Returns true if two shares have an element in common. An axis without a span is whole. */
static bool shares_meet(const struct summand *a, const struct summand *b)
{
	for (unsigned i = 0, k = 0; i < a->share_n && k < b->share_n;) {
		const struct share_span *x = &a->share[i], *y = &b->share[k];
		int c = compare_span(x, y);
		if (!c && (x->hi <= y->lo || y->hi <= x->lo))
			return false;
		i += c <= 0;
		k += c >= 0;
	}
	return true;
}

static bool share_is_whole(const struct facts *f, const struct share_span *s)
{
	const struct term *t = &f->term.at[s->of];
	return s->axis < t->reduced_n && s->lo <= t->reduced[s->axis][0] && s->hi >= t->reduced[s->axis][1];
}

/* Joins b to a, if their shares are equal but for one span, and these spans touch. `overlaps`: or have
 * elements in common. */
static bool join_shares(struct facts *f, struct summand *a, const struct summand *b, bool overlaps)
{
	int differs = -1;
	if (a->share_n != b->share_n)
		return false;
	for (unsigned k = 0; k < a->share_n; k++) {
		const struct share_span *x = &a->share[k], *y = &b->share[k];
		if (compare_span(x, y))
			return false;
		if (x->lo == y->lo && x->hi == y->hi)
			continue;
		if (differs >= 0 ||
		    (overlaps ? x->hi < y->lo || y->hi < x->lo : x->hi != y->lo && y->hi != x->lo))
			return false;
		differs = (int)k;
	}
	if (differs < 0)
		return overlaps;
	struct share_span *share = arena_new_array(f->arena, struct share_span, a->share_n), *s;
	memcpy(share, a->share, sizeof *share * a->share_n);
	s = &share[differs];
	s->lo = s->lo < b->share[differs].lo ? s->lo : b->share[differs].lo;
	s->hi = s->hi > b->share[differs].hi ? s->hi : b->share[differs].hi;
	a->share = share;
	if (share_is_whole(f, s)) {
		memmove(s, s + 1, sizeof *s * (size_t)(a->share_n - differs - 1));
		a->share_n--;
	}
	return true;
}

/* Returns true if share a has all elements of share b. */
static bool share_covers(const struct summand *a, const struct summand *b)
{
	unsigned found = 0;
	for (unsigned i = 0; i < a->share_n; i++)
		for (unsigned k = 0; k < b->share_n; k++)
			found += !compare_span(&a->share[i], &b->share[k]) &&
			         a->share[i].lo <= b->share[k].lo && a->share[i].hi >= b->share[k].hi;
	return found == a->share_n;
}

static double join_numbers(enum reduce_op reduce, double a, double b)
{
	return isnan(a) || isnan(b)    ? NAN
	       : reduce == REDUCE_MAX  ? fmax(a, b)
	       : reduce == REDUCE_MIN  ? fmin(a, b)
	       : reduce == REDUCE_PROD ? a * b
	                               : a + b;
}

/* Joins b to a, which have one term and image. Returns false if they stay two summands. */
static bool join_pair(struct facts *f, enum reduce_op reduce, struct summand *a, const struct summand *b)
{
	const bool extreme = reduce == REDUCE_MAX || reduce == REDUCE_MIN;
	const bool sums = reduce == REDUCE_SUM || reduce == REDUCE_AVG;
	if (!compare_share(a, b) && (sums || a->term == TERM_ONE)) {
		a->factor = round_factor(join_numbers(reduce, a->factor, b->factor));
		return true;
	}
	if (!same_factor(a->factor, b->factor))
		return false;
	if (extreme && share_covers(a, b))
		return true;
	if (!extreme || !share_covers(b, a))
		return join_shares(f, a, b, extreme);
	*a = *b;
	return true;
}

/* Joins the summands [first, n) of the scratch list, which have one term and image. Returns their new end. */
static uint32_t join_element(struct facts *f, enum reduce_op reduce, uint32_t first, uint32_t n,
                             term_id *twice)
{
	struct summand *at = f->scratch.at;
	const bool sums = reduce == REDUCE_SUM || reduce == REDUCE_AVG, once = sums || reduce == REDUCE_PROD;
	for (uint32_t i = first; i < n; i++)
		for (uint32_t k = i + 1; k < n && twice && once && !*twice; k++)
			if (shares_meet(&at[i], &at[k]))
				*twice = at[i].term;
	bool joined = true;
	while (joined) { /* a share that has grown, or has another factor, may fit an earlier one */
		joined = false;
		for (uint32_t i = first; i < n; i++)
			for (uint32_t k = i + 1; k < n;) {
				const bool same = !compare_share(&at[i], &at[k]);
				if (!join_pair(f, reduce, &at[i], &at[k])) {
					k++;
					continue;
				}
				at[k] = at[--n];
				joined = true;
				k = same ? k : i + 1;
			}
	}
	uint32_t kept = first;
	for (uint32_t i = first; i < n; i++)
		if (at[i].factor != 0 || !sums || at[i].share_n)
			at[kept++] = at[i];
	return kept;
}

double facts_identity(enum reduce_op reduce)
{
	return reduce == REDUCE_MAX ? -INFINITY : reduce == REDUCE_MIN ? INFINITY : reduce == REDUCE_PROD;
}

/* Adds the summands of a fact to the scratch list, without those that change nothing: 0 of a sum, 1 of a product. */
static void push_summands(struct facts *f, enum reduce_op reduce, fact_id fact, double factor)
{
	const struct fact *x = &f->fact.at[fact];
	const bool sums = reduce == REDUCE_SUM || reduce == REDUCE_AVG;
	if (!x->n && (!sums || !isfinite(factor))) /* 0 times infinity is NaN */
		vec_push(&f->scratch, (struct summand){.factor = round_factor(0 * factor), .term = TERM_ONE});
	for (uint32_t i = 0; i < x->n; i++) {
		struct summand s = x->at[i];
		s.factor = round_factor(s.factor * factor);
		if (s.term == TERM_ONE ? s.factor != facts_identity(reduce) : s.factor != 0 || s.share_n)
			vec_push(&f->scratch, s);
	}
}

static bool are_one_fact(const struct addend *list, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (list[k].fact != list[0].fact || list[k].factor != 1)
			return false;
	return true;
}

/* Returns false if the summands of a fact cannot be joined with others by a reduction, or be multiplied by a factor
 * one by one. The maximum of two sums is none of their summands, and -max(A, B) is not max(-A, -B): such a fact becomes
 * a term, if it is complete. */
static bool can_join(struct facts *f, enum reduce_op reduce, unsigned n, double factor, fact_id *fact)
{
	const struct fact *x = &f->fact.at[*fact];
	const bool whole = facts_is_complete(f, *fact), sums = facts_is_sum(f, *fact);
	const bool extreme = x->reduce == REDUCE_MAX || x->reduce == REDUCE_MIN;
	if (whole && x->n <= 1)
		return true;
	if (n == 1 && (sums || factor == 1 || (extreme && factor > 0)))
		return true;
	if (n > 1 && (x->reduce == reduce || (sums && (reduce == REDUCE_SUM || reduce == REDUCE_AVG))) &&
	    (sums || factor == 1))
		return true;
	if (whole)
		*fact = evaluate_total(f, *fact);
	return whole;
}

fact_id facts_join(struct facts *f, enum reduce_op reduce, const struct addend *list, unsigned n,
                   term_id *twice)
{
	if ((reduce == REDUCE_MAX || reduce == REDUCE_MIN) && n > 1 && are_one_fact(list, n)) {
		if (twice)
			*twice = 0;
		return list[0].fact;
	}
	f->scratch.n = 0;
	if (n == 1) /* it stays a part of its own reduction */
		reduce = f->fact.at[list[0].fact].reduce;
	if (twice)
		*twice = 0;
	for (unsigned k = 0; k < n; k++) {
		fact_id fact = list[k].fact;
		if (!fact || !can_join(f, reduce, n, list[k].factor, &fact))
			return FACT_UNKNOWN;
		push_summands(f, reduce, fact, list[k].factor);
	}
	const uint32_t all = f->scratch.n;
	if (!all)
		return facts_number(f, facts_identity(reduce));
	for (uint32_t k = 0; k < all && reduce == REDUCE_PROD; k++)
		if (!f->scratch.at[k].factor)
			return facts_number(f, 0);
	qsort(f->scratch.at, all, sizeof *f->scratch.at, compare_summand);
	uint32_t end = 0;
	for (uint32_t i = 0; i < all;) {
		uint32_t k = i + 1, first = end;
		while (k < all && !compare_element(&f->scratch.at[i], &f->scratch.at[k]))
			k++;
		memmove(&f->scratch.at[first], &f->scratch.at[i], sizeof *f->scratch.at * (k - i));
		end = k - i > 1 ? join_element(f, reduce, first, first + (k - i), twice) : first + 1;
		i = k;
	}
	if (end == 1 && f->scratch.at[0].term == TERM_ONE)
		return facts_number(f, f->scratch.at[0].factor);
	if (end)
		qsort(f->scratch.at, end, sizeof *f->scratch.at, compare_summand);
	fact_id made = facts_join_tensors(f, intern_fact(f, reduce, f->scratch.at, end));
	return end > MAX_SUMMANDS && reduce == REDUCE_SUM && facts_is_complete(f, made)
	           ? evaluate_total(f, made)
	           : made;
}

/* ---- text */

static void print_term(const struct facts *f, const struct term *t, unsigned depth, struct buf *out)
{
	const char *label = f->label.at[t->label];
	if (t->kind == TERM_INPUT || t->kind == TERM_NUMBER) {
		buf_puts(out, t->kind == TERM_INPUT ? label : "1");
		return;
	}
	buf_puts(out, t->kind == TERM_CONTRACT ? "matmul"
	              : t->kind == TERM_FLAT   ? "pack"
	              : t->kind == TERM_PIECES ? "cat"
	              : t->kind == TERM_TOTAL  ? ""
	                                       : op_info[t->kind].hir);
	buf_puts(out, depth || !t->operand_n ? "(" : "(…");
	for (unsigned k = 0; k < t->operand_n && depth; k++) {
		buf_puts(out, k ? ", " : "");
		facts_print(f, (fact_id)t->key[k], depth - 1, out);
	}
	buf_putc(out, ')');
}

void facts_print_share(const struct facts *f, const struct share_span *x, struct buf *out)
{
	const int64_t *all = f->term.at[x->of].reduced[x->axis];
	buf_printf(out, "[%lld, %lld) of [%lld, %lld)", (long long)x->lo, (long long)x->hi, (long long)all[0],
	           (long long)all[1]);
}

void facts_print(const struct facts *f, fact_id fact, unsigned depth, struct buf *out)
{
	const struct fact *x = &f->fact.at[fact];
	enum { MOST = 4 };
	if (!fact || !x->n) {
		buf_puts(out, fact ? "0" : "?");
		return;
	}
	const bool sums = x->n == 1 || facts_is_sum(f, fact);
	if (!sums)
		buf_printf(out, "%s(", reduce_op_name(x->reduce));
	for (uint32_t k = 0; k < x->n && k < MOST; k++) {
		const struct summand *s = &x->at[k];
		buf_puts(out, !k ? "" : sums ? " + " : ", ");
		if (s->factor != 1 || s->term == TERM_ONE)
			buf_printf(out, "%g%s", s->factor, s->term == TERM_ONE ? "" : " ");
		if (s->term != TERM_ONE)
			print_term(f, &f->term.at[s->term], depth, out);
		for (unsigned a = 0; a < s->image_n; a++)
			if (s->image[a].offset || s->image[a].axis >= AXIS_REPEATED) {
				buf_puts(out, "[");
				for (a = 0; a < s->image_n; a++) {
					const struct image_axis *i = &s->image[a];
					buf_puts(out, a ? ", " : "");
					if (i->axis >= AXIS_REPEATED)
						buf_printf(out, "%lld", (long long)i->offset);
					else
						buf_printf(out, i->offset ? "i%u%+lld" : "i%u", i->axis,
						           (long long)i->offset);
				}
				buf_puts(out, "]");
			}
		for (unsigned a = 0; a < s->share_n; a++) {
			buf_puts(out, a ? ", " : " {");
			facts_print_share(f, &s->share[a], out);
			buf_puts(out, a + 1 == s->share_n ? "}" : "");
		}
	}
	if (x->n > MOST)
		buf_printf(out, "%s%u more", sums ? " + " : ", ", x->n - MOST);
	buf_puts(out, sums ? "" : ")");
}
