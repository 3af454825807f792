/* bound: which loops of a value's type are bound.
 *
 * Types along a chain of views differ: a slice has loops that its buffer has not. Loops are told apart by
 * their tensor axis and how many of it stand above them. */
#include "pass/bound.h"
#include "ir/edit.h"
#include "ir/layout.h"

/* Loops of each tensor axis, outermost first, a bit each; the last entry: of axes that several share. */
struct levels {
	uint64_t of[IR_MAX_LOGICAL + 1];
};

/* The loops of a domain as levels of tensor axes. */
struct loops {
	unsigned n;
	struct loop {
		uint8_t axis, tensor_axis, level;
	} at[IR_MAX_AXES];
};

static void find_loops(const struct domain *d, struct loops *out)
{
	out->n = 0;
	for (unsigned i = 0; i < d->loop_n; i++) {
		const struct axis *x = &d->axis[d->loop[i]];
		int a = layout_logical_of(d, d->loop[i]);
		if ((x->place != PLACE_STREAM && x->place != PLACE_SERIAL) || x->kind == AXIS_REDUCE)
			continue;
		struct loop *l = &out->at[out->n];
		*l = (struct loop){.axis = d->loop[i], .tensor_axis = a < 0 ? IR_MAX_LOGICAL : (uint8_t)a};
		for (unsigned k = 0; k < out->n; k++)
			l->level += out->at[k].tensor_axis == l->tensor_axis;
		out->n++;
	}
}

static bool goes_with(const struct module *m, op_id loop, const struct axis *a)
{
	bool stream = m->op.at[loop].flags & OP_STREAM_LOOP;
	return stream == (a->place == PLACE_STREAM) && op_scalar_expr(m, loop, 1) == a->extent;
}

bound_set bound_beside(const struct module *m, type_id t, op_id op)
{
	const struct domain *d = &m->domain.at[m->type.at[t].domain];
	op_id around[IR_MAX_NESTING];
	unsigned n = ir_enclosing_loops(m, op, around, IR_MAX_NESTING), next[2] = {0};
	bound_set bound = 0;
	struct loops loops;
	find_loops(d, &loops);
	for (unsigned i = 0; i < loops.n; i++) {
		const struct axis *x = &d->axis[loops.at[i].axis];
		unsigned stream = x->place == PLACE_STREAM, k = next[stream];
		while (k < n && !goes_with(m, around[k], x))
			k++;
		if (k == n)
			continue;
		next[stream] = k + 1;
		bound |= (bound_set)1 << i;
	}
	return bound;
}

/* Binds the first loop of the first tensor axis that has one left, and returns that axis; -1: none. */
static int bind_next(const struct domain *d, struct levels *bound)
{
	struct loops loops;
	const struct loop *first = NULL;
	find_loops(d, &loops);
	for (unsigned i = 0; i < loops.n; i++) {
		const struct loop *l = &loops.at[i];
		if (!(bound->of[l->tensor_axis] >> l->level & 1) &&
		    (!first || l->tensor_axis < first->tensor_axis))
			first = l;
	}
	if (!first)
		return -1;
	bound->of[first->tensor_axis] |= (uint64_t)1 << first->level;
	return first->tensor_axis == IR_MAX_LOGICAL ? -1 : first->tensor_axis;
}

static void levels_of(const struct module *m, value_id v, struct levels *out)
{
	op_id def = m->value.at[v].def;
	*out = (struct levels){{0}};
	if (!def)
		return;
	if (!(op_traits(m, def) & TRAIT_VIEW)) {
		bound_set bound = bound_beside(m, m->value.at[v].type, def);
		struct loops loops;
		find_loops(value_domain(m, v), &loops);
		for (unsigned i = 0; i < loops.n; i++)
			out->of[loops.at[i].tensor_axis] |= (bound >> i & 1) << loops.at[i].level;
		return;
	}
	levels_of(m, op_read(m, def, 0), out);
	if (m->op.at[def].kind == OP_SHARD_BY_STREAM)
		bind_next(value_domain(m, v), out);
	if (m->op.at[def].kind == OP_SELECT)
		for (unsigned a = (unsigned)op_attr_int(m, def, "axis", 0); a + 1 < IR_MAX_LOGICAL; a++)
			out->of[a] = out->of[a + 1];
}

bound_set bound_of(const struct module *m, value_id v)
{
	struct levels levels;
	struct loops loops;
	bound_set bound = 0;
	levels_of(m, v, &levels);
	find_loops(value_domain(m, v), &loops);
	for (unsigned i = 0; i < loops.n; i++)
		bound |= (levels.of[loops.at[i].tensor_axis] >> loops.at[i].level & 1) << i;
	return bound;
}

bound_set bound_all(const struct module *m, type_id t)
{
	struct loops loops;
	find_loops(&m->domain.at[m->type.at[t].domain], &loops);
	return loops.n ? ~(bound_set)0 >> (64 - loops.n) : 0;
}

bound_set bound_shared(const struct module *m, type_id t, type_id with)
{
	const struct domain *d = &m->domain.at[m->type.at[t].domain],
	                    *w = &m->domain.at[m->type.at[with].domain];
	struct loops x, y;
	bound_set bound = 0;
	find_loops(d, &x);
	find_loops(w, &y);
	for (unsigned i = 0; i < x.n; i++)
		for (unsigned k = 0; k < y.n; k++)
			if (x.at[i].tensor_axis == y.at[k].tensor_axis && x.at[i].level == y.at[k].level &&
			    d->axis[x.at[i].axis].place == w->axis[y.at[k].axis].place &&
			    d->axis[x.at[i].axis].extent == w->axis[y.at[k].axis].extent)
				bound |= (bound_set)1 << i;
	return bound;
}

bool bound_has(const struct domain *d, bound_set bound, unsigned axis)
{
	struct loops loops;
	find_loops(d, &loops);
	for (unsigned i = 0; i < loops.n; i++)
		if (loops.at[i].axis == axis)
			return bound >> i & 1;
	return false;
}

int bound_by_slice(const struct module *m, op_id shard)
{
	struct levels levels;
	levels_of(m, op_read(m, shard, 0), &levels);
	return bind_next(value_domain(m, op_result(m, shard, 0)), &levels);
}
