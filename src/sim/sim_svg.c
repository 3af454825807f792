/* sim_svg: draws a timeline: the lanes of each class of ranks from top to bottom, below them its memory; time
 * goes to the right. Exposed communication is marked. Neighbouring spans of one kind that are thinner than a
 * pixel are drawn as one, so that the picture does not grow with the program. */
#include "draw/svg.h"
#include "sim/timeline.h"
#include <string.h>

enum {
	LEFT = 160, /* for names */
	WIDTH = 1060,
	HEAD = 80,
	LANE = 21,
	GAP = 6,
	MEMORY = 64,
	LABEL = 36, /* the least width of a span with a label */
	MOST_CLASSES = 4,
	MOST_LANES = 12 /* of a class */
};

static const char *const looks[] = {[TIMELINE_WORK] = "k0",
                                    [TIMELINE_COLLECTIVE] = "k2",
                                    [TIMELINE_MESSAGE] = "k4",
                                    [TIMELINE_WAIT] = "exposed"};

struct picture {
	const char *unit; /* us or ms, by the length of the step */
	double ns;        /* ns in that unit */
	struct timeline *t;
	struct svg svg;
	double scale; /* pixels a nanosecond */
	double y;
};

static double x_of(const struct picture *p, int64_t at)
{
	return LEFT + (double)at * p->scale;
}

/* ---- spans */

struct run { /* a range of pixels */
	double from, to;
	const struct timeline_span *span; /* NULL: it covers several spans */
	uint8_t kind;                     /* enum timeline_kind; WAIT: exposed */
};
typedef VEC(struct run) runs; /* ascending, disjoint */

static void add_run(struct picture *p, runs *to, const struct timeline_span *s, int64_t begin, int64_t end,
                    uint8_t kind)
{
	struct run r = {x_of(p, begin), x_of(p, end), s, kind}, *now = to->n ? &to->at[to->n - 1] : NULL;
	if (now && now->kind == kind && r.to - r.from < 1 && r.from - now->to < 1 &&
	    (!now->span || now->to - now->from < 1)) {
		now->to = r.to > now->to ? r.to : now->to;
		now->span = NULL;
		return;
	}
	vec_push(to, r);
}

static void put_run(struct picture *p, const struct run *r)
{
	double width = r->to - r->from;
	struct buf title = {0};
	if (r->span && width >= 3) {
		const char *where = timeline_where(p->t, r->span->op);
		buf_printf(&title, "%s%s%s%s", r->kind == TIMELINE_WAIT ? "exposed: " : "",
		           timeline_label(p->t, r->span->op), *where ? "\n" : "", where);
		buf_printf(&title, "\n%.3f %s at %.3f %s", (double)(r->span->end - r->span->begin) / p->ns,
		           p->unit, (double)r->span->begin / p->ns, p->unit);
	}
	svg_rect(&p->svg, looks[r->kind], r->from, p->y, width < 0.5 ? 0.5 : width, LANE - 3, title.at);
	buf_free(&title);
}

static void put_label(struct picture *p, const struct timeline_span *s, double from, double to)
{
	if (s && to - from >= LABEL)
		svg_text(&p->svg, "", from + 3, p->y + LANE - 8, SVG_START, SVG_SMALL, to - from - 6,
		         timeline_label(p->t, s->op));
}

/* Puts a label in the widest part of a span that no other run covers, from run *first on. */
static void put_label_beside(struct picture *p, const struct run *r, const runs *over, uint32_t *first)
{
	double from = r->from, best = 0, best_from = 0;
	while (*first < over->n && over->at[*first].to <= r->from)
		++*first;
	for (uint32_t k = *first; from < r->to; k++) {
		bool any = k < over->n && over->at[k].from < r->to;
		double to = any ? over->at[k].from : r->to;
		if (to - from > best) {
			best = to - from;
			best_from = from;
		}
		from = any ? over->at[k].to : r->to;
	}
	put_label(p, r->span, best_from, best_from + best);
}

