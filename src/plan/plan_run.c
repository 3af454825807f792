/* plan_run: makes runs of memory of blocks, for communications.
 *
 * A block whose inner axes are clipped has padding between its lines. If it is a run on both sides with
 * the padding, the padding is moved as well:
 *
 *     T: f32[9@stream(2), 3], axis 1 outermost in memory, second chunk     3 lines of 4, room for 5
 *         15 elements are moved, not 12 */
#include "plan/planner.h"

/* Lists the axes of a view in memory order, outermost first, without those of one element. */
unsigned run_axes(const struct planner *b, const struct view *v, const sx_id *n, uint8_t *axis)
{
	unsigned k = 0;
	for (unsigned i = 0; i < v->rank; i++) {
		int64_t one;
		if ((n[i] && sx_is_const(b, n[i], &one) && one == 1) || v->axis[i].room == 1)
			continue;
		unsigned at = k++;
		while (at > 0 && v->axis[axis[at - 1]].stride < v->axis[i].stride)
			axis[at] = axis[at - 1], at--;
		axis[at] = (uint8_t)i;
	}
	return k;
}

/* Finds the extents of each axis that are moved: those of the view or, for clipped blocks, the full
 * block with the padding after it, which is never read. The axis along which blocks are put together is
 * never padded. */
void run_extents(struct planner *b, const struct view *v, int gathered, bool padded, sx_id *n)
{
	for (unsigned i = 0; i < v->rank; i++) {
		const struct view_axis *a = &v->axis[i];
		n[i] = padded && (int)i != gathered && a->full && !a->own ? sx_const(b, a->room) : a->len;
	}
}

bool run_is_single(const struct planner *b, const struct view *v, unsigned axis)
{
	struct axis_steps steps;
	unsigned next = 0;
	bool bound = false;
	if (!axis_steps_find((struct planner *)b, v->type, axis, false, &steps) || !steps.n ||
	    steps.step[steps.n - 1].block != 1)
		return false;
	for (unsigned i = 0; i < steps.n; i++)
		bound = steps.step[i].place == PLACE_MESH ||
		        ((steps.step[i].place == PLACE_STREAM || steps.step[i].place == PLACE_SERIAL) &&
		         v->axis[axis].bound[next++]);
	return bound;
}

bool run_is_plain(const struct planner *b, const struct view *v, int gathered)
{
	uint8_t axis[IR_MAX_LOGICAL];
	sx_id n[IR_MAX_LOGICAL];
	for (unsigned i = 0; i < v->rank; i++)
		n[i] = 0;
	unsigned count = run_axes(b, v, n, axis);
	bool first = gathered < 0;
	for (unsigned k = 0; k < count; k++) {
		const struct view_axis *a = &v->axis[axis[k]];
		int64_t len;
		if (run_is_single(b, v, axis[k]))
			continue;
		if (first)
			first = false; /* it was the outermost */
		else if ((int)axis[k] != gathered && a->full && !a->own &&
		         !(sx_is_const(b, a->len, &len) && len == a->room))
			return false;
	}
	return true;
}

sx_id run_product(struct planner *b, const struct view *v, const sx_id *n, int without)
{
	sx_id p = sx_const(b, 1);
	for (unsigned i = 0; i < v->rank; i++)
		p = (int)i == without ? p : sx_mul(b, p, n[i]);
	return p;
}

/* Returns the condition for which a box of a view is one run of memory. */
sx_id run_condition(struct planner *b, const struct view *v, const sx_id *n)
{
	uint8_t axis[IR_MAX_LOGICAL];
	sx_id dense = sx_const(b, 1), all = sx_const(b, 1);
	for (unsigned k = run_axes(b, v, n, axis); k-- > 0;) {
		sx_id fits = sx_op(b, EXPR_EQ, dense, sx_const(b, v->axis[axis[k]].stride));
		all = sx_op(b, EXPR_AND, all,
		            sx_op(b, EXPR_OR, fits, sx_op(b, EXPR_LE, n[axis[k]], sx_const(b, 1))));
		dense = sx_mul(b, dense, n[axis[k]]);
	}
	return sx_op(b, EXPR_OR, all, sx_op(b, EXPR_EQ, run_product(b, v, n, -1), sx_const(b, 0)));
}

bool sx_holds(const struct planner *b, sx_id condition)
{
	int64_t k;
	return sx_is_const(b, condition, &k) && k != 0 && k != PLAN_UNDEFINED;
}

/* Finds the run of memory of a view. n: from run_extents. If it is not certain, emits a check for run
 * time. */
bool run_of(struct planner *b, const struct view *v, const sx_id *n, struct plan_view *out)
{
	sx_id at[IR_MAX_LOGICAL], condition = run_condition(b, v, n);
	const char *text = arena_printf(
	    b->p->arena, "the block of '%s' is not contiguous in memory, which a communication needs",
	    value_text(b, v->value));
	int64_t never;
	if (sx_is_const(b, condition, &never) && never == 0) {
		planner_error(b, E_PLAN_CHECK, "%s", text);
		return false;
	}
	plan_emit_check(b, condition, E_PLAN_CHECK, text, NULL, 0);
	for (unsigned i = 0; i < v->rank; i++)
		at[i] = v->axis[i].off;
	*out = (struct plan_view){.buffer = v->buffer, .nd = 1, .stride = {1}};
	out->slot = sx_reg(b, v->slot);
	out->offset = sx_reg(b, view_offset(b, v, at));
	out->n[0] = sx_reg(b, run_product(b, v, n, -1));
	return true;
}
