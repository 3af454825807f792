/* decompose_experts: gives dispatch and combine the layouts that they need.
 *
 *     X: f32[t, h]                                      T1: f32[t@x, h] = set(X)
 *     rows: f32[4*t@x, h], e, … = dispatch(X, E, P)  →  rows: f32[4*t@x, h], e, … = dispatch(T1, E, P)
 *
 * Axis 0 of all operands and results must be spread over the experts' mesh axis only. The other axes of
 * tokens and rows must have the same placements. A tensor with another layout gets a `set`. */
#include "ir/print.h"
#include "pass/decompose.h"
#include "pass/rewrite.h"
#include <string.h>

struct experts {
	struct module *m;
	mesh_id mesh;
	struct sugar_axis first;  /* placements of axis 0 */
	const struct sugar *like; /* placements of the other axes of tokens and rows */
};

/* Returns the type in the needed layout, or the type itself if it has it; 0: there is none. */
static type_id find_wanted_type(const struct experts *x, type_id t, bool rows, const char **reason)
{
	struct module *m = x->m;
	const struct type type = m->type.at[t];
	struct sugar s, old;
	bool same = sugar_from_domain(m, type.domain, type.mesh, &old) && type.mesh == x->mesh;
	sugar_extents(m, type.domain, &s);
	s.axis_n = s.rank;
	for (unsigned a = 0; a < s.rank; a++) {
		s.axis[a].place_n = 0;
		if (a == 0)
			place_copy(&s.axis[a], &x->first);
		else if (rows)
			place_copy(&s.axis[a], &x->like->axis[a]);
	}
	if (!same || place_partial(&old))
		return place_type(m, t, x->mesh, &s, false, reason);
	for (unsigned a = 0; a < s.rank; a++) {
		same = same && s.axis[a].place_n == old.axis[a].place_n;
		for (unsigned i = 0; same && i < s.axis[a].place_n; i++)
			same = place_equal(&s.axis[a].place[i], &old.axis[a].place[i]);
	}
	return same ? t : place_type(m, t, x->mesh, &s, false, reason);
}

/* Removes all placements from the other axes of rows, except mesh axes other than the experts'. */
static void keep_meshes(struct sugar *s, unsigned taken)
{
	for (unsigned a = 1; a < s->rank; a++) {
		struct sugar_axis *x = &s->axis[a];
		x->place_n = (uint8_t)place_footprint(x);
		if (place_mesh_axes(x) & taken || place_has_loop(x) || place_has_block(x))
			x->place_n = 0;
	}
}

static bool change_layouts(struct pass_context *cx, const struct experts *x, op_id op)
{
	struct module *m = x->m;
	const char *reason = "";
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++) {
		value_id v = op_read(m, op, k);
		type_id t = find_wanted_type(x, m->value.at[v].type, k == 0, &reason);
		if (!t)
			goto failed;
		if (t == m->value.at[v].type)
			continue;
		value_id made = rewrite_find_set(m, op, v, t);
		rewrite_read(m, op, k, made ? made : rewrite_set_before(m, op, v, t));
	}
	for (unsigned k = 0; k < op_result_count(m, op); k++) {
		type_id old = m->value.at[op_result(m, op, k)].type,
		        t = find_wanted_type(x, old, k == 0, &reason);
		if (!t)
			goto failed;
		if (t != old)
			rewrite_set_after_result(m, op, k, t);
	}
	return true;
failed:
	diag_error(cx->d, E_EXPERTS, m->op.at[op].at,
	           "%s: an operand or result cannot be spread over the experts: %s",
	           op_info[m->op.at[op].kind].hir, reason);
	return false;
}

/* Returns true if all operands and results have the needed layouts. */
static bool has_wanted_layouts(const struct experts *x, op_id op)
{
	struct module *m = x->m;
	const char *reason;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++)
		if (find_wanted_type(x, m->value.at[op_read(m, op, k)].type, k == 0, &reason) !=
		    m->value.at[op_read(m, op, k)].type)
			return false;
	for (unsigned k = 0; k < op_result_count(m, op); k++)
		if (find_wanted_type(x, m->value.at[op_result(m, op, k)].type, k == 0, &reason) !=
		    m->value.at[op_result(m, op, k)].type)
			return false;
	return true;
}

bool decompose_experts(struct module *m, struct pass_context *cx, op_id op)
{
	enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	struct experts x = {.m = m};
	struct sugar rows;
	int axis;
	if (kind != OP_DISPATCH && kind != OP_COMBINE)
		return true;
	value_id like = op_result(m, op, 0);
	if (!infer_experts(m, op, &x.mesh, &axis))
		return true; /* the check of types refuses it */
	if (axis >= 0) {
		x.first.place_n = 1;
		x.first.place[0] = (struct sugar_place){.kind = SUGAR_MESH, .mesh_axis = (uint8_t)axis};
	}
	struct type t = *value_type(m, like);
	if (t.mesh != x.mesh || !sugar_from_domain(m, t.domain, t.mesh, &rows)) {
		sugar_extents(m, t.domain, &rows);
		for (unsigned a = 0; a < rows.rank; a++)
			rows.axis[a].place_n = 0;
	}
	keep_meshes(&rows, place_mesh_axes(&x.first));
	x.like = &rows;
	if (!m->op.at[op].def_n && !has_wanted_layouts(&x, op))
		decompose_write_value(m, op);
	return !m->op.at[op].def_n || change_layouts(cx, &x, op);
}
