/* domain: applies transforms to a domain under construction, makes allocation orders, and interns
 * domains. */
#include "ir/domain.h"
#include "ir/cons.h"
#include "ir/expr.h"
#include <string.h>

void domain_begin(struct domain_builder *b)
{
	memset(b, 0, sizeof *b);
}

void domain_edit(struct domain_builder *b, const struct domain *d)
{
	domain_begin(b);
	b->axis_n = d->axis_n, b->xform_n = d->xform_n, b->logical_n = d->logical_n, b->rank = d->rank;
	b->loop_n = d->loop_n, b->alloc_n = d->alloc_n;
	memcpy(b->axis, d->axis, sizeof *d->axis * d->axis_n);
	memcpy(b->xform, d->xform, sizeof *d->xform * d->xform_n);
	memcpy(b->loop, d->loop, d->loop_n);
	memcpy(b->alloc, d->alloc, d->alloc_n);
	memcpy(b->contiguous, d->contiguous, d->alloc_n);
}

int domain_add_axis(struct domain_builder *b, enum axis_kind kind, expr_id extent)
{
	if (b->logical_n == IR_MAX_LOGICAL)
		return -1;
	unsigned a = b->axis_n++;
	b->axis[a] = (struct axis){.kind = (uint8_t)kind, .extent = extent};
	b->logical_n++;
	if (kind == AXIS_ITER)
		b->rank++;
	b->loop[b->loop_n++] = (uint8_t)a;
	return (int)a;
}

static void replace_loop(struct domain_builder *b, unsigned pos, unsigned remove, const uint8_t *with,
                         unsigned n)
{
	memmove(b->loop + pos + n, b->loop + pos + remove, b->loop_n - pos - remove);
	memcpy(b->loop + pos, with, n);
	b->loop_n = (uint8_t)(b->loop_n + n - remove);
}

/* Adds an axis that inherits kind and pending reduction from another. */
static uint8_t derive_axis(struct domain_builder *b, const struct axis *from, expr_id extent)
{
	b->axis[b->axis_n] =
	    (struct axis){.kind = from->kind, .rf = from->rf, .reduce = from->reduce, .extent = extent};
	return b->axis_n++;
}

static const char *movable(const struct domain_builder *b, unsigned pos)
{
	if (pos >= b->loop_n)
		return "there is no loop axis at this position";
	if (b->axis[b->loop[pos]].place != PLACE_NONE)
		return "the axis is parallel already";
	if (b->axis_n + 2 > IR_MAX_AXES || b->xform_n == IR_MAX_AXES)
		return "the tensor has too many transforms (limit 64 axes)";
	return NULL;
}

const char *domain_split(struct module *m, struct domain_builder *b, unsigned pos, expr_id factor, bool inner)
{
	const char *error = movable(b, pos);
	int64_t k;
	if (error)
		return error;
	if (!expr_is_const(m, factor, &k))
		return "a split factor must be a constant";
	if (k < 1)
		return "a split factor must be at least 1";
	uint8_t in = b->loop[pos];
	struct axis from = b->axis[in];
	expr_id rest = expr_canon(m, expr_ceil_div(m, from.extent, factor));
	if (!rest)
		return "the extent overflows 64 bits";
	uint8_t outer = derive_axis(b, &from, inner ? rest : factor);
	uint8_t inside = derive_axis(b, &from, inner ? factor : rest);
	b->xform[b->xform_n++] = (struct xform){.kind = inner ? XFORM_SPLIT_INNER : XFORM_SPLIT_OUTER,
	                                        .in = {in},
	                                        .out = {outer, inside},
	                                        .factor = factor};
	replace_loop(b, pos, 1, (uint8_t[]){outer, inside}, 2);
	return NULL;
}

const char *domain_merge(struct module *m, struct domain_builder *b, unsigned pos)
{
	const char *error = movable(b, pos);
	if (!error)
		error = movable(b, pos + 1);
	if (error)
		return error;
	uint8_t x = b->loop[pos], y = b->loop[pos + 1];
	if (b->axis[x].kind != b->axis[y].kind)
		return "axes of different kinds cannot be merged";
	expr_id extent = expr_canon(m, expr_mul(m, b->axis[x].extent, b->axis[y].extent));
	if (!extent)
		return "the extent overflows 64 bits";
	uint8_t out = derive_axis(b, &b->axis[x], extent);
	b->xform[b->xform_n++] = (struct xform){.kind = XFORM_MERGE, .in = {x, y}, .out = {out}};
	replace_loop(b, pos, 2, &out, 1);
	return NULL;
}

static bool is_permutation(const uint8_t *perm, unsigned n)
{
	uint64_t seen = 0;
	for (unsigned i = 0; i < n; i++) {
		if (perm[i] >= n || seen >> perm[i] & 1)
			return false;
		seen |= (uint64_t)1 << perm[i];
	}
	return true;
}

const char *domain_reorder(struct domain_builder *b, const uint8_t *perm, unsigned n)
{
	uint8_t old[IR_MAX_AXES];
	if (n != b->loop_n || !is_permutation(perm, n))
		return "reorder takes each loop position once";
	memcpy(old, b->loop, n);
	for (unsigned i = 0; i < n; i++)
		b->loop[i] = old[perm[i]];
	return NULL;
}

