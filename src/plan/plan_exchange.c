/* plan_exchange: plans exchanges of boxes.
 *
 *     Y: f32[6, 4@x] = set(X: f32[6@x, 4]), x = 2, rank 0
 *         keeps     rows 0 1 2, columns 0 1
 *         gives     rows 0 1 2, columns 2 3, packed      to rank 1
 *         takes     rows 3 4 5, columns 0 1              from rank 1, to their place
 *
 * If the extent of a box depends on a loop, it is padded to its largest value, except for the outermost
 * axis. Both sides compute extents from the same numbers. */
#include "plan/plan_exchange.h"
#include "ir/expr.h"
#include "plan/plan_boxes.h"
#include "plan/plan_elements.h"
#include <string.h>

struct range {
	sx_id off, len;
};

/* One side of the exchange: the parts of a value that the members have. */
struct side {
	struct view *v;
	struct boxes boxes;
	bool *here;          /* by member: it is in the mesh */
	struct range *range; /* by member, box and axis */
};

/* ---- parts of members */

static bool in_mesh(const struct planner *b, type_id t, int64_t rank)
{
	uint32_t position;
	mesh_id mesh = ir_type(b->m, t)->mesh;
	return !mesh || mesh_position(ir_mesh(b->m, mesh), (uint32_t)rank, &position);
}

/* Completes a view of a rank that is not in the mesh: it has no extents and no blocks of loops yet. */
static bool fill_absent(struct planner *b, struct view *v)
{
	const struct domain *d = ir_domain(b->m, ir_type(b->m, v->type)->domain);
	for (unsigned a = 0; a < v->rank; a++)
		if (!planner_value(b, d->axis[a].extent, &v->axis[a].extent))
			return false;
	view_bind_by_loops(b, v);
	return true;
}

/* Returns the range of an axis in box j of a member. */
static struct range *range_of(const struct side *s, uint32_t member, int64_t j, unsigned axis)
{
	return &s->range[((size_t)member * (size_t)s->boxes.n + (size_t)j) * s->v->rank + axis];
}

/* Reads one side. Returns false if a part is no box, or if it is several boxes and no loop cuts either
 * side (whole). */
static bool read_side(struct exchange *x, struct view *v, bool whole, struct side *s)
{
	struct planner *b = x->b;
	const struct view *held = view_anywhere(b, v);
	s->v = v;
	s->here = arena_alloc(b->scratch, sizeof *s->here * x->team->n);
	if ((view_apart(held) && whole) || !boxes_of(b, held, &s->boxes) ||
	    s->boxes.n * x->team->n > MAX_BOXES)
		return false;
	s->range =
	    arena_alloc(b->scratch, sizeof *s->range * x->team->n * (size_t)s->boxes.n * (v->rank + 1));
	for (uint32_t k = 0; k < x->team->n; k++) {
		s->here[k] = in_mesh(b, v->type, x->team->rank[k]);
		for (int64_t j = 0; j < s->boxes.n && s->here[k]; j++)
			for (unsigned a = 0; a < v->rank; a++) {
				struct range *r = range_of(s, k, j, a);
				if (!boxes_interval(b, held, &s->boxes, j, a, x->team->rank[k], &r->off,
				                    &r->len))
					return false;
			}
	}
	return true;
}

uint32_t exchange_turn(const uint32_t *class, uint32_t n, uint32_t first, uint32_t taker)
{
	uint32_t size = 0, turn = 0;
	for (uint32_t k = 0; k < n; k++) {
		size += class[k] == class[first];
		turn += k < taker && class[k] != class[first];
	}
	turn %= size;
	for (uint32_t k = 0; k < n; k++)
		if (class[k] == class[first] && turn-- == 0)
			return k;
	return first;
}

/* Puts members with the same ranges into one class. Returns, by member, the first member of its class. */
static uint32_t *classify_members(struct exchange *x, const struct side *s)
{
	uint32_t *class = arena_alloc(x->b->scratch, sizeof *class * x->team->n);
	size_t size = sizeof *s->range * (size_t)s->boxes.n * s->v->rank;
	for (uint32_t k = 0; k < x->team->n; k++) {
		class[k] = k;
		for (uint32_t j = 0; j < k && s->here[k]; j++)
			if (s->here[j] && !memcmp(range_of(s, j, 0, 0), range_of(s, k, 0, 0), size)) {
				class[k] = class[j];
				break;
			}
	}
	return class;
}

