/* timelines: the predicted timeline and, if there is a trace, the measured one. */
#include "report/html.h"
#include "report/parts.h"

enum { CLASSES = 4 };

static void put_picture(struct report *r, struct timeline *t, const char *options, struct buf *out)
{
	struct buf drawn = {0};
	timeline_svg(t, &drawn);
	report_put_picture(&drawn, REPORT_TIMELINE, report_command(r, "show", options), out);
}

static void put_figures(struct timeline *t, struct buf *out)
{
	struct buf text = {0};
	timeline_print(t, &(struct timeline_print){.classes = CLASSES}, &text);
	buf_puts(out, "<details><summary>Figures</summary>\n<div class=\"box\"><pre>");
	html_put(out, text.at);
	buf_puts(out, "</pre></div></details>\n");
	buf_free(&text);
}

const struct timeline_class *report_most_exposed(const struct timeline *t)
{
	const struct timeline_class *found = NULL;
	for (uint32_t k = 0; k < t->class.n; k++)
		if (!found || t->class.at[k].exposed > found->exposed)
			found = &t->class.at[k];
	return found;
}

static void put_row(const char *what, int64_t predicted, int64_t measured, struct buf *out)
{
	buf_printf(out, "<tr><td>%s</td><td class=\"num\">", what);
	html_put_time(out, predicted);
	buf_puts(out, "</td><td class=\"num\">");
	html_put_time(out, measured);
	buf_puts(out, "</td><td class=\"num\">");
	if (predicted)
		buf_printf(out, "%.2f", (double)measured / (double)predicted);
	buf_puts(out, "</td></tr>\n");
}

static void put_comparison(const struct timeline *p, const struct timeline *m, struct buf *out)
{
	const struct timeline_class *a = report_most_exposed(p), *b = report_most_exposed(m);
	if (!a || !b)
		return;
	buf_puts(
	    out,
	    "<div class=\"box\"><table class=\"list\"><thead><tr><th></th><th class=\"num\">predicted</th>"
	    "<th class=\"num\">measured</th><th class=\"num\">ratio</th></tr></thead><tbody>\n");
	put_row("step", p->runtime, m->runtime, out);
	put_row("exposed communication", a->exposed, b->exposed, out);
	put_row("work", a->work, b->work, out);
	buf_puts(out, "</tbody></table></div>\n");
}

void report_timelines(struct report *r, struct buf *out)
{
	if (r->predicted && r->measured)
		put_comparison(r->predicted, r->measured, out);
	if (r->predicted) {
		buf_puts(out, "<h3>Predicted");
		if (r->predicted->machine)
			html_printf(out, ", on %s", r->predicted->machine);
		buf_puts(out, "</h3>\n");
		put_picture(r, r->predicted, "--timeline -o timeline.svg", out);
		put_figures(r->predicted, out);
	} else {
		html_note(out, arena_printf(r->arena, "Not predicted: %s.", r->unpredicted));
	}
	if (r->measured) {
		buf_puts(out, "<h3>");
		html_printf(out, "Measured, %s", r->measured_by);
		buf_puts(out, "</h3>\n");
		put_picture(r, r->measured, "--timeline --trace=TRACE.json -o timeline.svg", out);
		put_figures(r->measured, out);
	}
}
