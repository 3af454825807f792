/* data_map: finds the positions that a rank holds by following each index through the transforms. */
#include "plan/data_map.h"
#include "base/checked.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include <string.h>

enum { MAX_JOINT = 1 << 28 }; /* most elements of a tensor whose layout merges axes */

struct maker {
	const struct domain *d;
	struct layout_env env;
	int64_t stride[IR_MAX_AXES]; /* by allocated axis; 0: only one block of the axis is here */
	struct data_map *map;
};

/* Computes the strides of the local allocation domain, with no loop bound. */
static bool compute_local_strides(struct maker *k)
{
	int64_t size = 1;
	for (unsigned i = k->d->alloc_n; i-- > 0;) {
		unsigned a = k->d->alloc[i];
		const struct axis *x = &k->d->axis[a];
		if (x->place == PLACE_MESH || x->kind == AXIS_REDUCE || x->kind == AXIS_PARTIAL)
			continue;
		k->stride[a] = size;
		if (!checked_mul(size, k->env.extent[a], &size))
			return false;
	}
	return true;
}

/* Computes the coordinates of every axis that derives from the given logical ones. Returns false if the
 * element is not on this rank. */
static bool follow_transforms(const struct maker *k, int64_t *at, const bool *from, int64_t *offset)
{
	bool known[IR_MAX_AXES] = {false};
	memcpy(known, from, sizeof *known * k->d->logical_n);
	for (unsigned i = 0; i < k->d->xform_n; i++) {
		const struct xform *x = &k->d->xform[i];
		if (!known[x->in[0]])
			continue;
		int64_t in = at[x->in[0]];
		known[x->out[0]] = true;
		switch ((enum xform_kind)x->kind) {
		case XFORM_SPLIT_OUTER:
		case XFORM_SPLIT_INNER:
			known[x->out[1]] = true;
			at[x->out[0]] = in / k->env.extent[x->out[1]];
			at[x->out[1]] = in % k->env.extent[x->out[1]];
			break;
		case XFORM_MERGE:
			at[x->out[0]] = in * k->env.extent[x->in[1]] + at[x->in[1]];
			break;
		case XFORM_SWIZZLE1D: {
			int64_t n = k->env.extent[x->in[0]];
			at[x->out[0]] = ((in - k->env.mesh_index[x->mesh_axis]) % n + n) % n;
			break;
		}
		}
	}
	for (unsigned i = 0; i < k->d->loop_n; i++) {
		const struct axis *x = &k->d->axis[k->d->loop[i]];
		if (known[k->d->loop[i]] && x->place == PLACE_MESH &&
		    at[k->d->loop[i]] != k->env.mesh_index[x->mesh_axis])
			return false;
	}
	*offset = 0;
	for (unsigned i = 0; i < k->d->alloc_n; i++)
		if (known[k->d->alloc[i]])
			*offset += at[k->d->alloc[i]] * k->stride[k->d->alloc[i]];
	return true;
}

static void add_axis(struct maker *k, unsigned axis, int64_t row_stride)
{
	struct data_map *map = k->map;
	struct data_group *g = &map->group[map->group_n++];
	int64_t n = map->extent[axis], at[IR_MAX_AXES] = {0};
	bool from[IR_MAX_LOGICAL] = {false};
	from[axis] = true;
	g->linear = arena_new_array(map->arena, int64_t, n);
	g->offset = arena_new_array(map->arena, int64_t, n);
	for (int64_t i = 0; i < n; i++) {
		at[axis] = i;
		if (!follow_transforms(k, at, from, &g->offset[g->n]))
			continue;
		g->linear[g->n++] = i * row_stride;
	}
}

/* Makes a single group of all axes. */
static void add_all(struct maker *k)
{
	struct data_map *map = k->map;
	struct data_group *g = &map->group[map->group_n++];
	int64_t at[IR_MAX_AXES] = {0};
	bool from[IR_MAX_LOGICAL] = {false};
	memset(from, 1, map->rank);
	g->linear = arena_new_array(map->arena, int64_t, map->total);
	g->offset = arena_new_array(map->arena, int64_t, map->total);
	for (int64_t i = 0; i < map->total; i++) {
		int64_t rest = i;
		for (unsigned a = map->rank; a-- > 0;) {
			at[a] = rest % map->extent[a];
			rest /= map->extent[a];
		}
		if (!follow_transforms(k, at, from, &g->offset[g->n]))
			continue;
		g->linear[g->n++] = i;
	}
}