/* ---- boxes */

struct part {
	sx_id at[IR_MAX_LOGICAL], n[IR_MAX_LOGICAL];
	int64_t stride[IR_MAX_LOGICAL]; /* strides in packed form */
	sx_id count;                    /* number of elements, with padding */
	int64_t most;                   /* largest value of count */
	bool empty;                     /* it is certainly empty */
	bool padded;                    /* the packed part may have gaps between elements */
	int64_t in, out;                /* the boxes that it belongs to */
};

/* The elements that go from one member to another: the parts that may be non-empty, packed one after the
 * other. */
struct parts {
	unsigned n;
	struct part *at;
	sx_id count;
	int64_t most;
};

/* Finds the common elements of box `in` of one member and box `out` of another. */
static struct part intersect(struct exchange *x, const struct side *from, uint32_t giver, int64_t in,
                             const struct side *to, uint32_t taker, int64_t out)
{
	struct planner *b = x->b;
	struct part p = {.most = 1, .in = in, .out = out};
	unsigned rank = from->v->rank, first = rank;
	int64_t dense = 1;
	p.count = sx_const(b, 1);
	for (unsigned a = 0; a < rank; a++) {
		struct range i = *range_of(from, giver, in, a), o = *range_of(to, taker, out, a);
		p.at[a] = sx_max(b, i.off, o.off);
		sx_id end = sx_min(b, sx_add(b, i.off, i.len), sx_add(b, o.off, o.len));
		p.n[a] = sx_max(b, sx_const(b, 0), sx_sub(b, end, p.at[a]));
		p.empty |= b->sx.at[p.n[a]].hi == 0;
		if (first == rank && !sx_is_const(b, p.n[a], NULL))
			first = a;
	}
	first = first == rank ? 0 : first;
	for (unsigned k = rank; k-- > 0;) { /* the first axis that depends on a loop becomes the outermost */
		unsigned a = k == 0 ? first : k <= first ? k - 1 : k;
		int64_t size = b->sx.at[p.n[a]].hi, extent = from->v->axis[a].extent;
		size = size > extent ? extent : size;
		p.stride[a] = dense;
		p.count = sx_mul(b, p.count, k ? sx_const(b, size) : p.n[a]);
		p.padded |= k && !sx_is_const(b, p.n[a], NULL);
		dense *= size;
	}
	p.most = dense;
	return p;
}

/* Makes a view of an exchange's buffer that holds a part from `place` on. */
static struct view *make_packed_view(struct exchange *x, const struct part *p, uint32_t buffer, sx_id slot,
                                     sx_id place)
{
	struct view *v = view_new(x->b, x->out->value);
	v->buffer = buffer;
	v->slot = slot;
	v->origin = place;
	for (unsigned a = 0; a < v->rank; a++)
		v->axis[a] = (struct view_axis){.off = p->at[a],
		                                .len = p->n[a],
		                                .start = sx_const(x->b, 0),
		                                .base = p->at[a],
		                                .stride = p->stride[a]};
	return v;
}

static bool copy_of(struct exchange *x, const struct view *to, const struct view *from, const struct part *p,
                    struct exchange_copy *copy)
{
	int same[IR_MAX_LOGICAL];
	for (unsigned a = 0; a < to->rank; a++)
		same[a] = (int)a;
	return plan_window(x->b, to, to->rank, p->n, same, p->at, to->rank, &copy->to) &&
	       plan_window(x->b, from, to->rank, p->n, same, p->at, to->rank, &copy->from);
}

/* Returns true if a part of a view is one run of memory, in the order of its packed form. */
static bool is_run(struct exchange *x, const struct view *v, const struct part *p)
{
	struct planner *b = x->b;
	if (p->padded)
		return false; /* elements of other members are in between */
	for (unsigned a = 0; a < v->rank; a++) {
		int64_t n;
		bool one = sx_is_const(b, p->n[a], &n) && n == 1;
		if (!one && !v->axis[a].own && v->axis[a].stride != p->stride[a])
			return false;
		if (!one && v->axis[a].own)
			return false;
	}
	return true;
}

