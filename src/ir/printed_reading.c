/* printed_reading: see the header. */
#include "ir/printed_reading.h"
#include "ir/expr.h"
#include "ir/printed_cover.h"
#include <string.h>

/* Returns the id numbered one more than id i that can be the inner half of a split, or -1. */
static int next_id(const struct printed_tensor *t, unsigned i)
{
	const struct printed_id *outer = &t->id[i];
	unsigned kind = outer->axis.kind;
	if (outer->axis.place == PLACE_NONE || (kind != AXIS_ITER && kind != AXIS_REDUCE) || outer->named ||
	    outer->number < 0)
		return -1;
	for (unsigned k = 0; k < t->id_n; k++) {
		const struct printed_id *x = &t->id[k];
		if (x->number - 1 == outer->number && x->axis.place == PLACE_NONE && x->axis.kind == kind &&
		    !x->named && !x->made)
			return (int)k;
	}
	return -1;
}

/* ---- halves or axes of their own */

unsigned printed_reading_mesh_axes(const struct module *m, const struct printed_tensor *t, expr_id extent,
                                   unsigned *last)
{
	const struct mesh *mesh = &m->mesh.at[t->mesh];
	int64_t size;
	unsigned n = 0;
	for (unsigned i = 0; t->mesh && expr_is_const(m, extent, &size) && i < mesh->rank; i++)
		if (mesh->size[i] == size) {
			n++;
			*last = i;
		}
	return n;
}

int printed_reading_swizzled(const struct module *m, const struct printed_tensor *t, unsigned i,
                             bool *certain)
{
	const struct printed_id *x = &t->id[i];
	unsigned mesh_axis;
	if (!t->by_number || x->axis.place != PLACE_STREAM || x->axis.kind != AXIS_ITER || x->named ||
	    x->number < 3 || printed_numbers_has(t->by_number, x->number - 2) ||
	    !printed_reading_mesh_axes(m, t, x->axis.extent, &mesh_axis))
		return -1;
	for (unsigned k = 0; k < t->id_n; k++) {
		const struct printed_id *y = &t->id[k];
		const struct expr *e = &m->expr.at[y->axis.extent];
		if (y->number + 1 != x->number || y->axis.place != PLACE_NONE || y->axis.kind != AXIS_ITER ||
		    y->named)
			continue;
		*certain = e->kind == EXPR_CEIL_DIV && e->b == x->axis.extent;
		return *certain || e->kind == EXPR_CONST ? (int)k : -1;
	}
	return -1;
}

/* Returns how ids i and k, which follow each other in number, are read if only numbers below them count. */
static enum printed_pair read_alone(const struct module *m, const struct printed_tensor *t, unsigned i,
                                    unsigned k)
{
	expr_id outer = t->id[i].axis.extent;
	const struct expr *inner = &m->expr.at[t->id[k].axis.extent];
	if (!t->by_number || (inner->kind == EXPR_CEIL_DIV && inner->b == outer &&
	                      !printed_numbers_is_made(t->by_number, t->id[k].axis.extent)))
		return PRINTED_HALVES;
	bool certain;
	if (printed_reading_swizzled(m, t, i, &certain) >= 0 && certain)
		return PRINTED_OWN;
	if (!expr_is_const(m, outer, NULL) ||
	    inner->kind != EXPR_CONST) /* no factor of a split, or no ceilDiv by it */
		return PRINTED_OWN;
	return printed_numbers_pair(t->by_number, t->id[i].number);
}

/* Adds a half to those of an axis. last: the half of its that was split off first, or the id that it ends in. */
static void add_half(struct printed_reading *r, unsigned half, int last, bool is_inner)
{
	r->half_of[last] = (int)half;
	r->is_half[half] = true;
	r->is_inner[half] = is_inner;
}

static void add_pair(struct printed_reading *r, unsigned outer, int inner)
{
	if (inner >= 0 && r->half_of[inner] < 0)
		add_half(r, outer, inner, false);
}

static void begin_reading(const struct printed_tensor *t, struct printed_reading *r)
{
	for (unsigned i = 0; i < t->id_n; i++) {
		r->half_of[i] = -1;
		r->is_inner[i] = false;
		r->is_half[i] = false;
		r->swizzled[i] = false;
	}
}

