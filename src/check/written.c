/* written: tests if memory that is read was written before, by an access of the same rank.
 *
 *     A: f32[8@stream(4)] = allocate()
 *     a = shard_by_stream(A, 0)
 *     a <- relu(X)                  [0, 2) of A is written
 *     Y <- relu(A)                  reads [0, 8): [2, 8) is left, which nothing has written
 *
 * Each written part is a box of the buffer's logical axes. They are subtracted from the read box, one after
 * the other; each subtraction leaves up to two boxes for each axis. A box without elements of the rank's part
 * of the buffer is dropped.
 *
 * Where the blocks of a view are several intervals of an axis, boxes of block numbers take their place:
 *
 *     B: f32[8@stream(2)@x] = allocate()     a block of B is two intervals, one of each rank
 *
 * Where neither is known but a larger part than the view (region.h), a read is wrong if it has no element in
 * common with any written part. Memory that other ranks also write counts as one whole. */
#include "check/written.h"
#include "check/check_rank.h"
#include "check/check_report.h"
#include "check/checker.h"
#include <string.h>

enum { MAX_BLOCKS = 4096 }; /* of a read that are looked at for an element */
enum { MAX_LEFT = 256 };    /* boxes; with more, a read counts as written */

struct box {
	struct span axis[IR_MAX_LOGICAL];
};

/* The coordinates of boxes: the logical axes of a buffer, or the stream and serial axes of its type, whose
 * coordinates number blocks. */
struct space {
	domain_id domain; /* of conditions (region.h); 0: logical axes */
	uint8_t axis[IR_MAX_LOGICAL];
	uint8_t cut[IR_MAX_LOGICAL]; /* of blocks: the same axes, of the buffer's type */
	struct part range;           /* the rank's part of the buffer; blocks: all of them */
};

struct left { /* boxes of a read that the written parts looked at so far have left */
	const struct part *range;
	VEC(struct box) box;
};

static bool is_symmetric(const struct rank_check *w, const struct storage *x)
{
	return value_type(w->m, x->value)->memory == MEMORY_SYMMETRIC;
}

/* Returns true if a memory is written before the program uses it: inputs, and memory that an allocate
 * fills. */
static bool is_given(const struct rank_check *w, const struct storage *x)
{
	op_id def = w->m->value.at[x->value].def;
	return !def || op_attr_is_true(w->m, def, "zero_init") ||
	       op_attr_is_true(w->m, def, "resets_to_zero");
}

static bool is_written(const struct storage *x, region_part_id part)
{
	uint32_t word = part / 64;
	return word < x->written_bit.n && x->written_bit.at[word] >> part % 64 & 1;
}

static void set_written(struct storage *x, region_part_id part)
{
	while (x->written_bit.n <= part / 64)
		vec_push(&x->written_bit, 0);
	x->written_bit.at[part / 64] |= (uint64_t)1 << part % 64;
}

void written_add(struct rank_check *w, const struct access *a)
{
	struct storage *x = &w->storage.at[a->view.storage];
	region_part_id part = is_symmetric(w, x) ? 0 : a->view.region;
	if (a->one_of || is_written(x, part)) /* one_of: on the other ranks for which this rank stands,
	                                         nothing is written */
		return;
	x->written_loosely |= a->view.loose;
	x->written_unnumbered |= a->view.dropped || a->view.vague;
	set_written(x, part);
	vec_push(&x->written, part);
}

/* ---- boxes */

static struct box box_of(const struct rank_check *w, region_part_id part, const struct space *space)
{
	struct box b;
	for (unsigned a = 0; a < space->range.n; a++) {
		struct span *s = &b.axis[a];
		*s = (struct span){space->range.axis[a].from, space->range.axis[a].to};
		int64_t lo, hi;
		if (parts_range(&w->c->parts, part, space->domain, space->axis[a], &lo, &hi)) {
			s->lo = lo > s->lo ? lo : s->lo;
			s->hi = hi < s->hi ? hi : s->hi;
		}
	}
	return b;
}

