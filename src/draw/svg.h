/* svg: a picture as text: rectangles, lines and labels, as large as its contents.
 *
 *     struct svg s = {0};
 *     svg_rect(&s, "k2", 10, 10, 90, 24, "all of it");
 *     svg_text(&s, "", 14, 26, SVG_START, SVG_SMALL, 82, "shortened where it does not fit");
 *     svg_finish(&s, "what it shows", &out);
 *
 * Lengths are in pixels from the left and the top. Classes are those of the style sheet in svg.c, which has a
 * light and a dark half. The font has one width, SVG_ADVANCE of its size, so that the length of a text is
 * known without measuring. Nothing lies outside: width and height follow from the contents. */
#ifndef HIRC_DRAW_SVG_H
#define HIRC_DRAW_SVG_H
#include "base/str.h"

#define SVG_ADVANCE 0.61

enum { SVG_SMALL = 11, SVG_TEXT = 12, SVG_HEAD = 15, SVG_MARGIN = 12, SVG_COLOURS = 8 };
enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

struct svg {
	struct buf body;
	double width, height; /* so far */
};

/* title: text that is shown when one points at it; NULL: none. */
void svg_rect(struct svg *s, const char *class, double x, double y, double width, double height,
              const char *title);
/* Draws a rectangle with an opacity from 0 to 1. */
void svg_shade(struct svg *s, const char *class, double x, double y, double width, double height,
               double opacity, const char *title);
void svg_line(struct svg *s, const char *class, double x, double y, double to_x, double to_y);
/* A curve from one point to another that leaves and comes in going down, with an arrow's head. */
void svg_arrow(struct svg *s, const char *class, double x, double y, double to_x, double to_y,
               const char *title);
/* An outline, in the form of the attribute d of a path; it lies within the stated box. */
void svg_path(struct svg *s, const char *class, const char *d, double right, double bottom);
/* One line of text, y its base. A text wider than room ends in …, and pointing at it shows the whole.
 * Returns its width; 0: no character fits, nothing is there. */
double svg_text(struct svg *s, const char *class, double x, double y, enum svg_anchor anchor, double size,
                double room, const char *text);
/* Widths of characters: those that a terminal gives two columns count as two. */
double svg_width(const char *text, double size);
/* The class of one of SVG_COLOURS colours. */
const char *svg_colour(int64_t k);
/* Text with the special characters of XML escaped and its invalid ones replaced: n bytes, whole characters.
 * */
void svg_put_text(struct buf *out, const char *text, size_t n);
/* Ends the picture, and frees its memory. */
void svg_finish(struct svg *s, const char *title, struct buf *out);

/* A finished picture as part of a page, which has the style sheet once: it comes without its own. */
void svg_put_inside(const struct buf *picture, struct buf *out);
/* The two halves of the style sheet. */
const char *svg_style(bool is_dark);

#endif
