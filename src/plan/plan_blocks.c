/* plan_blocks: copies between values that are cut into the same blocks, if a rank has several blocks.
 *
 *     T: f32[12@block(2)@x, 9]  →  a step of Y: f32[12@block(2)@x, 9@stream(3)], x = 2
 *         2 blocks of 3 lines; of each line the 3 columns of the step
 *
 * All blocks are copied at full size: both sides have room after a last block that is not full. */
#include "plan/planner.h"

struct dims {
	struct plan_view to, from;
	sx_id to_at, from_at;
};

static bool add_dim(struct planner *b, struct dims *d, sx_id n, int64_t to, int64_t from)
{
	int64_t one;
	if (sx_is_const(b, n, &one) && one == 1)
		return true;
	if (d->to.nd == RT_MAX_DIMS)
		return false;
	d->to.n[d->to.nd] = d->from.n[d->to.nd] = sx_reg(b, n);
	d->to.stride[d->to.nd] = to;
	d->from.stride[d->to.nd] = from;
	d->from.nd = ++d->to.nd;
	return true;
}

/* Returns the place of element x of an axis that is one interval. */
static sx_id element_at(struct planner *b, const struct view_axis *a, sx_id x)
{
	return a->own ? a->start : sx_add(b, a->start, sx_scale(b, sx_sub(b, x, a->base), a->stride));
}

/* Adds the place of a block of step k, unless only this block is stored. */
static void at_block(struct planner *b, sx_id *at, const struct view_axis *x, unsigned k, int64_t size,
                     sx_id block)
{
	if (k >= x->stored_n)
		*at = sx_add(b, *at, sx_scale(b, block, size * x->stride));
	else if (!x->step[k].index)
		*at = sx_add(b, *at, sx_scale(b, block, x->step[k].stride));
}

static bool copy_interval(struct planner *b, struct dims *d, const struct view *to, const struct view *from,
                          unsigned a)
{
	const struct view_axis *x = &to->axis[a], *y = &from->axis[a];
	plan_require_inside(b, from, a, x->off, x->len);
	d->to_at = sx_add(b, d->to_at, element_at(b, x, x->off));
	d->from_at = sx_add(b, d->from_at, element_at(b, y, x->off));
	return add_dim(b, d, x->len, x->own ? 0 : x->stride, y->own ? 0 : y->stride);
}

static bool copy_axis(struct planner *b, struct dims *d, const struct view *to, const struct view *from,
                      unsigned a)
{
	const struct view_axis *x = &to->axis[a], *y = &from->axis[a];
	struct axis_steps to_steps, from_steps;
	sx_id to_block[VIEW_MAX_STEPS], from_block[VIEW_MAX_STEPS], len = sx_const(b, x->extent);
	int64_t room = x->extent;
	if (!x->apart && !y->apart)
		return copy_interval(b, d, to, from, a);
	if (x->extent != y->extent || !view_blocks(b, to, a, &to_steps, to_block) ||
	    !view_blocks(b, from, a, &from_steps, from_block) || to_steps.n != from_steps.n)
		return false;
	for (unsigned k = 0; k < to_steps.n; k++) {
		int64_t size = to_steps.step[k].block, count = (room + size - 1) / size;
		bool stored = k < x->stored_n && k < y->stored_n;
		if (size != from_steps.step[k].block || to_steps.step[k].count != from_steps.step[k].count ||
		    (from_block[k] && to_block[k] != from_block[k]) || (!to_block[k] && !stored))
			return false;
		if (!to_block[k] && !add_dim(b, d, sx_const(b, count), x->step[k].stride, y->step[k].stride))
			return false;
		if (to_block[k]) {
			at_block(b, &d->to_at, x, k, size, to_block[k]);
			at_block(b, &d->from_at, y, k, size, to_block[k]);
		}
		/* only stored steps leave room after a block */
		len = stored ? sx_const(b, size)
		             : sx_clamp(b, sx_sub(b, len, sx_scale(b, to_block[k], size)), size);
		room = size;
	}
	return add_dim(b, d, len, x->own ? 0 : x->stride, y->own ? 0 : y->stride);
}

bool plan_copy_blocks(struct planner *b, const struct view *to, const struct view *from)
{
	struct dims d = {.to = {.buffer = to->buffer}, .from = {.buffer = from->buffer}};
	d.to_at = to->origin, d.from_at = from->origin;
	if (to->rank != from->rank)
		return false;
	for (unsigned a = 0; a < to->rank; a++)
		if (!copy_axis(b, &d, to, from, a))
			return false;
	d.to.slot = sx_reg(b, to->slot), d.from.slot = sx_reg(b, from->slot);
	d.to.offset = sx_reg(b, d.to_at), d.from.offset = sx_reg(b, d.from_at);
	plan_copy_now(b, &d.to, &d.from);
	return true;
}
