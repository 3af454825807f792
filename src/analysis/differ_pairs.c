/* differ_pairs: compares the parts of statements, given the pairs known so far. */
#include "analysis/differ_pairs.h"
#include <stdlib.h>

static void init(struct pairs *p, uint32_t a, uint32_t b)
{
	p->of[0] = mem_zalloc(sizeof *p->of[0] * ((size_t)a + 1));
	p->of[1] = mem_zalloc(sizeof *p->of[1] * ((size_t)b + 1));
}

/* Pairs params of the same name, then the others in their order. */
static void pair_params(struct differ *d)
{
	const struct module *a = d->m[0], *b = d->m[1];
	for (uint32_t i = 1; i < a->param.n; i++)
		for (uint32_t j = 1; a->param.at[i].name && j < b->param.n; j++)
			if (b->param.at[j].name && !strcmp(names_text(a->names, a->param.at[i].name),
			                                   names_text(b->names, b->param.at[j].name)))
				pairs_meet(&d->param, i, j);
	for (uint32_t i = 1, j = 1; i < a->param.n; i++) {
		if (d->param.of[0][i])
			continue;
		while (j < b->param.n && d->param.of[1][j])
			j++;
		if (j < b->param.n)
			pairs_meet(&d->param, i, j);
	}
}

void pairs_init(struct differ *d)
{
	const struct module *a = d->m[0], *b = d->m[1];
	init(&d->value, a->value.n, b->value.n);
	init(&d->op, a->op.n, b->op.n);
	init(&d->index, a->index.n, b->index.n);
	init(&d->handle, a->handle.n, b->handle.n);
	init(&d->param, a->param.n, b->param.n);
	pair_params(d);
}

void pairs_free(struct differ *d)
{
	struct pairs *all[] = {&d->value, &d->op, &d->index, &d->handle, &d->param};
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
		free(all[i]->of[0]);
		free(all[i]->of[1]);
	}
}

bool pairs_meet(struct pairs *p, uint32_t a, uint32_t b)
{
	if (!a || !b)
		return a == b;
	if (!p->of[0][a] && !p->of[1][b]) {
		p->of[0][a] = b;
		p->of[1][b] = a;
	}
	return p->of[0][a] == b && p->of[1][b] == a;
}

/* ---- expressions */

enum { MOST_TERMS = 64 };

struct terms {
	expr_id at[MOST_TERMS];
	unsigned n;
};

/* Collects the terms of a sum, the factors of a product and so on. Returns false if there are too many. */
static bool split_terms(const struct module *m, enum expr_kind kind, expr_id e, struct terms *out)
{
	const struct expr *x = &m->expr.at[e];
	if (x->kind == kind)
		return split_terms(m, kind, x->a, out) && split_terms(m, kind, x->b, out);
	if (out->n == MOST_TERMS)
		return false;
	out->at[out->n++] = e;
	return true;
}

static bool same_terms(struct differ *d, enum expr_kind kind, expr_id a, expr_id b, bool *known)
{
	struct terms s = {.n = 0}, t = {.n = 0};
	*known = split_terms(d->m[0], kind, a, &s) && split_terms(d->m[1], kind, b, &t);
	if (!*known || s.n != t.n)
		return false;
	for (unsigned i = 0; i < s.n; i++) {
		unsigned j = 0;
		while (j < t.n && !same_expr(d, s.at[i], t.at[j]))
			j++;
		if (j == t.n)
			return false;
		t.at[j] = t.at[--t.n]; /* equality is transitive, so any equal term will do */
	}
	return true;
}

/* Returns the comparison that holds when its sides are swapped. */
static enum expr_kind mirrored(enum expr_kind kind)
{
	switch (kind) {
	case EXPR_EQ:
	case EXPR_NE:
		return kind;
	case EXPR_LT:
		return EXPR_GT;
	case EXPR_LE:
		return EXPR_GE;
	case EXPR_GT:
		return EXPR_LT;
	case EXPR_GE:
		return EXPR_LE;
	default:
		return EXPR_NONE;
	}
}

