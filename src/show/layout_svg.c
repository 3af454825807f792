/* layout_svg: draws the layout of a tensor: its first two axes that are cut, from top to bottom and from left
 * to right, with a rectangle for each block and the devices that hold it. For a change of layout it draws
 * both layouts, and between them a table of the bytes that each device (row) gives to each other (column). */
#include "draw/svg.h"
#include "show/show_layout.h"
#include "show/show_words.h"
#include <math.h>

enum {
	GAP = 36,
	LEFT = 44,    /* space for marks along an axis */
	BLOCK = 20,   /* least height of a block */
	BREADTH = 56, /* least width of a block */
	LEAST = 220,
	MOST = 560, /* most of a panel */
	ONE_ROW = 64,
	MOST_PANELS = 12,
	TABLE = 384,
	WIDE = 1260 /* width for panels side by side */
};

struct panel {
	const struct layout_side *s;
	int down, across; /* the axes drawn; -1: none */
	double width, height;
	uint32_t n, panel[MOST_PANELS]; /* number of panels; for each, one block in it */
	uint32_t more;                  /* number of panels that are not shown */
};

static bool is_cut(const struct layout_side *s, unsigned axis)
{
	for (uint32_t i = 0; i < s->block.n; i++)
		if (!part_is_whole(&s->block.at[i].axis[axis]) || !s->extent[axis])
			return true;
	return false;
}

/* Returns the number of pieces of an axis. */
static uint32_t pieces(const struct layout_side *s, int axis)
{
	int64_t least = axis < 0 ? 1 : s->extent[axis], whole = least;
	for (uint32_t i = 0; axis >= 0 && i < s->block.n; i++)
		for (struct part_span x = {0}; part_next(&s->block.at[i].axis[axis], &x);)
			/* the last piece of an axis may be short */
			if (x.to < whole && x.to - x.from < least)
				least = x.to - x.from;
	return least > 0 ? (uint32_t)((whole + least - 1) / least) : 1;
}

/* Returns true if two blocks are in one panel: they are equal along the axes that it does not show. */
static bool is_same_panel(const struct panel *p, const struct layout_block *a, const struct layout_block *b)
{
	for (unsigned k = 0; k < p->s->rank; k++)
		if ((int)k != p->down && (int)k != p->across && !part_axis_same(&a->axis[k], &b->axis[k]))
			return false;
	return true;
}

static struct panel panel_of(const struct layout_side *s)
{
	struct panel p = {.s = s, .down = -1, .across = -1};
	int chosen[2] = {-1, -1};
	unsigned n = 0;
	for (unsigned a = 0; a < s->rank && n < 2; a++)
		if (is_cut(s, a))
			chosen[n++] = (int)a;
	for (unsigned a = 0; a < s->rank && n < 2; a++)
		if ((int)a != chosen[0] && s->extent[a] != 1)
			chosen[n++] = (int)a;
	p.down = n == 2 && chosen[1] < chosen[0] ? chosen[1] : n == 2 ? chosen[0] : -1;
	p.across = n == 2 && chosen[1] < chosen[0] ? chosen[0] : n == 2 ? chosen[1] : chosen[0];
	p.width = fmin(fmax(pieces(s, p.across) * (double)BREADTH, LEAST), MOST);
	p.height =
	    p.down < 0 ? ONE_ROW : fmin(fmax(pieces(s, p.down) * (double)BLOCK, LEAST * 0.6), MOST * 1.6);
	for (uint32_t i = 0; i < s->block.n; i++) {
		uint32_t k = 0;
		while (k < p.n && !is_same_panel(&p, &s->block.at[p.panel[k]], &s->block.at[i]))
			k++;
		if (k < p.n)
			continue;
		if (p.n < MOST_PANELS)
			p.panel[p.n++] = i;
		else
			p.more++;
	}
	return p;
}

/* Returns the place of element k along an axis; without an axis there is one place. */
static double locate_element(const struct layout_side *s, int axis, int64_t k, double length)
{
	return axis < 0 || !s->extent[axis] ? k ? length : 0 : (double)k / (double)s->extent[axis] * length;
}