const char *domain_swizzle1d(struct module *m, struct domain_builder *b, unsigned pos,
                             const struct mesh *mesh, unsigned mesh_axis)
{
	const char *error = movable(b, pos);
	int64_t extent;
	if (error)
		return error;
	uint8_t in = b->loop[pos];
	if (!expr_is_const(m, b->axis[in].extent, &extent) || extent != mesh->size[mesh_axis])
		return "swizzle1d takes an axis as large as the mesh axis";
	uint8_t out = derive_axis(b, &b->axis[in], b->axis[in].extent);
	b->xform[b->xform_n++] = (struct xform){
	    .kind = XFORM_SWIZZLE1D, .in = {in}, .out = {out}, .mesh_axis = (uint8_t)mesh_axis};
	b->loop[pos] = out;
	return NULL;
}

const char *domain_parallelize(struct module *m, struct domain_builder *b, unsigned pos,
                               enum axis_place place, const struct mesh *mesh, unsigned mesh_axis)
{
	if (pos >= b->loop_n)
		return "there is no loop axis at this position";
	struct axis *a = &b->axis[b->loop[pos]];
	if (a->place != PLACE_NONE)
		return "the axis is parallel already";
	int64_t extent;
	if (place == PLACE_MESH) {
		/* the value of a symbolic extent is checked once it is known: extents_check */
		if (expr_is_const(m, a->extent, &extent) && extent != mesh->size[mesh_axis])
			return "the axis is not as large as the mesh axis";
		for (unsigned i = 0; i < b->loop_n; i++)
			if (b->axis[b->loop[i]].place == PLACE_MESH &&
			    b->axis[b->loop[i]].mesh_axis == mesh_axis)
				return "the mesh axis is used twice in one tensor";
		a->mesh_axis = (uint8_t)mesh_axis;
	}
	a->place = (uint8_t)place;
	return NULL;
}

void domain_parallel_to_front(struct domain_builder *b)
{
	uint8_t old[IR_MAX_AXES];
	unsigned n = 0;
	memcpy(old, b->loop, b->loop_n);
	for (unsigned i = 0; i < b->loop_n; i++)
		if (b->axis[old[i]].place == PLACE_STREAM || b->axis[old[i]].place == PLACE_SERIAL)
			b->loop[n++] = old[i];
	for (unsigned x = 0; x < IR_MAX_MESH_AXES; x++)
		for (unsigned i = 0; i < b->loop_n; i++)
			if (b->axis[old[i]].place == PLACE_MESH && b->axis[old[i]].mesh_axis == x)
				b->loop[n++] = old[i];
	for (unsigned reduce = 0; reduce < 2; reduce++)
		for (unsigned i = 0; i < b->loop_n; i++)
			if (b->axis[old[i]].place == PLACE_NONE &&
			    (b->axis[old[i]].kind == AXIS_REDUCE) == reduce)
				b->loop[n++] = old[i];
}

/* Finds the loop domain without the splits that only made a stream or host loop. */
static unsigned unstreamed_loop(const struct axis *axis, const struct xform *xform, unsigned xform_n,
                                const uint8_t *loop, unsigned loop_n, uint8_t *out)
{
	unsigned n = loop_n;
	memcpy(out, loop, loop_n);
	for (unsigned x = xform_n; x-- > 0;) {
		if (xform[x].kind != XFORM_SPLIT_OUTER)
			continue;
		uint8_t outer = xform[x].out[0];
		for (unsigned y = 0; y < xform_n; y++)
			if (xform[y].kind == XFORM_SWIZZLE1D && xform[y].in[0] == outer)
				outer = xform[y].out[0];
		if (axis[outer].place != PLACE_STREAM && axis[outer].place != PLACE_SERIAL)
			continue;
		uint8_t *po = memchr(out, outer, n), *pi = memchr(out, xform[x].out[1], n);
		if (!po || !pi || axis[*pi].place != PLACE_NONE)
			continue;
		*pi = xform[x].in[0];
		memmove(po, po + 1, (size_t)(out + n - po - 1));
		n--;
	}
	return n;
}

void domain_allocate_default(struct domain_builder *b, bool unstreamed)
{
	if (unstreamed) {
		b->alloc_n =
		    (uint8_t)unstreamed_loop(b->axis, b->xform, b->xform_n, b->loop, b->loop_n, b->alloc);
	} else {
		b->alloc_n = b->loop_n;
		memcpy(b->alloc, b->loop, b->loop_n);
	}
	memset(b->contiguous, 1, sizeof b->contiguous);
}

const char *domain_allocate(struct domain_builder *b, bool unstreamed, const uint8_t *perm, unsigned n)
{
	uint8_t base[IR_MAX_AXES];
	struct domain_builder copy = *b;
	domain_allocate_default(&copy, unstreamed);
	if (n != copy.alloc_n || !is_permutation(perm, n))
		return unstreamed ? "allocation unstreamed takes each position of the loop domain without "
		                    "its stream splits once"
		                  : "allocation takes each loop position once";
	memcpy(base, copy.alloc, n);
	for (unsigned i = 0; i < n; i++)
		b->alloc[i] = base[perm[i]];
	b->alloc_n = (uint8_t)n;
	memset(b->contiguous, 1, sizeof b->contiguous);
	return NULL;
}

