/* views: represents axes as products of factors.
 *
 *     [6, 4]                                a b
 *     permute (1, 0)      [4, 6]            b a
 *     reshape             [2, 2, 6]         b' b" a
 *     permute (2, 0, 1)   [6, 2, 2]         a b' b"
 *     reshape             [6, 4]            a b: the identity
 *
 * A reshape takes the factors in order, and splits a factor if an axis ends inside it. */
#include "pass/views.h"
#include "ir/expr.h"
#include <string.h>

enum { VIEWS_MAX_FACTORS = 64 };

struct factor {
	int64_t n;      /* 0: symbolic */
	expr_id symbol; /* if n is 0 */
	uint8_t next;   /* in the order of the first tensor */
};

struct factors {
	const struct module *m;
	struct factor at[VIEWS_MAX_FACTORS + 1]; /* indices from 1 on */
	unsigned n;
	uint8_t list[VIEWS_MAX_FACTORS];    /* factors of all axes, one axis after the other */
	unsigned rank, end[IR_MAX_LOGICAL]; /* end of each axis in the list */
};

bool view_moves_elements(const struct module *m, op_id op)
{
	unsigned kind = m->op.at[op].kind;
	return (kind == OP_PERMUTE || kind == OP_RESHAPE || kind == OP_SET) && m->op.at[op].def_n == 1 &&
	       op_role_count(m, op, ROLE_READ) == 1;
}

static uint8_t factor_new(struct factors *f, expr_id extent)
{
	int64_t k;
	if (f->n == VIEWS_MAX_FACTORS)
		return 0;
	struct factor *x = &f->at[++f->n];
	*x = (struct factor){.symbol = extent};
	if (expr_is_const(f->m, extent, &k) && k > 0)
		x->n = k;
	return (uint8_t)f->n;
}

static bool start_factors(struct factors *f, const struct domain *d)
{
	f->rank = d->rank;
	for (unsigned a = 0; a < d->rank; a++) {
		uint8_t x = factor_new(f, d->axis[a].extent);
		if (!x)
			return false;
		f->list[a] = x;
		f->end[a] = a + 1;
		f->at[x].next = a + 1 < d->rank ? (uint8_t)(x + 1) : 0;
	}
	return true;
}

static void permute_factors(struct factors *f, const int64_t *dims)
{
	struct factors old = *f;
	unsigned n = 0;
	for (unsigned a = 0; a < f->rank; a++) {
		unsigned from = (unsigned)dims[a], begin = from ? old.end[from - 1] : 0;
		memcpy(f->list + n, old.list + begin, old.end[from] - begin);
		n += old.end[from] - begin;
		f->end[a] = n;
	}
}

/* Splits the factor at a place of the list into an outer one of n elements and the rest. */
static bool split_factor(struct factors *f, unsigned at, unsigned *length, int64_t n)
{
	struct factor *x = &f->at[f->list[at]];
	if (f->n == VIEWS_MAX_FACTORS || *length == VIEWS_MAX_FACTORS)
		return false;
	f->at[++f->n] = (struct factor){.n = x->n / n, .next = x->next};
	x->n = n;
	x->next = (uint8_t)f->n;
	memmove(f->list + at + 2, f->list + at + 1, *length - at - 1);
	f->list[at + 1] = (uint8_t)f->n;
	++*length;
	return true;
}

/* Takes the factors of one axis from a place of the list on. */
static bool take_axis_factors(struct factors *f, expr_id extent, unsigned *at, unsigned *length)
{
	int64_t need;
	bool known = expr_is_const(f->m, extent, &need) && need > 0;
	while (*at < *length && f->at[f->list[*at]].n == 1 && known && need > 1)
		++*at; /* the place of an axis of one element does not matter */
	if (!known) {
		bool same = *at < *length && !f->at[f->list[*at]].n && f->at[f->list[*at]].symbol == extent;
		*at += same;
		return same;
	}
	while (need > 1) {
		if (*at == *length || !f->at[f->list[*at]].n)
			return false;
		int64_t n = f->at[f->list[*at]].n;
		if (need % n && (n % need || !split_factor(f, *at, length, need)))
			return false;
		need /= f->at[f->list[*at]].n;
		++*at;
	}
	return true;
}

static bool regroup_factors(struct factors *f, const struct domain *d)
{
	unsigned at = 0, length = f->rank ? f->end[f->rank - 1] : 0;
	for (unsigned a = 0; a < d->rank; a++) {
		if (!take_axis_factors(f, d->axis[a].extent, &at, &length))
			return false;
		f->end[a] = at;
	}
	while (at < length && f->at[f->list[at]].n == 1)
		at++;
	if (at < length)
		return false;
	f->rank = d->rank;
	if (f->rank)
		f->end[f->rank - 1] = length;
	return true;
}

/* Returns true if the factors are in their original order. The place of factors of one element does not
 * matter. */
static bool in_order(const struct factors *f)
{
	uint8_t want = f->n ? 1 : 0;
	unsigned length = f->rank ? f->end[f->rank - 1] : 0;
	for (unsigned k = 0; k < length; k++) {
		if (f->at[f->list[k]].n == 1)
			continue;
		while (want && f->at[want].n == 1)
			want = f->at[want].next;
		if (f->list[k] != want)
			return false;
		want = f->at[want].next;
	}
	return true;
}

bool views_are_identity(const struct module *m, const op_id *op, unsigned n)
{
	struct factors f = {.m = m};
	if (!n)
		return true;
	const struct domain *first = value_domain(m, op_read(m, op[n - 1], 0));
	if (!start_factors(&f, first))
		return false;
	for (unsigned k = n; k-- > 0;) {
		const struct attr *dims = op_attr(m, op[k], "dims");
		const struct domain *made = value_domain(m, op_def(m, op[k], 0));
		if (m->op.at[op[k]].kind == OP_PERMUTE) {
			if (!dims || dims->kind != ATTR_INTS || dims->n != f.rank)
				return false;
			permute_factors(&f, dims->u.ints);
		} else if (m->op.at[op[k]].kind == OP_RESHAPE && !regroup_factors(&f, made)) {
			return false;
		}
	}
	const struct domain *last = value_domain(m, op_def(m, op[0], 0));
	if (last->rank != first->rank)
		return false;
	for (unsigned a = 0; a < last->rank; a++)
		if (last->axis[a].extent != first->axis[a].extent)
			return false;
	return in_order(&f);
}
