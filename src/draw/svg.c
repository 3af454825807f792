/* svg: see svg.h. */
#include "draw/svg.h"
#include "base/escape.h"
#include "base/source.h"
#include "base/utf8.h"
#include "draw/embedded.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char style_open[] = "<style>", style_close[] = "</style>\n";

static void extend_picture(struct svg *s, double right, double bottom)
{
	s->width = right > s->width ? right : s->width;
	s->height = bottom > s->height ? bottom : s->height;
}

/* Puts a length with at most one decimal. */
static void put_number(struct buf *out, double x)
{
	long long tenths = llround(x * 10);
	buf_printf(out, "%s%lld", tenths < 0 ? "-" : "", llabs(tenths) / 10);
	if (tenths % 10)
		buf_printf(out, ".%lld", llabs(tenths) % 10);
}

static void put_attribute(struct svg *s, const char *name, double x)
{
	buf_printf(&s->body, " %s=\"", name);
	put_number(&s->body, x);
	buf_putc(&s->body, '"');
}

/* Puts one character: a blank for a character that XML does not allow, U+FFFD for a byte that is not UTF-8, and
 * as text a character that changes the order of others. Returns its bytes. */
static size_t put_character(struct buf *out, const char *text, size_t n)
{
	size_t length = utf8_length(text, n);
	if (!length) {
		buf_puts(out, "\xef\xbf\xbd");
		return 1;
	}
	unsigned bytes, columns;
	if ((unsigned char)*text < ' ' && *text != '\n')
		buf_putc(out, ' ');
	else if (escape_find(text, n, &bytes))
		return escape_put_character(out, text, n, &columns);
	else
		buf_putn(out, text, length);
	return length;
}

void svg_put_text(struct buf *out, const char *text, size_t n)
{
	for (size_t k = 0; k < n; k++)
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
			k += put_character(out, text + k, n - k) - 1;
		}
}

static void put_title(struct svg *s, const char *title)
{
	buf_puts(&s->body, "<title>");
	svg_put_text(&s->body, title, strlen(title));
	buf_puts(&s->body, "</title>");
}

void svg_rect(struct svg *s, const char *class, double x, double y, double width, double height,
              const char *title)
{
	svg_shade(s, class, x, y, width, height, 1, title);
}

void svg_shade(struct svg *s, const char *class, double x, double y, double width, double height,
               double opacity, const char *title)
{
	buf_printf(&s->body, "<rect class=\"%s\"", class);
	put_attribute(s, "x", x);
	put_attribute(s, "y", y);
	put_attribute(s, "width", width);
	put_attribute(s, "height", height);
	if (opacity < 1)
		buf_printf(&s->body, " fill-opacity=\"%.2f\"", opacity);
	if (title) {
		buf_putc(&s->body, '>');
		put_title(s, title);
		buf_puts(&s->body, "</rect>\n");
	} else {
		buf_puts(&s->body, "/>\n");
	}
	extend_picture(s, x + width, y + height);
}

void svg_line(struct svg *s, const char *class, double x, double y, double to_x, double to_y)
{
	buf_printf(&s->body, "<line class=\"%s\"", class);
	put_attribute(s, "x1", x);
	put_attribute(s, "y1", y);
	put_attribute(s, "x2", to_x);
	put_attribute(s, "y2", to_y);
	buf_puts(&s->body, "/>\n");
	extend_picture(s, x > to_x ? x : to_x, y > to_y ? y : to_y);
}

void svg_path(struct svg *s, const char *class, const char *d, double right, double bottom)
{
	buf_printf(&s->body, "<path class=\"%s\" d=\"%s\"/>\n", class, d);
	extend_picture(s, right, bottom);
}

static void put_point(struct svg *s, char letter, double x, double y)
{
	buf_putc(&s->body, letter);
	put_number(&s->body, x);
	buf_putc(&s->body, ' ');
	put_number(&s->body, y);
}

void svg_arrow(struct svg *s, const char *class, double x, double y, double to_x, double to_y,
               const char *title)
{
	double bend = (to_y - y) / 2, end = to_y - 5;
	bend = bend < 10 ? 10 : bend > 40 ? 40 : bend;
	buf_printf(&s->body, "<path class=\"%s\" d=\"", class);
	put_point(s, 'M', x, y);
	put_point(s, 'C', x, y + bend);
	put_point(s, ' ', to_x, end - bend);
	put_point(s, ' ', to_x, end);
	buf_puts(&s->body, "\"");
	if (title) {
		buf_putc(&s->body, '>');
		put_title(s, title);
		buf_puts(&s->body, "</path>\n");
	} else {
		buf_puts(&s->body, "/>\n");
	}
	buf_puts(&s->body, "<path class=\"head\" d=\"");
	put_point(s, 'M', to_x - 3, end);
	put_point(s, 'L', to_x + 3, end);
	put_point(s, 'L', to_x, to_y);
	buf_puts(&s->body, "Z\"/>\n");
	extend_picture(s, (x > to_x ? x : to_x) + 3, to_y);
}

