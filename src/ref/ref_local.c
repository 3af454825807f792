/* ref_local: the elements of a tensor that a rank holds, in memory order.
 *
 *     X: f32[10@x], x = 3, rank 2      blocks of 4, 4 and 2: elements 8, 9
 *     X: f32[2, 3], allocation (1, 0)  memory holds elements 0, 3, 1, 4, 2, 5
 *
 * It visits every coordinate of the loop domain. A mesh axis has the rank's coordinate, a bound stream or
 * serial axis the chunk's, a reduction axis none. Going through the transforms backwards gives the
 * coordinates of all axes, also of the logical ones. A coordinate past its extent is padding. The coordinates
 * of the allocation domain give the order in memory. */
#include "ir/layout.h"
#include "ref/ref_host.h"
#include <string.h>

enum { BUCKETS = 1024 };

struct key {
	type_id type;
	bool in_mesh;
	int64_t fixed[IR_MAX_AXES];           /* by axis: its only coordinate; -1: it has several */
	int64_t mesh_index[IR_MAX_MESH_AXES]; /* for swizzle1d */
};
struct cached {
	struct key key;
	struct ref_local local;
	struct cached *next;
};
struct ref_locals {
	struct arena *arena;
	struct cached *bucket[BUCKETS];
};

struct ref_locals *ref_locals_new(void)
{
	struct ref_locals *l = mem_zalloc(sizeof *l);
	l->arena = arena_new();
	return l;
}

void ref_locals_free(struct ref_locals *l)
{
	arena_free(l->arena);
	free(l);
}

bool ref_mesh_has(const struct module *m, mesh_id mesh, int64_t rank)
{
	uint32_t position;
	return !mesh || rank == REF_ALL_RANKS || mesh_position(ir_mesh(m, mesh), (uint32_t)rank, &position);
}

/* Finds all axes' coordinates from those of the loop domain. Returns false in padding. */
static bool walk_back(const struct domain *d, const struct layout_env *env, int64_t *at)
{
	for (unsigned i = d->xform_n; i-- > 0;) {
		const struct xform *x = &d->xform[i];
		switch ((enum xform_kind)x->kind) {
		case XFORM_SPLIT_OUTER:
		case XFORM_SPLIT_INNER:
			at[x->in[0]] = at[x->out[0]] * env->extent[x->out[1]] + at[x->out[1]];
			break;
		case XFORM_MERGE:
			at[x->in[0]] = at[x->out[0]] / env->extent[x->in[1]];
			at[x->in[1]] = at[x->out[0]] % env->extent[x->in[1]];
			break;
		case XFORM_SWIZZLE1D: /* step r of the rank with index i is block (i + r) mod size */
			at[x->in[0]] =
			    (env->mesh_index[x->mesh_axis] + at[x->out[0]]) % env->extent[x->in[0]];
			break;
		}
		for (unsigned k = 0; k < (x->kind == XFORM_MERGE ? 2 : 1); k++)
			if (at[x->in[k]] >= env->extent[x->in[k]])
				return false;
	}
	return true;
}

/* Returns the row-major position of coordinates in a list of axes. Reduction axes are not stored. */
static int64_t compute_position(const struct domain *d, const struct layout_env *env, const uint8_t *axis,
                                unsigned n, const int64_t *at)
{
	int64_t p = 0;
	for (unsigned k = 0; k < n; k++)
		if (d->axis[axis[k]].kind != AXIS_REDUCE)
			p = p * env->extent[axis[k]] + at[axis[k]];
	return p;
}

struct stored {
	int64_t order, at;
};

static int by_order(const void *a, const void *b)
{
	const struct stored *x = a, *y = b;
	return x->order < y->order ? -1 : x->order > y->order;
}

static struct ref_local enumerate(struct arena *arena, const struct domain *d, const struct key *key,
                                  const struct layout_env *env)
{
	static const uint8_t visible[IR_MAX_LOGICAL] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	VEC(struct stored) found = {0};
	int64_t n[IR_MAX_AXES], index[IR_MAX_AXES] = {0}, at[IR_MAX_AXES], count = 1;
	bool sorted = true;
	for (unsigned k = 0; k < d->loop_n; k++) {
		n[k] = key->fixed[d->loop[k]] >= 0 ? 1 : env->extent[d->loop[k]];
		count *= n[k] > 0;
	}
	if (count && key->in_mesh)
		do {
			for (unsigned k = 0; k < d->loop_n; k++) {
				int64_t fixed = key->fixed[d->loop[k]];
				at[d->loop[k]] = fixed >= 0 ? fixed : index[k];
			}
			if (!walk_back(d, env, at))
				continue;
			struct stored s = {compute_position(d, env, d->alloc, d->alloc_n, at),
			                   compute_position(d, env, visible, d->rank, at)};
			sorted = sorted && (!found.n || found.at[found.n - 1].order < s.order);
			vec_push(&found, s);
		} while (ref_next(d->loop_n, n, index));
	if (!sorted)
		qsort(found.at, found.n, sizeof *found.at, by_order);
	int64_t *list = arena_new_array(arena, int64_t, found.n);
	for (uint32_t k = 0; k < found.n; k++)
		list[k] = found.at[k].at;
	struct ref_local local = {.n = found.n, .at = list};
	vec_free(&found);
	return local;
}

static uint32_t hash_key(const struct key *key)
{
	const unsigned char *p = (const unsigned char *)key;
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < sizeof *key; i++)
		h = (h ^ p[i]) * 16777619u;
	return h;
}

bool ref_local_get(struct ref_context *c, struct ref_locals *l, type_id t, int64_t rank,
                   const struct ref_bound *bound, uint32_t at, struct ref_local *out)
{
	const struct type *type = ir_type(c->m, t);
	const struct domain *d = ir_domain(c->m, type->domain);
	struct layout_env env;
	struct key key;
	expr_id offending;
	memset(&key, 0, sizeof key); /* the hash includes its padding bytes */
	memset(&env, 0, sizeof env);
	key.type = t;
	key.in_mesh = ref_mesh_has(c->m, type->mesh, rank);
	if (!layout_env_init(c->m, t, key.in_mesh && rank >= 0 ? rank : -1, &env, &offending)) {
		ref_report_expr(c, EXPR_UNDEFINED_PARAM, offending, at);
		return false;
	}
	for (unsigned a = 0; a < d->axis_n; a++)
		key.fixed[a] = d->axis[a].kind == AXIS_REDUCE ? 0 : -1;
	for (unsigned k = 0; k < d->loop_n && key.in_mesh && rank != REF_ALL_RANKS; k++) {
		const struct axis *x = &d->axis[d->loop[k]];
		if (x->place == PLACE_MESH && x->kind != AXIS_REDUCE)
			key.fixed[d->loop[k]] = env.mesh_index[x->mesh_axis];
	}
	for (unsigned k = 0; k < bound->n; k++)
		key.fixed[bound->axis[k]] = bound->at[k];
	for (unsigned x = 0; x < d->xform_n; x++)
		if (d->xform[x].kind == XFORM_SWIZZLE1D)
			key.mesh_index[d->xform[x].mesh_axis] = env.mesh_index[d->xform[x].mesh_axis];
	struct cached **slot = &l->bucket[hash_key(&key) % BUCKETS];
	for (struct cached *p = *slot; p; p = p->next)
		if (!memcmp(&p->key, &key, sizeof key)) {
			*out = p->local;
			return true;
		}
	struct cached *new = arena_new_object(l->arena, struct cached);
	new->key = key;
	new->local = enumerate(l->arena, d, &key, &env);
	new->next = *slot;
	*slot = new;
	*out = new->local;
	return true;
}
