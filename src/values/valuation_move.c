/* valuation_move: slice, pad, cat and split: boxes that move along one axis.
 *
 *     Y = cat(A, B, axis=0)     A: f32[3], B: f32[5]     Y: [0, 3): A      [3, 8): B, at an index smaller by 3 */
#include "values/valuation.h"

/* Makes an interval of a result that of the operand, which has `stop` elements. Returns false if it is empty. */
static bool move_back(struct extent *x, int64_t shift, int64_t stop)
{
	*x = (struct extent){x->lo - shift, x->hi - shift};
	x->lo = x->lo < 0 ? 0 : x->lo;
	x->hi = x->hi > stop ? stop : x->hi;
	return x->lo < x->hi;
}

/* Checks that the elements which a slice takes are written. */
static void check_slice(struct value_rank *r, op_id op, value_id from, const struct value_view *out,
                        unsigned axis, int64_t shift, int64_t stop)
{
	struct contents boxes = {0};
	struct value_view part = *out;
	part.is_all = false; /* between the rank's blocks lie those of other ranks */
	value_view_boxes(&part, &boxes);
	for (uint32_t k = 0; k < boxes.cell.n; k++)
		if (move_back(&boxes.cell.at[k].axis[axis], shift, stop))
			value_view_check_box(r, op, from, boxes.cell.at[k].axis);
	vec_free(&boxes.cell);
}

/* Copies the elements of an operand to a result, whose index along an axis is larger by `shift`. */
static void move_along(struct value_rank *r, op_id op, value_id from, struct value_view *out, unsigned axis,
                       int64_t shift, int64_t stop)
{
	const struct value_view *in = value_view_get(r, from);
	struct contents boxes = {0};
	struct image_axis to[IR_MAX_LOGICAL];
	for (unsigned a = 0; a < out->axis_n; a++)
		to[a] = (struct image_axis){.axis = a};
	to[axis].offset = -shift;
	value_view_boxes(out, &boxes);
	for (uint32_t k = 0; k < boxes.cell.n; k++) {
		struct contents found = {0};
		struct extent *box = boxes.cell.at[k].axis;
		bool empty = !move_back(&box[axis], shift, stop);
		for (unsigned a = 0; a < in->axis_n && !empty && !out->is_all; a++) {
			const struct part_span needs = {box[a].lo, box[a].hi};
			empty = !part_has(&in->part->axis[a], needs);
			if (empty)
				value_report_part(r, op, from, a, needs, &in->part->axis[a]);
		}
		if (!empty)
			value_view_read_box(r->v, in, box, &found);
		for (uint32_t i = 0; i < found.cell.n; i++) {
			struct cell *c = &found.cell.at[i];
			c->axis[axis].lo += shift;
			c->axis[axis].hi += shift;
			value_view_write(r->v, out, c->axis, facts_move(r->v->facts, c->fact, to));
		}
		vec_free(&found.cell);
	}
	vec_free(&boxes.cell);
}

static int64_t attr_value(struct value_rank *r, op_id op, const char *key, int64_t otherwise)
{
	const struct attr *a = op_attr(r->v->m, op, key);
	int64_t value = otherwise;
	if (a && a->kind == ATTR_INT)
		return a->u.i;
	if (a && a->kind == ATTR_EXPR)
		walk_value(&r->walker, op, a->u.expr, &value);
	return value;
}

/* Writes zero to all of a view. */
static void fill_zero(struct valuation *v, const struct value_view *out)
{
	struct contents boxes = {0};
	value_view_boxes(out, &boxes);
	for (uint32_t k = 0; k < boxes.cell.n; k++)
		value_view_write(v, out, boxes.cell.at[k].axis, facts_number(v->facts, 0));
	vec_free(&boxes.cell);
}

void value_move(struct value_rank *r, op_id op)
{
	struct module *m = r->v->m;
	const enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	int64_t axis = op_attr_int(m, op, "axis", 0), at = 0;
	struct value_view *out = value_view_get(r, op_result(m, op, 0));
	const unsigned rank = value_domain(m, op_result(m, op, 0))->rank;
	axis += axis < 0 ? rank : 0;
	bool known = axis >= 0 && axis < rank;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++)
		known &= !value_view_get(r, op_read(m, op, k))->unknown &&
		         value_view_get(r, op_read(m, op, k))->storage != VALUE_NONE;
	for (unsigned k = 0; k < op_result_count(m, op); k++) {
		out = value_view_get(r, op_result(m, op, k));
		if (out->storage == VALUE_NONE || out->absent)
			return;
		if (!known || out->unknown) {
			value_trust(r->v, op);
			value_view_write_unknown(r->v, out);
			continue;
		}
		const value_id from = op_read(m, op, 0);
		const int64_t extent = value_view_get(r, from)->part->axis[axis].extent;
		switch (kind) {
		case OP_SLICE:
			at = -attr_value(r, op, "start", 0);
			check_slice(r, op, from, out, (unsigned)axis, at, extent);
			move_along(r, op, from, out, (unsigned)axis, at, extent);
			break;
		case OP_PAD:
			fill_zero(r->v, out);
			move_along(r, op, from, out, (unsigned)axis, attr_value(r, op, "before", 0), extent);
			break;
		case OP_SPLIT:
			move_along(r, op, from, out, (unsigned)axis, -at, extent);
			at += out->part->axis[axis].extent;
			break;
		default: /* cat */
			for (unsigned i = 0; i < op_role_count(m, op, ROLE_READ); i++) {
				const value_id part = op_read(m, op, i);
				const int64_t size = value_view_get(r, part)->part->axis[axis].extent;
				move_along(r, op, part, out, (unsigned)axis, at, size);
				at += size;
			}
		}
	}
}
