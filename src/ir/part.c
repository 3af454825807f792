/* part: see part.h. */
#include "ir/part.h"
#include "base/checked.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include <string.h>

static int64_t least_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- cuts */

struct reader {
	const struct module *m;
	const struct domain *d;
	struct part_cuts *out;
	expr_id *offending;
};

static bool evaluate_extent(struct reader *r, unsigned axis, int64_t *out)
{
	const expr_id e = r->d->axis[axis].extent;
	expr_id offending = 0;
	if (expr_eval(r->m, e, &(struct expr_env){.rank = -1}, out, &offending) == EXPR_OK && *out >= 0)
		return true;
	*r->offending = offending ? offending : e;
	return false;
}

static uint64_t find_placed_axes(const struct domain *d, unsigned axis)
{
	const struct xform *x = domain_consumer(d, axis);
	if (!x)
		return (uint64_t)(d->axis[axis].place != PLACE_NONE) << axis;
	const bool is_split = x->kind == XFORM_SPLIT_OUTER || x->kind == XFORM_SPLIT_INNER;
	return find_placed_axes(d, x->out[0]) | (is_split ? find_placed_axes(d, x->out[1]) : 0);
}

/* Reads the cuts below an axis whose coordinate numbers blocks of `size` elements. Splits of splits are
 * flattened: (k / b) / c is k / (b * c), and (k / b) % c is k % (b * c) / b. */
static bool read_below(struct reader *r, unsigned axis, int64_t size)
{
	const struct domain *d = r->d;
	const struct xform *x = domain_consumer(d, axis);
	const bool swizzled = x && x->kind == XFORM_SWIZZLE1D;
	const unsigned leaf = swizzled ? x->out[0] : axis;
	const bool joint = x && (x->kind == XFORM_MERGE || (swizzled && domain_consumer(d, leaf)));
	struct part_cut cut = {.size = size, .axis = (uint8_t)leaf};
	if (x && !swizzled && !joint) {
		int64_t inner, outer = 0;
		if (!evaluate_extent(r, x->out[1], &inner))
			return false;
		if (!checked_mul(size, inner, &outer))
			outer = INT64_MAX; /* more than the extent of any axis */
		return read_below(r, x->out[0], outer) && read_below(r, x->out[1], size);
	}
	if (joint) {
		r->out->joint |= find_placed_axes(d, axis);
	} else if (d->axis[leaf].place != PLACE_NONE) {
		if (!evaluate_extent(r, leaf, &cut.count))
			return false;
		cut.place = d->axis[leaf].place;
		cut.mesh_axis = d->axis[leaf].mesh_axis;
		cut.swizzled = swizzled;
		cut.swizzle_axis = swizzled ? x->mesh_axis : 0;
	}
	r->out->at[r->out->n++] = cut;
	return true;
}

bool part_cuts_read(const struct module *m, type_id t, unsigned axis, struct part_cuts *out,
                    expr_id *offending)
{
	struct reader r = {m, &m->domain.at[m->type.at[t].domain], out, offending};
	out->n = 0;
	out->joint = 0;
	if (!evaluate_extent(&r, axis, &out->extent) || !read_below(&r, axis, 1))
		return false;
	while (out->n && out->at[out->n - 1].place == PLACE_NONE)
		out->n--;
	return true;
}

bool part_indices(const struct module *m, type_id t, int64_t rank, uint32_t *index)
{
	const mesh_id id = m->type.at[t].mesh;
	const struct mesh *mesh = &m->mesh.at[id];
	uint32_t position;
	if (!id)
		return true;
	if (rank < 0 || rank > UINT32_MAX || !mesh_position(mesh, (uint32_t)rank, &position))
		return false;
	for (unsigned x = mesh->rank; x-- > 0; position /= mesh->size[x])
		index[x] = position % mesh->size[x];
	return true;
}

int64_t part_block(const struct part_cut *c, const uint32_t *index, const struct bound_at *bound)
{
	int64_t step;
	if (c->place == PLACE_MESH)
		step = index[c->mesh_axis];
	else if (c->place != PLACE_NONE && bound && bound->axes >> c->axis & 1)
		step = bound->step[c->axis];
	else
		return PART_ALL;
	if (step < 0 || !c->count)
		return INT64_MAX; /* no such block */
	return c->swizzled ? (step % c->count + index[c->swizzle_axis]) % c->count : step;
}