static struct parts parts_of(struct exchange *x, const struct side *in, uint32_t from, const struct side *out,
                             uint32_t to)
{
	struct planner *b = x->b;
	struct parts p = {.count = sx_const(b, 0)};
	p.at = arena_alloc(b->scratch, sizeof *p.at * (size_t)(in->boxes.n * out->boxes.n));
	for (int64_t i = 0; i < in->boxes.n; i++)
		for (int64_t o = 0; o < out->boxes.n; o++) {
			struct part part = intersect(x, in, from, i, out, to, o);
			if (part.empty)
				continue;
			p.at[p.n++] = part;
			p.count = sx_add(b, p.count, part.count);
			p.most += part.most;
		}
	return p;
}

/* Lists the parts that a member gives or takes, by the other member. local: the parts that stay on a
 * member. */
static void list_parts(struct exchange *x, const struct side *in, const struct side *out,
                       const uint32_t *class, bool gives, struct parts *parts)
{
	for (uint32_t k = 0; k < x->team->n; k++) {
		uint32_t from = gives ? x->own : k, to = gives ? k : x->own;
		parts[k] = (struct parts){.count = sx_const(x->b, 0)};
		if (!in->here[from] || !out->here[to] || (x->giver >= 0 && from != x->giver) ||
		    (x->taker >= 0 && to != x->taker))
			continue;
		bool has = in->here[to] && class[to] == class[from] && x->giver < 0;
		if (from != to &&
		    (has || (x->giver < 0 && exchange_turn(class, x->team->n, from, to) != from)))
			continue;
		parts[k] = parts_of(x, in, from, out, to);
	}
}

/* Returns the box of the value that contains a part; NULL after reporting. */
static struct view *part_box(struct exchange *x, const struct side *s, const struct part *p, bool gives)
{
	struct view *box = boxes_view(x->b, s->v, &s->boxes, gives ? p->in : p->out);
	return view_usable(x->b, box) ? box : NULL;
}

/* Finds counts and offsets of parts in the value's memory or, if they must be packed, in a buffer. */
static bool place_parts(struct exchange *x, const struct side *s, const struct parts *parts, bool gives,
                        plan_reg *counts, plan_reg *offsets, struct plan_view *whole)
{
	struct planner *b = x->b;
	bool runs = true;
	sx_id zero = sx_const(b, 0), slot = zero, next = zero;
	int64_t most = 0;
	for (uint32_t k = 0; k < x->team->n; k++) {
		if (k == x->own)
			continue;
		runs = runs && parts[k].n <= 1;
		for (unsigned j = 0; j < parts[k].n; j++) {
			struct view *box = part_box(x, s, &parts[k].at[j], gives);
			if (!box)
				return false;
			runs = runs && is_run(x, box, &parts[k].at[j]);
		}
		most += parts[k].most;
	}
	uint32_t buffer = runs ? 0 : exchange_buffer(x, most, &slot);
	for (uint32_t k = 0; k < x->team->n; k++) {
		unsigned n = k == x->own ? 0 : parts[k].n;
		counts[k] = sx_reg(b, n ? parts[k].count : zero);
		offsets[k] = sx_reg(b, n ? next : zero);
		for (unsigned j = 0; j < n; j++) {
			const struct part *p = &parts[k].at[j];
			const struct view *v = part_box(x, s, p, gives);
			struct exchange_copy copy;
			if (runs) {
				offsets[k] = sx_reg(b, view_offset(b, v, p->at));
				continue;
			}
			const struct view *at = make_packed_view(x, p, buffer, slot, next);
			if (!copy_of(x, gives ? at : v, gives ? v : at, p, &copy))
				return false;
			if (gives)
				plan_copy_now(b, &copy.to, &copy.from);
			else
				plan_copy_after(b, x->op, &copy.to, &copy.from);
			next = sx_add(b, next, p->count);
		}
	}
	*whole = exchange_base(x, runs ? s->v->buffer : buffer, runs ? s->v->slot : slot);
	return true;
}

