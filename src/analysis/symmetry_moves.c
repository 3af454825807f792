/* symmetry_moves: see symmetry_moves.h. The move of an expression is derived from its text and from
 * numbers that do not depend on the rank. So it holds for all ranks of an orbit, and for several turns
 * one after the other. The move carries a bound of the expression's value over all ranks: arithmetic
 * that does not overflow on one rank then overflows on none. */
#include "analysis/symmetry_moves.h"
#include "base/checked.h"

enum move {
	STAYS,   /* the same on all ranks */
	TURNS,   /* a value in 0 … of - 1; v becomes (v + by) % of */
	SHIFTS,  /* v becomes a number congruent to v + by modulo of */
	IS_RANK, /* the value is a rank; v becomes the rank to which the turn moves v */
	UNKNOWN
};

struct moving {
	enum move move;
	int64_t by, of; /* 0 <= by < of */
	int64_t value;  /* of an expression with STAYS */
	int64_t most;   /* largest absolute value on any rank */
	bool fixed;     /* it does not depend on the rank */
};

struct finding {
	const struct symmetry *s;
	const struct symmetry_turn *t;
	const struct module *m;
	const struct expr_env *env;
};

static const struct moving unknown = {.move = UNKNOWN};

static struct moving find_move(const struct finding *f, expr_id e);

bool moves_by_rank(const struct module *m, expr_id e)
{
	const struct expr *x = &m->expr.at[e];
	switch ((enum expr_kind)x->kind) {
	case EXPR_RANK:
	case EXPR_AXIS_INDEX:
	case EXPR_DEVICE:
		return true;
	case EXPR_PARAM:
		return m->param.at[x->k].meaning && moves_by_rank(m, m->param.at[x->k].meaning);
	default:
		return (x->a && moves_by_rank(m, x->a)) || (x->b && moves_by_rank(m, x->b));
	}
}

/* Makes the move of an expression that has the same value on all ranks. most: the bound of its
 * rank-dependent parts. */
static struct moving make_staying(const struct finding *f, expr_id e, int64_t most)
{
	struct moving x = {.move = STAYS, .most = most};
	return expr_eval(f->m, e, f->env, &x.value, NULL) == EXPR_OK ? x : unknown;
}

static struct moving fixed(const struct finding *f, expr_id e)
{
	struct moving x = make_staying(f, e, 0);
	if (x.move == UNKNOWN || x.value == INT64_MIN)
		return unknown;
	x.most = x.value < 0 ? -x.value : x.value;
	x.fixed = true;
	return x;
}

static struct moving make_turning(const struct finding *f, expr_id e, int64_t by, int64_t of)
{
	return by % of ? (struct moving){.move = TURNS, .by = by % of, .of = of, .most = of - 1}
	               : make_staying(f, e, of - 1);
}

static struct moving as_number(const struct finding *f, struct moving x)
{
	if (x.move != IS_RANK)
		return x;
	int64_t ranks = f->s->frame.ranks;
	if (f->t->number == SYMMETRY_NONE || !f->t->number)
		return unknown;
	return (struct moving){.move = TURNS, .by = f->t->number, .of = ranks, .most = ranks - 1};
}

static struct moving rank_at(const struct finding *f)
{
	return (struct moving){.move = IS_RANK, .most = f->s->frame.ranks - 1};
}

static struct moving device(const struct finding *f, expr_id e)
{
	const struct expr *x = &f->m->expr.at[e];
	int64_t size = f->m->mesh.at[x->k].size[x->mesh_axis], by = f->t->moves[x->k][x->mesh_axis];
	struct moving a = as_number(f, find_move(f, x->a));
	if ((a.move == STAYS && !by) || (a.move == TURNS && a.by == by && a.of == size))
		return rank_at(f);
	return unknown;
}

/* ---- arithmetic */

static bool is_moved(struct moving x)
{
	return x.move == TURNS || x.move == SHIFTS;
}

/* Bounds the absolute value of an operation's result. Returns false if it may overflow. */
static bool bound(enum expr_kind kind, struct moving a, struct moving b, int64_t *most)
{
	switch (kind) {
	case EXPR_ADD:
	case EXPR_SUB:
		return checked_add(a.most, b.most, most);
	case EXPR_MUL:
		return checked_mul(a.most, b.most, most);
	default: /* at least 1, the value of a true condition */
		*most = a.most > b.most ? a.most : b.most;
		*most += !*most;
		return true;
	}
}

/* The move of a + sign b. */
static struct moving add_moving(struct moving a, struct moving b, int sign, int64_t most)
{
	struct moving x = {.move = SHIFTS, .of = is_moved(a) ? a.of : b.of, .most = most};
	if (is_moved(a) && is_moved(b) && a.of != b.of)
		return unknown;
	x.by = ((is_moved(a) ? a.by : 0) + (is_moved(b) ? sign * b.by : 0) + x.of) % x.of;
	return x;
}

