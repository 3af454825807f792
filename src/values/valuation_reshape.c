/* valuation_reshape: operations that keep the order of elements in memory: reshape, pack, unpack.
 *
 *     Y[2, 4, h] = reshape(X[8, h])     groups: (8) and (2, 4); h is the same axis
 *     P = pack(A, B)                    [0, a): flat(A)      [a, a + b): flat(B) */
#include "ir/expr.h"
#include "ir/pack.h"
#include "values/valuation.h"
#include <string.h>

/* ---- reshape */

/* Finds the groups of axes. Returns false if they cannot be found. */
static bool find_groups(const struct value_view *in, const struct value_view *out, struct reshape *g)
{
	unsigned i = 0, j = 0;
	*g = (struct reshape){.in_n = in->axis_n, .out_n = out->axis_n};
	memset(g->pair, 255, sizeof g->pair);
	while (i < in->axis_n || j < out->axis_n) {
		const int64_t a = i < in->axis_n ? in->part->axis[i].extent : 1,
		              b = j < out->axis_n ? out->part->axis[j].extent : 1;
		if (i < in->axis_n && j < out->axis_n && a == b) {
			g->pair[i++] = (uint8_t)j++;
			continue;
		}
		struct reshape_group *x = &g->group[g->group_n++];
		int64_t m = 1, n = 1;
		x->in = i;
		x->out = j;
		do {
			if ((m <= n && i < in->axis_n) || j == out->axis_n) {
				if (i == in->axis_n)
					return false;
				x->in_extent[x->in_n++] = in->part->axis[i].extent;
				m *= in->part->axis[i++].extent;
			} else {
				x->out_extent[x->out_n++] = out->part->axis[j].extent;
				n *= out->part->axis[j++].extent;
			}
		} while (m != n && (i < in->axis_n || j < out->axis_n));
		if (m != n)
			return false;
	}
	return true;
}

bool value_flatten(const struct extent *box, const int64_t *extent, unsigned n, struct extent *out)
{
	unsigned first = 0;
	*out = (struct extent){0, 1};
	while (first < n && box[first].hi == box[first].lo + 1)
		first++;
	for (unsigned a = first + 1; a < n; a++)
		if (box[a].lo || box[a].hi != extent[a])
			return false;
	for (unsigned a = 0; a < n; a++) {
		const int64_t lo = out->lo * extent[a], hi = (out->hi - 1) * extent[a];
		*out = (struct extent){lo + box[a].lo, hi + box[a].hi};
	}
	return true;
}

bool value_unflatten(struct extent flat, const int64_t *extent, unsigned n, struct extent *out)
{
	int64_t inner = 1;
	for (unsigned a = 0; a < n; a++)
		inner *= extent[a];
	for (unsigned a = 0; a < n; a++) {
		inner = extent[a] ? inner / extent[a] : 0;
		if (!inner)
			return false;
		const int64_t lo = flat.lo / inner, hi = (flat.hi + inner - 1) / inner;
		if (hi == lo + 1) {
			out[a] = (struct extent){lo, hi};
			flat.lo -= lo * inner;
			flat.hi -= lo * inner;
			continue;
		}
		if (flat.lo % inner || flat.hi % inner)
			return false;
		out[a] = (struct extent){lo, hi};
		for (unsigned b = a + 1; b < n; b++)
			out[b] = (struct extent){0, extent[b]};
		return true;
	}
	return true;
}

/* Moves a box from the operand's axes to the result's, or back. Returns false if the result is no box. */
static bool move_box(const struct reshape *g, bool back, const struct extent *box, struct extent *out)
{
	for (unsigned i = 0; i < g->in_n; i++)
		if (g->pair[i] != 255)
			out[back ? i : g->pair[i]] = box[back ? g->pair[i] : i];
	for (unsigned k = 0; k < g->group_n; k++) {
		const struct reshape_group *x = &g->group[k];
		struct extent flat;
		if (!(back ? value_flatten(box + x->out, x->out_extent, x->out_n, &flat)
		           : value_flatten(box + x->in, x->in_extent, x->in_n, &flat)) ||
		    !(back ? value_unflatten(flat, x->in_extent, x->in_n, out + x->in)
		           : value_unflatten(flat, x->out_extent, x->out_n, out + x->out)))
			return false;
	}
	return true;
}

/* Checks that the operand has a box, which a box of the result needs. */
static bool check_needs(struct value_rank *r, op_id op, const struct value_view *in, const struct extent *box)
{
	for (unsigned a = 0; a < in->axis_n; a++) {
		const struct part_span needs = {box[a].lo, box[a].hi};
		const struct part_axis *has = &in->part->axis[a];
		if (!part_has(has, needs)) {
			value_report_part(r, op, op_read(r->v->m, op, 0), a, needs, has);
			return false;
		}
	}
	return true;
}

