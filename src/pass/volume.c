/* volume: counts the parts of a value that other ranks need. */
#include "pass/volume.h"
#include "ir/expr.h"
#include "ir/part.h"
#include <string.h>

/* Finds the parts of a tensor that ranks hold, over all steps of its loops. Returns false if their
 * elements are not known. */
static bool read_parts(const struct module *m, type_id t, const uint32_t *device, uint32_t n,
                       struct part *out)
{
	for (uint32_t k = 0; k < n; k++)
		if (!part_of(m, t, device[k], NULL, &out[k]) || !out[k].exact || part_elements(&out[k]) < 0)
			return false;
	return true;
}

/* The place of a rank in the team of the Communication. */
struct membership {
	uint32_t slice, index; /* the slice with the rank, and the rank's index in it */
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

/* The numbers from which a change of layout is counted. */
struct change {
	const struct reshard *r;
	enum collective kind;                       /* the collective of all steps of a loop together */
	uint32_t n, device[2 * VOLUME_MAX_DEVICES]; /* devices of both meshes */
	struct membership member[2 * VOLUME_MAX_DEVICES];
	struct part *x, *y; /* by device: parts of the operand, and of the result */
	int root;           /* place among the devices; -1: none */
	int64_t team;
};

static enum collective collective_of(enum reshard_kind kind)
{
	enum collective c;
	switch (kind) {
	case RESHARD_STEP_BROADCAST:
		return COLLECTIVE_ALLGATHER;
	case RESHARD_STEP_REDUCE:
	case RESHARD_STEP_RING_REDUCE:
		return COLLECTIVE_REDUCE_SCATTER;
	case RESHARD_SEND_RECV: /* one for each pair */
		return COLLECTIVE_ALL_TO_ALLV;
	default:
		return op_collective(reshard_operation(kind), &c) ? c : COLLECTIVE_ALL_TO_ALLV;
	}
}

/* Counts the ranks of q's slice with an index below `index` that hold the same parts as q (other: that
 * do not). */
static uint32_t count_before(const struct change *c, uint32_t q, uint32_t index, bool other)
{
	uint32_t count = 0;
	for (uint32_t k = 0; k < c->n; k++)
		count += c->member[k].slice == c->member[q].slice && c->member[k].index < index &&
		         part_same(&c->x[k], &c->x[q]) != other;
	return count;
}

static int64_t count_delivered(const struct change *c, uint32_t q, uint32_t p)
{
	return part_delivered(c->kind, c->root, q, p, &c->x[q], &c->y[p]);
}

/* Counts the elements that q sends to p. Ranks that hold the same elements share the work, see
 * exchange_turn; if there is a root that gives, only the root does. */
static int64_t count_moved_elements(const struct change *c, uint32_t q, uint32_t p)
{
	const bool root_gives = collective_is_rooted(c->kind) && !collective_is_to_root(c->kind);
	if (p == q || c->member[p].slice != c->member[q].slice)
		return 0;
	if (!root_gives) {
		if (part_same(&c->x[p], &c->x[q]))
			return 0;
		uint32_t number = count_before(c, q, c->member[q].index, false),
		         size = count_before(c, q, UINT32_MAX, false);
		if (count_before(c, q, c->member[p].index, true) % size != number)
			return 0;
	}
	return count_delivered(c, q, p);
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

static int64_t most_held(const struct part *x, uint32_t n)
{
	int64_t most = 0;
	for (uint32_t k = 0; k < n; k++) {
		int64_t here = part_elements(&x[k]);
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

static void change_close(struct change *c)
{
	free(c->x);
	free(c->y);
}

static bool change_open(struct module *m, type_id from, type_id to, const struct reshard *r, struct change *c)
{
	const struct mesh *in = r->mesh ? ir_mesh(m, r->mesh) : NULL, *out = r->to ? ir_mesh(m, r->to) : NULL;
	*c = (struct change){.r = r, .kind = collective_of(r->kind), .root = -1, .team = 1};
	if (!in || !out || in->device_count > VOLUME_MAX_DEVICES || out->device_count > VOLUME_MAX_DEVICES ||
	    ir_domain(m, ir_type(m, from)->domain)->rank != ir_domain(m, ir_type(m, to)->domain)->rank)
		return false;
	c->n = devices_of(in, out, c->device);
	for (uint32_t k = 0; k < c->n && collective_is_rooted(c->kind); k++)
		if (c->device[k] == r->root)
			c->root = (int)k;
	for (unsigned k = 0; k < r->axis_n; k++)
		c->team *= in->size[r->axis[k]];
	find_memberships(in, r, c->device, c->n, c->member);
	c->x = mem_alloc(sizeof *c->x * c->n);
	c->y = mem_alloc(sizeof *c->y * c->n);
	if (read_parts(m, from, c->device, c->n, c->x) && read_parts(m, to, c->device, c->n, c->y))
		return true;
	change_close(c);
	return false;
}

bool volume_sent(struct module *m, type_id from, type_id to, const struct reshard *r, int64_t *most)
{
	struct change c;
	if (!change_open(m, from, to, r, &c))
		return false;
	switch (r->kind) {
	case RESHARD_ALLREDUCE:
		*most = 2 * most_held(c.x, c.n) * (c.team - 1) / c.team;
		break;
	case RESHARD_REDUCE_SCATTER:
	case RESHARD_STEP_REDUCE:
	case RESHARD_STEP_RING_REDUCE:
		*most = most_held(c.x, c.n) * (c.team - 1) / c.team;
		break;
	case RESHARD_REDUCE:
	case RESHARD_SEND_RECV:
		*most = most_held(c.x, c.n);
		break;
	default:
		*most = most_moved(&c);
	}
	*most *= dtype_bytes(m->type.at[to].dtype);
	change_close(&c);
	return true;
}

/* Counts the elements that q sends to p in a Communication of this kind. */
static int64_t count_given_elements(const struct change *c, const struct mesh *from, const struct mesh *to,
                                    uint32_t q, uint32_t p)
{
	uint32_t giver, taker;
	bool together = c->member[p].slice == c->member[q].slice && p != q;
	switch (c->r->kind) {
	case RESHARD_LOCAL:
	case RESHARD_NONE:
		return 0;
	case RESHARD_ALLREDUCE: /* in a ring */
		return together && c->member[p].index == (c->member[q].index + 1) % (uint64_t)c->team
		           ? 2 * part_elements(&c->x[q]) * (c->team - 1) / c->team
		           : 0;
	case RESHARD_REDUCE_SCATTER:
	case RESHARD_STEP_REDUCE:
	case RESHARD_STEP_RING_REDUCE:
		return together ? count_delivered(c, q, p) : 0;
	case RESHARD_REDUCE:
		return p != q ? count_delivered(c, q, p) : 0;
	case RESHARD_SEND_RECV:
		return p != q && mesh_position(from, c->device[q], &giver) &&
		               mesh_position(to, c->device[p], &taker) && giver == taker
		           ? count_delivered(c, q, p)
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