/* Returns the half that was split off first of the axis that ends in id i, or -1. */
static int first_half(const struct printed_reading *r, unsigned i)
{
	int o = r->half_of[i];
	while (o >= 0 && r->half_of[o] >= 0)
		o = r->half_of[o];
	return o;
}

/* Returns the smallest number of the ids that a reshape, slice or pad made, INT32_MAX if there are none. */
static int32_t least_made(const struct printed_tensor *t)
{
	int32_t least = INT32_MAX;
	for (unsigned i = 0; i < t->id_n; i++)
		if (t->id[i].made && t->id[i].number < least)
			least = t->id[i].number;
	return least;
}

/* Returns true if a reading of a reshaped tensor fits the numbers of its root axes. These are in a row, and smaller than
 * those of the axes made of them. The axes between two root axes are made of those that have the numbers between, which
 * stand nowhere. A made axis that was split stands nowhere, too. */
static bool root_is_in_a_row(const struct printed_tensor *t, const struct printed_reading *r,
                             const uint8_t *order)
{
	int32_t made = least_made(t), root = -1, most = 0, split = 0;
	bool between = false; /* there are other axes behind the last root axis */
	for (unsigned i = 0; i < t->id_n; i++) {
		const struct printed_id *x = &t->id[order[i]];
		bool is_split = r->half_of[order[i]] >= 0;
		most = x->number > most ? x->number : most;
		if (r->is_half[order[i]])
			continue;
		split += is_split;
		if (is_split || x->made) {
			between = true;
			continue;
		}
		int32_t gap = root < 0 ? between : x->number - root - 1;
		if (x->number <= root || x->number >= made || x->number < gap || (gap > 0) != between ||
		    printed_numbers_hidden(t->by_number, x->number) -
		            printed_numbers_hidden(t->by_number, x->number - gap) !=
		        gap)
			return false;
		root = x->number;
		between = false;
	}
	int32_t hidden = printed_numbers_hidden(t->by_number, most);
	if (root < 0)
		return hidden > split;
	hidden -= printed_numbers_hidden(t->by_number, root);
	return (!between || !printed_numbers_has(t->by_number, root + 1)) &&
	       hidden >= between + (made == INT32_MAX);
}

/* Returns true if a reading gives the logical axes numbers in a row, as nvFuser does when it makes a tensor. A split
 * axis has a number that stands nowhere and is smaller than those of its halves. */
static bool is_in_a_row(const struct printed_tensor *t, const struct printed_reading *r)
{
	uint8_t order[IR_MAX_AXES];
	int32_t at = 0, base = INT32_MIN;
	printed_reading_order(t, r, order);
	if (t->reshaped || least_made(t) != INT32_MAX)
		return root_is_in_a_row(t, r, order);
	for (unsigned i = 0; i < t->id_n; i++)
		if (!r->is_half[order[i]]) {
			if (r->half_of[order[i]] < 0 && base == INT32_MIN)
				base = t->id[order[i]].number - at;
			at++;
		}
	at = base;
	for (unsigned i = 0; i < t->id_n && base != INT32_MIN; i++) {
		unsigned k = order[i];
		if (r->is_half[k])
			continue;
		if (r->half_of[k] < 0 ? t->id[k].number != at
		                      : at < 0 || at >= t->id[first_half(r, k)].number ||
		                            printed_numbers_has(t->by_number, at))
			return false;
		at++;
	}
	return true;
}

expr_id printed_split_extent(struct module *m, expr_id outer, expr_id inner)
{
	const struct expr *x = &m->expr.at[inner], *y = &m->expr.at[outer];
	if (x->kind == EXPR_CEIL_DIV && x->b == outer)
		return x->a;
	if (y->kind == EXPR_CEIL_DIV && y->b == inner)
		return y->a;
	expr_id product = expr_mul(m, outer, inner);
	return product ? expr_canon(m, product) : 0;
}

expr_id printed_reading_join(struct module *m, const struct printed_tensor *t,
                             const struct printed_reading *r, unsigned half, expr_id rest)
{
	expr_id extent = t->id[half].axis.extent;
	return r->is_inner[half] ? printed_split_extent(m, rest, extent)
	                         : printed_split_extent(m, extent, rest);
}