/* Finds the parts of a lane's spans that are exposed. */
static void find_exposed(struct picture *p, const struct timeline_class *c, uint32_t lane, runs *out)
{
	uint32_t *of_lane = mem_alloc(sizeof *of_lane * ((size_t)c->span.n + 1)), n = 0;
	for (uint32_t k = 0; k < c->span.n; k++)
		if (c->span.at[k].lane == lane && c->span.at[k].kind != TIMELINE_WAIT &&
		    c->span.at[k].end > c->span.at[k].begin)
			of_lane[n++] = k;
	for (uint32_t k = 0, first = 0; k < c->span.n; k++) {
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
				add_run(p, out, x, from, to, TIMELINE_WAIT);
		}
	}
	free(of_lane);
}

static int by_from(const void *a, const void *b)
{
	const struct run *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Makes runs ascending and disjoint: several messages in flight may be exposed at once. */
static void flatten(runs *r)
{
	uint32_t n = 0;
	if (r->n)
		qsort(r->at, r->n, sizeof *r->at, by_from);
	for (uint32_t k = 0; k < r->n; k++)
		if (n && r->at[k].from < r->at[n - 1].to) {
			r->at[n - 1].span = r->at[n - 1].span == r->at[k].span ? r->at[k].span : NULL;
			r->at[n - 1].to = r->at[k].to > r->at[n - 1].to ? r->at[k].to : r->at[n - 1].to;
		} else {
			r->at[n++] = r->at[k];
		}
	r->n = n;
}

static void put_lane(struct picture *p, const struct timeline_class *c, uint32_t lane)
{
	runs below = {0}, above = {0}, labelled = {0};
	svg_text(&p->svg, "dim", LEFT - 8, p->y + LANE - 8, SVG_END, SVG_SMALL, LEFT - 20,
	         c->lane.at[lane].name);
	svg_rect(&p->svg, "lane", LEFT, p->y, WIDTH, LANE - 3, NULL);
	for (uint32_t k = 0; k < c->span.n; k++) {
		const struct timeline_span *s = &c->span.at[k];
		if (s->lane == lane && s->end > s->begin)
			add_run(p, &below, s, s->begin, s->end, s->kind);
	}
	find_exposed(p, c, lane, &above);
	flatten(&above);
	for (uint32_t k = 0; k < below.n; k++)
		put_run(p, &below.at[k]);
	for (uint32_t k = 0; k < above.n; k++)
		put_run(p, &above.at[k]);
	for (uint32_t k = 0; k < below.n; k++)
		vec_push(&labelled, below.at[k]);
	flatten(&labelled); /* several messages at once have no label */
	for (uint32_t k = 0, first = 0; k < labelled.n; k++)
		put_label_beside(p, &labelled.at[k], &above, &first);
	for (uint32_t k = 0; k < above.n; k++)
		put_label(p, above.at[k].span, above.at[k].from, above.at[k].to);
	vec_free(&below);
	vec_free(&above);
	vec_free(&labelled);
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
	double top = shown && limit > most ? (double)limit : (double)most, room = MEMORY - 16;
	double bottom = p->y + MEMORY;
	int64_t high[WIDTH + 1] = {0};
	struct buf text = {0};
	for (uint32_t k = 0; k < c->memory.n; k++) {
		int64_t end = k + 1 < c->memory.n ? c->memory.at[k + 1].at : p->t->runtime;
		int from = (int)(x_of(p, c->memory.at[k].at) - LEFT), to = (int)(x_of(p, end) - LEFT);
		for (int i = from; i <= to && i <= WIDTH; i++)
			if (i >= 0 && high[i] < c->memory.at[k].bytes)
				high[i] = c->memory.at[k].bytes;
	}
	svg_text(&p->svg, "dim", LEFT - 8, bottom - 6, SVG_END, SVG_SMALL, LEFT - 20, "memory");
	buf_puts(&text, "live ");
	put_bytes(&text, c->live);
	svg_text(&p->svg, "dim", LEFT - 8, bottom - 20, SVG_END, SVG_SMALL, LEFT - 20, text.at);
	text.n = 0;
	buf_printf(&text, "M%d %.1f", LEFT, bottom);
	for (int i = 0; i <= WIDTH; i++)
		if (!i || high[i] != high[i - 1])
			buf_printf(&text, "H%dV%.1f", LEFT + i, bottom - (double)high[i] / top * room);
	buf_printf(&text, "H%dV%.1fZ", LEFT + WIDTH, bottom);
	svg_path(&p->svg, "live", text.at, LEFT + WIDTH, bottom);
	if (shown) {
		double y = bottom - (double)limit / top * room;
		text.n = 0;
		buf_puts(&text, "limit ");
		put_bytes(&text, limit);
		svg_line(&p->svg, "limit", LEFT, y, LEFT + WIDTH, y);
		svg_text(&p->svg, "alarm", LEFT + 4, y - 3, SVG_START, SVG_SMALL, WIDTH, text.at);
	}
	buf_free(&text);
	p->y = bottom + GAP;
}

/* ---- the whole */

/* Returns a distance of ticks, 1, 2 or 5 times a power of ten, that gives about ten. */
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
	for (int64_t at = 0; at <= p->t->runtime; at += tick) {
		char text[STR_INT + 4];
		snprintf(text, sizeof text, "%lld %s", (long long)(at / one), unit);
		svg_line(&p->svg, "grid", x_of(p, at), p->y - 2, x_of(p, at), p->y + 4);
		svg_text(&p->svg, "dim", x_of(p, at), p->y + 18, SVG_MIDDLE, SVG_SMALL, 90, text);
	}
}