/* Returns the columns of the character at *at, and moves *at to the next. */
static unsigned next_character(const char **at)
{
	const unsigned char *p = (const unsigned char *)*at;
	unsigned n = *p < 0x80 ? 1 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3 : 4, k = 1;
	while (k < n && (p[k] & 0xc0) == 0x80)
		k++;
	*at += k;
	/* two columns: Hangul and ideographs, and all characters beyond the first plane */
	return n == 4 || (n == 3 && *p >= 0xe3 && *p <= 0xed && k == 3) ? 2 : 1;
}

double svg_width(const char *text, double size)
{
	unsigned columns = 0;
	while (*text)
		columns += next_character(&text);
	return columns * size * SVG_ADVANCE;
}

/* Returns where a text must be cut to fit with … after it. one: the width of a column. */
static const char *shortened(const char *text, double one, double room, double *width)
{
	*width = one;
	while (*text) {
		const char *next = text;
		double more = one * next_character(&next);
		if (*width + more > room)
			break;
		*width += more;
		text = next;
	}
	return text;
}

double svg_text(struct svg *s, const char *class, double x, double y, enum svg_anchor anchor, double size,
                double room, const char *text)
{
	static const char *const name[] = {[SVG_START] = "start", [SVG_MIDDLE] = "middle", [SVG_END] = "end"};
	double width = svg_width(text, size), one = size * SVG_ADVANCE;
	bool whole = width <= room;
	const char *end = text + strlen(text);
	if (!whole)
		end = shortened(text, one, room, &width);
	if (end == text)
		return 0;
	buf_printf(&s->body, "<text%s%s%s", *class ? " class=\"" : "", class, *class ? "\"" : "");
	put_attribute(s, "x", x);
	put_attribute(s, "y", y);
	buf_printf(&s->body, " text-anchor=\"%s\"", name[anchor]);
	put_attribute(s, "font-size", size);
	buf_putc(&s->body, '>');
	svg_put_text(&s->body, text, (size_t)(end - text));
	if (!whole) {
		buf_puts(&s->body, "…");
		put_title(s, text);
	}
	buf_puts(&s->body, "</text>\n");
	extend_picture(s,
	               anchor == SVG_START    ? x + width
	               : anchor == SVG_MIDDLE ? x + width / 2
	                                      : x,
	               y + size * 0.25);
	return width;
}

const char *svg_colour(int64_t k)
{
	static const char *const name[SVG_COLOURS] = {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"};
	return name[(k % SVG_COLOURS + SVG_COLOURS) % SVG_COLOURS];
}

void svg_finish(struct svg *s, const char *title, struct buf *out)
{
	long long width = llround(ceil(s->width)) + SVG_MARGIN,
	          height = llround(ceil(s->height)) + SVG_MARGIN;
	buf_printf(
	    out,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%lld\" height=\"%lld\" viewBox=\"0 0 %lld "
	    "%lld\" style=\"max-width:100%%;height:auto\" role=\"img\">\n<title>",
	    width, height, width, height);
	svg_put_text(out, title, strlen(title));
	buf_printf(out, "</title>\n%s%s@media(prefers-color-scheme:dark){%s}%s", style_open, draw_light_css,
	           draw_dark_css, style_close);
	buf_printf(out, "<rect class=\"page\" x=\"0\" y=\"0\" width=\"%lld\" height=\"%lld\"/>\n", width,
	           height);
	buf_putn(out, s->body.at, s->body.n);
	buf_puts(out, "</svg>\n");
	buf_free(&s->body);
	*s = (struct svg){0};
}

const char *svg_style(bool is_dark)
{
	return is_dark ? draw_dark_css : draw_light_css;
}

void svg_put_inside(const struct buf *picture, struct buf *out)
{
	const char *from = strstr(picture->at, style_open), *to = strstr(from, style_close);
	buf_putn(out, picture->at, (size_t)(from - picture->at));
	buf_puts(out, to + strlen(style_close));
}
