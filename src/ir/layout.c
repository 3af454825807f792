/* layout: maps indices by domains, and compares how axes are spread. */
#include "ir/layout.h"
#include "base/checked.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include <string.h>

bool layout_env_init(const struct module *m, type_id t, int64_t rank, struct layout_env *env,
                     expr_id *offending)
{
	const struct type *type = &m->type.at[t];
	const struct domain *d = &m->domain.at[type->domain];
	const struct expr_env e = {.rank = rank};
	memset(env, 0, sizeof *env);
	for (unsigned a = 0; a < d->axis_n; a++)
		if (expr_eval(m, d->axis[a].extent, &e, &env->extent[a], offending) != EXPR_OK)
			return false;
	if (type->mesh && rank >= 0)
		for (unsigned x = 0; x < m->mesh.at[type->mesh].rank; x++) {
			uint32_t i;
			if (mesh_axis_index(&m->mesh.at[type->mesh], (uint32_t)rank, x, &i))
				env->mesh_index[x] = i;
		}
	return true;
}

bool layout_logical_index(const struct domain *d, const struct layout_env *env, const int64_t *loop,
                          int64_t *logical)
{
	int64_t at[IR_MAX_AXES] = {0};
	for (unsigned i = 0; i < d->loop_n; i++)
		at[d->loop[i]] = loop[i];
	for (unsigned i = d->xform_n; i-- > 0;) {
		const struct xform *x = &d->xform[i];
		switch ((enum xform_kind)x->kind) {
		case XFORM_SPLIT_OUTER:
		case XFORM_SPLIT_INNER:
			at[x->in[0]] = at[x->out[0]] * env->extent[x->out[1]] + at[x->out[1]];
			if (at[x->in[0]] >= env->extent[x->in[0]])
				return false;
			break;
		case XFORM_MERGE:
			if (env->extent[x->in[1]] == 0)
				return false;
			at[x->in[0]] = at[x->out[0]] / env->extent[x->in[1]];
			at[x->in[1]] = at[x->out[0]] % env->extent[x->in[1]];
			break;
		case XFORM_SWIZZLE1D:
			at[x->in[0]] =
			    (at[x->out[0]] + env->mesh_index[x->mesh_axis]) % env->extent[x->in[0]];
			break;
		}
	}
	for (unsigned i = 0; i < d->logical_n; i++) {
		if (at[i] >= env->extent[i])
			return false;
		logical[i] = at[i];
	}
	return true;
}

static bool is_split(const struct xform *x)
{
	return x->kind == XFORM_SPLIT_OUTER || x->kind == XFORM_SPLIT_INNER;
}

/* Returns true if a loop axis derived from this one has one of the places (a bit set of enum
 * axis_place). */
static bool below_has(const struct domain *d, unsigned axis, unsigned places)
{
	const struct xform *x = domain_consumer(d, axis);
	if (!x)
		return places >> d->axis[axis].place & 1;
	return below_has(d, x->out[0], places) || (is_split(x) && below_has(d, x->out[1], places));
}

/* Returns the axis that contains all elements of another one, which a place cuts into single elements;
 * the axis itself if there is none. */
static unsigned find_whole_axis(const struct domain *d, unsigned axis)
{
	const struct xform *x = domain_consumer(d, axis);
	return x && x->kind == XFORM_SPLIT_OUTER && x->factor == d->axis[axis].extent &&
	               !below_has(d, x->out[1], 1u << PLACE_MESH)
	           ? x->out[0]
	           : axis;
}

/* Returns true if the transforms below two axes form the same tree. mesh_only: a tree without a mesh
 * axis counts as a leaf. */
static bool same_tree(const struct domain *da, unsigned a, const struct domain *db, unsigned b,
                      bool mesh_only)
{
	if (da->axis[a].extent != db->axis[b].extent)
		return false;
	if (mesh_only) {
		bool ma = below_has(da, a, 1u << PLACE_MESH), mb = below_has(db, b, 1u << PLACE_MESH);
		if (ma != mb)
			return false;
		if (!ma)
			return true;
		a = find_whole_axis(da, a), b = find_whole_axis(db, b);
	}
	const struct xform *x = domain_consumer(da, a), *y = domain_consumer(db, b);
	if (!x != !y)
		return false;
	if (!x)
		return da->axis[a].place == db->axis[b].place &&
		       (da->axis[a].place != PLACE_MESH || da->axis[a].mesh_axis == db->axis[b].mesh_axis);
	if (x->kind != y->kind || x->factor != y->factor || x->mesh_axis != y->mesh_axis)
		return false;
	if (x->kind == XFORM_MERGE && (x->in[0] == a) != (y->in[0] == b))
		return false;
	return same_tree(da, x->out[0], db, y->out[0], mesh_only) &&
	       (!is_split(x) || same_tree(da, x->out[1], db, y->out[1], mesh_only));
}

static bool has_same_layout(const struct module *m, type_id ta, unsigned a, type_id tb, unsigned b,
                            bool mesh_only)
{
	const struct type *x = &m->type.at[ta], *y = &m->type.at[tb];
	const struct domain *da = &m->domain.at[x->domain], *db = &m->domain.at[y->domain];
	if (!same_tree(da, a, db, b, mesh_only))
		return false;
	return x->mesh == y->mesh || !below_has(da, a, 1u << PLACE_MESH);
}

bool layout_same_footprint(const struct module *m, type_id ta, unsigned a, type_id tb, unsigned b)
{
	return has_same_layout(m, ta, a, tb, b, true);
}

bool layout_same_axis(const struct module *m, type_id ta, unsigned a, type_id tb, unsigned b)
{
	return has_same_layout(m, ta, a, tb, b, false);
}

static unsigned mesh_axes_below(const struct domain *d, unsigned axis)
{
	const struct xform *x = domain_consumer(d, axis);
	if (!x)
		return d->axis[axis].place == PLACE_MESH ? 1u << d->axis[axis].mesh_axis : 0;
	return mesh_axes_below(d, x->out[0]) | (is_split(x) ? mesh_axes_below(d, x->out[1]) : 0);
}

unsigned layout_mesh_axes(const struct module *m, type_id t, unsigned logical)
{
	return mesh_axes_below(&m->domain.at[m->type.at[t].domain], logical);
}

int layout_logical_of(const struct domain *d, unsigned axis)
{
	for (unsigned i = d->xform_n; i-- > 0;) {
		const struct xform *x = &d->xform[i];
		if (x->out[0] == axis || (is_split(x) && x->out[1] == axis)) {
			if (x->kind == XFORM_MERGE)
				return -1;
			axis = x->in[0];
		}
	}
	return axis < d->logical_n ? (int)axis : -1;
}

int layout_partial(const struct domain *d, unsigned mesh_axis)
{
	for (unsigned i = d->rank; i < d->logical_n; i++)
		if (d->axis[i].kind == AXIS_PARTIAL && d->axis[i].mesh_axis == mesh_axis)
			return (int)i;
	return -1;
}

int layout_loop_axis(const struct domain *d, unsigned which)
{
	for (unsigned i = 0; i < d->loop_n; i++) {
		uint8_t place = d->axis[d->loop[i]].place;
		if ((place == PLACE_STREAM || place == PLACE_SERIAL) && which-- == 0)
			return d->loop[i];
	}
	return -1;
}
