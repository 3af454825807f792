/* volume: the parts of a value that other ranks need. */
#include "pass/volume.h"
#include "ir/expr.h"
#include "ir/held.h"
#include <string.h>

/* The parts of a tensor that all ranks hold: intervals of axis a of rank k at part[k * rank + a]. */
struct parts {
	unsigned rank;
	held_intervals *part;
};

/* device: all ranks that take part. A rank that is not in the mesh holds nothing. */
static bool parts_read(const struct module *m, const struct held_layout *t, const uint32_t *device,
                       uint32_t n, struct parts *p)
{
	bool ok = true;
	p->rank = t->s.rank;
	p->part = mem_zalloc(sizeof *p->part * n * (p->rank + 1));
	for (uint32_t k = 0; k < n; k++) {
		uint32_t position;
		if (!mesh_position(t->mesh, device[k], &position))
			continue;
		for (unsigned a = 0; a < p->rank && ok; a++)
			ok = held_axis(m, t, a, device[k], NULL, &p->part[k * p->rank + a]);
	}
	return ok;
}

static void parts_free(struct parts *p, uint32_t n)
{
	for (uint32_t k = 0; k < n * p->rank; k++)
		vec_free(&p->part[k]);
	free(p->part);
}

/* Elements that one has and the other needs. */
static int64_t count_common_elements(const struct parts *x, uint32_t i, const struct parts *y, uint32_t k)
{
	int64_t count = 1;
	for (unsigned a = 0; a < x->rank; a++)
		count *= held_common(&x->part[i * x->rank + a], &y->part[k * x->rank + a]);
	return count;
}

static bool has_same_parts(const struct parts *x, uint32_t i, uint32_t k)
{
	for (unsigned a = 0; a < x->rank; a++)
		if (!held_alike(&x->part[i * x->rank + a], &x->part[k * x->rank + a]))
			return false;
	return true;
}

/* The place of a rank in the team of the Communication. */
struct membership {
	uint32_t slice, index; /* the team's slice of the rank, and its index there */
};

static void find_memberships(const struct mesh *a, const struct reshard *r, const uint32_t *device,
                             uint32_t n, struct membership *member)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = 0;
		member[k] = (struct membership){0, k};
		for (unsigned x = 0; r->mesh == r->to && x < a->rank; x++)
			if (!memchr(r->axis, (int)x, r->axis_n) && mesh_axis_index(a, device[k], x, &i))
				member[k].slice = member[k].slice * a->size[x] + i;
		if (r->mesh == r->to)
			member[k].index = 0;
		for (unsigned x = 0; r->mesh == r->to && x < r->axis_n; x++)
			if (mesh_axis_index(a, device[k], r->axis[x], &i))
				member[k].index = member[k].index * a->size[r->axis[x]] + i;
	}
}

/* Counts the ranks of q's slice with an index below `index` that hold the same parts as q (other: other
 * parts). */
static uint32_t count_before(const struct parts *x, const struct membership *member, uint32_t n, uint32_t q,
                             uint32_t index, bool other)
{
	uint32_t count = 0;
	for (uint32_t k = 0; k < n; k++)
		count += member[k].slice == member[q].slice && member[k].index < index &&
		         has_same_parts(x, k, q) != other;
	return count;
}

/* Everything that a change of layout is counted by. */
struct change {
	const struct reshard *r;
	uint32_t n, device[2 * VOLUME_MAX_DEVICES]; /* of both meshes */
	struct membership member[2 * VOLUME_MAX_DEVICES];
	struct parts x, y;
	int64_t root, team; /* root: place among the devices; -1: none */
};

/* Elements from q to p: ranks that hold the same take turns to give, see exchange_turn; if there is a root
 * only that one gives. */
static int64_t count_moved_elements(const struct change *c, uint32_t q, uint32_t p)
{
	if (p == q || c->member[p].slice != c->member[q].slice || (c->root >= 0 && q != c->root))
		return 0;
	if (c->root < 0) {
		if (has_same_parts(&c->x, p, q))
			return 0;
		uint32_t number = count_before(&c->x, c->member, c->n, q, c->member[q].index, false),
		         size = count_before(&c->x, c->member, c->n, q, UINT32_MAX, false);
		if (count_before(&c->x, c->member, c->n, q, c->member[p].index, true) % size != number)
			return 0;
	}
	return count_common_elements(&c->x, q, &c->y, p);
}

static int64_t most_moved(const struct change *c)
{
	int64_t most = 0;
	for (uint32_t q = 0; q < c->n; q++) {
		int64_t sent = 0;
		for (uint32_t p = 0; p < c->n; p++)
			sent += count_moved_elements(c, q, p);
		most = sent > most ? sent : most;
	}
	return most;
}

static int64_t most_held(const struct parts *x, uint32_t n)
{
	int64_t most = 0;
	for (uint32_t k = 0; k < n; k++) {
		int64_t here = count_common_elements(x, k, x, k);
		most = here > most ? here : most;
	}
	return most;
}

