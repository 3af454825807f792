/* volume: what ranks hold, as intervals of each axis, and what others need of it. */
#include "pass/volume.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "pass/place.h"
#include <string.h>

struct interval {
	int64_t from, to;
};

/* What a rank holds of an axis: intervals, ascending. */
typedef VEC(struct interval) intervals;

/* What all ranks hold of a tensor: intervals of axis a of rank k at part[k * rank + a]. */
struct parts {
	unsigned rank;
	intervals *part;
};

struct side {
	const struct mesh *mesh;
	struct sugar s;
};

/* Parameters have their values. */
static bool number(const struct module *m, expr_id e, int64_t *out)
{
	return expr_eval(m, e, &(struct expr_env){.rank = -1}, out, NULL) == EXPR_OK;
}

static bool blocks_of(const struct module *m, const struct side *t, const struct sugar_place *p, int64_t *n)
{
	if (p->kind == SUGAR_MESH || p->kind == SUGAR_SWIZZLE) {
		*n = t->mesh->size[p->mesh_axis];
		return true;
	}
	return number(m, p->factor, n);
}

/* Cuts each interval into blocks, and keeps block k (all: k < 0). */
static void cut(intervals *x, int64_t size, int64_t n, int64_t k)
{
	intervals out = {0};
	for (uint32_t i = 0; i < x->n; i++)
		for (int64_t b = k < 0 ? 0 : k; b < (k < 0 ? n : k + 1); b++) {
			struct interval part = {x->at[i].from + b * size, x->at[i].from + (b + 1) * size};
			part.to = part.to < x->at[i].to ? part.to : x->at[i].to;
			if (part.from < part.to)
				vec_push(&out, part);
		}
	vec_free(x);
	*x = out;
}

/* What a rank holds of an axis; a loop's blocks all count. */
static bool hold(const struct module *m, const struct side *t, const struct sugar_axis *a, uint32_t device,
                 intervals *out)
{
	int64_t size, n;
	if (!number(m, a->extent, &size) || size < 0)
		return false;
	vec_push(out, (struct interval){0, size});
	for (unsigned i = 0; i < a->place_n; i++) {
		uint32_t k = 0;
		bool mine = a->place[i].kind == SUGAR_MESH;
		if (!blocks_of(m, t, &a->place[i], &n) || n < 1)
			return false;
		size = (size + n - 1) / n;
		if (mine)
			mesh_axis_index(t->mesh, device, a->place[i].mesh_axis, &k);
		cut(out, size, n, mine ? (int64_t)k : -1);
	}
	return true;
}

/* device: all ranks that take part. A rank that is not in the mesh holds nothing. */
static bool parts_read(const struct module *m, const struct side *t, const uint32_t *device, uint32_t n,
                       struct parts *p)
{
	bool ok = true;
	p->rank = t->s.rank;
	p->part = mem_zalloc(sizeof *p->part * n * (p->rank + 1));
	for (uint32_t k = 0; k < n; k++) {
		uint32_t position;
		if (!mesh_position(t->mesh, device[k], &position))
			continue;
		for (unsigned a = 0; a < p->rank && ok; a++)
			ok = hold(m, t, &t->s.axis[a], device[k], &p->part[k * p->rank + a]);
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
static int64_t common(const struct parts *x, uint32_t i, const struct parts *y, uint32_t k)
{
	int64_t count = 1;
	for (unsigned a = 0; a < x->rank; a++) {
		const intervals *p = &x->part[i * x->rank + a], *q = &y->part[k * x->rank + a];
		int64_t n = 0;
		for (uint32_t u = 0; u < p->n; u++)
			for (uint32_t v = 0; v < q->n; v++) {
				int64_t from = p->at[u].from > q->at[v].from ? p->at[u].from : q->at[v].from;
				int64_t to = p->at[u].to < q->at[v].to ? p->at[u].to : q->at[v].to;
				n += to > from ? to - from : 0;
			}
		count *= n;
	}
	return count;
}

static bool alike(const struct parts *x, uint32_t i, uint32_t k)
{
	for (unsigned a = 0; a < x->rank; a++) {
		const intervals *p = &x->part[i * x->rank + a], *q = &x->part[k * x->rank + a];
		if (p->n != q->n || (p->n && memcmp(p->at, q->at, sizeof *p->at * p->n)))
			return false;
	}
	return true;
}

/* Where a rank stands among those that communicate with each other. */
struct seat {
	uint32_t slice, index; /* which of the team's slices, and where in it */
};

static void seats_of(const struct mesh *a, const struct reshard *r, const uint32_t *device, uint32_t n,
                     struct seat *seat)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = 0;
		seat[k] = (struct seat){0, k};
		for (unsigned x = 0; r->mesh == r->to && x < a->rank; x++)
			if (!memchr(r->axis, (int)x, r->axis_n) && mesh_axis_index(a, device[k], x, &i))
				seat[k].slice = seat[k].slice * a->size[x] + i;
		if (r->mesh == r->to)
			seat[k].index = 0;
		for (unsigned x = 0; r->mesh == r->to && x < r->axis_n; x++)
			if (mesh_axis_index(a, device[k], r->axis[x], &i))
				seat[k].index = seat[k].index * a->size[r->axis[x]] + i;
	}
}

