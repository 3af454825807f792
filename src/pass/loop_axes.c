/* loop_axes: turns loop axes that merges or inner splits made, or that come after other axes, into
 * placements.
 *
 *     Y: f32[4, 6, 8@x]                                       Y: f32[4@stream(4), 6@stream(2), 8@x]
 *     schedule Y { merge 1; split 1 outer 8;             →
 *                  parallelize 1 stream }
 *
 * The slices and their order remain the same. A tensor without equivalent placements is not changed.
 *
 *     X: f32[4, 8]                                            X: f32[4, 8@x]
 *     schedule X { split 1 outer 2; parallelize 1 x }    →
 *
 * Without loops the order of the loop axes means nothing, so it becomes that of placements. */
#include "pass/loop_axes.h"
#include "ir/domain.h"
#include "pass/place.h"

bool loop_axes_any(const struct domain *d)
{
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->axis[d->loop[i]].place == PLACE_STREAM || d->axis[d->loop[i]].place == PLACE_SERIAL)
			return true;
	return false;
}

/* Returns true if a value is a whole tensor, and not a buffer of which statements use slices. */
static bool is_whole(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	if (def && (op_traits(m, def) & (TRAIT_VIEW | TRAIT_MEMORY) || m->op.at[def].parent != m->body))
		return false;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		if (m->operand.at[u].role == ROLE_WRITE || op_traits(m, m->operand.at[u].op) & TRAIT_VIEW)
			return false;
	return true;
}

void loop_axes_place(struct module *m, struct pass_context *cx)
{
	for (value_id v = 1; v < m->value.n; v++) {
		type_id t = m->value.at[v].type;
		const struct type old = m->type.at[t];
		const struct domain d = m->domain.at[old.domain];
		struct sugar s;
		uint8_t perm[IR_MAX_AXES];
		bool unstreamed = false;
		const char *reason;
		if (!loop_axes_any(&d) || !is_whole(m, v) || sugar_from_domain(m, old.domain, old.mesh, &s) ||
		    !sugar_equivalent(m, old.domain, old.mesh, &s) ||
		    !domain_allocation_order(&d, &unstreamed, perm))
			continue;
		type_id n = place_type(m, t, old.mesh, &s, unstreamed, &reason);
		if (!n)
			continue;
		struct buf name = {0};
		m->value.at[v].type = n;
		pass_put_name(m, v, &name);
		pass_remark(cx, m, m->value.at[v].at, "the loop of %s: the same slices as placements",
		            name.at);
		buf_free(&name);
	}
}

void loop_axes_order(struct module *m)
{
	for (value_id v = 1; v < m->value.n; v++) {
		const struct type old = *value_type(m, v);
		op_id def = m->value.at[v].def;
		bool viewed = def && op_traits(m, def) & TRAIT_VIEW;
		domain_id d;
		for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
			viewed |= (op_traits(m, m->operand.at[u].op) & TRAIT_VIEW) != 0;
		if (!viewed && sugar_in_order(m, old.domain, old.mesh, &d))
			m->value.at[v].type = type_with_domain(m, m->value.at[v].type, d);
	}
}