/* Makes one cell of several that differ along axes of groups. */
static void join_groups(struct facts *f, const struct reshape *g, const struct extent *box,
                        struct contents *found)
{
	bool alike = found->cell.n > 1;
	uint32_t groups = 0;
	for (uint32_t i = 0; i < found->cell.n; i++) {
		alike &= facts_is_complete(f, found->cell.at[i].fact);
		for (unsigned a = 0; a < g->in_n; a++)
			if (g->pair[a] != 255)
				alike &= found->cell.at[i].axis[a].lo == box[a].lo &&
				         found->cell.at[i].axis[a].hi == box[a].hi;
			else
				groups |= 1u << a;
	}
	if (!alike)
		return;
	struct cell one = {.fact = value_join_pieces(f, found, box, groups)};
	if (!one.fact)
		return;
	memcpy(one.axis, box, sizeof *box * g->in_n);
	found->cell.n = 0;
	vec_push(&found->cell, one);
}

/* Writes the result of a box of the operand with these cells. Returns false if a part of it is no box. */
static bool write_cells(struct valuation *v, const struct value_view *out, const struct reshape *g,
                        const struct extent *box, struct contents *cells)
{
	struct extent at[IR_MAX_LOGICAL];
	bool known = true;
	join_groups(v->facts, g, box, cells);
	for (uint32_t i = 0; i < cells->cell.n && known; i++) {
		known = move_box(g, false, cells->cell.at[i].axis, at);
		if (known)
			value_view_write(v, out, at, evaluate_reshape(v->facts, cells->cell.at[i].fact, g));
	}
	return known;
}

/* Returns the first index inside of a box's interval where no cell goes on; its end if there is none. */
static int64_t find_cut(const struct contents *cells, unsigned axis, struct extent of)
{
	int64_t cut = of.lo + 1;
	for (bool moved = true; moved && cut < of.hi;) {
		moved = false;
		for (uint32_t k = 0; k < cells->cell.n; k++) {
			const struct extent *e = &cells->cell.at[k].axis[axis];
			if (e->lo < cut && e->hi > cut) {
				cut = e->hi;
				moved = true;
			}
		}
	}
	return cells->cell.n && cut < of.hi ? cut : of.hi;
}

/* Returns the axis of a group along which a part of a box is an interval of the group's elements. */
static unsigned outermost_axis(const struct reshape_group *x, const struct extent *box)
{
	unsigned axis = x->in;
	while (axis + 1 < x->in + x->in_n && box[axis].hi == box[axis].lo + 1)
		axis++;
	return axis;
}

/* Writes the result of a box of the operand. It is cut along the outermost axis of each group where cells end, so that a
 * block has the same terms as the whole. Returns false if a part of the result is no box. */
static bool write_box(struct valuation *v, const struct value_view *out, const struct reshape *g,
                      const struct extent *box, const struct contents *found)
{
	struct contents cells = {.n = found->n};
	bool known = false;
	contents_read(found, box, &cells);
	for (unsigned k = 0; k < g->group_n && cells.cell.n > 1 && !known; k++) {
		struct extent before[IR_MAX_LOGICAL], after[IR_MAX_LOGICAL], at[IR_MAX_LOGICAL];
		if (!g->group[k].in_n)
			continue;
		const unsigned axis = outermost_axis(&g->group[k], box);
		const int64_t cut = find_cut(&cells, axis, box[axis]);
		memcpy(before, box, sizeof *box * found->n);
		memcpy(after, box, sizeof *box * found->n);
		before[axis].hi = after[axis].lo = cut;
		known = cut < box[axis].hi && move_box(g, false, before, at) &&
		        move_box(g, false, after, at) && write_box(v, out, g, before, &cells) &&
		        write_box(v, out, g, after, &cells);
	}
	known = known || write_cells(v, out, g, box, &cells);
	vec_free(&cells.cell);
	return known;
}

void value_reshape(struct value_rank *r, op_id op, struct value_view *in, struct value_view *out)
{
	struct reshape g;
	struct contents boxes = {0};
	bool known = !in->unknown && !out->unknown && in->storage != VALUE_NONE && !in->absent;
	if (out->storage == VALUE_NONE || out->absent)
		return;
	known = known && find_groups(in, out, &g);
	if (known)
		value_view_boxes(out, &boxes);
	for (uint32_t k = 0; k < boxes.cell.n && known; k++) {
		struct extent needs[IR_MAX_LOGICAL];
		struct contents found = {.n = in->axis_n};
		known = move_box(&g, true, boxes.cell.at[k].axis, needs);
		if (!known || (!out->is_all && !check_needs(r, op, in, needs)))
			break;
		value_view_read_box(r->v, in, needs, &found);
		known = write_box(r->v, out, &g, needs, &found);
		vec_free(&found.cell);
	}
	vec_free(&boxes.cell);
	if (!known) {
		value_trust(r->v, op);
		value_view_write_unknown(r->v, out);
	}
}
