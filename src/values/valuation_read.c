/* valuation_read: reads and writes the facts of a view in the buffers that hold its elements.
 *
 *     y = select(Y, axis=1, index=3)     a box of y is a box of Y, [3, 4) along axis 1
 *     G = symmetric_view(X)              each box of G is in the buffers of one or several ranks */
#include "values/valuation.h"
#include <string.h>

/* Adds the boxes of a part, each the product of one interval of each axis, to out. */
static void add_boxes(const struct part *p, unsigned axis, struct cell *box, struct contents *out)
{
	if (axis == p->n) {
		vec_push(&out->cell, *box);
		return;
	}
	for (struct part_span s = {0}; part_next(&p->axis[axis], &s);) {
		box->axis[axis] = (struct extent){s.from, s.to};
		add_boxes(p, axis + 1, box, out);
	}
}

static void list_boxes(const struct part *p, struct contents *out)
{
	struct cell box = {0};
	out->n = p->n;
	if (!p->absent)
		add_boxes(p, 0, &box, out);
}

/* Adds the least box with all elements of a part. */
static void add_bounds(const struct part *p, struct contents *out)
{
	struct cell box = {0};
	out->n = p->n;
	for (unsigned a = 0; a < p->n; a++) {
		box.axis[a] = (struct extent){p->axis[a].from, p->axis[a].to};
		if (p->axis[a].from >= p->axis[a].to)
			return;
	}
	vec_push(&out->cell, box);
}

void value_view_boxes(const struct value_view *x, struct contents *out)
{
	if (x->is_all && !x->symmetric)
		add_bounds(x->part, out);
	else
		list_boxes(x->part, out);
}

/* Sets the box of a buffer that is a box of a view. */
static void box_of_buffer(const struct value_view *x, unsigned buffer_n, const struct extent *box,
                          struct extent *out)
{
	for (unsigned b = 0; b < buffer_n; b++)
		out[b] = (struct extent){x->fixed[b], x->fixed[b] + 1};
	for (unsigned a = 0; a < x->axis_n; a++)
		out[x->axis[a]] = box[a];
}

/* Reads a box of a buffer, over the axes of the view. */
static void read_box(struct valuation *v, const struct value_view *x, const struct value_storage *s,
                     const struct extent *at, struct contents *out)
{
	struct contents found = {0};
	struct image_axis to[IR_MAX_LOGICAL];
	bool same = true;
	contents_read(&s->contents, at, &found);
	for (unsigned b = 0; b < s->contents.n; b++)
		to[b] = (struct image_axis){.axis = AXIS_FIXED, .offset = x->fixed[b]};
	for (unsigned a = 0; a < x->axis_n; a++)
		to[x->axis[a]] = (struct image_axis){.axis = a};
	for (unsigned b = 0; b < s->contents.n; b++)
		same &= to[b].axis == b;
	for (uint32_t k = 0; k < found.cell.n; k++) {
		struct cell c = {.fact = found.cell.at[k].fact, .by = found.cell.at[k].by};
		c.fact = same ? c.fact : facts_move(v->facts, c.fact, to);
		for (unsigned a = 0; a < x->axis_n; a++)
			c.axis[a] = found.cell.at[k].axis[x->axis[a]];
		vec_push(&out->cell, c);
	}
	vec_free(&found.cell);
}

/* The parts of a box of a view in the buffers that hold them. */
struct held {
	struct value_storage *storage;
	struct extent box[IR_MAX_LOGICAL]; /* of the buffer */
};
struct held_list {
	VEC(struct held) at;
};

static void find_held(struct valuation *v, const struct value_view *x, const struct extent *box,
                      struct held_list *out)
{
	const unsigned n = value_storage(v, x->storage)->contents.n;
	const struct value_symmetric *y = &v->symmetric.at[x->symmetric];
	struct held h = {.storage = value_storage(v, x->storage)};
	struct extent all[IR_MAX_LOGICAL];
	box_of_buffer(x, n, box, x->symmetric ? all : h.box);
	if (!x->symmetric)
		vec_push(&out->at, h);
	for (uint32_t member = 0; x->symmetric && member < y->n; member++) {
		struct contents theirs = {0};
		list_boxes(y->part[member], &theirs);
		h.storage = value_storage(v, y->storage[member]);
		for (uint32_t i = 0; i < theirs.cell.n; i++)
			if (extents_meet(all, theirs.cell.at[i].axis, n, h.box))
				vec_push(&out->at, h);
		vec_free(&theirs.cell);
	}
}

void value_view_read_box(struct valuation *v, const struct value_view *x, const struct extent *box,
                         struct contents *out)
{
	struct held_list held = {{0}};
	out->n = x->axis_n;
	if (x->storage == VALUE_NONE || x->absent)
		return;
	find_held(v, x, box, &held);
	for (uint32_t i = 0; i < held.at.n; i++)
		read_box(v, x, held.at.at[i].storage, held.at.at[i].box, out);
	vec_free(&held.at);
}

