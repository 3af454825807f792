/* report_memory: the amount of live memory over time, and the values that are live at the peak. */
#include "draw/svg.h"
#include "report/html.h"
#include "report/parts.h"

enum { LEFT = 96, WIDTH = 1060, HEIGHT = 160, TOP = 40 };
enum { QUARTERS = 4 /* number of horizontal parts of the picture */, ROWS = 16 /* rows of the table */ };

static void put_text_bytes(struct svg *g, const char *class, double y, int64_t bytes)
{
	struct buf text = {0};
	html_put_bytes(&text, bytes);
	svg_text(g, class, LEFT - 8, y + 4, SVG_END, SVG_SMALL, LEFT - 8, text.at);
	buf_free(&text);
}

static void put_axes(struct svg *g, const struct timeline *t, int64_t top)
{
	struct buf text = {0};
	for (unsigned k = 0; k <= QUARTERS; k++) {
		double part = (double)k / QUARTERS, y = TOP + HEIGHT * (1 - part), x = LEFT + WIDTH * part;
		svg_line(g, "grid", LEFT, y, LEFT + WIDTH, y);
		put_text_bytes(g, "dim", y, top / QUARTERS * k);
		text.n = 0;
		html_put_time(&text, t->runtime / QUARTERS * k);
		svg_text(g, "dim", x, TOP + HEIGHT + 18,
		         k == QUARTERS ? SVG_END
		         : k           ? SVG_MIDDLE
		                       : SVG_START,
		         SVG_SMALL, WIDTH / QUARTERS, text.at);
	}
	buf_free(&text);
}

/* Draws the live bytes as the outline of an area; each pixel has its largest value. */
static void put_curve(struct svg *g, const struct timeline *t, const struct timeline_class *c, int64_t top)
{
	int64_t high[WIDTH + 1] = {0};
	struct buf path = {0};
	double scale = t->runtime ? WIDTH / (double)t->runtime : 0;
	for (uint32_t k = 0; k < c->memory.n; k++) {
		int64_t end = k + 1 < c->memory.n ? c->memory.at[k + 1].at : t->runtime;
		int from = (int)((double)c->memory.at[k].at * scale), to = (int)((double)end * scale);
		for (int i = from < 0 ? 0 : from; i <= to && i <= WIDTH; i++)
			high[i] = c->memory.at[k].bytes > high[i] ? c->memory.at[k].bytes : high[i];
	}
	buf_printf(&path, "M%d %d", LEFT, TOP + HEIGHT);
	for (int i = 0; i <= WIDTH; i++)
		if (!i || high[i] != high[i - 1])
			buf_printf(&path, "H%dV%.1f", LEFT + i,
			           TOP + HEIGHT - (double)high[i] / (double)top * HEIGHT);
	buf_printf(&path, "H%dV%dZ", LEFT + WIDTH, TOP + HEIGHT);
	svg_path(g, "live", path.at, LEFT + WIDTH, TOP + HEIGHT);
	buf_free(&path);
}

static void put_class(struct report *r, const struct timeline_class *c, struct buf *out)
{
	const struct timeline *t = r->predicted;
	struct svg g = {0};
	struct buf drawn = {0}, title = {0};
	int64_t top = c->live > c->peak ? c->live : c->peak;
	top = top > QUARTERS ? (top + QUARTERS - 1) / QUARTERS * QUARTERS : QUARTERS;
	buf_printf(&title, "%s: live memory over time", c->name);
	svg_text(&g, "bold", LEFT, 22, SVG_START, SVG_TEXT, WIDTH, title.at);
	put_axes(&g, t, top);
	put_curve(&g, t, c, top);
	if (c->peak > 0 && !c->unplanned && !t->recorded) {
		double y = TOP + HEIGHT - (double)c->peak / (double)top * HEIGHT;
		svg_line(&g, "limit", LEFT, y, LEFT + WIDTH, y);
		svg_text(&g, "alarm", LEFT + 4, y - 4, SVG_START, SVG_SMALL, WIDTH / 2, "reserved by a run");
	}
	svg_finish(&g, title.at, &drawn);
	html_figure(out, &drawn);
	buf_free(&title);
}