/* ---- one axis */

void part_start(struct part_axis *x, int64_t extent)
{
	x->extent = x->block = x->to = extent;
	x->from = x->levels = 0;
}

bool part_narrow(struct part_axis *x, int64_t size, int64_t block)
{
	struct part_level *last = x->levels ? &x->level[x->levels - 1] : NULL;
	const int64_t room = last ? last->run : x->to - x->from;
	if (block != PART_ALL)
		x->block = size;
	if (!room)
		return true;
	if (block == PART_ALL) {
		if (room <= size)
			return true;
		if (last && last->run == last->step && last->step % size == 0) {
			last->run = last->step = size;
			return true;
		}
		if (x->levels == PART_LEVELS)
			return false;
		x->level[x->levels++] = (struct part_level){size, size};
		return true;
	}
	if (block > (room - 1) / size) {
		x->from = x->to = x->levels = 0;
		return true;
	}
	/* the block begins `skip` elements later, and so does the first run of each level */
	const int64_t skip = block * size, left = least_of(room - skip, size);
	x->from += skip;
	for (unsigned k = 0; k + 1 < x->levels; k++)
		x->level[k].run -= skip;
	if (last)
		last->run = left;
	else
		x->to = x->from + left;
	return true;
}

/* Removes levels that keep all elements or have a single run. Moves the end to the last element. */
static void settle(struct part_axis *x)
{
	int64_t at = 0, room = x->to - x->from;
	while (x->levels && x->level[x->levels - 1].run == x->level[x->levels - 1].step)
		x->levels--;
	for (unsigned k = x->levels; k-- > 0;) {
		int64_t *outer = k ? &x->level[k - 1].run : &room;
		if (*outer > x->level[k].step)
			continue;
		*outer = least_of(*outer, x->level[k].run);
		memmove(&x->level[k], &x->level[k + 1], sizeof *x->level * (x->levels - k - 1u));
		x->levels--;
	}
	for (unsigned k = 0; k < x->levels; k++) {
		const int64_t last = (room - 1) / x->level[k].step * x->level[k].step;
		at += last;
		room = least_of(room - last, x->level[k].run);
	}
	x->to = x->from + at + room;
}

static bool find_axis(const struct module *m, type_id t, unsigned axis, const uint32_t *index,
                      const struct bound_at *bound, struct part *out)
{
	const struct domain *d = &m->domain.at[m->type.at[t].domain];
	struct part_cuts cuts;
	expr_id offending;
	if (!part_cuts_read(m, t, axis, &cuts, &offending))
		return false;
	part_start(&out->axis[axis], cuts.extent);
	bool fits = true;
	for (unsigned k = 0; k < cuts.n && fits; k++)
		fits = part_narrow(&out->axis[axis], cuts.at[k].size, part_block(&cuts.at[k], index, bound));
	out->exact &= fits;
	for (unsigned k = 0; k < d->loop_n && cuts.joint; k++)
		if (cuts.joint >> d->loop[k] & 1)
			out->exact &= d->axis[d->loop[k]].place != PLACE_MESH &&
			              !(bound && bound->axes >> d->loop[k] & 1);
	settle(&out->axis[axis]);
	return true;
}

bool part_of(const struct module *m, type_id t, int64_t rank, const struct bound_at *bound, struct part *out)
{
	uint32_t index[IR_MAX_MESH_AXES] = {0};
	out->n = m->domain.at[m->type.at[t].domain].rank;
	out->exact = true;
	out->absent = !part_indices(m, t, rank, index);
	for (unsigned a = 0; a < out->n; a++) {
		struct part_axis *x = &out->axis[a];
		if (!find_axis(m, t, a, index, bound, out))
			return false;
		if (out->absent)
			x->from = x->to = x->levels = 0;
	}
	out->exact |= out->absent;
	return true;
}

/* ---- elements */

/* Returns the first element from `at` on that the runs of this and all later levels keep, among `room`
 * elements; room if there is none. *end: the end of the run with this element. */
static int64_t find_element(const struct part_axis *x, unsigned level, int64_t room, int64_t at, int64_t *end)
{
	*end = room;
	if (level == x->levels || at >= room)
		return at < room ? at : room;
	const struct part_level *l = &x->level[level];
	int64_t start = at - at % l->step;
	for (unsigned k = 0; k < 2; k++) { /* in this run, or at the start of the next one */
		const int64_t length = least_of(l->run, room - start), within = at > start ? at - start : 0,
		              found = find_element(x, level + 1, length, within, end);
		*end += start;
		if (found < length)
			return start + found;
		if (l->step >= room - start)
			break;
		start += l->step;
	}
	return room;
}

