/* graph_svg: draws a graph with lanes from left to right and time downwards. Edges lie under the boxes; edges
 * within a lane pass on its right. */
#include "draw/svg.h"
#include "show/graph.h"

enum { WIDTH = 1180, LEAST = 120, MOST = 330, ROW = 38, BOX = 24, GUTTER = 22 };

struct place {
	double width; /* of a box */
	double top;
};

static double left_of(const struct place *g, uint32_t lane)
{
	return SVG_MARGIN + (g->width + GUTTER) * lane;
}

static double top_of(const struct place *g, uint32_t level)
{
	return g->top + (double)ROW * level;
}

static void put_edge(struct svg *s, const struct graph_picture *p, const struct place *g,
                     const struct graph_edge *e)
{
	static const char *const look[] = {
	    [GRAPH_DATA] = "data", [GRAPH_WAIT] = "wait", [GRAPH_START] = "pending"};
	const struct graph_node *a = &p->node.at[e->from], *b = &p->node.at[e->to];
	double x = left_of(g, a->lane), y = top_of(g, a->level), to_x = left_of(g, b->lane),
	       to_y = top_of(g, b->level);
	/* where edges of each kind leave and enter a box */
	double part = e->kind == GRAPH_DATA ? 0.5 : e->kind == GRAPH_WAIT ? 0.7 : 0.3;
	if (a->lane != b->lane || b->level == a->level + 1) {
		svg_arrow(s, look[e->kind], x + g->width * part, y + BOX, to_x + g->width * part, to_y, NULL);
		return;
	}
	struct buf d = {0};
	double right = x + g->width, out = right + GUTTER - 6;
	buf_printf(&d, "M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", right, y + BOX * 0.6, out, y + BOX * 0.6,
	           out, to_y + BOX * 0.4, right, to_y + BOX * 0.4);
	svg_path(s, look[e->kind], d.at, out, to_y + BOX);
	d.n = 0;
	buf_printf(&d, "M%.1f %.1fL%.1f %.1fL%.1f %.1fZ", right + 5, to_y + BOX * 0.4 - 3, right + 5,
	           to_y + BOX * 0.4 + 3, right, to_y + BOX * 0.4);
	svg_path(s, "head", d.at, right + 5, to_y + BOX);
	buf_free(&d);
}

static void put_node(struct svg *s, const struct graph_picture *p, const struct place *g, uint32_t number)
{
	const struct graph_node *x = &p->node.at[number];
	struct buf title = {0}, text = {0};
	const char *class = x->kind == SIM_WORK || x->kind == SIM_VIEW ? "k0"
	                    : x->kind == SIM_JOIN                      ? "cell"
	                                                               : "k2";
	double left = left_of(g, x->lane), top = top_of(g, x->level), room = g->width - 10;
	buf_printf(&title, "%u: %s%s", number, x->text, x->place);
	if (x->iteration >= 0) {
		buf_printf(&title, "\nstep %lld", (long long)x->iteration);
		buf_printf(&text, "%lld", (long long)x->iteration);
	}
	svg_rect(s, class, left, top, g->width, BOX, title.at);
	if (text.n)
		room -=
		    svg_text(s, "dim", left + g->width - 5, top + 16, SVG_END, SVG_SMALL, room, text.at) + 6;
	svg_text(s, "", left + 5, top + 16, SVG_START, SVG_SMALL, room, x->text);
	buf_free(&title);
	buf_free(&text);
}

static void put_legend(struct svg *s, double y)
{
	static const struct {
		const char *box, *line, *text;
	} entry[] = {
	    {"k0", NULL, "work"},       {"k2", NULL, "communication"}, {"cell", NULL, "wait, synchronize"},
	    {NULL, "data", "uses"},     {NULL, "wait", "waits for"},   {NULL, "pending", "starts after"},
	    {NULL, NULL, "right: step"}};
	double x = SVG_MARGIN;
	for (unsigned k = 0; k < sizeof entry / sizeof *entry; k++) {
		if (entry[k].box)
			svg_rect(s, entry[k].box, x, y - 9, 16, 10, NULL);
		if (entry[k].line)
			svg_line(s, entry[k].line, x, y - 4, x + 16, y - 4);
		x += entry[k].box || entry[k].line ? 21 : 0;
		x += svg_text(s, "dim", x, y, SVG_START, SVG_SMALL, WIDTH, entry[k].text) + 16;
	}
}

void graph_picture_svg(const struct graph_picture *p, struct buf *out)
{
	struct svg s = {0};
	struct place g = {.width = (double)WIDTH / (p->lane.n ? p->lane.n : 1) - GUTTER, .top = 100};
	g.width = g.width < LEAST ? LEAST : g.width > MOST ? MOST : g.width;
	double bottom = top_of(&g, p->levels), right = left_of(&g, p->lane.n);
	svg_text(&s, "bold", SVG_MARGIN, 28, SVG_START, SVG_HEAD, right > 620 ? right : 620, p->title);
	put_legend(&s, 52);
	for (uint32_t k = 0; k < p->lane.n; k++) {
		svg_rect(&s, "lane", left_of(&g, k) - 5, 66, g.width + GUTTER - 4, bottom - 66,
		         p->lane.at[k].name);
		svg_text(&s, "bold", left_of(&g, k), 84, SVG_START, SVG_TEXT, g.width, p->lane.at[k].name);
	}
	for (uint32_t e = 0; e < p->edge.n; e++)
		put_edge(&s, p, &g, &p->edge.at[e]);
	for (uint32_t k = 0; k < p->node.n; k++)
		put_node(&s, p, &g, k);
	if (p->more) {
		char more[64];
		snprintf(more, sizeof more, "and %u more statements", p->more);
		svg_text(&s, "alarm", SVG_MARGIN, bottom + 20, SVG_START, SVG_TEXT, 400, more);
	}
	svg_finish(&s, p->title, out);
}