static int by_place(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

/* Marks the bounds of blocks where there is room. */
static void put_marks(struct svg *g, const struct panel *p, int axis, double x, double y)
{
	VEC(int64_t) mark = {0};
	bool down = axis == p->down;
	double length = down ? p->height : p->width, last = -1e9;
	if (axis < 0)
		return;
	vec_push(&mark, 0);
	vec_push(&mark, p->s->extent[axis]);
	for (uint32_t i = 0; i < p->s->block.n; i++)
		for (struct part_span part = {0}; part_next(&p->s->block.at[i].axis[axis], &part);)
			vec_push(&mark, part.from);
	qsort(mark.at, mark.n, sizeof *mark.at, by_place);
	char end_text[STR_INT + 1];
	snprintf(end_text, sizeof end_text, "%lld", (long long)p->s->extent[axis]);
	double end_width = svg_width(end_text, SVG_SMALL);
	for (uint32_t k = 0; k < mark.n; k++) {
		char text[STR_INT + 1];
		snprintf(text, sizeof text, "%lld", (long long)mark.at[k]);
		double at = locate_element(p->s, axis, mark.at[k], length),
		       width = svg_width(text, SVG_SMALL), end = down ? at + SVG_SMALL + 2 : at + width + 6;
		bool is_last = mark.at[k] == p->s->extent[axis];
		double room = down ? SVG_SMALL + 2 : width + end_width + 6;
		if ((k && mark.at[k] == mark.at[k - 1]) || at < last || (!is_last && at + room > length))
			continue;
		if (down)
			svg_text(g, "dim", x - 5, y + at + 4, SVG_END, SVG_SMALL, LEFT - 6, text);
		else
			svg_text(g, "dim", x + at, y - 5, is_last ? SVG_END : SVG_START, SVG_SMALL, 80, text);
		last = end;
	}
	vec_free(&mark);
}

static void put_block(struct svg *g, const struct panel *p, const struct layout_block *b, uint32_t number,
                      double x, double y)
{
	static const struct part_axis one = {.extent = 1, .to = 1};
	const struct layout_side *s = p->s;
	const struct part_axis *v = p->down < 0 ? &one : &b->axis[p->down],
	                       *h = p->across < 0 ? &one : &b->axis[p->across];
	struct buf title = {0};
	buf_printf(&title, "%s", s->name);
	layout_put_block(s, b, &title);
	buf_printf(&title, "\n%s %s: %lld B", b->device.n == 1 ? "device" : "devices", b->devices,
	           (long long)(b->elements * s->bytes));
	for (struct part_span i = {0}; part_next(v, &i);)
		for (struct part_span k = {0}; part_next(h, &k);) {
			double top = locate_element(s, p->down, i.from, p->height),
			       bottom = locate_element(s, p->down, i.to, p->height),
			       left = locate_element(s, p->across, k.from, p->width),
			       right = locate_element(s, p->across, k.to, p->width);
			svg_rect(g, svg_colour(number), x + left, y + top, right - left, bottom - top,
			         title.at);
			if (s->partial && bottom - top > 9 && right - left > 9)
				svg_rect(g, "pending", x + left + 3, y + top + 3, right - left - 6,
				         bottom - top - 6, NULL);
			if (bottom - top >= SVG_SMALL + 2)
				svg_text(g, "", x + (left + right) / 2, y + (top + bottom) / 2 + 4,
				         SVG_MIDDLE, SVG_SMALL, right - left - 8, b->devices);
		}
	buf_free(&title);
}

/* Writes the notes of a layout beside its picture; returns their height. */
static double put_notes(struct svg *g, const struct panel *p, double x, double y, double room)
{
	double at = y;
	struct buf text = {0};
	if (p->s->note) {
		svg_text(g, "dim", x, at += 16, SVG_START, SVG_SMALL, room, p->s->note);
		buf_puts(&text, "");
	}
	if (p->s->partial)
		svg_text(g, "dim", x, at += 16, SVG_START, SVG_SMALL, room, "a + b: a sum that is pending");
	for (unsigned a = 0; a < p->s->rank; a++)
		if ((int)a != p->down && (int)a != p->across && !is_cut(p->s, a))
			buf_printf(&text, "%saxis %u: all %lld", text.n ? ", " : "", a,
			           (long long)p->s->extent[a]);
	if (p->more)
		buf_printf(&text, "%sand %u more parts", text.n ? ", " : "", p->more);
	if (text.n)
		svg_text(g, "dim", x, at += 16, SVG_START, SVG_SMALL, room, text.at);
	buf_free(&text);
	return at - y;
}

/* Draws a panel, and updates right and bottom of the picture so far. */
static void put_panel(struct svg *g, const struct panel *p, const char *when, double x, double y,
                      double *right, double *bottom)
{
	const struct layout_side *s = p->s;
	struct buf text = {0};
	double room = LEFT + p->width, at = y + 18;
	buf_printf(&text, "%s%s", s->name, when);
	svg_text(g, "bold", x, y, SVG_START, SVG_HEAD, room, text.at);
	svg_text(g, "dim", x, at, SVG_START, SVG_SMALL, room, s->type);
	at += 30;
	for (uint32_t k = 0; k < p->n; k++) {
		const struct layout_block *of = &s->block.at[p->panel[k]];
		if (p->n > 1) { /* name the slice along the other axes */
			text.n = 0;
			for (unsigned a = 0; a < s->rank; a++)
				if ((int)a != p->down && (int)a != p->across &&
				    of->axis[a].from < of->axis[a].to)
					buf_printf(&text, "%saxis %u: %lld to %lld", text.n ? ", " : "", a,
					           (long long)of->axis[a].from, (long long)of->axis[a].to);
			svg_text(g, "", x + LEFT, at, SVG_START, SVG_SMALL, p->width, text.at);
			at += 20;
		}
		svg_rect(g, "cell", x + LEFT, at, p->width, p->height, NULL);
		put_marks(g, p, p->across, x + LEFT, at);
		if (p->down >= 0)
			put_marks(g, p, p->down, x + LEFT, at);
		for (uint32_t i = 0; i < s->block.n; i++)
			if (is_same_panel(p, of, &s->block.at[i]))
				put_block(g, p, &s->block.at[i], i, x + LEFT, at);
		at += p->height + 22;
	}
	*right = x + room;
	*bottom = at - 22 + put_notes(g, p, x + LEFT, at - 20, p->width) + 4;
	buf_free(&text);
}

/* ---- moved data */

static double cell_of(const struct layout_picture *p)
{
	return fmin(fmax((double)TABLE / p->pairs.n, 8), 48);
}

static double table_width(const struct layout_picture *p)
{
	return p->counted ? LEFT + fmin(fmax(cell_of(p) * p->pairs.n, 260), 1e9) : LEAST;
}

static void put_table(struct svg *g, const struct layout_picture *p, double x, double y, double *bottom)
{
	const struct volume_pairs *v = &p->pairs;
	double cell = cell_of(p), room = table_width(p), at = y + 48;
	struct buf text = {0};
	int64_t largest = 1;
	svg_text(g, "bold", x, y, SVG_START, SVG_HEAD, room, "what moves");
	svg_text(g, "dim", x, y + 18, SVG_START, SVG_SMALL, room, p->change);
	if (!p->counted) {
		svg_text(g, "dim", x, y + 34, SVG_START, SVG_SMALL, room, p->unknown);
		*bottom = y + 40;
		return;
	}
	for (uint64_t k = 0; k < (uint64_t)v->n * v->n; k++)
		largest = v->bytes[k] > largest ? v->bytes[k] : largest;
	uint32_t down = cell >= SVG_SMALL + 2 ? 1 : 2, across = cell >= 22 ? 1 : cell >= 13 ? 2 : 4;
	for (uint32_t q = 0; q < v->n; q++) {
		char name[STR_INT];
		snprintf(name, sizeof name, "%u", v->device[q]);
		if (q % across == 0)
			svg_text(g, "dim", x + LEFT + cell * (q + 0.5), at - 5, SVG_MIDDLE, SVG_SMALL,
			         cell * across - 2, name);
		if (q % down == 0)
			svg_text(g, "dim", x + LEFT - 5, at + cell * (q + 0.5) + 4, SVG_END, SVG_SMALL,
			         LEFT - 6, name);
		for (uint32_t k = 0; k < v->n; k++) {
			int64_t bytes = v->bytes[(size_t)q * v->n + k];
			double left = x + LEFT + cell * k, top = at + cell * q;
			if (!bytes || cell >= 13)
				svg_rect(g, "cell", left, top, cell, cell, NULL);
			if (!bytes)
				continue;
			text.n = 0;
			buf_printf(&text, "%u gives %lld B to %u", v->device[q], (long long)bytes,
			           v->device[k]);
			svg_shade(g, "heat", left, top, cell, cell,
			          0.15 + 0.4 * (double)bytes / (double)largest, text.at);
			text.n = 0;
			show_put_bytes(bytes, &text);
			if (cell >= 30)
				svg_text(g, "", left + cell / 2, top + cell / 2 + 4, SVG_MIDDLE,
				         cell >= 40 ? SVG_SMALL : 9, cell - 2, text.at);
		}
	}
	at += cell * v->n;
	text.n = 0;
	show_put_bytes(p->total, &text);
	buf_puts(&text, " in all, at most ");
	show_put_bytes(p->most, &text);
	buf_puts(&text, " from one");
	svg_text(g, "dim", x + LEFT, at + 16, SVG_START, SVG_SMALL, room - LEFT, text.at);
	svg_text(g, "dim", x + LEFT, at + 32, SVG_START, SVG_SMALL, room - LEFT,
	         "row: who gives, column: who gets");
	*bottom = at + 36;
	buf_free(&text);
}

void layout_picture_svg(const struct layout_picture *p, struct buf *out)
{
	struct svg g = {0};
	struct panel first = panel_of(&p->side[0]), second;
	double x = SVG_MARGIN, y = 28, right, bottom;
	struct buf title = {0};
	buf_printf(&title, "%s", p->n == 2 ? p->change : p->side[0].name);
	put_panel(&g, &first, p->n == 2 ? ", before" : "", x, y, &right, &bottom);
	if (p->n == 2) {
		second = panel_of(&p->side[1]);
		bool beside = first.width + second.width + 2 * LEFT + 2 * GAP + table_width(p) < WIDE;
		if (beside)
			x = right + GAP;
		else
			y = bottom + GAP;
		put_table(&g, p, x, y, &bottom);
		if (beside)
			x += table_width(p) + GAP;
		else
			y = bottom + GAP;
		put_panel(&g, &second, ", after", x, y, &right, &bottom);
	}
	svg_finish(&g, title.at, out);
	buf_free(&title);
}