expr_id printed_reading_extent(struct module *m, const struct printed_tensor *t,
                               const struct printed_reading *r, unsigned i)
{
	expr_id extent = t->id[i].axis.extent;
	for (int h = r->half_of[i]; h >= 0 && extent; h = r->half_of[h])
		extent = printed_reading_join(m, t, r, (unsigned)h, extent);
	return extent;
}

/* Returns the parallel id that was split off last before the outermost half of id i, or -1. Its inner half, which has the
 * next number, was split again and stands nowhere. *certain: the extents say so, too. */
static int earlier_half(struct module *m, const struct printed_tensor *t, const struct printed_reading *r,
                        unsigned i, bool *certain)
{
	const struct printed_id *last = &t->id[first_half(r, i)];
	expr_id rest = printed_reading_extent(m, t, r, i);
	int found = -1;
	*certain = false;
	for (unsigned k = 0; k < t->id_n && rest; k++) {
		const struct printed_id *x = &t->id[k];
		if (r->is_half[k] || x->axis.place == PLACE_NONE || x->axis.kind != t->id[i].axis.kind ||
		    x->named || x->number + 1 >= last->number ||
		    printed_numbers_pair(t->by_number, x->number) == PRINTED_OWN ||
		    printed_numbers_has(t->by_number, x->number + 1) ||
		    !expr_is_const(m, x->axis.extent, NULL))
			continue;
		const struct expr *e = &m->expr.at[rest];
		bool sure = e->kind == EXPR_CEIL_DIV && e->b == x->axis.extent;
		if ((!sure && !expr_is_const(m, rest, NULL)) ||
		    (found >= 0 &&
		     (*certain > sure || (*certain == sure && t->id[found].number > x->number))))
			continue;
		*certain = sure;
		found = (int)k;
	}
	return found;
}

/* Adds the halves that were split off earlier. Returns true if there are some; *certain: the extents say so, too. */
static bool add_earlier_halves(struct module *m, const struct printed_tensor *t, struct printed_reading *r,
                               bool *certain)
{
	bool added = false;
	*certain = true;
	for (unsigned i = 0; t->by_number && i < t->id_n; i++) {
		bool sure;
		int k;
		while (!r->is_half[i] && r->half_of[i] >= 0 && (k = earlier_half(m, t, r, i, &sure)) >= 0) {
			add_half(r, (unsigned)k, first_half(r, i), false);
			added = true;
			*certain &= sure;
		}
	}
	return added;
}

/* Adds the halves that a Swizzle1D made: those of which the extents say so; or else if only so the logical axes are in a
 * row. */
static void add_swizzled(const struct module *m, const struct printed_tensor *t, bool by_extents,
                         struct printed_reading *r)
{
	for (unsigned i = 0; i < t->id_n; i++) {
		bool certain;
		int k = r->is_half[i] ? -1 : printed_reading_swizzled(m, t, i, &certain);
		if (k < 0 || r->half_of[k] >= 0 || certain != by_extents)
			continue;
		if (!certain && t->permuted)
			continue;
		struct printed_reading swizzled = *r;
		add_pair(&swizzled, i, k);
		swizzled.swizzled[i] = true;
		if (certain || (is_in_a_row(t, &swizzled) && !is_in_a_row(t, r)))
			*r = swizzled;
	}
}

/* Returns true if ids n and n+1 can be the halves of a split that states the inner half: one of them is parallel.
 * *certain: the extents say so. */
static bool can_be_inner_split(const struct module *m, const struct printed_tensor *t, unsigned outer,
                               unsigned inner, bool *certain)
{
	const struct printed_id *x = &t->id[outer], *y = &t->id[inner];
	const struct expr *e = &m->expr.at[x->axis.extent];
	bool one = (x->axis.place == PLACE_NONE) != (y->axis.place == PLACE_NONE);
	if (!one || x->number < 0 || y->number != x->number + 1 || x->axis.kind != AXIS_ITER ||
	    y->axis.kind != AXIS_ITER || x->named || y->named || x->made || y->made)
		return false;
	*certain = e->kind == EXPR_CEIL_DIV && e->b == y->axis.extent;
	return *certain || (x->axis.place == PLACE_NONE && expr_is_const(m, x->axis.extent, NULL) &&
	                    expr_is_const(m, y->axis.extent, NULL));
}

/* Adds the halves of splits that state the inner half: those of which the extents say so; or else if only so the logical
 * axes are in a row. */