static bool compare_expr(struct differ *d, expr_id a, expr_id b)
{
	const struct expr *x = &d->m[0]->expr.at[a], *y = &d->m[1]->expr.at[b];
	bool known;
	if (y->kind && y->kind == mirrored((enum expr_kind)x->kind) && same_expr(d, x->a, y->b) &&
	    same_expr(d, x->b, y->a))
		return true;
	if (x->kind != y->kind)
		return false;
	switch ((enum expr_kind)x->kind) {
	case EXPR_NONE:
	case EXPR_RANK:
	case EXPR_STREAMS:
	case EXPR_KIND_COUNT:
		return true;
	case EXPR_CONST:
		return x->k == y->k;
	case EXPR_PARAM:
		return pairs_meet(&d->param, (uint32_t)x->k, (uint32_t)y->k);
	case EXPR_INDEX:
		return pairs_meet(&d->index, (uint32_t)x->k, (uint32_t)y->k);
	case EXPR_AXIS_INDEX:
	case EXPR_DEVICE:
		return x->mesh_axis == y->mesh_axis && same_mesh(d, (mesh_id)x->k, (mesh_id)y->k) &&
		       same_expr(d, x->a, y->a);
	case EXPR_NOT:
		return same_expr(d, x->a, y->a);
	case EXPR_ADD:
	case EXPR_MUL:
	case EXPR_MIN:
	case EXPR_MAX:
	case EXPR_AND:
	case EXPR_OR: {
		bool same = same_terms(d, (enum expr_kind)x->kind, a, b, &known);
		if (known)
			return same;
		break;
	}
	case EXPR_EQ:
	case EXPR_NE:
	case EXPR_SUB:
	case EXPR_DIV:
	case EXPR_FLOOR_DIV:
	case EXPR_CEIL_DIV:
	case EXPR_MOD:
	case EXPR_LT:
	case EXPR_LE:
	case EXPR_GT:
	case EXPR_GE:
		break;
	}
	return same_expr(d, x->a, y->a) && same_expr(d, x->b, y->b);
}

bool same_expr(struct differ *d, expr_id a, expr_id b)
{
	if (!a || !b)
		return a == b;
	struct expr_answer *known = &d->answer[(a * 2654435761u + b * 40503u) % EXPR_CACHE];
	if (known->a == a && known->b == b)
		return known->same;
	bool same = compare_expr(d, a, b);
	*known = (struct expr_answer){a, b, same};
	return same;
}

/* ---- meshes, teams, attributes */

bool same_mesh(const struct differ *d, mesh_id a, mesh_id b)
{
	if (!a || !b)
		return a == b;
	const struct mesh *x = ir_mesh(d->m[0], a), *y = ir_mesh(d->m[1], b);
	return x->rank == y->rank && x->device_count == y->device_count &&
	       !memcmp(x->size, y->size, sizeof *x->size * x->rank) &&
	       !memcmp(x->device, y->device, sizeof *x->device * x->device_count);
}

bool same_team(const struct differ *d, team_id a, team_id b)
{
	if (!a || !b)
		return a == b;
	const struct team *x = ir_team(d->m[0], a), *y = ir_team(d->m[1], b);
	return x->slice_n == y->slice_n && x->device_n == y->device_n &&
	       !memcmp(x->start, y->start, sizeof *x->start * (x->slice_n + 1)) &&
	       !memcmp(x->device, y->device, sizeof *x->device * x->device_n);
}

