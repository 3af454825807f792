/* svg: a simulation as a picture: for each class of ranks its lanes from top to bottom, below them its
 * memory; time goes to the right. What compute stood still for is red. Spans thinner than a pixel that are
 * neighbours and alike are one, so that the picture does not grow with the program. */
#include "sim/timeline.h"
#include <string.h>

enum {
	LEFT = 150, /* of names */
	WIDTH = 1100,
	RIGHT = 30,
	HEAD = 74,
	LANE = 20,
	GAP = 4,
	MEMORY = 60,
	AXIS = 30,
	MOST_CLASSES = 4,
	MOST_LANES = 12, /* of a class */
};

struct picture {
	const char *unit; /* of times: us or ms, by the length of the step */
	double ns;        /* of such a unit */
	struct timeline *t;
	struct buf *out;
	double scale; /* pixels a nanosecond */
	int y;
};

static void put_text(struct buf *out, const char *text, size_t most)
{
	size_t n = strlen(text), end = n > most ? most : n;
	while (end < n && end && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--; /* not within a character */
	for (size_t k = 0; k < end; k++)
		switch (text[k]) {
		case '<':
			buf_puts(out, "&lt;");
			break;
		case '>':
			buf_puts(out, "&gt;");
			break;
		case '&':
			buf_puts(out, "&amp;");
			break;
		case '"':
			buf_puts(out, "&quot;");
			break;
		default:
			buf_putc(out, (unsigned char)text[k] < 32 ? ' ' : text[k]);
		}
	if (end < n)
		buf_puts(out, "…");
}

static double x_of(const struct picture *p, int64_t at)
{
	return LEFT + (double)at * p->scale;
}

/* ---- spans */

struct run { /* of pixels */
	double from, to;
	const struct timeline_span *span; /* NULL: of several */
	char look;                        /* w work, c collective, m message, e exposed; 0: none yet */
};

static void put_run(struct picture *p, const struct run *r)
{
	double width = r->to - r->from;
	if (!r->look)
		return;
	buf_printf(p->out, "<rect class=\"%c\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"", r->look,
	           r->from, p->y, width < 0.5 ? 0.5 : width, LANE - 2);
	if (!r->span || width < 3) {
		buf_puts(p->out, "/>\n");
		return;
	}
	const char *label = timeline_label(p->t, r->span->op), *where = timeline_where(p->t, r->span->op);
	buf_puts(p->out, "><title>");
	buf_puts(p->out, r->look == 'e' ? "exposed: " : "");
	put_text(p->out, label, 200);
	buf_printf(p->out, "%s%s\n%.3f %s at %.3f %s", *where ? "\n" : "", where,
	           (double)(r->span->end - r->span->begin) / p->ns, p->unit, (double)r->span->begin / p->ns,
	           p->unit);
	buf_puts(p->out, "</title></rect>\n");
	if (width < 40)
		return;
	buf_printf(p->out, "<text class=\"i\" x=\"%.1f\" y=\"%d\">", r->from + 3, p->y + LANE - 7);
	put_text(p->out, label, (size_t)(width / 7));
	buf_puts(p->out, "</text>\n");
}

static void add_run(struct picture *p, struct run *now, const struct timeline_span *s, int64_t begin,
                    int64_t end, char look)
{
	struct run r = {x_of(p, begin), x_of(p, end), s, look};
	if (now->look == look && r.to - r.from < 1 && r.from - now->to < 1 &&
	    (!now->span || now->to - now->from < 1)) {
		now->to = r.to > now->to ? r.to : now->to;
		now->span = NULL;
		return;
	}
	put_run(p, now);
	*now = r;
}

static void put_lane(struct picture *p, const struct timeline_class *c, uint32_t lane)
{
	static const char looks[] = {'w', 'c', 'm', 'e'};
	struct run now = {0}, red = {0};
	struct picture above;
	uint32_t *of_lane = mem_alloc(sizeof *of_lane * ((size_t)c->span.n + 1)), n = 0;
	buf_printf(p->out, "<text class=\"n\" x=\"%d\" y=\"%d\">", LEFT - 8, p->y + LANE - 7);
	put_text(p->out, c->lane.at[lane].name, 20);
	buf_printf(p->out, "</text><rect class=\"b\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT,
	           p->y, WIDTH, LANE - 2);
	for (uint32_t k = 0; k < c->span.n; k++) {
		const struct timeline_span *s = &c->span.at[k];
		if (s->lane != lane || s->end == s->begin)
			continue;
		add_run(p, &now, s, s->begin, s->end, looks[s->kind]);
		if (s->kind != TIMELINE_WAIT)
			of_lane[n++] = k;
	}
	put_run(p, &now);
	above = *p;
	for (uint32_t k = 0, first = 0; k < c->span.n; k++) { /* what ran on the lane that was waited for */
		const struct timeline_span *s = &c->span.at[k];
		if (s->kind != TIMELINE_WAIT || s->comm == TIMELINE_NONE || s->end == s->begin ||
		    c->span.at[s->comm].lane != lane)
			continue;
		while (first < n && c->span.at[of_lane[first]].end <= s->begin)
			first++;
		for (uint32_t i = first; i < n && c->span.at[of_lane[i]].begin < s->end; i++) {
			const struct timeline_span *x = &c->span.at[of_lane[i]];
			int64_t from = x->begin > s->begin ? x->begin : s->begin,
			        to = x->end < s->end ? x->end : s->end;
			bool meant = x->kind != TIMELINE_MESSAGE || of_lane[i] == s->comm;
			if (to > from && meant)
				add_run(&above, &red, x, from, to, 'e');
		}
	}
	put_run(&above, &red);
	free(of_lane);
	p->y += LANE;
}

/* ---- memory */

static void put_bytes(struct buf *out, int64_t bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double n = (double)bytes;
	unsigned k = 0;
	for (; k < 4 && n >= 1024; k++)
		n /= 1024;
	buf_printf(out, k ? "%.3f %s" : "%.0f %s", n, unit[k]);
}

static void put_memory(struct picture *p, const struct timeline_class *c)
{
	int64_t limit = p->t->limit, most = c->live > 0 ? c->live : 1;
	bool shown = limit && limit <= 2 * most;
	double top = shown && limit > most ? (double)limit : (double)most, room = MEMORY - 12;
	int bottom = p->y + MEMORY;
	int64_t high[WIDTH + 1] = {0};
	for (uint32_t k = 0; k < c->memory.n; k++) {
		int64_t end = k + 1 < c->memory.n ? c->memory.at[k + 1].at : p->t->runtime;
		int from = (int)(x_of(p, c->memory.at[k].at) - LEFT), to = (int)(x_of(p, end) - LEFT);
		for (int i = from; i <= to && i <= WIDTH; i++)
			if (i >= 0 && high[i] < c->memory.at[k].bytes)
				high[i] = c->memory.at[k].bytes;
	}
	buf_printf(p->out, "<text class=\"n\" x=\"%d\" y=\"%d\">memory</text>\n", LEFT - 8, bottom - 6);
	buf_printf(p->out, "<text class=\"n\" x=\"%d\" y=\"%d\">live ", LEFT - 8, bottom - 20);
	put_bytes(p->out, c->live);
	buf_puts(p->out, "</text>\n");
	buf_printf(p->out, "<path class=\"y\" d=\"M%d %d", LEFT, bottom);
	for (int i = 0; i <= WIDTH; i++)
		if (!i || high[i] != high[i - 1])
			buf_printf(p->out, "H%dV%.1f", LEFT + i, bottom - (double)high[i] / top * room);
	buf_printf(p->out, "H%dV%dZ\"/>\n", LEFT + WIDTH, bottom);
	if (shown) {
		double y = bottom - (double)limit / top * room;
		buf_printf(p->out,
		           "<path class=\"l\" d=\"M%d %.1fh%d\"/><text class=\"r\" x=\"%d\" "
		           "y=\"%.1f\">limit ",
		           LEFT, y, WIDTH, LEFT + 4, y - 3);
		put_bytes(p->out, limit);
		buf_puts(p->out, "</text>\n");
	}
	p->y = bottom + GAP;
}

/* ---- the whole */

/* About ten steps of 1, 2 or 5 times a power of ten. */
static int64_t tick_of(int64_t runtime)
{
	int64_t tick = 1;
	for (unsigned k = 0; tick * 12 < runtime; k++)
		tick = k % 3 == 1 ? tick / 2 * 5 : tick * 2;
	return tick;
}

static void put_axis(struct picture *p)
{
	int64_t tick = tick_of(p->t->runtime);
	const char *unit = tick >= 1000000 ? "ms" : tick >= 1000 ? "us" : "ns";
	int64_t one = tick >= 1000000 ? 1000000 : tick >= 1000 ? 1000 : 1;
	for (int64_t at = 0; at <= p->t->runtime; at += tick)
		buf_printf(p->out,
		           "<path class=\"t\" d=\"M%.1f %dV%d\"/><text class=\"a\" x=\"%.1f\" y=\"%d\">%lld "
		           "%s</text>\n",
		           x_of(p, at), HEAD, p->y + 4, x_of(p, at), p->y + 18, (long long)(at / one), unit);
}

static void put_head(struct picture *p, int height)
{
	static const struct {
		char look;
		const char *text;
	} legend[] = {
	    {'w', "work"}, {'c', "collective"}, {'m', "message"}, {'e', "exposed"}, {'y', "memory"}};
	const struct timeline *t = p->t;
	int x = LEFT;
	buf_printf(
	    p->out,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
	    "%d\">\n<style>text{font:11px sans-serif;fill:#222}.h{font-size:14px;font-weight:bold}"
	    ".n{text-anchor:end}.a{text-anchor:middle;fill:#555}.i{fill:#fff;pointer-events:none}"
	    ".r{fill:#c00}.w{fill:#4c78a8}.c{fill:#3f8f4f}.m{fill:#8e5fa8;fill-opacity:.7}.e{fill:#d62728}"
	    ".y{fill:#f0c987;stroke:#b8862b}.l{stroke:#c00;stroke-dasharray:6 3}.b{fill:#f4f4f4}"
	    ".t{stroke:#000;stroke-opacity:.12}</style>\n<rect width=\"100%%\" height=\"100%%\" "
	    "fill=\"#fff\"/>\n",
	    LEFT + WIDTH + RIGHT, height, LEFT + WIDTH + RIGHT, height);
	buf_printf(p->out, "<text class=\"h\" x=\"%d\" y=\"22\">", LEFT);
	put_text(p->out, names_text(t->m->names, t->m->name), 80);
	buf_printf(p->out, ": step time %.3f %s</text>\n", (double)t->runtime / p->ns, p->unit);
	buf_printf(p->out, "<text x=\"%d\" y=\"40\">no order takes less than %.3f %s, by ", LEFT,
	           (double)t->bound.runtime / p->ns, p->unit);
	put_text(p->out, t->binding, 120);
	buf_puts(p->out, "</text>\n");
	for (unsigned k = 0; k < sizeof legend / sizeof *legend; k++, x += 100)
		buf_printf(p->out,
		           "<rect class=\"%c\" x=\"%d\" y=\"50\" width=\"12\" height=\"12\"/><text x=\"%d\" "
		           "y=\"60\">%s</text>\n",
		           legend[k].look, x, x + 17, legend[k].text);
}

static uint32_t lanes_of(const struct timeline_class *c)
{
	return c->lane.n > MOST_LANES ? MOST_LANES : c->lane.n;
}

static void put_class(struct picture *p, const struct timeline_class *c)
{
	p->y += 18;
	buf_printf(p->out, "<text x=\"%d\" y=\"%d\">", LEFT, p->y - 5);
	put_text(p->out, c->name, 80);
	buf_printf(p->out, ": exposed %.3f %s</text>\n", (double)c->exposed / p->ns, p->unit);
	for (uint32_t k = 0; k < lanes_of(c); k++)
		put_lane(p, c, k);
	put_memory(p, c);
}

void timeline_svg(struct timeline *t, struct buf *out)
{
	bool small = t->runtime < 10000000;
	struct picture p = {
	    .t = t, .out = out, .y = HEAD, .unit = small ? "us" : "ms", .ns = small ? 1e3 : 1e6};
	uint32_t n = t->class.n > MOST_CLASSES ? MOST_CLASSES : t->class.n;
	int height = HEAD + AXIS + (n < t->class.n ? 20 : 0);
	for (uint32_t k = 0; k < n; k++)
		height += 18 + LANE * (int)lanes_of(&t->class.at[k]) + MEMORY + GAP;
	p.scale = t->runtime ? (double)WIDTH / (double)t->runtime : 0;
	put_head(&p, height);
	for (uint32_t k = 0; k < n; k++)
		put_class(&p, &t->class.at[k]);
	if (n < t->class.n) {
		buf_printf(out, "<text x=\"%d\" y=\"%d\">and %u more classes of ranks</text>\n", LEFT,
		           p.y + 14, t->class.n - n);
		p.y += 20;
	}
	put_axis(&p);
	buf_puts(out, "</svg>\n");
}