static void add_inner_splits(const struct module *m, const struct printed_tensor *t, bool by_extents,
                             struct printed_reading *r)
{
	for (unsigned i = 0; t->by_number && !t->permuted && i < t->id_n; i++)
		for (unsigned k = 0; k < t->id_n; k++) {
			bool certain;
			if (r->is_half[i] || r->half_of[i] >= 0 || r->is_half[k] || r->half_of[k] >= 0 ||
			    !can_be_inner_split(m, t, i, k, &certain) || certain != by_extents)
				continue;
			struct printed_reading split = *r;
			if (t->id[i].axis.place == PLACE_NONE)
				add_half(&split, k, (int)i, true);
			else
				add_half(&split, i, (int)k, false);
			if (certain || (is_in_a_row(t, &split) && !is_in_a_row(t, r)))
				*r = split;
		}
}

/* Returns true if id k can be one half of an axis of which the other half, numbered n, was split again and ends in id i. */
static bool can_be_first_half(const struct printed_tensor *t, const struct printed_reading *r, unsigned i,
                              unsigned k, int32_t n)
{
	const struct printed_id *x = &t->id[k];
	int32_t first = n < x->number ? n : x->number;
	return k != i && !r->is_half[k] && r->half_of[k] < 0 && x->axis.kind == t->id[i].axis.kind &&
	       !x->named && !x->made && n >= 0 && n < t->id[first_half(r, i)].number &&
	       !printed_numbers_has(t->by_number, n) && printed_numbers_hidden(t->by_number, first) > 0;
}

/* Returns true if one extent is a ceilDiv by the other. */
static bool is_quotient(const struct module *m, expr_id x, expr_id y)
{
	const struct expr *e = &m->expr.at[x], *f = &m->expr.at[y];
	return (e->kind == EXPR_CEIL_DIV && e->b == y) || (f->kind == EXPR_CEIL_DIV && f->b == x);
}

/* Adds the other half of an axis that was split first into a plain id and a half that was split again: the plain id if the
 * extents say so; or else if only so the logical axes are in a row. A parallel id that can be the outer half is left to
 * earlier_half. */
static void add_first_halves(struct module *m, const struct printed_tensor *t, bool by_extents,
                             struct printed_reading *r)
{
	for (unsigned i = 0; t->by_number && !t->permuted && i < t->id_n; i++)
		for (unsigned k = 0; k < t->id_n; k++) {
			if (r->is_half[i] || r->half_of[i] < 0)
				continue;
			const struct printed_id *x = &t->id[k];
			bool inner = can_be_first_half(t, r, i, k, x->number - 1);
			bool outer = can_be_first_half(t, r, i, k, x->number + 1);
			if (x->axis.place != PLACE_NONE ? outer || !inner : !outer && !inner)
				continue;
			expr_id rest = printed_reading_extent(m, t, r, i);
			bool certain = rest && is_quotient(m, rest, x->axis.extent) &&
			               !printed_numbers_is_made(t->by_number, rest);
			if (certain != by_extents || (!certain && !(expr_is_const(m, rest, NULL) &&
			                                            expr_is_const(m, x->axis.extent, NULL))))
				continue;
			struct printed_reading split = *r;
			add_half(&split, k, first_half(r, i), inner);
			if (certain || (is_in_a_row(t, &split) && !is_in_a_row(t, r)))
				*r = split;
		}
}

/* Adds the halves that only the row of the logical axes tells. */
static void add_by_row(struct module *m, const struct printed_tensor *t, struct printed_reading *r)
{
	add_swizzled(m, t, false, r);
	add_inner_splits(m, t, false, r);
	add_first_halves(m, t, false, r);
}

/* Returns the ways, of some, in which the logical axes are in a row. */
static unsigned list_ways_in_a_row(const struct printed_tensor *t,
                                   const struct printed_reading by_way[PRINTED_WAY_N], unsigned ways)
{
	unsigned row = 0;
	for (unsigned way = 0; way < PRINTED_WAY_N; way++)
		if (ways >> way & 1 && is_in_a_row(t, &by_way[way]))
			row |= 1U << way;
	return row;
}

/* Makes halves of some of the pairs that can be either, so that the logical axes are in a row. Returns false if no choice
 * does so, or several. */