/* Finds the first element of an axis inside a span. */
static bool find_first(const struct part_axis *x, struct span s, int64_t *out)
{
	if (s.lo < s.hi && !x->levels && s.lo < x->to && s.hi > x->from) {
		*out = s.lo > x->from ? s.lo : x->from;
		return true;
	}
	for (struct part_span p = {0}; s.lo < s.hi && x->levels && part_next(x, &p) && p.from < s.hi;)
		if (p.to > s.lo) {
			*out = s.lo > p.from ? s.lo : p.from;
			return true;
		}
	return false;
}

static bool has_element(const struct part *buffer, const struct box *b, int64_t *index)
{
	for (unsigned a = 0; a < buffer->n; a++)
		if (!find_first(&buffer->axis[a], b->axis[a], &index[a]))
			return false;
	return true;
}

static void add_left(struct left *left, const struct box *b)
{
	int64_t index[IR_MAX_LOGICAL];
	if (has_element(left->range, b, index))
		vec_push(&left->box, *b);
}

/* Adds the boxes that remain of `from` after removing `taken`. */
static void split_box(struct left *left, struct box from, const struct box *taken)
{
	for (unsigned a = 0; a < left->range->n; a++) {
		struct span *s = &from.axis[a], t = taken->axis[a];
		struct box rest = from;
		if (t.lo > s->lo) {
			rest.axis[a].hi = t.lo;
			add_left(left, &rest);
		}
		rest = from;
		if (t.hi < s->hi) {
			rest.axis[a].lo = t.hi;
			add_left(left, &rest);
		}
		s->lo = t.lo > s->lo ? t.lo : s->lo;
		s->hi = t.hi < s->hi ? t.hi : s->hi;
	}
}

static bool boxes_meet(const struct box *a, const struct box *b, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (a->axis[k].hi <= b->axis[k].lo || b->axis[k].hi <= a->axis[k].lo)
			return false;
	return true;
}

static void take_box(struct left *left, const struct box *taken)
{
	uint32_t n = left->box.n, kept = 0;
	for (uint32_t k = 0; k < n; k++) {
		struct box b = left->box.at[k];
		if (boxes_meet(&b, taken, left->range->n))
			split_box(left, b, taken);
		else
			left->box.at[kept++] = b;
	}
	for (uint32_t k = n; k < left->box.n; k++)
		left->box.at[kept++] = left->box.at[k];
	left->box.n = kept;
}

/* ---- reads */

static bool is_cut(const struct axis *a)
{
	return a->place == PLACE_STREAM || a->place == PLACE_SERIAL;
}

/* Lists the stream and serial axes of a buffer's type, and binds the first ones to the iteration that allocated
 * it. Returns their number. */
static unsigned find_cuts(const struct rank_check *w, const struct view *v, uint8_t *cut,
                          struct bound_at *bound)
{
	const struct domain *d = value_domain(w->m, w->storage.at[v->storage].value);
	unsigned n = 0;
	bound->axes = 0;
	for (unsigned k = 0; k < d->loop_n; k++)
		if (is_cut(&d->axis[d->loop[k]])) {
			if (n < v->chunk_n) {
				bound->axes |= (uint64_t)1 << d->loop[k];
				bound->step[d->loop[k]] = v->chunk[n];
			}
			cut[n++] = d->loop[k];
		}
	return n;
}

/* Finds the part of the rank, in the bound iterations. */
static bool find_part_of(const struct rank_check *w, const struct view *v, const struct bound_at *bound,
                         struct part *out)
{
	type_id type = w->m->value.at[w->storage.at[v->storage].value].type;
	return part_of(w->m, type, w->rank, bound, out) && out->exact && !out->absent;
}

static bool find_elements(const struct rank_check *w, const struct view *v, struct space *out)
{
	uint8_t cut[IR_MAX_AXES];
	struct bound_at bound;
	find_cuts(w, v, cut, &bound);
	out->domain = 0;
	for (unsigned a = 0; a < IR_MAX_LOGICAL; a++)
		out->axis[a] = (uint8_t)a;
	return !v->vague && find_part_of(w, v, &bound, &out->range);
}