bool domain_is_spread(const struct domain *d)
{
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->axis[d->loop[i]].place == PLACE_MESH)
			return true;
	return false;
}

bool domain_allocation_order(const struct domain *d, bool *unstreamed, uint8_t *perm)
{
	for (unsigned u = 0; u < 2; u++) {
		uint8_t base[IR_MAX_AXES];
		unsigned n = d->loop_n;
		memcpy(base, d->loop, n);
		if (u)
			n = unstreamed_loop(d->axis, d->xform, d->xform_n, d->loop, d->loop_n, base);
		if (n != d->alloc_n)
			continue;
		unsigned i;
		for (i = 0; i < n; i++) {
			uint8_t *at = memchr(base, d->alloc[i], n);
			if (!at)
				break;
			perm[i] = (uint8_t)(at - base);
		}
		if (i == n) {
			*unstreamed = u;
			return true;
		}
	}
	return false;
}

static bool same_domain(const struct domain *d, const struct domain_builder *b)
{
	return d->axis_n == b->axis_n && d->xform_n == b->xform_n && d->logical_n == b->logical_n &&
	       d->rank == b->rank && d->loop_n == b->loop_n && d->alloc_n == b->alloc_n &&
	       !memcmp(d->axis, b->axis, sizeof *d->axis * d->axis_n) &&
	       !memcmp(d->xform, b->xform, sizeof *d->xform * d->xform_n) &&
	       !memcmp(d->loop, b->loop, d->loop_n) && !memcmp(d->alloc, b->alloc, d->alloc_n) &&
	       !memcmp(d->contiguous, b->contiguous, d->alloc_n);
}

static const void *copy_to_arena(struct module *m, const void *from, size_t n)
{
	void *p = arena_alloc(m->arena, n);
	memcpy(p, from, n);
	return p;
}

domain_id domain_finish(struct module *m, struct domain_builder *b)
{
	uint64_t hash = hash_block(b->logical_n, b->axis, sizeof *b->axis * b->axis_n);
	hash = hash_block(hash, b->xform, sizeof *b->xform * b->xform_n);
	hash = hash_block(hash, b->loop, b->loop_n);
	hash = hash_block(hash, b->alloc, b->alloc_n);
	hash = hash_block(hash, b->contiguous, b->alloc_n);
	struct hash_probe p = {.hash = hash};
	for (domain_id id; (id = hash_next(&m->cons->domain, &p));)
		if (same_domain(&m->domain.at[id], b))
			return id;
	struct domain d = {
	    .axis_n = b->axis_n,
	    .xform_n = b->xform_n,
	    .logical_n = b->logical_n,
	    .rank = b->rank,
	    .loop_n = b->loop_n,
	    .alloc_n = b->alloc_n,
	    .axis = copy_to_arena(m, b->axis, sizeof *b->axis * b->axis_n),
	    .xform = copy_to_arena(m, b->xform, sizeof *b->xform * b->xform_n),
	    .loop = copy_to_arena(m, b->loop, b->loop_n),
	    .alloc = copy_to_arena(m, b->alloc, b->alloc_n),
	    .contiguous = copy_to_arena(m, b->contiguous, b->alloc_n),
	};
	domain_id id = m->domain.n;
	vec_push(&m->domain, d);
	hash_insert(&m->cons->domain, hash, id);
	return id;
}

type_id type_make(struct module *m, enum dtype dtype, enum memory memory, mesh_id mesh, domain_id domain)
{
	struct type t = {.dtype = (uint8_t)dtype, .memory = (uint8_t)memory, .mesh = mesh, .domain = domain};
	uint64_t hash = hash_block(1, &t, sizeof t);
	struct hash_probe p = {.hash = hash};
	for (type_id id; (id = hash_next(&m->cons->type, &p));)
		if (!memcmp(&m->type.at[id], &t, sizeof t))
			return id;
	type_id id = m->type.n;
	vec_push(&m->type, t);
	hash_insert(&m->cons->type, hash, id);
	return id;
}

type_id type_with_dtype(struct module *m, type_id t, enum dtype dtype)
{
	struct type x = m->type.at[t];
	return type_make(m, dtype, (enum memory)x.memory, x.mesh, x.domain);
}

type_id type_with_domain(struct module *m, type_id t, domain_id d)
{
	struct type old = m->type.at[t];
	return type_make(m, old.dtype, (enum memory)old.memory, old.mesh, d);
}

const struct xform *domain_consumer(const struct domain *d, unsigned axis)
{
	for (unsigned x = 0; x < d->xform_n; x++)
		if (d->xform[x].in[0] == axis ||
		    (d->xform[x].kind == XFORM_MERGE && d->xform[x].in[1] == axis))
			return &d->xform[x];
	return NULL;
}
