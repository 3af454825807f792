/* here: see here.h. */
#include "events/here.h"
#include "ir/bound.h"
#include "ir/edit.h"
#include "ir/held.h"

struct here_value {
	bool known, open;
	struct held_layout layout;
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

/* Returns true if a value is made in loops that are more than the loops of its type, or of which none is
 * bound to one of its type's: the statement that writes the value decides which block it is. */
static bool is_open(const struct module *m, value_id v, const struct here_value *x)
{
	op_id around[IR_MAX_NESTING], def = m->value.at[ir_root(m, v)].def;
	unsigned loops = 0, outer = def ? ir_enclosing_loops(m, def, around, IR_MAX_NESTING) : 0;
	bool unbound = false;
	for (unsigned a = 0; a < x->layout.s.rank && outer; a++)
		for (unsigned k = 0, loop = 0; k < x->layout.s.axis[a].place_n; k++) {
			uint8_t kind = x->layout.s.axis[a].place[k].kind;
			if (kind != SUGAR_STREAM && kind != SUGAR_SERIAL && kind != SUGAR_SWIZZLE)
				continue;
			unbound |= loop >= BOUND_LEVELS || !x->steps.of[a][loop];
			loop++, loops++;
		}
	return outer && loops && (unbound || outer > loops);
}

static const struct here_value *find_value(struct here_loops *l, struct module *m, value_id v)
{
	if (!l->value[v]) {
		struct here_value *x = l->value[v] = mem_zalloc(sizeof **l->value);
		x->known = held_layout_read(m, m->value.at[v].type, &x->layout);
		if (x->known)
			bound_steps_of(m, v, &x->steps);
		x->open = x->known && is_open(m, v, x);
	}
	return l->value[v];
}

/* The elements of one axis, and its full block. */
static bool find_axis(const struct here_value *x, const struct module *m, unsigned axis,
                      const struct expr_env *env, int64_t *elements, int64_t *padded)
{
	int64_t step[SUGAR_MAX_PLACES];
	held_intervals held = {0};
	for (unsigned k = 0; k < SUGAR_MAX_PLACES; k++) {
		expr_id e = k < BOUND_LEVELS ? x->steps.of[axis][k] : 0;
		step[k] = -1;
		if (e && (expr_eval(m, e, env, &step[k], NULL) != EXPR_OK || step[k] < 0))
			return false;
	}
	if (!held_block(m, &x->layout, axis, step, padded) ||
	    !held_axis(m, &x->layout, axis, (uint32_t)env->rank, step, &held))
		return false;
	*elements = held_common(&held, &held);
	vec_free(&held);
	return true;
}

struct here here_find(struct here_loops *l, struct walker *w, value_id v)
{
	const struct here_value *x = find_value(l, w->m, v);
	const struct expr_env env = walk_env(w);
	struct here out = {.known = x->known, .open = x->open, .elements = 1, .padded = 1};
	for (unsigned a = 0; out.known && a < value_domain(w->m, v)->rank; a++) {
		int64_t elements = 0, padded = 0;
		out.known = find_axis(x, w->m, a, &env, &elements, &padded);
		out.elements *= elements;
		out.padded *= padded;
	}
	return out;
}