/* Finds the domain in which all written parts and the read part have numbers of blocks: that of the buffer, or
 * of a view of the buffer. */
static bool find_domain(const struct rank_check *w, const struct storage *x, const struct view *v,
                        domain_id *out)
{
	bool one = !x->written_unnumbered && !v->dropped && !v->vague &&
	           parts_find_domain(&w->c->parts, v->region, out);
	for (uint32_t k = 0; k < x->written.n && one; k++)
		one = parts_find_domain(&w->c->parts, x->written.at[k], out);
	return one && *out;
}

static bool find_blocks(struct rank_check *w, const struct view *v, struct space *out)
{
	const struct storage *x = &w->storage.at[v->storage];
	const struct domain *buffer = value_domain(w->m, x->value);
	uint8_t cut[IR_MAX_AXES];
	struct bound_at bound;
	domain_id domain = 0;
	unsigned n = find_cuts(w, v, cut, &bound), k = 0;
	if (n > IR_MAX_LOGICAL || !find_domain(w, x, v, &domain))
		return false;
	const struct domain *d = ir_domain(w->m, domain);
	*out = (struct space){.domain = domain, .range.n = (uint8_t)n};
	for (unsigned l = 0; l < d->loop_n; l++) {
		const struct axis *a = &d->axis[d->loop[l]];
		int64_t count, first = k < v->chunk_n ? v->chunk[k] : 0;
		if (!is_cut(a))
			continue;
		if (k == n || a->place != buffer->axis[cut[k]].place ||
		    a->extent != buffer->axis[cut[k]].extent ||
		    !check_value(w, a->extent, DIAG_NOWHERE, &count))
			return false;
		out->axis[k] = d->loop[l];
		out->cut[k] = cut[k];
		part_start(&out->range.axis[k], count);
		out->range.axis[k].from = first;
		out->range.axis[k].to = k < v->chunk_n ? first + 1 : count;
		k++;
	}
	return k == n;
}

/* Finds an element of the blocks that are left. Blocks that are clipped away have none. */
static bool find_in_blocks(struct rank_check *w, const struct view *v, const struct space *space,
                           const struct left *left, int64_t *index)
{
	uint32_t looked = 0;
	for (uint32_t k = 0; k < left->box.n; k++) {
		const struct box *b = &left->box.at[k];
		struct bound_at bound = {.axes = 0};
		for (unsigned a = 0; a < space->range.n; a++) {
			bound.axes |= (uint64_t)1 << space->cut[a];
			bound.step[space->cut[a]] = b->axis[a].lo;
		}
		for (unsigned a = 0; looked++ < MAX_BLOCKS;) {
			struct part part;
			if (!find_part_of(w, v, &bound, &part))
				return false;
			struct box all;
			for (unsigned i = 0; i < part.n; i++)
				all.axis[i] = (struct span){part.axis[i].from, part.axis[i].to};
			if (has_element(&part, &all, index))
				return true;
			for (a = 0; a < space->range.n; a++) { /* the next block of the box */
				int64_t *step = &bound.step[space->cut[a]];
				if (++*step < b->axis[a].hi)
					break;
				*step = b->axis[a].lo;
			}
			if (a == space->range.n)
				break;
		}
	}
	return false;
}

enum verdict {
	IS_WRITTEN,
	IS_UNWRITTEN,     /* an element that is not written is known */
	IS_ALL_UNWRITTEN, /* no element is written */
	IS_OPEN,          /* some part is written, but only a larger part is known */
};

/* Subtracts the written parts from a read. */
static void subtract_written(struct rank_check *w, const struct view *v, const struct space *space,
                             struct left *left)
{
	const struct storage *x = &w->storage.at[v->storage];
	struct box read = box_of(w, v->region, space);
	add_left(left, &read);
	for (uint32_t k = 0; k < x->written.n && left->box.n && left->box.n <= MAX_LEFT; k++) {
		struct box taken = box_of(w, x->written.at[k], space);
		check_spend(w->c, 1 + left->box.n / CHECK_COMPARISONS);
		take_box(left, &taken);
	}
}