static void pending_part(const struct module *m, struct maker *k, mesh_id mesh)
{
	unsigned mask = 0;
	for (unsigned i = k->d->rank; i < k->d->logical_n; i++)
		if (k->d->axis[i].kind == AXIS_PARTIAL)
			mask |= 1u << k->d->axis[i].mesh_axis;
	for (unsigned x = 0; mesh && x < m->mesh.at[mesh].rank; x++) {
		if (!(mask >> x & 1))
			continue;
		k->map->part = k->map->part * m->mesh.at[mesh].size[x] + k->env.mesh_index[x];
		k->map->parts *= m->mesh.at[mesh].size[x];
	}
}

bool data_map_make(const struct module *m, type_id t, int64_t rank, struct data_map *out)
{
	const struct type *type = ir_type(m, t);
	struct maker k = {.d = ir_domain(m, type->domain), .map = out};
	expr_id offending;
	uint32_t position;
	bool merged = false;
	memset(out, 0, sizeof *out);
	out->rank = k.d->rank;
	out->parts = out->total = 1;
	if (!layout_env_init(m, t, rank, &k.env, &offending) || !compute_local_strides(&k))
		return false;
	for (unsigned a = 0; a < out->rank; a++) {
		out->extent[a] = k.env.extent[a];
		if (!checked_mul(out->total, out->extent[a], &out->total))
			return false;
	}
	for (unsigned i = 0; i < k.d->xform_n; i++)
		merged |= k.d->xform[i].kind == XFORM_MERGE && k.d->xform[i].in[0] < k.d->axis_n &&
		          k.d->axis[k.d->xform[i].in[0]].kind != AXIS_REDUCE;
	if (merged && out->total > MAX_JOINT)
		return false;
	pending_part(m, &k, type->mesh);
	if (out->total == 0 ||
	    (type->mesh && !mesh_position(&m->mesh.at[type->mesh], (uint32_t)rank, &position)))
		return true;
	out->arena = arena_new();
	if (merged) {
		add_all(&k);
	} else {
		int64_t row = out->total;
		for (unsigned a = 0; a < out->rank; a++)
			add_axis(&k, a, row /= out->extent[a]);
	}
	out->count = 1;
	for (unsigned g = 0; g < out->group_n; g++)
		out->count *= out->group[g].n;
	return true;
}

void data_map_free(struct data_map *map)
{
	arena_free(map->arena);
	memset(map, 0, sizeof *map);
}

bool data_map_next(const struct data_map *map, struct data_cursor *c, unsigned max, struct data_batch *out)
{
	int64_t linear = 0, offset = 0;
	if (c->ended || map->count == 0)
		return false;
	if (map->group_n == 0) { /* a scalar has no axes */
		*out = (struct data_batch){.n = 1, .even = true, .stride = 1};
		c->ended = true;
		return true;
	}
	unsigned last = map->group_n - 1;
	for (unsigned g = 0; g < last; g++) {
		linear += map->group[g].linear[c->at[g]];
		offset += map->group[g].offset[c->at[g]];
	}
	const struct data_group *g = &map->group[last];
	int64_t left = g->n - c->at[last];
	max = max < DATA_BATCH ? max : DATA_BATCH;
	out->n = left < max ? (unsigned)left : max;
	out->even = true;
	out->stride = out->n > 1 ? g->offset[c->at[last] + 1] - g->offset[c->at[last]] : 1;
	for (unsigned k = 0; k < out->n; k++) {
		out->linear[k] = linear + g->linear[c->at[last] + k];
		out->offset[k] = offset + g->offset[c->at[last] + k];
		out->even &= out->offset[k] == out->offset[0] + k * out->stride;
	}
	c->at[last] += out->n;
	for (unsigned k = last; c->at[k] == map->group[k].n; k--) {
		if (k == 0) {
			c->ended = true;
			break;
		}
		c->at[k] = 0;
		c->at[k - 1]++;
	}
	return true;
}

void data_index_text(const struct data_map *map, int64_t linear, struct buf *out)
{
	int64_t index[IR_MAX_LOGICAL];
	for (unsigned a = map->rank; a-- > 0;) {
		index[a] = linear % map->extent[a];
		linear /= map->extent[a];
	}
	buf_putc(out, '[');
	for (unsigned a = 0; a < map->rank; a++)
		buf_printf(out, a ? ", %lld" : "%lld", (long long)index[a]);
	buf_putc(out, ']');
}