static struct moving multiply_moving(struct moving a, struct moving b, int64_t most)
{
	struct moving moved = is_moved(a) ? a : b, factor = is_moved(a) ? b : a;
	struct moving x = {.move = SHIFTS, .of = moved.of, .most = most};
	if (!factor.fixed)
		return unknown;
	x.by = moved.by * ((factor.value % x.of + x.of) % x.of) % x.of;
	return x;
}

static struct moving modulo(const struct finding *f, expr_id e, struct moving a, struct moving b)
{
	if (!is_moved(a) || !b.fixed || b.value <= 0 || a.of % b.value)
		return unknown;
	return make_turning(f, e, a.by % b.value, b.value);
}

static struct moving floor_divide(const struct finding *f, expr_id e, struct moving a, struct moving b)
{
	if (a.move != TURNS || !b.fixed || b.value <= 0 || a.of % b.value || a.by % b.value)
		return unknown;
	return make_turning(f, e, a.by / b.value, a.of / b.value);
}

static struct moving compare_moving(const struct finding *f, expr_id e, struct moving a, struct moving b)
{
	bool ranks = a.move == IS_RANK && b.move == IS_RANK;
	a = as_number(f, a);
	b = as_number(f, b);
	return ranks || (a.move == TURNS && b.move == TURNS && a.by == b.by && a.of == b.of)
	           ? make_staying(f, e, 1)
	           : unknown;
}

/* Returns the move of && or ||. The right side is ignored when the left side decides. */
static struct moving decide(const struct finding *f, expr_id e)
{
	const struct expr *x = &f->m->expr.at[e];
	struct moving a = find_move(f, x->a);
	if (a.move != STAYS)
		return unknown;
	if ((a.value != 0) == (x->kind == EXPR_OR))
		return make_staying(f, e, 1);
	return find_move(f, x->b).move == STAYS ? make_staying(f, e, 1) : unknown;
}

static struct moving find_operation_move(const struct finding *f, expr_id e)
{
	const struct expr *x = &f->m->expr.at[e];
	struct moving a = find_move(f, x->a), b = x->b ? find_move(f, x->b) : (struct moving){.move = STAYS};
	int64_t most;
	if (a.move == UNKNOWN || b.move == UNKNOWN || !bound((enum expr_kind)x->kind, a, b, &most))
		return unknown;
	if (a.move == STAYS && b.move == STAYS)
		return make_staying(f, e, most);
	if (x->kind == EXPR_EQ || x->kind == EXPR_NE)
		return compare_moving(f, e, a, b);
	a = as_number(f, a);
	b = as_number(f, b);
	if (a.move == UNKNOWN || b.move == UNKNOWN)
		return unknown;
	switch ((enum expr_kind)x->kind) {
	case EXPR_ADD:
		return add_moving(a, b, 1, most);
	case EXPR_SUB:
		return add_moving(a, b, -1, most);
	case EXPR_MUL:
		return multiply_moving(a, b, most);
	case EXPR_MOD:
		return modulo(f, e, a, b);
	case EXPR_FLOOR_DIV:
		return floor_divide(f, e, a, b);
	default:
		return unknown;
	}
}

static struct moving find_move(const struct finding *f, expr_id e)
{
	const struct expr *x = &f->m->expr.at[e];
	if (!moves_by_rank(f->m, e))
		return fixed(f, e);
	switch ((enum expr_kind)x->kind) {
	case EXPR_PARAM:
		return find_move(f, f->m->param.at[x->k].meaning);
	case EXPR_RANK:
		return rank_at(f);
	case EXPR_AXIS_INDEX:
		return make_turning(f, e, f->t->moves[x->k][x->mesh_axis],
		                    f->m->mesh.at[x->k].size[x->mesh_axis]);
	case EXPR_DEVICE:
		return device(f, e);
	case EXPR_AND:
	case EXPR_OR:
		return decide(f, e);
	default:
		return find_operation_move(f, e);
	}
}

bool moves_not(const struct symmetry *s, const struct symmetry_turn *t, expr_id e, const struct expr_env *env)
{
	const struct finding f = {s, t, s->frame.m, env};
	return find_move(&f, e).move == STAYS;
}

bool moves_as_rank(const struct symmetry *s, const struct symmetry_turn *t, expr_id e,
                   const struct expr_env *env)
{
	const struct finding f = {s, t, s->frame.m, env};
	struct moving x = find_move(&f, e);
	if (x.move == TURNS)
		return x.of == s->frame.ranks && t->number != SYMMETRY_NONE && x.by == t->number;
	if (x.move == STAYS) /* a fixed rank, or a number that is no rank, which is reported elsewhere */
		return x.value < 0 || x.value >= s->frame.ranks || t->to[x.value] == x.value;
	return x.move == IS_RANK;
}

bool moves_turning(const struct symmetry *s, const struct symmetry_turn *t, expr_id e,
                   const struct expr_env *env, int64_t *by, int64_t *of)
{
	const struct finding f = {s, t, s->frame.m, env};
	struct moving x = as_number(&f, find_move(&f, e));
	*by = x.move == TURNS ? x.by : 0;
	*of = x.move == TURNS ? x.of : 0;
	return x.move == TURNS || x.move == STAYS;
}