static void put_head(struct picture *p)
{
	static const struct {
		const char *look, *text;
	} legend[] = {{"k0", "work"},
	              {"k2", "collective"},
	              {"k4", "message"},
	              {"exposed", "exposed"},
	              {"live", "memory"}};
	const struct timeline *t = p->t;
	struct buf text = {0};
	double x = LEFT;
	buf_printf(&text, "%s: step time %.3f %s", names_text(t->m->names, t->m->name),
	           (double)t->runtime / p->ns, p->unit);
	svg_text(&p->svg, "bold", LEFT, 26, SVG_START, SVG_HEAD, WIDTH, text.at);
	if (t->binding) {
		text.n = 0;
		buf_printf(&text, "no order takes less than %.3f %s, by %s", (double)t->bound.runtime / p->ns,
		           p->unit, t->binding);
		svg_text(&p->svg, "dim", LEFT, 44, SVG_START, SVG_SMALL, WIDTH, text.at);
	}
	for (unsigned k = 0; k < sizeof legend / sizeof *legend; k++, x += 104) {
		svg_rect(&p->svg, legend[k].look, x, 54, 12, 12, NULL);
		svg_text(&p->svg, "", x + 17, 64, SVG_START, SVG_SMALL, 84, legend[k].text);
	}
	buf_free(&text);
}

static uint32_t lanes_of(const struct timeline_class *c)
{
	return c->lane.n > MOST_LANES ? MOST_LANES : c->lane.n;
}

static void put_class(struct picture *p, const struct timeline_class *c)
{
	struct buf text = {0};
	buf_printf(&text, "%s: exposed %.3f %s", c->name, (double)c->exposed / p->ns, p->unit);
	if (lanes_of(c) < c->lane.n)
		buf_printf(&text, "; %u more lanes", c->lane.n - lanes_of(c));
	svg_text(&p->svg, "", LEFT, p->y + 13, SVG_START, SVG_TEXT, WIDTH, text.at);
	p->y += 20;
	for (uint32_t k = 0; k < lanes_of(c); k++)
		put_lane(p, c, k);
	if (c->memory.n)
		put_memory(p, c);
	buf_free(&text);
}

void timeline_svg(struct timeline *t, struct buf *out)
{
	bool small = t->runtime < 10000000;
	struct picture p = {.t = t, .y = HEAD, .unit = small ? "us" : "ms", .ns = small ? 1e3 : 1e6};
	uint32_t n = t->class.n > MOST_CLASSES ? MOST_CLASSES : t->class.n;
	p.scale = t->runtime ? (double)WIDTH / (double)t->runtime : 0;
	put_head(&p);
	for (uint32_t k = 0; k < n; k++)
		put_class(&p, &t->class.at[k]);
	if (n < t->class.n) {
		char text[64];
		snprintf(text, sizeof text, "and %u more classes of ranks", t->class.n - n);
		svg_text(&p.svg, "", LEFT, p.y + 14, SVG_START, SVG_TEXT, WIDTH, text);
		p.y += 22;
	}
	put_axis(&p);
	svg_finish(&p.svg, names_text(t->m->names, t->m->name), out);
}
