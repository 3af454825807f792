/* plan_scalar: folds index expressions into scalars, and computes them in registers.
 *
 * Scalars are hash-consed: equal ones have equal ids. Each has the range of its values, so that the
 * length of a block that is never clipped folds to a constant:
 *
 *     clamp(9 - i * 3, 0, 3), i in [0, 3)   →   3
 *
 * A scalar is computed right before the first instruction of a block that needs it. At the end of a
 * loop's body or of a branch, the scalars computed in it are forgotten. */
#include "ir/expr.h"
#include "plan/plan_control.h"
#include "plan/planner.h"
#include <string.h>

static int64_t sat_add(int64_t a, int64_t b)
{
	int64_t r;
	return checked_add(a, b, &r) ? r : b < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t sat_neg(int64_t a)
{
	return a == INT64_MIN ? INT64_MAX : -a;
}

static int64_t sat_mul(int64_t a, int64_t b)
{
	int64_t r;
	return checked_mul(a, b, &r) ? r : (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
}

static int64_t min4(int64_t a, int64_t b, int64_t c, int64_t d)
{
	int64_t x = a < b ? a : b, y = c < d ? c : d;
	return x < y ? x : y;
}

/* Finds the range of an operation from the ranges of its operands. */
static void range_of(struct sx *s, const struct sx *x, const struct sx *y)
{
	s->lo = INT64_MIN, s->hi = INT64_MAX;
	switch (s->kind) {
	case EXPR_ADD:
		s->lo = sat_add(x->lo, y->lo), s->hi = sat_add(x->hi, y->hi);
		break;
	case EXPR_SUB:
		s->lo = sat_add(x->lo, sat_neg(y->hi)), s->hi = sat_add(x->hi, sat_neg(y->lo));
		break;
	case EXPR_MUL: {
		int64_t p = sat_mul(x->lo, y->lo), q = sat_mul(x->lo, y->hi), r = sat_mul(x->hi, y->lo),
		        t = sat_mul(x->hi, y->hi);
		s->lo = min4(p, q, r, t);
		s->hi = sat_neg(min4(sat_neg(p), sat_neg(q), sat_neg(r), sat_neg(t)));
		break;
	}
	case EXPR_DIV:
	case EXPR_FLOOR_DIV:
	case EXPR_CEIL_DIV:
		if (y->lo == y->hi && y->lo > 0) {
			if (s->kind == EXPR_CEIL_DIV) {
				checked_ceil_div(x->lo, y->lo, &s->lo);
				checked_ceil_div(x->hi, y->lo, &s->hi);
			} else {
				checked_floor_div(x->lo, y->lo, &s->lo);
				checked_floor_div(x->hi, y->lo, &s->hi);
			}
		}
		break;
	case EXPR_MOD:
		if (y->lo > 0)
			s->lo = 0, s->hi = y->hi - 1;
		break;
	case EXPR_MIN:
		s->lo = x->lo < y->lo ? x->lo : y->lo, s->hi = x->hi < y->hi ? x->hi : y->hi;
		break;
	case EXPR_MAX:
		s->lo = x->lo > y->lo ? x->lo : y->lo, s->hi = x->hi > y->hi ? x->hi : y->hi;
		break;
	default:
		if (s->kind >= EXPR_EQ && s->kind <= EXPR_NOT)
			s->lo = 0, s->hi = 1;
	}
}

static sx_id intern_scalar_expr(struct planner *b, struct sx s)
{
	uint64_t h = hash_number(hash_number(s.kind, (uint64_t)s.a << 32 | s.b), (uint64_t)s.k);
	struct hash_probe p = {.hash = h};
	for (sx_id x; (x = hash_next(&b->sx_ids, &p));) {
		const struct sx *o = &b->sx.at[x];
		if (o->kind == s.kind && o->a == s.a && o->b == s.b && o->k == s.k)
			return x;
	}
	if (!b->sx.n)
		vec_push(&b->sx, (struct sx){0});
	vec_push(&b->sx, s);
	hash_insert(&b->sx_ids, h, b->sx.n - 1);
	return b->sx.n - 1;
}

sx_id sx_const(struct planner *b, int64_t k)
{
	return intern_scalar_expr(b, (struct sx){.kind = EXPR_CONST, .k = k, .lo = k, .hi = k});
}

sx_id sx_index(struct planner *b, plan_reg reg, int64_t lo, int64_t hi)
{
	return intern_scalar_expr(b,
	                          (struct sx){.kind = EXPR_INDEX, .k = reg, .lo = lo, .hi = hi, .reg = reg});
}

bool sx_is_const(const struct planner *b, sx_id x, int64_t *out)
{
	if (b->sx.at[x].kind != EXPR_CONST)
		return false;
	if (out)
		*out = b->sx.at[x].k;
	return true;
}

/* Returns true if the ranges decide a comparison; *out is 0 or 1. */
static bool decided(unsigned kind, const struct sx *x, const struct sx *y, int64_t *out)
{
	bool less = x->hi<y->lo, greater = x->lo> y->hi, no_more = x->hi <= y->lo, no_less = x->lo >= y->hi;
	switch (kind) {
	case EXPR_EQ:
	case EXPR_NE:
		*out = kind == EXPR_NE;
		return less || greater;
	case EXPR_LT:
		*out = less;
		return less || no_less;
	case EXPR_LE:
		*out = no_more;
		return no_more || greater;
	case EXPR_GT:
		*out = greater;
		return greater || no_more;
	case EXPR_GE:
		*out = no_less;
		return no_less || less;
	default:
		return false;
	}
}

/* Returns true if a scalar is certainly defined: then `x - x` is 0 and comparisons fold. Numbers near
 * overflow, divisions by a divisor that may be 0, and indices that may be outside of a table are not certain. */
static bool is_defined(const struct planner *b, sx_id x)
{
	const struct sx *s = &b->sx.at[x];
	return s->lo > INT64_MIN / 2 && s->hi < INT64_MAX / 2;
}

sx_id sx_op(struct planner *b, enum expr_kind kind, sx_id x, sx_id y)
{
	if (kind == EXPR_NOT)
		y = x;
	struct sx s = {.kind = (uint8_t)kind, .a = x, .b = y};
	const struct sx copy[2] = {b->sx.at[x], b->sx.at[y]}; /* copies, since the table may move */
	const struct sx *p = &copy[0], *q = &copy[1];
	bool cx = p->kind == EXPR_CONST, cy = q->kind == EXPR_CONST;
	int64_t kx = cx ? p->k : 0, ky = cy ? q->k : 0, known;
	if (cx && cy)
		return sx_const(b, plan_apply(kind, kx, ky));
	switch (kind) {
	case EXPR_ADD:
		if (cx) /* moves constants to the right */
			return sx_op(b, kind, y, x);
		if (cy && ky == 0)
			return x;
		if (cy && p->kind == EXPR_ADD && b->sx.at[p->b].kind == EXPR_CONST)
			return sx_op(b, kind, p->a, sx_const(b, plan_apply(EXPR_ADD, b->sx.at[p->b].k, ky)));
		if (cy && p->kind == EXPR_SUB && b->sx.at[p->a].kind == EXPR_CONST)
			return sx_op(b, EXPR_SUB, sx_const(b, plan_apply(EXPR_ADD, b->sx.at[p->a].k, ky)),
			             p->b);
		if (q->kind == EXPR_SUB && q->b == x) /* x + (a - x) is a */
			return q->a;
		if (p->kind == EXPR_SUB && p->b == y)
			return p->a;
		break;
	case EXPR_SUB:
		if (x == y && is_defined(b, x))
			return sx_const(b, 0);
		if (cy && ky != PLAN_UNDEFINED)
			return sx_op(b, EXPR_ADD, x, sx_const(b, -ky));
		if (p->kind == EXPR_ADD && p->a == y) /* (y + c) - y is c */
			return p->b;
		if (p->kind == EXPR_ADD && p->b == y)
			return p->a;
		if (q->kind == EXPR_ADD && q->a == x && b->sx.at[q->b].kind == EXPR_CONST)
			return sx_const(b, -b->sx.at[q->b].k);
		if (p->kind == EXPR_ADD && q->kind == EXPR_ADD && p->a == q->a)
			return sx_op(b, EXPR_SUB, p->b, q->b);
		break;
	case EXPR_MUL:
		if (cx)
			return sx_op(b, kind, y, x);
		if (cy && ky == 1)
			return x;
		if (cy && ky == 0 && is_defined(b, x))
			return y;
		if (cy && p->kind == EXPR_MUL && b->sx.at[p->b].kind == EXPR_CONST)
			return sx_op(b, kind, p->a, sx_const(b, plan_apply(EXPR_MUL, b->sx.at[p->b].k, ky)));
		break;
	case EXPR_DIV:
	case EXPR_FLOOR_DIV:
	case EXPR_CEIL_DIV:
		if (cy && ky == 1)
			return x;
		if (kind != EXPR_CEIL_DIV && cy && ky > 0 && p->lo >= 0 && p->hi < ky)
			return sx_const(b, 0);
		break;
	case EXPR_MOD:
		if (cy && ky == 1)
			return sx_const(b, 0);
		if (cy && p->lo >= 0 && p->hi < ky)
			return x;
		break;
	case EXPR_MIN:
		if (x == y || p->hi <= q->lo)
			return x;
		if (q->hi <= p->lo)
			return y;
		break;
	case EXPR_MAX:
		if (x == y || p->lo >= q->hi)
			return x;
		if (q->lo >= p->hi)
			return y;
		break;
	case EXPR_AND:
		if ((cx && kx == 0) || (cy && ky == 0))
			return sx_const(b, 0);
		if (cx && kx != PLAN_UNDEFINED && q->lo >= 0 && q->hi <= 1)
			return y;
		if (cy && ky != PLAN_UNDEFINED && p->lo >= 0 && p->hi <= 1)
			return x;
		break;
	case EXPR_OR:
		if ((cx && kx != 0 && kx != PLAN_UNDEFINED) || (cy && ky != 0 && ky != PLAN_UNDEFINED))
			return sx_const(b, 1);
		break;
	default:
		if (kind >= EXPR_EQ && kind <= EXPR_GE && is_defined(b, x) && is_defined(b, y)) {
			if (x == y)
				return sx_const(b, kind == EXPR_EQ || kind == EXPR_LE || kind == EXPR_GE);
			if (decided(kind, p, q, &known))
				return sx_const(b, known);
		}
	}
	range_of(&s, p, q);
	return intern_scalar_expr(b, s);
}

sx_id sx_scale(struct planner *b, sx_id x, int64_t k)
{
	return sx_mul(b, x, sx_const(b, k));
}

sx_id sx_clamp(struct planner *b, sx_id x, int64_t hi)
{
	return sx_max(b, sx_min(b, x, sx_const(b, hi)), sx_const(b, 0));
}

sx_id sx_lookup(struct planner *b, uint32_t table, sx_id at)
{
	const struct plan_table *t = &b->p->table.at[table];
	int64_t k;
	if (sx_is_const(b, at, &k))
		return sx_const(b, k >= 0 && k < t->n ? (int64_t)t->at[k] : PLAN_UNDEFINED);
	struct sx s = {.kind = PLAN_LOOKUP, .a = at, .b = at, .k = table, .lo = INT64_MIN, .hi = INT64_MAX};
	const bool inside = b->sx.at[at].lo >= 0 && b->sx.at[at].hi < t->n; /* else it may be undefined */
	if (inside)
		s.lo = INT64_MAX, s.hi = INT64_MIN;
	for (uint32_t i = 0; i < t->n && inside; i++) {
		s.lo = t->at[i] < s.lo ? t->at[i] : s.lo;
		s.hi = t->at[i] > s.hi ? t->at[i] : s.hi;
	}
	return intern_scalar_expr(b, s);
}

void sx_free(struct planner *b)
{
	vec_free(&b->sx);
	vec_free(&b->computed);
	hash_table_free(&b->sx_ids);
}

/* ---- from expressions */

void sx_report_undefined(struct planner *b, expr_id e, const char *what)
{
	const struct expr_env env = {.rank = b->p->rank, .streams = INT32_MAX};
	expr_id offending = 0;
	int64_t value;
	struct buf text = {0};
	enum expr_status s = expr_eval(b->m, e, &env, &value, &offending);
	if (s == EXPR_OK || s == EXPR_UNKNOWN) { /* an index of a loop is not known here */
		planner_error(b, E_VALUE_UNDEFINED, "%s on rank %lld", what, (long long)b->p->rank);
		return;
	}
	expr_print_failure(b->m, offending ? offending : e, s, &text);
	planner_error(b, E_VALUE_UNDEFINED, "%s on rank %lld: %s", what, (long long)b->p->rank, text.at);
	buf_free(&text);
}

static void expr_error(struct planner *b, expr_id e, const char *what)
{
	struct buf text = {0};
	expr_print_hir(b->m, e, &text);
	planner_error(b, E_VALUE_UNDEFINED, "'%s' %s", text.at, what);
	buf_free(&text);
}

static void report_outside(struct planner *b, expr_id e)
{
	expr_error(b, e, "is not defined on a rank outside the mesh");
	diag_note(b->d, DIAG_NOWHERE,
	          "`rank`, the number of the device in the job, is defined on every rank");
}

/* Lowers device(x, k): the devices along the axis, at this rank's position. */
static bool lower_device(struct planner *b, expr_id e, sx_id *out)
{
	const struct expr *x = &b->m->expr.at[e];
	const struct mesh *mesh = &b->m->mesh.at[x->k];
	uint32_t position, n = mesh->size[x->mesh_axis];
	sx_id at;
	if (!mesh_position(mesh, (uint32_t)b->p->rank, &position)) {
		report_outside(b, e);
		return false;
	}
	if (!sx_lower(b, x->a, &at))
		return false;
	uint32_t *device = arena_new_array(b->p->arena, uint32_t, n);
	for (uint32_t k = 0; k < n; k++)
		device[k] = mesh_device_along(mesh, position, x->mesh_axis, k);
	uint32_t t = 0;
	while (t < b->p->table.n &&
	       (b->p->table.at[t].n != n || memcmp(b->p->table.at[t].at, device, n * sizeof *device)))
		t++;
	if (t == b->p->table.n)
		vec_push(&b->p->table, (struct plan_table){n, device});
	*out = sx_lookup(b, t, at);
	return true;
}

static bool lower_param(struct planner *b, expr_id e, sx_id *out)
{
	const struct param *p = &b->m->param.at[b->m->expr.at[e].k];
	if (p->meaning)
		return sx_lower(b, p->meaning, out);
	if (p->has_value) {
		*out = sx_const(b, p->value);
		return true;
	}
	struct buf name = {0};
	expr_print_hir(b->m, e, &name);
	planner_error(b, E_PARAM_UNSET, "'%s' has no value", name.at);
	diag_note(b->d, DIAG_NOWHERE, "-D %s=VALUE gives it one", name.at);
	buf_free(&name);
	return false;
}

/* Returns true if the left operand decides the value of `and` or `or`. */
static bool decides(const struct planner *b, enum expr_kind kind, sx_id left)
{
	int64_t k;
	return (kind == EXPR_AND || kind == EXPR_OR) && sx_is_const(b, left, &k) && k != PLAN_UNDEFINED &&
	       (k != 0) == (kind == EXPR_OR);
}

bool sx_lower(struct planner *b, expr_id e, sx_id *out)
{
	const struct expr *x = &b->m->expr.at[e];
	sx_id p, q = 0;
	if (e < b->lowered_n && b->lowered[e].sx &&
	    (b->lowered[e].generation == b->generation || !(x->flags & (EXPR_HAS_INDEX | EXPR_HAS_PARAM)))) {
		*out = b->lowered[e].sx;
		return true;
	}
	switch ((enum expr_kind)x->kind) {
	case EXPR_CONST:
		p = sx_const(b, x->k);
		break;
	case EXPR_PARAM:
		if (!lower_param(b, e, &p))
			return false;
		break;
	case EXPR_INDEX:
		p = b->index[x->k];
		if (!p) {
			expr_error(b, e, "is used outside its loop");
			return false;
		}
		break;
	case EXPR_RANK:
		p = sx_const(b, b->p->rank);
		break;
	case EXPR_STREAMS:
		if (b->p->streams == 0) {
			expr_error(b, e, "has no value when streams are unbounded");
			return false;
		}
		p = sx_const(b, b->p->streams);
		break;
	case EXPR_AXIS_INDEX: {
		uint32_t i;
		if (!mesh_axis_index(&b->m->mesh.at[x->k], (uint32_t)b->p->rank, x->mesh_axis, &i)) {
			report_outside(b, e);
			return false;
		}
		p = sx_const(b, i);
		break;
	}
	case EXPR_DEVICE:
		if (!lower_device(b, e, &p))
			return false;
		break;
	default:
		if (!sx_lower(b, x->a, &p))
			return false;
		if (decides(b, (enum expr_kind)x->kind, p))
			q = p; /* the other operand may be undefined */
		else if (x->b && !sx_lower(b, x->b, &q))
			return false;
		p = sx_op(b, (enum expr_kind)x->kind, p, x->b ? q : p);
	}
	if (e < b->lowered_n) /* infer_axes may have added expressions */
		b->lowered[e].sx = p, b->lowered[e].generation = b->generation;
	*out = p;
	return true;
}

bool planner_value(struct planner *b, expr_id e, int64_t *out)
{
	sx_id x;
	if (!sx_lower(b, e, &x))
		return false;
	if (!sx_is_const(b, x, out) || *out == PLAN_UNDEFINED) {
		expr_error(b, e, "has no value here");
		return false;
	}
	return true;
}

/* ---- registers */

plan_reg sx_reg(struct planner *b, sx_id x)
{
	struct sx s = b->sx.at[x];
	if (s.reg)
		return s.reg;
	if (s.kind == EXPR_CONST) {
		if (s.k == 0)
			return 0;
		b->sx.at[x].reg = b->p->reg.n;
		vec_push(&b->p->reg, s.k);
		return b->sx.at[x].reg;
	}
	struct plan_instruction i = {.code = PLAN_LET, .op = s.kind, .b = sx_reg(b, s.a)};
	i.c = s.kind == PLAN_LOOKUP ? (uint32_t)s.k : sx_reg(b, s.b);
	i.a = b->p->reg.n;
	vec_push(&b->p->reg, PLAN_UNDEFINED);
	b->sx.at[x].reg = i.a;
	vec_push(&b->computed, x);
	plan_emit(b, i);
	return i.a;
}

void sx_text(const struct planner *b, sx_id x, struct buf *out)
{
	const struct sx *s = &b->sx.at[x];
	if (s->kind == EXPR_CONST && s->k == PLAN_UNDEFINED)
		buf_puts(out, "undefined");
	else if (s->kind == EXPR_CONST)
		buf_puti(out, s->k);
	else if (s->lo > INT64_MIN / 2 && s->hi < INT64_MAX / 2)
		buf_printf(out, "%lld..%lld", (long long)s->lo, (long long)s->hi);
	else
		buf_puts(out, "?");
}
