/* bound: finds the bound loops of a value's type. */
#include "ir/bound.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include <string.h>

enum { LEVELS = 8 }; /* bound levels of a tensor axis */

/* The loops of a domain, grouped by tensor axis and level. */
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
	const struct expr *start = &m->expr.at[op_scalar_expr(m, loop, 0)];
	return stream == (a->place == PLACE_STREAM) && start->kind == EXPR_CONST && start->k == 0 &&
	       op_scalar_expr(m, loop, 1) == a->extent;
}

/* Finds, for each loop of a domain, the enclosing loop of a statement that it goes with; 0: none. */
static void find_around(const struct module *m, const struct domain *d, const struct loops *loops, op_id op,
                        op_id *out)
{
	op_id around[IR_MAX_NESTING];
	unsigned n = ir_enclosing_loops(m, op, around, IR_MAX_NESTING), next[2] = {0};
	for (unsigned i = 0; i < loops->n; i++) {
		const struct axis *x = &d->axis[loops->at[i].axis];
		unsigned stream = x->place == PLACE_STREAM, k = next[stream];
		while (k < n && !goes_with(m, around[k], x))
			k++;
		out[i] = k < n ? around[k] : 0;
		next[stream] = k < n ? k + 1 : next[stream];
	}
}

bound_set bound_beside(const struct module *m, type_id t, op_id op)
{
	const struct domain *d = &m->domain.at[m->type.at[t].domain];
	op_id around[IR_MAX_AXES];
	bound_set bound = 0;
	struct loops loops;
	find_loops(d, &loops);
	find_around(m, d, &loops, op, around);
	for (unsigned i = 0; i < loops.n; i++)
		bound |= (bound_set)(around[i] != 0) << i;
	return bound;
}

/* Returns the first unused loop of the first tensor axis that has one; NULL if there is none. */
static const struct loop *next_loop(const struct loops *loops, const struct bound_levels *bound)
{
	const struct loop *first = NULL;
	for (unsigned i = 0; i < loops->n; i++) {
		const struct loop *l = &loops->at[i];
		if (!(bound->of[l->tensor_axis] >> l->level & 1) &&
		    (!first || l->tensor_axis < first->tensor_axis))
			first = l;
	}
	return first;
}

static void bind_next(const struct domain *d, struct bound_levels *bound)
{
	struct loops loops;
	find_loops(d, &loops);
	const struct loop *first = next_loop(&loops, bound);
	if (first)
		bound->of[first->tensor_axis] |= (uint64_t)1 << first->level;
}

int bound_next(const struct domain *d, const struct bound_levels *levels)
{
	struct loops loops;
	find_loops(d, &loops);
	const struct loop *first = next_loop(&loops, levels);
	return first ? first->axis : -1;
}

void bound_levels_of(const struct module *m, value_id v, struct bound_levels *out)
{
	op_id def = m->value.at[v].def;
	*out = (struct bound_levels){{0}};
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
	bound_levels_of(m, op_read(m, def, 0), out);
	if (m->op.at[def].kind == OP_SHARD_BY_STREAM)
		bind_next(value_domain(m, v), out);
	if (m->op.at[def].kind == OP_SELECT)
		for (unsigned a = (unsigned)op_attr_int(m, def, "axis", 0); a + 1 < IR_MAX_LOGICAL; a++)
			out->of[a] = out->of[a + 1];
}

/* The steps of each tensor axis by level; the last entry is for axes that several tensor axes share. */
struct level_steps {
	expr_id of[IR_MAX_LOGICAL + 1][LEVELS];
};

static void find_level_steps(struct module *m, value_id v, struct level_steps *out)
{
	op_id def = m->value.at[v].def, around[IR_MAX_AXES];
	const struct domain *d = value_domain(m, v);
	struct bound_levels levels;
	struct loops loops;
	find_loops(d, &loops);
	*out = (struct level_steps){{{0}}};
	if (!def)
		return;
	if (!(op_traits(m, def) & TRAIT_VIEW)) {
		find_around(m, d, &loops, def, around);
		for (unsigned i = 0; i < loops.n; i++)
			if (around[i] && loops.at[i].level < LEVELS)
				out->of[loops.at[i].tensor_axis][loops.at[i].level] =
				    expr_index(m, m->region.at[m->op.at[around[i]].region].index);
		return;
	}
	find_level_steps(m, op_read(m, def, 0), out);
	if (m->op.at[def].kind == OP_SHARD_BY_STREAM) {
		bound_levels_of(m, op_read(m, def, 0), &levels);
		const struct loop *l = next_loop(&loops, &levels);
		if (l && l->level < LEVELS)
			out->of[l->tensor_axis][l->level] = op_scalar_expr(m, def, 0);
	}
	if (m->op.at[def].kind == OP_SELECT)
		for (unsigned a = (unsigned)op_attr_int(m, def, "axis", 0); a + 1 < IR_MAX_LOGICAL; a++)
			memcpy(out->of[a], out->of[a + 1], sizeof out->of[a]);
}

void bound_steps_of(struct module *m, value_id v, struct bound_steps *out)
{
	struct level_steps steps;
	struct loops loops;
	find_loops(value_domain(m, v), &loops);
	find_level_steps(m, v, &steps);
	*out = (struct bound_steps){{0}};
	for (unsigned i = 0; i < loops.n; i++)
		if (loops.at[i].level < LEVELS)
			out->of[loops.at[i].axis] = steps.of[loops.at[i].tensor_axis][loops.at[i].level];
}

bound_set bound_in(const struct domain *d, const struct bound_levels *levels)
{
	struct loops loops;
	bound_set bound = 0;
	find_loops(d, &loops);
	for (unsigned i = 0; i < loops.n; i++)
		bound |= (levels->of[loops.at[i].tensor_axis] >> loops.at[i].level & 1) << i;
	return bound;
}

bound_set bound_of(const struct module *m, value_id v)
{
	struct bound_levels levels;
	bound_levels_of(m, v, &levels);
	return bound_in(value_domain(m, v), &levels);
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

bool bound_level(const struct domain *d, unsigned axis, unsigned *tensor_axis, unsigned *level)
{
	struct loops loops;
	find_loops(d, &loops);
	for (unsigned i = 0; i < loops.n; i++)
		if (loops.at[i].axis == axis) {
			*tensor_axis = loops.at[i].tensor_axis;
			*level = loops.at[i].level;
			return true;
		}
	return false;
}