/* Tests a read of parts that are known. index: an element that is left. */
static enum verdict find_unwritten(struct rank_check *w, const struct view *v, int64_t *index)
{
	const struct storage *x = &w->storage.at[v->storage];
	struct space space;
	struct left left = {.range = &space.range};
	const bool loose = v->loose || x->written_loosely;
	enum verdict found = IS_OPEN;
	if (is_symmetric(w, x) || (loose ? !find_blocks(w, v, &space) : !find_elements(w, v, &space)))
		return IS_OPEN;
	subtract_written(w, v, &space, &left);
	if (!left.box.n)
		found = IS_WRITTEN;
	else if (left.box.n <= MAX_LEFT && (loose ? find_in_blocks(w, v, &space, &left, index)
	                                          : has_element(&space.range, &left.box.at[0], index)))
		found = IS_UNWRITTEN;
	vec_free(&left.box);
	return found;
}

/* Returns true if a written part may have an element in common with a read. */
static bool may_be_written(struct rank_check *w, const struct storage *x, region_part_id part)
{
	if (parts_is_empty(&w->c->parts, part))
		return true;
	for (uint32_t k = x->written.n; k-- > 0;) {
		check_spend(w->c, 1);
		if (parts_is_empty(&w->c->parts, x->written.at[k]) || /* then the read part may be written,
		                                                         too */
		    !parts_disjoint(&w->c->parts, x->written.at[k], part))
			return true;
	}
	return false;
}

/* Tests a read. If the verdict is IS_UNWRITTEN, index is an element that is not written. */
static enum verdict judge(struct rank_check *w, const struct view *v, int64_t *index)
{
	struct storage *x = &w->storage.at[v->storage];
	bool known = is_written(x, v->region) || is_written(x, 0);
	if (is_given(w, x) || x->freed || (known && !(x->written_loosely && x->written_unnumbered)))
		return IS_WRITTEN;
	enum verdict found = known ? IS_OPEN : find_unwritten(w, v, index);
	if (found == IS_WRITTEN)
		set_written(x, v->region);
	if (found == IS_OPEN && !known && !may_be_written(w, x, v->region))
		return IS_ALL_UNWRITTEN;
	if (found == IS_OPEN && !is_symmetric(w, x))
		w->c->result->taken_as_written += w->c->weight;
	return found;
}

void written_check(struct rank_check *w, op_id op, const struct access *a)
{
	int64_t index[IR_MAX_LOGICAL];
	enum verdict found = judge(w, &a->view, index);
	if (found == IS_UNWRITTEN || found == IS_ALL_UNWRITTEN)
		report_unwritten(w, op, w->storage.at[a->view.storage].value,
		                 found == IS_UNWRITTEN ? index : NULL);
}

void written_end(struct rank_check *w, uint32_t storage)
{
	const struct view all = {.storage = storage};
	struct incomplete x = {.value = w->storage.at[storage].value, .rank = (uint32_t)w->rank};
	int64_t index[IR_MAX_LOGICAL];
	enum verdict found = judge(w, &all, index);
	bool known = found == IS_WRITTEN || found == IS_OPEN;
	for (uint32_t k = 0; k < w->c->incomplete.n; k++)
		known |= w->c->incomplete.at[k].value == x.value;
	if (known)
		return;
	if (found == IS_UNWRITTEN) {
		x.index = arena_new_array(w->c->arena, int64_t, IR_MAX_LOGICAL);
		memcpy(x.index, index, sizeof index);
	}
	vec_push(&w->c->incomplete, x);
}

void written_clear(struct storage *x)
{
	x->written.n = x->written_bit.n = 0;
	x->written_loosely = x->written_unnumbered = false;
}

void written_free(struct storage *x)
{
	vec_free(&x->written);
	vec_free(&x->written_bit);
}
