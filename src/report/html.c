/* html: the page around a report. It is text, a style sheet and pictures, light or dark as the reader's
 * system is; it fetches nothing and runs nothing. Content wider than the window scrolls in its own box or is
 * broken into lines, so that the page never scrolls sideways. */
#include "report/html.h"
#include "base/arena.h"
#include "draw/svg.h"
#include "report/embedded.h"
#include "sim/timeline.h"
#include <stdlib.h>
#include <string.h>

/* The place of the sections in page.html. */
static const char sections[] = "{sections}\n";

void html_put(struct buf *out, const char *text)
{
	svg_put_text(out, text, strlen(text));
}

void html_printf(struct buf *out, const char *format, ...)
{
	struct buf text = {0};
	va_list args;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	svg_put_text(out, text.at, text.n);
	buf_free(&text);
}

void html_put_time(struct buf *out, int64_t ns)
{
	bool small = ns < 10000000;
	buf_printf(out, "%.3f %s", (double)ns / (small ? 1e3 : 1e6), small ? "us" : "ms");
}

void html_put_bytes(struct buf *out, int64_t bytes)
{
	static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double n = (double)bytes;
	unsigned k = 0;
	for (; k < 4 && n >= 1024; k++)
		n /= 1024;
	buf_printf(out, k ? "%.3f %s" : "%.0f %s", n, unit[k]);
}

void html_put_percent(struct buf *out, int64_t part, int64_t whole)
{
	buf_printf(out, "%.1f %%", timeline_percent(part, whole));
}

void html_begin(struct buf *out, const char *title)
{
	const char *rest = buf_put_until(out, report_page_html, "{title}");
	html_put(out, title);
	rest = buf_put_until(out, rest, "{style}");
	buf_printf(out, "%s\n@media screen and (prefers-color-scheme:dark){%s}\n%s\n",
	           report_colours_light_css, report_colours_dark_css, report_page_css);
	buf_printf(out, "%s\n@media screen and (prefers-color-scheme:dark){%s}", svg_style(false),
	           svg_style(true));
	buf_put_until(out, rest, sections);
}

void html_end(struct buf *out)
{
	buf_puts(out, strstr(report_page_html, sections) + strlen(sections));
}

void html_section(struct buf *out, const char *id, const char *title)
{
	buf_printf(out, "<section id=\"%s\">\n<h2>", id);
	html_put(out, title);
	buf_puts(out, "</h2>\n");
}

void html_note(struct buf *out, const char *text)
{
	buf_puts(out, "<p class=\"note\">");
	html_put(out, text);
	buf_puts(out, "</p>\n");
}

void html_figure(struct buf *out, struct buf *picture)
{
	buf_puts(out, "<figure>");
	svg_put_inside(picture, out);
	buf_puts(out, "</figure>\n");
	buf_free(picture);
}
