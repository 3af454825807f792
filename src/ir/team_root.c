/* team_root: see the header. */
#include "ir/team_root.h"
#include "ir/expr.h"

/* Returns the team if its indices differ from its devices. */
static const struct team *find_team(const struct module *m, team_id id, uint32_t *n)
{
	const struct team *t = id ? ir_team(m, id) : NULL;
	*n = t && t->slice_n == 1 ? t->start[1] - t->start[0] : 0;
	for (uint32_t i = 0; i < *n; i++)
		if (t->device[i] != i)
			return t;
	return NULL;
}

/* Returns true if the devices follow each other, so that an index is a device less the first. */
static bool is_run(const struct team *t, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (t->device[i] != t->device[0] + i)
			return false;
	return true;
}

/* Adds the first device of a run, or takes it off. Undoes the other of the two. */
static expr_id shift(struct module *m, const struct team *t, expr_id e, enum expr_kind kind)
{
	const struct expr x = m->expr.at[e];
	int64_t k;
	if (x.kind == (kind == EXPR_ADD ? EXPR_SUB : EXPR_ADD) && expr_is_const(m, x.b, &k) &&
	    k == t->device[0])
		return x.a;
	return expr_op(m, kind, e, expr_const(m, t->device[0]));
}

expr_id team_root_index(struct module *m, team_id id, expr_id device)
{
	uint32_t n;
	int64_t k;
	const struct team *t = find_team(m, id, &n);
	if (!t)
		return device;
	if (!expr_is_const(m, device, &k))
		return is_run(t, n) ? shift(m, t, device, EXPR_SUB) : device;
	for (uint32_t i = 0; i < n; i++)
		if (t->device[i] == k)
			return expr_const(m, i);
	return 0;
}

expr_id team_root_device(struct module *m, team_id id, expr_id index)
{
	uint32_t n;
	int64_t k;
	const struct team *t = find_team(m, id, &n);
	if (!t)
		return index;
	if (!expr_is_const(m, index, &k))
		return is_run(t, n) ? shift(m, t, index, EXPR_ADD) : index;
	return k >= 0 && k < n ? expr_const(m, t->device[k]) : index;
}