static uint32_t devices_of(const struct mesh *a, const struct mesh *b, uint32_t *device)
{
	uint32_t n = 0, position;
	for (uint32_t k = 0; k < a->device_count; k++)
		device[n++] = a->device[k];
	for (uint32_t k = 0; k < b->device_count; k++)
		if (!mesh_position(a, b->device[k], &position))
			device[n++] = b->device[k];
	return n;
}

static bool change_open(struct module *m, type_id from, type_id to, const struct reshard *r, struct change *c)
{
	struct held_layout in, out;
	*c = (struct change){.r = r, .root = -1, .team = 1};
	if (!r->mesh || !r->to || !held_layout_read(m, from, &in) || !held_layout_read(m, to, &out) ||
	    in.s.rank != out.s.rank || in.mesh->device_count > VOLUME_MAX_DEVICES ||
	    out.mesh->device_count > VOLUME_MAX_DEVICES)
		return false;
	c->n = devices_of(in.mesh, out.mesh, c->device);
	for (uint32_t k = 0; k < c->n; k++)
		if ((r->kind == RESHARD_BROADCAST || r->kind == RESHARD_SCATTER) && c->device[k] == r->root)
			c->root = k;
	for (unsigned k = 0; k < r->axis_n; k++)
		c->team *= in.mesh->size[r->axis[k]];
	find_memberships(in.mesh, r, c->device, c->n, c->member);
	bool ok = parts_read(m, &in, c->device, c->n, &c->x),
	     known = parts_read(m, &out, c->device, c->n, &c->y);
	if (!ok || !known) {
		parts_free(&c->x, c->n);
		parts_free(&c->y, c->n);
	}
	return ok && known;
}

static void change_close(struct change *c)
{
	parts_free(&c->x, c->n);
	parts_free(&c->y, c->n);
}

bool volume_sent(struct module *m, type_id from, type_id to, const struct reshard *r, int64_t *most)
{
	struct change c;
	if (!change_open(m, from, to, r, &c))
		return false;
	switch (r->kind) {
	case RESHARD_ALLREDUCE:
		*most = 2 * most_held(&c.x, c.n) * (c.team - 1) / c.team;
		break;
	case RESHARD_REDUCE_SCATTER:
	case RESHARD_STEP_REDUCE:
	case RESHARD_STEP_RING_REDUCE:
		*most = most_held(&c.x, c.n) * (c.team - 1) / c.team;
		break;
	case RESHARD_REDUCE:
	case RESHARD_SEND_RECV:
		*most = most_held(&c.x, c.n);
		break;
	default:
		*most = most_moved(&c);
	}
	*most *= dtype_bytes(m->type.at[to].dtype);
	change_close(&c);
	return true;
}

/* Elements from q to p by a Communication of this kind. */
static int64_t count_given_elements(const struct change *c, const struct mesh *from, const struct mesh *to,
                                    uint32_t q, uint32_t p)
{
	uint32_t giver, taker;
	bool together = c->member[p].slice == c->member[q].slice && p != q;
	switch (c->r->kind) {
	case RESHARD_LOCAL:
	case RESHARD_NONE:
		return 0;
	case RESHARD_ALLREDUCE: /* round a ring */
		return together && c->member[p].index == (c->member[q].index + 1) % (uint64_t)c->team
		           ? 2 * count_common_elements(&c->x, q, &c->x, q) * (c->team - 1) / c->team
		           : 0;
	case RESHARD_REDUCE_SCATTER:
	case RESHARD_STEP_REDUCE:
	case RESHARD_STEP_RING_REDUCE:
		return together ? count_common_elements(&c->x, q, &c->y, p) : 0;
	case RESHARD_REDUCE:
		return p != q ? count_common_elements(&c->x, q, &c->y, p) : 0;
	case RESHARD_SEND_RECV:
		return p != q && mesh_position(from, c->device[q], &giver) &&
		               mesh_position(to, c->device[p], &taker) && giver == taker
		           ? count_common_elements(&c->x, q, &c->y, p)
		           : 0;
	default:
		return count_moved_elements(c, q, p);
	}
}

bool volume_pairs(struct module *m, type_id from, type_id to, const struct reshard *r, struct arena *a,
                  struct volume_pairs *out)
{
	struct change c;
	int64_t bytes = dtype_bytes(m->type.at[to].dtype);
	if (!change_open(m, from, to, r, &c))
		return false;
	*out = (struct volume_pairs){.n = c.n, .device = arena_new_array(a, uint32_t, c.n)};
	out->bytes = arena_new_array(a, int64_t, (size_t)c.n * c.n);
	memcpy(out->device, c.device, sizeof *out->device * c.n);
	for (uint32_t q = 0; q < c.n; q++)
		for (uint32_t p = 0; p < c.n; p++)
			out->bytes[(size_t)q * c.n + p] =
			    bytes * count_given_elements(&c, ir_mesh(m, r->mesh), ir_mesh(m, r->to), q, p);
	change_close(&c);
	return true;
}
