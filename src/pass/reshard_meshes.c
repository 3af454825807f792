/* reshard_meshes: see reshard_meshes.h.
 *
 *     {0 1}: n@x → {2 3}: n@x      send_recv, position by position
 *     {0}: n → {1 2}: n            broadcast; the root is the only rank that has it
 *     {0 1}: n@x → {2}: n          gather
 *     {0}: n → {1 2}: n@x          scatter
 *     {0 1}: partial(x) → {2}: n   reduce
 *
 * A device in both meshes already has data, and a narrower collective would send it again. Then only
 * all_to_allv is used. */
#include "pass/reshard_meshes.h"
#include "ir/expr.h"
#include "pass/place.h"
#include <string.h>

/* Counts the devices of mesh b that are also in mesh a; *last is one of them. */
static uint32_t shared_devices(const struct mesh *a, const struct mesh *b, uint32_t *last)
{
	uint32_t n = 0, position;
	for (uint32_t i = 0; i < b->device_count; i++)
		if (mesh_position(a, b->device[i], &position)) {
			*last = b->device[i];
			n++;
		}
	return n;
}

bool mesh_disjoint(const struct mesh *a, const struct mesh *b)
{
	uint32_t last;
	return !shared_devices(a, b, &last);
}

/* Returns the mesh axes with more than one device. */
static unsigned wide_axes(const struct mesh *a)
{
	unsigned set = 0;
	for (unsigned x = 0; x < a->rank; x++)
		set |= (unsigned)(a->size[x] > 1) << x;
	return set;
}

static bool is_whole(const struct mesh *a, const struct sugar *s)
{
	return !(place_used(s) & wide_axes(a));
}

/* Returns true if one tensor axis is spread over all of a mesh, by mesh axes only. Sets *dim, and the
 * mesh axes in r. */
static bool is_spread(const struct mesh *a, const struct sugar *s, struct reshard *r)
{
	int dim = -1;
	if (place_used(s) != (wide_axes(a) | place_used(s)) || place_partial(s))
		return false;
	for (unsigned i = 0; i < s->rank; i++) {
		unsigned n = place_footprint(&s->axis[i]);
		if (!n)
			continue;
		if (dim >= 0)
			return false;
		dim = (int)i;
		for (unsigned k = 0; k < n; k++) {
			if (s->axis[i].place[k].kind != SUGAR_MESH)
				return false;
			r->axis[k] = s->axis[i].place[k].mesh_axis;
		}
		r->axis_n = n;
	}
	r->dim = dim;
	return dim >= 0;
}

static bool same_places(const struct sugar *a, const struct sugar *b)
{
	for (unsigned i = 0; i < a->rank; i++)
		if (!place_same_footprint(&a->axis[i], &b->axis[i]))
			return false;
	return true;
}

/* Ends a pending reduction on the only device of the other mesh. */
static void ends_reduction(struct reshard *r, const struct mesh *a, const struct mesh *b,
                           const struct sugar *from)
{
	unsigned pending = place_partial(from);
	r->kind = RESHARD_NONE;
	r->reason = "a sum is pending and the mesh changes";
	if (b->device_count != 1 || (wide_axes(a) & ~pending) || place_used(from) & wide_axes(a))
		return;
	r->kind = RESHARD_REDUCE;
	r->reason = NULL;
	r->root = b->device[0];
	for (unsigned x = 0; x < a->rank; x++)
		r->axis[r->axis_n++] = (uint8_t)x;
}

void reshard_meshes(struct module *m, const struct sugar *from, const struct sugar *to, struct reshard *r)
{
	const struct mesh *a = &m->mesh.at[r->mesh], *b = &m->mesh.at[r->to];
	uint32_t common = 0, shared = shared_devices(a, b, &common);
	if (place_partial(from)) {
		ends_reduction(r, a, b, from);
		return;
	}
	r->kind = RESHARD_ALL_TO_ALLV;
	if (is_whole(a, from) && is_whole(b, to)) {
		if (shared == b->device_count)
			r->kind = RESHARD_LOCAL; /* every rank has it */
		else if (shared <= 1) {
			r->kind = RESHARD_BROADCAST;
			r->root = shared ? common : a->device[0];
		}
	} else if (mesh_same_shape(a, b) && same_places(from, to) &&
	           (!shared || !(wide_axes(a) & ~place_used(from)))) {
		r->kind = RESHARD_SEND_RECV;
	} else if (b->device_count == 1 && is_spread(a, from, r)) {
		r->kind = RESHARD_GATHER;
		r->root = b->device[0];
	} else if (a->device_count == 1 && is_spread(b, to, r)) {
		r->kind = RESHARD_SCATTER;
		r->root = a->device[0];
	}
	if (r->kind == RESHARD_ALL_TO_ALLV)
		r->reason = "the mesh and the layout change";
}