void value_view_read(struct valuation *v, const struct value_view *x, bool own, struct contents *out)
{
	struct contents boxes = {0};
	out->n = x->axis_n;
	if (x->storage == VALUE_NONE || x->absent)
		return;
	if (own || x->symmetric)
		list_boxes(x->part, &boxes);
	else
		add_bounds(x->part, &boxes);
	for (uint32_t k = 0; k < boxes.cell.n; k++)
		value_view_read_box(v, x, boxes.cell.at[k].axis, out);
	vec_free(&boxes.cell);
}

void value_view_write(struct valuation *v, const struct value_view *x, const struct extent *box, fact_id fact)
{
	struct held_list held = {{0}};
	struct image_axis to[IR_MAX_LOGICAL];
	if (x->storage == VALUE_NONE || x->absent)
		return;
	bool same = x->axis_n == value_storage(v, x->storage)->contents.n;
	for (unsigned a = 0; a < x->axis_n; a++) {
		to[a] = (struct image_axis){.axis = x->axis[a]};
		same &= x->axis[a] == a;
	}
	fact = same ? fact : facts_move(v->facts, fact, to);
	find_held(v, x, box, &held);
	for (uint32_t i = 0; i < held.at.n; i++) {
		const struct contents *c = &held.at.at[i].storage->contents;
		contents_write_by(&held.at.at[i].storage->contents, held.at.at[i].box,
		                  facts_along(v->facts, fact, held.at.at[i].box, c->n), v->writer);
		held.at.at[i].storage->fresh = false;
	}
	vec_free(&held.at);
}

void value_view_write_unknown(struct valuation *v, const struct value_view *x)
{
	struct extent all[IR_MAX_LOGICAL];
	if (x->storage == VALUE_NONE || x->absent)
		return;
	struct value_storage *s = value_storage(v, x->storage);
	if (x->unknown) { /* any element of the buffer may be written */
		for (unsigned a = 0; a < s->contents.n; a++)
			all[a] = (struct extent){INT64_MIN / 2, INT64_MAX / 2};
		contents_write(&s->contents, all, FACT_UNKNOWN);
		s->fresh = false;
		return;
	}
	for (unsigned a = 0; a < x->axis_n; a++)
		all[a] = (struct extent){x->part->axis[a].from, x->part->axis[a].to};
	value_view_write(v, x, all, FACT_UNKNOWN);
}

static void check_boxes(struct value_rank *r, op_id op, value_id value, const struct contents *boxes)
{
	const struct value_view *x = value_view_get(r, value);
	int64_t index[IR_MAX_LOGICAL];
	bool written = true;
	for (uint32_t k = 0; k < boxes->cell.n && written; k++) {
		struct contents found = {0};
		value_view_read_box(r->v, x, boxes->cell.at[k].axis, &found);
		written = contents_cover(&found, boxes->cell.at[k].axis, index);
		if (!written)
			value_report_unwritten(r, op, value, index);
		vec_free(&found.cell);
	}
}

void value_view_check_written(struct value_rank *r, op_id op, value_id value)
{
	const struct value_view *x = value_view_get(r, value);
	struct contents boxes = {0};
	if (x->unknown || x->absent || x->storage == VALUE_NONE)
		return;
	list_boxes(x->part, &boxes);
	check_boxes(r, op, value, &boxes);
	vec_free(&boxes.cell);
}

void value_view_check_box(struct value_rank *r, op_id op, value_id value, const struct extent *box)
{
	struct contents boxes = {.n = value_view_get(r, value)->axis_n};
	struct cell one = {0};
	memcpy(one.axis, box, sizeof *box * boxes.n);
	vec_push(&boxes.cell, one);
	check_boxes(r, op, value, &boxes);
	vec_free(&boxes.cell);
}

bool value_view_overlaps(struct valuation *v, const struct value_view *x, const struct value_view *y)
{
	struct extent own[IR_MAX_LOGICAL], other[IR_MAX_LOGICAL], box[IR_MAX_LOGICAL], common[IR_MAX_LOGICAL];
	if (!value_view_is_there(x) || !value_view_is_there(y) || x->storage != y->storage || x->unknown ||
	    y->unknown)
		return false;
	const unsigned n = value_storage(v, x->storage)->contents.n;
	for (unsigned a = 0; a < x->axis_n; a++)
		box[a] = (struct extent){x->part->axis[a].from, x->part->axis[a].to};
	box_of_buffer(x, n, box, own);
	for (unsigned a = 0; a < y->axis_n; a++)
		box[a] = (struct extent){y->part->axis[a].from, y->part->axis[a].to};
	box_of_buffer(y, n, box, other);
	return extents_meet(own, other, n, common);
}
