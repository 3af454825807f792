/* plan_order: compares the orders of axes in memory of the buffers of a collective.
 *
 *     S: f32[4, 6], axis 1 outermost        Y: f32[4, 6], axis 0 outermost
 *     Y <- broadcast_from(S, …)             refused: elements would change their index
 *     Y <- broadcast_from(S, …)             right where the moved block has one row
 *
 * An axis of one element has no place in the order. Blocks of other ranks may have other extents than those of this one,
 * so the extents are those of the moved block. */
#include "plan/plan_order.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include <string.h>

enum { NOT_KNOWN = UINT8_MAX };

/* Removes the gathered axis from the list of a buffer's axes in memory order. Returns false if it is
 * present but not outermost. */
static bool take_first(struct comm *s, const struct view *v, int gathered, uint8_t *axis, unsigned *n)
{
	if (gathered < 0 || !memchr(axis, gathered, *n))
		return true;
	if (axis[0] != gathered) {
		planner_error(s->b, E_PLAN_LAYOUT, "axis %d of '%s' is gathered but not outermost in memory",
		              gathered, value_text(s->b, v->value));
		return false;
	}
	memmove(axis, axis + 1, --*n);
	return true;
}

/* Checks that both buffers have the same memory order, and that `gathered`, if longer than 1, is
 * outermost. */
bool plan_order_same(struct comm *s, const struct view *large, const struct view *small, int gathered)
{
	struct planner *b = s->b;
	uint8_t p[IR_MAX_LOGICAL], q[IR_MAX_LOGICAL];
	sx_id n[IR_MAX_LOGICAL], k[IR_MAX_LOGICAL];
	for (unsigned i = 0; i < large->rank; i++) {
		int64_t one;
		if (sx_is_const(b, small->axis[i].len, &one) && one == 0 && (int)i != gathered)
			return true; /* this rank has no elements */
		bool single = (sx_is_const(b, small->axis[i].len, &one) && one == 1) ||
		              small->axis[i].room == 1 || large->axis[i].room == 1 ||
		              run_is_single(b, small, i);
		k[i] = single ? sx_const(b, 1) : small->axis[i].len;
		n[i] = single && (int)i != gathered ? k[i] : large->axis[i].len;
	}
	if (gathered >= 0 && b->sx.at[k[gathered]].hi <= 1)
		k[gathered] = sx_const(b, 1);
	unsigned np = run_axes(b, large, n, p), nq = run_axes(b, small, k, q);
	if (!take_first(s, large, gathered, p, &np) || !take_first(s, small, gathered, q, &nq))
		return false;
	if (np == nq && !memcmp(p, q, np))
		return true;
	planner_error(b, E_PLAN_LAYOUT, "'%s' and '%s' have different orders in memory",
	              value_text(b, large->value), value_text(b, small->value));
	return false;
}

/* Lists the axes of a block in memory order, outermost first, without those of one element. The view may be on other ranks:
 * then the order is that of its type, and NOT_KNOWN if the parts of an axis lie apart. n: extents of the block. */
static unsigned block_order(struct comm *s, const struct view *v, const sx_id *n, uint8_t *axis)
{
	const struct domain *d = ir_domain(s->b->m, ir_type(s->b->m, v->type)->domain);
	unsigned count = 0;
	if (!v->absent)
		return run_axes(s->b, v, n, axis);
	for (unsigned i = 0; i < d->alloc_n; i++) {
		const int a = layout_logical_of(d, d->alloc[i]);
		int64_t one;
		if (a >= 0 && a < (int)v->rank && d->axis[d->alloc[i]].place != PLACE_MESH &&
		    !expr_is_one(s->b->m, d->axis[d->alloc[i]].extent) &&
		    !(sx_is_const(s->b, n[a], &one) && one == 1) && !(count && axis[count - 1] == a)) {
			if (memchr(axis, a, count))
				return NOT_KNOWN;
			axis[count++] = (uint8_t)a;
		}
	}
	return count;
}

/* Checks that a block which keeps its places in memory has one order in both buffers. Blocks of other ranks may have other
 * extents: moved is a view with those of the block. */
static bool same_block_order(struct comm *s, const struct view *in, const struct view *out,
                             const struct view *moved)
{
	struct planner *b = s->b;
	uint8_t p[IR_MAX_LOGICAL], q[IR_MAX_LOGICAL];
	sx_id n[IR_MAX_LOGICAL];
	if (moved->absent)
		return true; /* this rank neither gives nor takes it */
	for (unsigned i = 0; i < moved->rank; i++) {
		const bool single = (!in->absent && in->axis[i].room == 1) ||
		                    (!out->absent && out->axis[i].room == 1) || run_is_single(b, moved, i);
		int64_t none;
		n[i] = single ? sx_const(b, 1) : moved->axis[i].len;
		if (sx_is_const(b, n[i], &none) && none == 0)
			return true; /* it has no elements */
	}
	const unsigned np = block_order(s, in, n, p), nq = block_order(s, out, n, q);
	if (np == NOT_KNOWN || nq == NOT_KNOWN || (np == nq && !memcmp(p, q, np)))
		return true;
	planner_error(b, E_PLAN_LAYOUT, "'%s' and '%s' have different orders in memory",
	              value_text(b, in->value), value_text(b, out->value));
	return false;
}

bool plan_order_same_moved(struct comm *s, enum op_kind kind, const struct view *in, const struct view *out)
{
	const bool gives =
	               kind == OP_REDUCE || kind == OP_COLLECTIVE_PERMUTE || (kind == OP_SEND_RECV && s->in),
	           takes = kind == OP_BROADCASTS || kind == OP_COLLECTIVE_PERMUTE ||
	                   (kind == OP_SEND_RECV && s->out);
	return (!gives || same_block_order(s, in, out, in)) && (!takes || same_block_order(s, in, out, out));
}