static bool same_attribute(struct differ *d, const struct attr *x, const struct attr *y)
{
	if (x->kind != y->kind || (x->kind >= ATTR_INTS && x->n != y->n))
		return false;
	switch ((enum attr_kind)x->kind) {
	case ATTR_INT:
		return x->u.i == y->u.i;
	case ATTR_FLOAT:
		return !memcmp(&x->u.f, &y->u.f, sizeof x->u.f);
	case ATTR_NAME:
	case ATTR_STRING:
		return !strcmp(names_text(d->m[0]->names, x->u.name), names_text(d->m[1]->names, y->u.name));
	case ATTR_EXPR:
		return same_expr(d, x->u.expr, y->u.expr);
	case ATTR_INTS:
		return !x->n || !memcmp(x->u.ints, y->u.ints, sizeof *x->u.ints * x->n);
	case ATTR_EXPRS:
		for (uint32_t i = 0; i < x->n; i++)
			if (!same_expr(d, x->u.exprs[i], y->u.exprs[i]))
				return false;
		return true;
	}
	return false;
}

const char *other_attribute(struct differ *d, attrs_id a, attrs_id b)
{
	const struct attrs *x = &d->m[0]->attrs.at[a], *y = &d->m[1]->attrs.at[b];
	for (uint32_t i = 0; a && i < x->n; i++) {
		const char *key = names_text(d->m[0]->names, x->at[i].key);
		const struct attr *other = b ? attrs_find(d->m[1], b, key) : NULL;
		if (!other || !same_attribute(d, &x->at[i], other))
			return key;
	}
	for (uint32_t i = 0; b && i < y->n; i++) {
		const char *key = names_text(d->m[1]->names, y->at[i].key);
		if (!a || !attrs_find(d->m[0], a, key))
			return key;
	}
	return NULL;
}

/* ---- types */

static bool same_axes(struct differ *d, const struct domain *x, const struct domain *y)
{
	for (unsigned i = 0; i < x->axis_n; i++) {
		const struct axis *p = &x->axis[i], *q = &y->axis[i];
		if (p->kind != q->kind || p->place != q->place || p->mesh_axis != q->mesh_axis ||
		    p->rf != q->rf || p->reduce != q->reduce || !same_expr(d, p->extent, q->extent))
			return false;
	}
	return true;
}

static bool same_extents(struct differ *d, const struct domain *x, const struct domain *y)
{
	for (unsigned i = 0; i < x->rank; i++)
		if (!same_expr(d, x->axis[i].extent, y->axis[i].extent))
			return false;
	return true;
}

static bool same_transforms(struct differ *d, const struct domain *x, const struct domain *y)
{
	for (unsigned i = 0; i < x->xform_n; i++) {
		const struct xform *p = &x->xform[i], *q = &y->xform[i];
		if (p->kind != q->kind || memcmp(p->in, q->in, sizeof p->in) ||
		    memcmp(p->out, q->out, sizeof p->out) || p->mesh_axis != q->mesh_axis ||
		    !same_expr(d, p->factor, q->factor))
			return false;
	}
	return true;
}

const char *other_type(struct differ *d, type_id a, type_id b)
{
	if (!a || !b)
		return a == b ? NULL : "the type";
	const struct type *s = ir_type(d->m[0], a), *t = ir_type(d->m[1], b);
	if (s->dtype != t->dtype)
		return "the element type";
	if (!same_mesh(d, s->mesh, t->mesh))
		return "the mesh";
	if (!s->domain || !t->domain)
		return s->domain == t->domain ? NULL : "the shape";
	const struct domain *x = ir_domain(d->m[0], s->domain), *y = ir_domain(d->m[1], t->domain);
	if (x->rank != y->rank)
		return "the number of axes";
	if (!same_extents(d, x, y))
		return "the shape";
	if (x->logical_n != y->logical_n || x->axis_n != y->axis_n || x->xform_n != y->xform_n ||
	    x->loop_n != y->loop_n || !same_axes(d, x, y) || !same_transforms(d, x, y) ||
	    memcmp(x->loop, y->loop, x->loop_n))
		return "the layout";
	if (x->alloc_n != y->alloc_n || memcmp(x->alloc, y->alloc, x->alloc_n) ||
	    memcmp(x->contiguous, y->contiguous, x->alloc_n))
		return "the order in memory";
	return s->memory == t->memory ? NULL : "the memory";
}
