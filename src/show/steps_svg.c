/* steps_svg: draws a row for each rank and a column for each step. A cell has the colour and name of the
 * block that is computed, and the blocks that are sent and received. The more cells, the smaller they are;
 * pointing at a cell shows text that does not fit. */
#include "draw/svg.h"
#include "show/show_steps.h"
#include "show/show_words.h"
#include <math.h>

enum {
	WIDTH = 1160, /* of all cells together, at most */
	HEIGHT = 560,
	MOST_WIDTH = 160,
	MOST_HEIGHT = 58,
	LEAST = 14, /* least width and height of a cell */
	LINE = 15,
	MOST_STATEMENTS = 6
};

static const char arrow_to[] = "→", arrow_from[] = "←", arrow_both[] = "↔";

static const struct steps_event *first_of(const struct steps_cell *c, enum steps_kind kind, uint32_t *count)
{
	const struct steps_event *first = NULL;
	*count = 0;
	for (uint32_t k = 0; k < c->event.n; k++)
		if (c->event.at[k].kind == kind) {
			first = first ? first : &c->event.at[k];
			++*count;
		}
	return first;
}

/* Returns the computation that names a cell: the last one, which has the result. */
static const struct steps_event *main_of(const struct steps_cell *c)
{
	for (uint32_t k = c->event.n; k-- > 0;)
		if (c->event.at[k].kind == STEPS_COMPUTE)
			return &c->event.at[k];
	return NULL;
}

static void put_peer(const struct steps_event *e, struct buf *out)
{
	buf_puts(out, e->kind == STEPS_SEND ? arrow_to : arrow_from);
	if (e->peer == STEPS_ALL)
		buf_puts(out, "all");
	else
		buf_printf(out, "%lld", (long long)e->peer);
}

/* Appends "→5 X 0", and the number of further ones as +n; leaves out blocks where there are few lines. */
static void put_moves(const struct steps_picture *p, const struct steps_cell *c, enum steps_kind kind,
                      bool blocks, struct buf *out)
{
	uint32_t count;
	const struct steps_event *e = first_of(c, kind, &count);
	if (!e)
		return;
	buf_puts(out, out->n ? " " : "");
	if (kind == STEPS_EXCHANGE)
		buf_printf(out, "%s %s", arrow_both, op_info[p->m->op.at[e->op].kind].hir);
	else
		put_peer(e, out);
	if (blocks) {
		buf_putc(out, ' ');
		steps_put_block(e, " ", out);
	}
	if (count > 1)
		buf_printf(out, " +%u", count - 1);
}

static void put_title(const struct steps_picture *p, uint32_t rank, int64_t step, struct buf *out)
{
	const struct steps_cell *c = steps_cell_of(p, rank, step);
	buf_printf(out, "rank %u, step %lld", p->rank[rank], (long long)(p->first + step));
	for (uint32_t k = 0; k < c->event.n; k++) {
		const struct steps_event *e = &c->event.at[k];
		static const char *const verb[] = {[STEPS_COMPUTE] = "computes",
		                                   [STEPS_SEND] = "sends",
		                                   [STEPS_RECV] = "receives",
		                                   [STEPS_EXCHANGE] = "takes part:"};
		buf_printf(out, "\n%s ", verb[e->kind]);
		steps_put_block(e, " ", out);
		if (e->kind == STEPS_SEND || e->kind == STEPS_RECV) {
			buf_puts(out, e->kind == STEPS_SEND ? " to " : " from ");
			if (e->peer == STEPS_ALL)
				buf_puts(out, "all");
			else
				buf_printf(out, "%lld", (long long)e->peer);
		}
		buf_printf(out, "%s%s%s: ", *e->part ? " (" : "", e->part, *e->part ? ")" : "");
		show_put_statement(p->m, e->op, out);
	}
}

/* Writes as much of the computed block's name as fits; returns its size. */
static double put_name(const struct steps_event *e, double width, double height, struct buf *out)
{
	if (!e)
		return SVG_TEXT;
	steps_put_block(e, " ", out);
	if (svg_width(out->at, SVG_TEXT) > width - 6 &&
	    e->block >= 0) { /* colour and number tell the block */
		out->n = 0;
		buf_printf(out, "%lld", (long long)e->block);
	}
	return height >= 16 && svg_width(out->at, SVG_TEXT) <= width - 6 ? SVG_TEXT : 9;
}