static bool find_mixed(const struct printed_tensor *t, const struct printed_reading *own,
                       const unsigned *outer, unsigned outer_n, struct printed_reading *mixed)
{
	struct printed_reading in_row = *own;
	unsigned found = 0;
	for (unsigned set = 1; outer_n <= IR_MAX_MESH_AXES && set + 1 < 1U << outer_n; set++) {
		struct printed_reading r = *own;
		for (unsigned k = 0; k < outer_n; k++)
			if (set >> k & 1)
				add_pair(&r, outer[k], next_id(t, outer[k]));
		if (is_in_a_row(t, &r) && !found++)
			in_row = r;
	}
	if (found != 1)
		return false;
	*mixed = in_row;
	return true;
}

/* Reads a tensor in each way. Returns the ways that are possible, as bits of enum printed_way: those that give the
 * logical axes numbers in a row, if some do. */
static unsigned list_readings(struct module *m, const struct printed_tensor *t,
                              struct printed_reading by_way[PRINTED_WAY_N])
{
	struct printed_reading *halves = &by_way[PRINTED_AS_HALVES], *own = &by_way[PRINTED_AS_OWN],
	                       *twice = &by_way[PRINTED_AS_TWICE];
	unsigned ways = PRINTED_BIT(HALVES);
	bool paired = false, certain;
	unsigned undecided[IR_MAX_AXES], undecided_n = 0; /* the outer halves of pairs that can be either */
	begin_reading(t, halves);
	begin_reading(t, own);
	for (unsigned i = 0; i < t->id_n; i++) {
		int k = next_id(t, i);
		enum printed_pair pair = k < 0 ? PRINTED_OWN : read_alone(m, t, i, (unsigned)k);
		if (pair != PRINTED_OWN)
			add_pair(halves, i, k);
		if (pair == PRINTED_HALVES)
			add_pair(own, i, k);
		if (pair == PRINTED_UNDECIDED) {
			ways |= PRINTED_BIT(OWN);
			undecided[undecided_n++] = i;
		}
		paired |= pair != PRINTED_OWN;
	}
	add_swizzled(m, t, true, halves);
	add_swizzled(m, t, true, own);
	add_inner_splits(m, t, true, halves);
	add_inner_splits(m, t, true, own);
	add_first_halves(m, t, true, halves);
	add_first_halves(m, t, true, own);
	if (!t->by_number || !paired) {
		add_by_row(m, t, halves);
		return ways;
	}
	*twice = *halves;
	if (add_earlier_halves(m, t, twice, &certain))
		ways |= PRINTED_BIT(TWICE);
	unsigned row = list_ways_in_a_row(t, by_way, ways);
	if (!row && find_mixed(t, own, undecided, undecided_n, halves))
		return PRINTED_BIT(HALVES);
	for (unsigned way = 0; !row && way < PRINTED_WAY_N; way++)
		if (ways >> way & 1)
			add_by_row(m, t, &by_way[way]);
	row = list_ways_in_a_row(t, by_way, ways);
	if (ways & PRINTED_BIT(TWICE) && certain && (row & PRINTED_BIT(TWICE) || !row))
		return PRINTED_BIT(TWICE);
	return row ? row : ways;
}

void printed_reading_find(struct module *m, const struct printed_tensor *t, struct printed_reading *r)
{
	if (t->choice) {
		begin_reading(t, r);
		for (unsigned i = 0; i < t->id_n; i++) {
			int half = t->choice->half_of[i];
			if (half >= 0)
				add_half(r, (unsigned)half, (int)i, t->choice->is_inner[half]);
			r->swizzled[i] = t->choice->swizzled[i];
		}
		return;
	}
	struct printed_reading by_way[PRINTED_WAY_N];
	unsigned ways = list_readings(m, t, by_way);
	unsigned way = t->by_number ? t->by_number->way : PRINTED_AS_HALVES;
	if (t->other_way)
		way = way == PRINTED_AS_HALVES ? PRINTED_AS_OWN : PRINTED_AS_HALVES;
	if (!(ways >> way & 1))
		for (way = 0; !(ways >> way & 1);)
			way++;
	*r = by_way[way];
}

unsigned printed_ways(struct module *m, const struct printed_tensor *t)
{
	struct printed_reading by_way[PRINTED_WAY_N];
	return list_readings(m, t, by_way);
}