bool part_next(const struct part_axis *x, struct part_span *s)
{
	const int64_t room = x->to - x->from;
	int64_t end, more, found = find_element(x, 0, room, s->to > x->from ? s->to - x->from : 0, &end);
	if (found >= room)
		return false;
	while (end < room && find_element(x, 0, room, end, &more) == end)
		end = more;
	*s = (struct part_span){x->from + found, x->from + end};
	return true;
}

bool part_has(const struct part_axis *x, struct part_span needs)
{
	if (!x->levels)
		return x->from <= needs.from && needs.to <= x->to;
	int64_t at = needs.from;
	for (struct part_span s = {0}; at < needs.to && part_next(x, &s) && s.from <= at;)
		at = s.to > at ? s.to : at;
	return at >= needs.to;
}

bool part_contains(const struct part_axis *x, const struct part_axis *needs)
{
	for (struct part_span s = {0}; part_next(needs, &s);)
		if (!part_has(x, s))
			return false;
	return true;
}

static int64_t count_elements(const struct part_axis *x, unsigned level, int64_t room)
{
	if (level == x->levels)
		return room;
	const struct part_level *l = &x->level[level];
	const int64_t full = room / l->step, rest = least_of(room % l->step, l->run);
	return full * count_elements(x, level + 1, l->run) + (rest ? count_elements(x, level + 1, rest) : 0);
}

int64_t part_count(const struct part_axis *x)
{
	return count_elements(x, 0, x->to - x->from);
}

/* Multiplies counts of axes, which are not negative; returns -1 on overflow. */
static int64_t multiply_counts(const int64_t *count, unsigned n)
{
	int64_t product = 1;
	bool fits = true;
	for (unsigned a = 0; a < n; a++) {
		if (!count[a])
			return 0;
		fits = fits && checked_mul(product, count[a], &product);
	}
	return fits ? product : -1;
}

int64_t part_elements(const struct part *p)
{
	int64_t count[IR_MAX_LOGICAL];
	for (unsigned a = 0; a < p->n; a++)
		count[a] = part_count(&p->axis[a]);
	return p->absent ? 0 : multiply_counts(count, p->n);
}

static int64_t count_common(const struct part_axis *a, const struct part_axis *b)
{
	struct part_span s = {0}, t = {0};
	bool more = part_next(a, &s) && part_next(b, &t);
	int64_t n = 0;
	while (more) {
		const int64_t from = s.from > t.from ? s.from : t.from, to = least_of(s.to, t.to);
		n += to > from ? to - from : 0;
		more = s.to < t.to ? part_next(a, &s) : part_next(b, &t);
	}
	return n;
}

int64_t part_common(const struct part *a, const struct part *b)
{
	int64_t count[IR_MAX_LOGICAL];
	for (unsigned k = 0; k < a->n; k++)
		count[k] = count_common(&a->axis[k], &b->axis[k]);
	return a->absent || b->absent ? 0 : multiply_counts(count, a->n);
}

bool part_axis_same(const struct part_axis *a, const struct part_axis *b)
{
	if (a->from != b->from || a->to != b->to)
		return false;
	if (a->levels == b->levels && !memcmp(a->level, b->level, sizeof *a->level * a->levels))
		return true;
	if (a->levels <= 1 && b->levels <= 1) /* part_settle leaves one form for one level */
		return false;
	struct part_span s = {0}, t = {0};
	bool more = true;
	while (more) {
		more = part_next(a, &s);
		if (part_next(b, &t) != more || s.from != t.from || s.to != t.to)
			return false;
	}
	return true;
}

bool part_same(const struct part *a, const struct part *b)
{
	bool same = a->n == b->n;
	for (unsigned k = 0; k < a->n && same; k++)
		same = part_axis_same(&a->axis[k], &b->axis[k]);
	return same;
}

int64_t part_delivered(enum collective c, int root, unsigned from, unsigned to, const struct part *in,
                       const struct part *out)
{
	return collective_gives(c, root, (int)from, (int)to) ? part_common(in, out) : 0;
}