/* How many ranks of q's slice sit before seat `index` and hold the same as q (other: hold something else). */
static uint32_t count_before(const struct parts *x, const struct seat *seat, uint32_t n, uint32_t q,
                             uint32_t index, bool other)
{
	uint32_t count = 0;
	for (uint32_t k = 0; k < n; k++)
		count += seat[k].slice == seat[q].slice && seat[k].index < index && alike(x, k, q) != other;
	return count;
}

/* Ranks that hold the same take turns to give, see exchange_turn; root: only that one gives (-1: all do). */
static int64_t most_moved(const struct parts *x, const struct parts *y, const struct seat *seat, uint32_t n,
                          int64_t root)
{
	int64_t most = 0;
	for (uint32_t q = 0; q < n; q++) {
		int64_t sent = 0;
		uint32_t number = count_before(x, seat, n, q, seat[q].index, false),
		         size = count_before(x, seat, n, q, UINT32_MAX, false);
		for (uint32_t p = 0; p < n; p++) {
			if (p == q || seat[p].slice != seat[q].slice || (root >= 0 && q != root))
				continue;
			if (root >= 0 || (!alike(x, p, q) &&
			                  count_before(x, seat, n, q, seat[p].index, true) % size == number))
				sent += common(x, q, y, p);
		}
		most = sent > most ? sent : most;
	}
	return most;
}

static int64_t most_held(const struct parts *x, uint32_t n)
{
	int64_t most = 0;
	for (uint32_t k = 0; k < n; k++) {
		int64_t here = common(x, k, x, k);
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

bool volume_sent(struct module *m, type_id from, type_id to, const struct reshard *r, int64_t *most)
{
	uint32_t device[2 * VOLUME_MAX_DEVICES];
	struct seat seat[2 * VOLUME_MAX_DEVICES];
	int64_t root = -1;
	struct side in = {.mesh = &m->mesh.at[r->mesh]}, out = {.mesh = &m->mesh.at[r->to]};
	struct parts x, y;
	if (!sugar_from_domain(m, m->type.at[from].domain, r->mesh, &in.s) ||
	    !sugar_from_domain(m, m->type.at[to].domain, r->to, &out.s) || in.s.rank != out.s.rank ||
	    in.mesh->device_count > VOLUME_MAX_DEVICES || out.mesh->device_count > VOLUME_MAX_DEVICES)
		return false;
	uint32_t n = devices_of(in.mesh, out.mesh, device);
	bool ok = parts_read(m, &in, device, n, &x), known = parts_read(m, &out, device, n, &y);
	if (ok && known) {
		int64_t team = 1;
		for (unsigned k = 0; k < r->axis_n; k++)
			team *= in.mesh->size[r->axis[k]];
		switch (r->kind) {
		case RESHARD_ALLREDUCE:
			*most = 2 * most_held(&x, n) * (team - 1) / team;
			break;
		case RESHARD_REDUCE_SCATTER:
		case RESHARD_STEP_REDUCE:
		case RESHARD_STEP_RING_REDUCE:
			*most = most_held(&x, n) * (team - 1) / team;
			break;
		case RESHARD_REDUCE:
		case RESHARD_SEND_RECV:
			*most = most_held(&x, n);
			break;
		default:
			for (uint32_t k = 0; k < n; k++)
				if ((r->kind == RESHARD_BROADCAST || r->kind == RESHARD_SCATTER) &&
				    device[k] == r->root)
					root = k;
			seats_of(in.mesh, r, device, n, seat);
			*most = most_moved(&x, &y, seat, n, root);
		}
		*most *= dtype_bytes((enum dtype)m->type.at[to].dtype);
	}
	parts_free(&x, n);
	parts_free(&y, n);
	return ok && known;
}
