/* here: see here.h. */
#include "events/here.h"
#include "ir/bound.h"
#include "ir/edit.h"
#include "ir/part.h"

struct here_value {
	bool open;
	struct bound_steps steps;
};

void here_open(struct here_loops *l, const struct module *m)
{
	l->value = mem_zalloc(sizeof(struct here_value *) * m->value.n);
}

void here_close(struct here_loops *l, const struct module *m)
{
	for (value_id v = 0; v < m->value.n; v++)
		free(l->value[v]);
	free(l->value);
}

bool here_is(const struct module *m, value_id v, int64_t rank)
{
	uint32_t position;
	mesh_id mesh = value_type(m, v)->mesh;
	return !mesh || mesh_position(ir_mesh(m, mesh), (uint32_t)rank, &position);
}

/* Returns true if the writer of a value decides which block it is: the value is made in more loops than its
 * type has, or none of these loops is bound to a loop of its type. */
static bool is_open(const struct module *m, value_id v, const struct here_value *x)
{
	op_id around[IR_MAX_NESTING], def = m->value.at[ir_root(m, v)].def;
	unsigned loops = 0, outer = def ? ir_enclosing_loops(m, def, around, IR_MAX_NESTING) : 0;
	const struct domain *d = value_domain(m, v);
	bool unbound = false;
	for (unsigned k = 0; k < d->loop_n && outer; k++) {
		const struct axis *a = &d->axis[d->loop[k]];
		if ((a->place != PLACE_STREAM && a->place != PLACE_SERIAL) || a->kind == AXIS_REDUCE)
			continue;
		unbound |= !x->steps.of[d->loop[k]];
		loops++;
	}
	return outer && loops && (unbound || outer > loops);
}

static const struct here_value *find_value(struct here_loops *l, struct module *m, value_id v)
{
	if (!l->value[v]) {
		struct here_value *x = l->value[v] = mem_zalloc(sizeof **l->value);
		bound_steps_of(m, v, &x->steps);
		x->open = is_open(m, v, x);
	}
	return l->value[v];
}

static bool find_bound(const struct here_value *x, struct walker *w, value_id v, struct bound_at *out)
{
	const struct domain *d = value_domain(w->m, v);
	const struct expr_env env = walk_env(w);
	out->axes = 0;
	for (unsigned k = 0; k < d->loop_n; k++) {
		unsigned a = d->loop[k];
		if (!x->steps.of[a])
			continue;
		if (expr_eval(w->m, x->steps.of[a], &env, &out->step[a], NULL) != EXPR_OK || out->step[a] < 0)
			return false;
		out->axes |= (uint64_t)1 << a;
	}
	return true;
}

struct here here_find(struct here_loops *l, struct walker *w, value_id v)
{
	const struct here_value *x = find_value(l, w->m, v);
	struct here out = {.open = x->open, .elements = 1, .padded = 1};
	struct bound_at bound;
	struct part p;
	out.known = find_bound(x, w, v, &bound) &&
	            part_of(w->m, w->m->value.at[v].type, w->rank, &bound, &p) && p.exact;
	for (unsigned a = 0; out.known && a < p.n; a++) {
		out.elements *= part_count(&p.axis[a]);
		out.padded *= p.axis[a].block;
	}
	return out;
}