static void put_held(struct report *r, const struct timeline_class *c, struct buf *out)
{
	uint32_t n = c->held.n < REPORT_MOST_HELD ? c->held.n : REPORT_MOST_HELD;
	int64_t rest = 0;
	if (!n)
		return;
	buf_puts(out,
	         "<div class=\"box\"><table class=\"list\"><thead><tr><th>Live at the peak</th><th>by</th>"
	         "<th class=\"num\">count</th><th class=\"num\">bytes</th><th class=\"num\">of the peak</th>"
	         "</tr></thead><tbody>\n");
	for (uint32_t k = 0; k < c->held.n; k++) {
		const struct timeline_held *h = &c->held.at[k];
		if (k >= n) {
			rest += h->bytes * h->count;
			continue;
		}
		buf_puts(out, "<tr><td class=\"text\"><code>");
		html_put(out, timeline_held_name(r->predicted, h));
		buf_puts(out, "</code></td><td>");
		if (h->op)
			report_put_line(r, r->m->op.at[h->op].at, out);
		else
			buf_puts(out, "input");
		buf_printf(out, "</td><td class=\"num\">%u</td><td class=\"num\">", h->count);
		html_put_bytes(out, h->bytes * h->count);
		buf_puts(out, "</td><td class=\"num\">");
		html_put_percent(out, h->bytes * h->count, c->live);
		buf_puts(out, "</td></tr>\n");
	}
	if (rest) {
		buf_printf(out, "<tr><td class=\"text\">%u more: <code>", c->held.n - n);
		html_put(out, report_command(r, "sim", arena_printf(r->arena, "--memory=%u", c->held.n)));
		buf_puts(out, "</code></td><td></td><td></td><td class=\"num\">");
		html_put_bytes(out, rest);
		buf_puts(out, "</td><td class=\"num\">");
		html_put_percent(out, rest, c->live);
		buf_puts(out, "</td></tr>\n");
	}
	buf_puts(out, "</tbody></table></div>\n");
}

static void put_table(const struct timeline *t, struct buf *out)
{
	buf_puts(
	    out,
	    "<div class=\"box\"><table class=\"list\"><thead><tr><th>Ranks</th><th class=\"num\">how "
	    "many</th>"
	    "<th class=\"num\">live at most</th><th class=\"num\">a run reserves</th></tr></thead><tbody>\n");
	for (uint32_t k = 0; k < t->class.n && k < ROWS; k++) {
		const struct timeline_class *c = &t->class.at[k];
		buf_puts(out, "<tr><td>");
		html_put(out, c->name);
		buf_printf(out, "</td><td class=\"num\">%u</td><td class=\"num\">", c->count);
		html_put_bytes(out, c->live);
		buf_puts(out, "</td><td class=\"num\">");
		if (c->unplanned || t->recorded)
			buf_puts(out, "not planned");
		else
			html_put_bytes(out, c->peak);
		buf_puts(out, "</td></tr>\n");
	}
	if (t->class.n > ROWS)
		buf_printf(out, "<tr><td>%u more classes of ranks</td><td></td><td></td><td></td></tr>\n",
		           t->class.n - ROWS);
	buf_puts(out, "</tbody></table></div>\n");
}

void report_memory(struct report *r, struct buf *out)
{
	struct timeline *t = r->predicted;
	if (!t || !t->class.n)
		return;
	put_table(t, out);
	uint32_t largest = 0;
	for (uint32_t k = 1; k < t->class.n; k++)
		if (t->class.at[k].peak > t->class.at[largest].peak)
			largest = k;
	if (t->class.n > 1)
		html_note(out, "Below: the ranks that need most.");
	put_class(r, &t->class.at[largest], out);
	put_held(r, &t->class.at[largest], out);
}