/* Emits a check that some member gives each element that the rank needs. */
static void check_complete(struct exchange *x, const struct side *out, const struct parts *taken)
{
	struct planner *b = x->b;
	sx_id have = sx_const(b, 0), need = sx_const(b, 0);
	for (int64_t j = 0; j < out->boxes.n; j++) {
		sx_id n = sx_const(b, 1);
		for (unsigned a = 0; a < x->out->rank; a++)
			n = sx_mul(b, n, range_of(out, x->own, j, a)->len);
		need = sx_add(b, need, n);
	}
	for (uint32_t k = 0; k < x->team->n; k++)
		for (unsigned j = 0; j < taken[k].n; j++) {
			sx_id n = sx_const(b, 1);
			for (unsigned a = 0; a < x->out->rank; a++)
				n = sx_mul(b, n, taken[k].at[j].n[a]);
			have = sx_add(b, have, n);
		}
	plan_emit_check(b, sx_op(b, EXPR_EQ, have, need), E_PLAN_CHECK,
	                arena_printf(b->p->arena, "no rank of the team holds all that is needed of '%s'",
	                             value_text(b, x->in->value)),
	                NULL, 0);
}

static bool exchange_boxes(struct exchange *x, const struct side *in, const struct side *out)
{
	struct planner *b = x->b;
	uint32_t n = x->team->n, *class = classify_members(x, in);
	struct parts *given = arena_alloc(b->scratch, sizeof *given * n),
	             *taken = arena_alloc(b->scratch, sizeof *taken * n);
	list_parts(x, in, out, class, true, given);
	list_parts(x, in, out, class, false, taken);
	if (!x->out->absent && (x->taker < 0 || x->taker == x->own))
		check_complete(x, out, taken);
	for (unsigned j = 0; j < given[x->own].n; j++) {
		const struct part *p = &given[x->own].at[j];
		struct view *from = part_box(x, in, p, true), *to = part_box(x, out, p, false);
		struct exchange_copy copy;
		if (!from || !to || !copy_of(x, to, from, p, &copy))
			return false;
		plan_copy_now(b, &copy.to, &copy.from);
	}
	return (x->in->absent ||
	        place_parts(x, in, given, true, x->send_counts, x->send_offsets, &x->c->in)) &&
	       (x->out->absent || place_parts(x, out, taken, false, x->counts, x->offsets, &x->c->out));
}

/* ---- buffers */

uint32_t exchange_buffer(struct exchange *x, int64_t elements, sx_id *slot)
{
	return storage_temporary(x->b, x->out->value, view_dtype(x->b, x->out), elements, slot);
}

struct plan_view exchange_base(struct exchange *x, uint32_t buffer, sx_id slot)
{
	struct planner *b = x->b;
	struct plan_view v = {.buffer = buffer, .nd = 1, .stride = {1}};
	v.slot = sx_reg(b, slot);
	v.offset = sx_reg(b, sx_const(b, 0));
	v.n[0] = sx_reg(b, sx_const(b, b->p->buffer.at[buffer].elements > 0));
	return v;
}

/* ---- entry */

static bool same_shape(struct exchange *x)
{
	bool same = x->in->rank == x->out->rank;
	for (unsigned a = 0; a < x->in->rank && same; a++)
		same = x->in->axis[a].extent == x->out->axis[a].extent;
	if (!same)
		planner_error(x->b, E_SHAPES_DIFFER, "'%s' and '%s' have different shapes",
		              value_text(x->b, x->in->value), value_text(x->b, x->out->value));
	return same;
}

bool plan_exchange(struct exchange *x)
{
	struct planner *b = x->b;
	struct side in, out;
	uint32_t n = x->team->n;
	plan_reg **list[] = {&x->counts, &x->offsets, &x->send_counts, &x->send_offsets};
	if ((x->in->absent && !fill_absent(b, x->in)) || (x->out->absent && !fill_absent(b, x->out)) ||
	    !same_shape(x))
		return false;
	for (unsigned k = 0; k < 4; k++) {
		*list[k] = arena_new_array(b->p->arena, plan_reg, n);
		for (uint32_t j = 0; j < n; j++)
			(*list[k])[j] = sx_reg(b, sx_const(b, 0));
	}
	bool whole = elements_whole(b, x->in) && elements_whole(b, x->out);
	bool boxes = read_side(x, x->in, whole, &in) && read_side(x, x->out, whole, &out);
	if (boxes ? !exchange_boxes(x, &in, &out) : !exchange_elements(x))
		return false;
	struct plan_collective *c = x->c;
	c->count = sx_reg(b, sx_const(b, 0));
	c->has_in = !x->in->absent, c->has_out = !x->out->absent;
	c->members = n;
	c->counts = x->counts, c->offsets = x->offsets;
	c->send_counts = x->send_counts, c->send_offsets = x->send_offsets;
	return true;
}