static void put_cell(struct svg *g, const struct steps_picture *p, uint32_t rank, int64_t step, double x,
                     double y, double width, double height)
{
	enum { LINES = 3 };
	const struct steps_cell *c = steps_cell_of(p, rank, step);
	const struct steps_event *e = main_of(c);
	int room = (int)((height - 4) / LINE), used = 0, name;
	struct buf title = {0}, line[LINES] = {{0}};
	put_title(p, rank, step, &title);
	svg_rect(g, e && e->block >= 0 ? svg_colour(e->block) : "cell", x, y, width, height, title.at);
	double size = put_name(e, width, height, &line[0]);
	name = line[0].n ? 0 : -1;
	used = line[0].n ? 1 : 0;
	if (room > 1) {
		put_moves(p, c, STEPS_EXCHANGE, false, &line[used]);
		put_moves(p, c, STEPS_SEND, room >= LINES, &line[used]);
		used += line[used].n && (room >= LINES) && used < LINES - 1;
		put_moves(p, c, STEPS_RECV, room >= LINES, &line[used]);
		used += line[used].n ? 1 : 0;
	}
	double top = y + (height - LINE * used) / 2 + 11.5;
	for (int k = 0; k < used; k++) {
		double of = k == name ? size : SVG_SMALL;
		/* part of a number would be another number */
		if (svg_width(line[k].at, of) <= width - 2 || width > 40)
			svg_text(g, k == name ? "bold" : "", x + width / 2, top + LINE * k, SVG_MIDDLE, of,
			         width - 2, line[k].at);
	}
	for (int k = 0; k < LINES; k++)
		buf_free(&line[k]);
	buf_free(&title);
}

void steps_picture_svg(const struct steps_picture *p, struct buf *out)
{
	struct svg g = {0};
	struct buf text = {0};
	double width = fmin(fmax((double)WIDTH / (double)(p->n ? p->n : 1), LEAST), MOST_WIDTH),
	       height = fmin(fmax((double)HEIGHT / (p->rank_n ? p->rank_n : 1), LEAST), MOST_HEIGHT);
	double left = SVG_MARGIN + svg_width("rank 99999", SVG_SMALL), y = 28,
	       room = width * (double)p->n + left - SVG_MARGIN;
	room = room < 420 ? 420 : room;
	svg_text(&g, "bold", SVG_MARGIN, y, SVG_START, SVG_HEAD, room, p->title);
	y += 6;
	for (uint32_t k = 0; k < p->op.n && k < MOST_STATEMENTS; k++) {
		text.n = 0;
		show_put_statement(p->m, p->op.at[k], &text);
		show_put_place(p->m, p->op.at[k], &text);
		if (k == MOST_STATEMENTS - 1 && p->op.n > MOST_STATEMENTS) {
			text.n = 0;
			buf_printf(&text, "and %u statements more", p->op.n - k);
		}
		svg_text(&g, "dim", SVG_MARGIN, y += 15, SVG_START, SVG_SMALL, room, text.at);
	}
	y += 24;
	int64_t every = 1; /* distance of the headers that are shown */
	for (text.n = 0, buf_printf(&text, "%lld ", (long long)(p->first + p->n));
	     svg_width(text.at, SVG_SMALL) > width * (double)every;)
		every *= 2;
	for (int64_t i = 0; i < p->n; i += every) {
		text.n = 0;
		buf_printf(&text, width >= 64 ? "step %lld" : "%lld", (long long)(p->first + i));
		svg_text(&g, "dim", left + width * ((double)i + 0.5), y, SVG_MIDDLE, SVG_SMALL,
		         width * (double)every - 2, text.at);
	}
	y += 6;
	for (uint32_t r = 0; r < p->rank_n; r++, y += height) {
		text.n = 0;
		buf_printf(&text, "rank %u", p->rank[r]);
		svg_text(&g, "dim", left - 8, y + height / 2 + 4, SVG_END, SVG_SMALL, left, text.at);
		for (int64_t i = 0; i < p->n; i++)
			put_cell(&g, p, r, i, left + width * (double)i, y, width, height);
	}
	svg_text(&g, "dim", left, y + 18, SVG_START, SVG_SMALL, room,
	         "colour: the block that is computed; → to a rank, ← from one, with the block");
	svg_finish(&g, p->title, out);
	buf_free(&text);
}
