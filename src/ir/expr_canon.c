/* expr_canon: brings extents into the form of sums of products.
 *
 *     h*4 + 2*(h + t) - t   becomes   6*h + t
 *     ceilDiv(4*h, 2)       becomes   2*h
 *     ceilDiv(t, 3)         stays     (an atom)
 *
 * A polynomial is a list of terms. A term is a coefficient and a sorted list of atoms. Terms are sorted
 * by falling degree, then by their atoms. The order of atoms depends on their structure, not on ids, so
 * that every parse of a program gives the same form. */
#include "base/checked.h"
#include "ir/expr.h"
#include <string.h>

enum { MAX_DEGREE = 16, MAX_TERMS = 64 };

struct term {
	int64_t coefficient;
	unsigned degree;
	expr_id atom[MAX_DEGREE];
};

struct poly {
	unsigned n;
	struct term term[MAX_TERMS];
};

static int compare_exprs(const struct module *m, expr_id x, expr_id y)
{
	if (x == y)
		return 0;
	const struct expr *a = &m->expr.at[x], *b = &m->expr.at[y];
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->k != b->k)
		return a->k < b->k ? -1 : 1;
	if (a->mesh_axis != b->mesh_axis)
		return a->mesh_axis < b->mesh_axis ? -1 : 1;
	int c = a->a && b->a ? compare_exprs(m, a->a, b->a) : 0;
	return c ? c : a->b && b->b ? compare_exprs(m, a->b, b->b) : 0;
}

static int compare_terms(const struct module *m, const struct term *a, const struct term *b)
{
	if (a->degree != b->degree)
		return a->degree > b->degree ? -1 : 1;
	for (unsigned i = 0; i < a->degree; i++) {
		int c = compare_exprs(m, a->atom[i], b->atom[i]);
		if (c)
			return c;
	}
	return 0;
}

/* Adds a term in its place. Returns false on overflow or if there are too many terms. */
static bool poly_add(const struct module *m, struct poly *p, const struct term *t)
{
	unsigned at = 0;
	int c = 1;
	while (at < p->n && (c = compare_terms(m, &p->term[at], t)) < 0)
		at++;
	if (at < p->n && c == 0) {
		if (!checked_add(p->term[at].coefficient, t->coefficient, &p->term[at].coefficient))
			return false;
		if (p->term[at].coefficient == 0) {
			memmove(&p->term[at], &p->term[at + 1], sizeof *p->term * (p->n - at - 1));
			p->n--;
		}
		return true;
	}
	if (t->coefficient == 0)
		return true;
	if (p->n == MAX_TERMS)
		return false;
	memmove(&p->term[at + 1], &p->term[at], sizeof *p->term * (p->n - at));
	p->term[at] = *t;
	p->n++;
	return true;
}

static bool poly_multiply(const struct module *m, const struct poly *a, const struct poly *b,
                          struct poly *out)
{
	out->n = 0;
	for (unsigned i = 0; i < a->n; i++)
		for (unsigned j = 0; j < b->n; j++) {
			const struct term *x = &a->term[i], *y = &b->term[j];
			struct term t = {.degree = 0};
			if (x->degree + y->degree > MAX_DEGREE ||
			    !checked_mul(x->coefficient, y->coefficient, &t.coefficient))
				return false;
			unsigned p = 0, q = 0;
			while (p < x->degree || q < y->degree) {
				bool left = q == y->degree ||
				            (p < x->degree && compare_exprs(m, x->atom[p], y->atom[q]) <= 0);
				t.atom[t.degree++] = left ? x->atom[p++] : y->atom[q++];
			}
			if (!poly_add(m, out, &t))
				return false;
		}
	return true;
}

static bool poly_of(struct module *m, expr_id e, struct poly *out);

static expr_id poly_expr(struct module *m, const struct poly *p)
{
	expr_id sum = 0;
	for (unsigned i = 0; i < p->n; i++) {
		const struct term *t = &p->term[i];
		bool subtract = sum && t->coefficient < 0 && t->coefficient != INT64_MIN;
		expr_id e = expr_const(m, subtract ? -t->coefficient : t->coefficient);
		for (unsigned k = 0; k < t->degree; k++)
			e = expr_mul(m, e, t->atom[k]);
		sum = !sum ? e : expr_op(m, subtract ? EXPR_SUB : EXPR_ADD, sum, e);
		if (!sum)
			return 0;
	}
	return sum ? sum : expr_const(m, 0);
}

static bool poly_atom(struct module *m, expr_id e, struct poly *out)
{
	int64_t k;
	out->n = 0;
	if (!e)
		return false;
	struct term t = {.coefficient = 1, .degree = 1, .atom = {e}};
	if (expr_is_const(m, e, &k))
		t = (struct term){.coefficient = k};
	return poly_add(m, out, &t);
}

/* Divides every coefficient by k. Returns false if one leaves a remainder. */
static bool poly_divide(struct poly *p, int64_t k)
{
	if (k <= 0)
		return false;
	for (unsigned i = 0; i < p->n; i++)
		if (p->term[i].coefficient % k)
			return false;
	for (unsigned i = 0; i < p->n; i++)
		p->term[i].coefficient /= k;
	return true;
}

static bool poly_of(struct module *m, expr_id e, struct poly *out)
{
	struct expr x = m->expr.at[e];
	switch (x.kind) {
	case EXPR_ADD:
	case EXPR_SUB: {
		struct poly b;
		if (!poly_of(m, x.a, out) || !poly_of(m, x.b, &b))
			return false;
		for (unsigned i = 0; i < b.n; i++) {
			if (x.kind == EXPR_SUB &&
			    !checked_sub(0, b.term[i].coefficient, &b.term[i].coefficient))
				return false;
			if (!poly_add(m, out, &b.term[i]))
				return false;
		}
		return true;
	}
	case EXPR_MUL: {
		struct poly a, b;
		return poly_of(m, x.a, &a) && poly_of(m, x.b, &b) && poly_multiply(m, &a, &b, out);
	}
	case EXPR_DIV:
	case EXPR_CEIL_DIV:
	case EXPR_FLOOR_DIV: {
		int64_t k;
		struct poly b;
		if (!poly_of(m, x.a, out) || !poly_of(m, x.b, &b))
			return false;
		expr_id divisor = poly_expr(m, &b);
		if (divisor && expr_is_const(m, divisor, &k) && poly_divide(out, k))
			return true;
		return poly_atom(m, expr_op(m, (enum expr_kind)x.kind, poly_expr(m, out), divisor), out);
	}
	default: {
		if (!x.a)
			return poly_atom(m, e, out);
		expr_id a = expr_canon(m, x.a), b = x.b ? expr_canon(m, x.b) : 0;
		if (!a || (x.b && !b))
			return false;
		return poly_atom(m,
		                 x.kind == EXPR_DEVICE ? expr_device(m, (mesh_id)x.k, x.mesh_axis, a)
		                                       : expr_op(m, (enum expr_kind)x.kind, a, b),
		                 out);
	}
	}
}

expr_id expr_canon(struct module *m, expr_id e)
{
	if (!e || m->expr.at[e].kind <= EXPR_RANK)
		return e;
	struct poly p;
	return poly_of(m, e, &p) ? poly_expr(m, &p) : 0;
}
