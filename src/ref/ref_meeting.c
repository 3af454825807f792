/* ref_meeting: finds the ranks that meet at a set between layouts.
 *
 *     mesh m(x = 2, y = 2)
 *     Y: f32[8@x, 8] = set(X)     X: f32[8@x, 8@y]: a rank needs elements of ranks along y, so the ranks (0 1) meet,
 *                                 and the ranks (2 3)
 *
 * Mesh axes are left out, one after the other, while the ranks of each group still have all elements that they need.
 * So a set may stand in a condition that all ranks of a group have in common. */
#include "ref/ref_host.h"
#include <string.h>

/* Flags the elements of a whole tensor that a rank holds. */
static bool flag_held(struct ref_host *h, type_id t, int64_t rank, uint32_t at, int64_t count, uint8_t *flag)
{
	struct ref_local local;
	const struct ref_bound all = {0};
	memset(flag, 0, (size_t)count);
	if (!ref_local_get(h->c, h->locals, t, rank, &all, at, &local))
		return false;
	for (int64_t k = 0; k < local.n; k++)
		flag[local.at[k]] = 1;
	return true;
}

/* A set on one mesh: which ranks have the elements that others need. */
struct needs {
	struct ref_host *h;
	type_id from, to;
	const struct mesh *mesh;
	unsigned ended,
	    kept; /* mesh axes of pending reductions that the set ends, and of those that it keeps */
	uint32_t at;
	int64_t count;        /* elements of the whole tensor */
	uint8_t *have, *held; /* flags of elements: of one rank, of several */
};

/* Returns the ranks that may give elements to each other, by number. */
static int64_t group_of(const struct needs *x, int64_t rank, unsigned axes)
{
	int64_t count;
	return ref_mesh_has(x->h->c->m, x->h->c->m->type.at[x->from].mesh, rank)
	           ? ref_combination(x->mesh, rank, ~axes | x->kept, &count)
	           : -1;
}

/* Flags the elements that the ranks of a group hold of one part of a sum. */
static bool flag_group(struct needs *x, int64_t group, unsigned axes, int64_t part)
{
	int64_t count;
	memset(x->held, 0, (size_t)x->count);
	for (int64_t r = 0; r < x->h->rank_n; r++) {
		if (group_of(x, r, axes) != group || ref_combination(x->mesh, r, x->ended, &count) != part)
			continue;
		if (!flag_held(x->h, x->from, r, x->at, x->count, x->have))
			return false;
		for (int64_t i = 0; i < x->count; i++)
			x->held[i] |= x->have[i];
	}
	return true;
}

/* Finds out if ranks that differ along `axes` only have all elements that they need. */
static bool find_enough(struct needs *x, unsigned axes, bool *enough)
{
	int64_t parts = 1;
	*enough = !(x->ended & ~axes);
	ref_combination(x->mesh, 0, x->ended, &parts);
	for (int64_t first = 0; first < x->h->rank_n && *enough; first++) {
		const int64_t group = group_of(x, first, axes);
		bool seen = group < 0;
		for (int64_t r = 0; r < first && !seen; r++)
			seen = group_of(x, r, axes) == group;
		for (int64_t part = 0; part < parts && !seen && *enough; part++) {
			if (!flag_group(x, group, axes, part))
				return false;
			for (int64_t r = first; r < x->h->rank_n && *enough; r++) {
				if (group_of(x, r, axes) != group)
					continue;
				if (!flag_held(x->h, x->to, r, x->at, x->count, x->have))
					return false;
				for (int64_t i = 0; i < x->count && *enough; i++)
					*enough = x->have[i] <= x->held[i];
			}
		}
	}
	return true;
}

/* Leaves out mesh axes, one after the other, that no rank needs elements along. */
static bool find_axes(struct needs *x, unsigned *out)
{
	unsigned axes = (1u << x->mesh->rank) - 1;
	for (unsigned a = 0; a < x->mesh->rank; a++) {
		bool enough;
		if (!find_enough(x, axes & ~(1u << a), &enough))
			return false;
		axes &= enough ? ~(1u << a) : ~0u;
	}
	*out = axes;
	return true;
}

/* The same for a set between meshes, or without one: either all ranks meet or none. */
static bool find_meshes(struct needs *x, unsigned *out)
{
	bool ok = true, meets = x->ended != 0;
	for (int64_t r = 0; r < x->h->rank_n && ok && !meets; r++) {
		ok = flag_held(x->h, x->from, r, x->at, x->count, x->have) &&
		     flag_held(x->h, x->to, r, x->at, x->count, x->held);
		for (int64_t i = 0; i < x->count && ok && !meets; i++)
			meets = x->held[i] > x->have[i];
	}
	*out = meets ? REF_BOTH_MESHES : 0;
	return ok;
}

bool ref_meeting_axes(struct ref_host *h, op_id op, unsigned *out)
{
	struct module *m = h->c->m;
	const type_id from = m->value.at[op_read(m, op, 0)].type, to = m->value.at[op_result(m, op, 0)].type;
	const unsigned pending = ref_partial_mask(m, from), left = ref_partial_mask(m, to);
	const mesh_id mesh = m->type.at[from].mesh, other = m->type.at[to].mesh;
	struct needs x = {.h = h,
	                  .from = from,
	                  .to = to,
	                  .ended = pending & ~left,
	                  .kept = pending & left,
	                  .at = ir_op(m, op)->at};
	if (!h->meets[op]) {
		struct ref_array shape;
		unsigned axes = 0;
		if (left & ~pending) {
			diag_error(h->c->d, E_RESHARD, x.at, "set cannot make a reduction pending");
			return false;
		}
		if (!ref_array_of_type(h->c, &shape, to, x.at))
			return false;
		x.count = ref_array_count(&shape);
		x.have = mem_alloc((size_t)x.count), x.held = mem_alloc((size_t)x.count);
		x.mesh = mesh && other && mesh_equal(ir_mesh(m, mesh), ir_mesh(m, other)) ? ir_mesh(m, mesh)
		                                                                          : NULL;
		bool ok = from == to || (x.mesh ? find_axes(&x, &axes) : find_meshes(&x, &axes));
		free(x.have);
		free(x.held);
		ref_array_free(&shape);
		if (!ok)
			return false;
		h->meets[op] = (uint16_t)(1 + axes);
	}
	*out = h->meets[op] - 1u;
	return true;
}
