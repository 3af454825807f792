/* svg: writes pictures of rectangles, lines and labels. A picture is as large as its contents.
 *
 *     struct svg s = {0};
 *     svg_rect(&s, "k2", 10, 10, 90, 24, "all of it");
 *     svg_text(&s, "", 14, 26, SVG_START, SVG_SMALL, 82, "shortened where it does not fit");
 *     svg_finish(&s, "what it shows", &out);
 *
 * Lengths are in pixels from the left and the top. Classes are those of the style sheets light.css and
 * dark.css. All characters of the font have one width, SVG_ADVANCE of its size, so that the length of a text
 * is known without measuring. Width and height of the picture follow from its contents. */
#ifndef HIRC_DRAW_SVG_H
#define HIRC_DRAW_SVG_H
#include "base/str.h"

#define SVG_ADVANCE 0.61

enum { SVG_SMALL = 11, SVG_TEXT = 12, SVG_HEAD = 15, SVG_MARGIN = 12, SVG_COLOURS = 8 };
enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

struct svg {
	struct buf body;
	double width, height; /* of the picture so far */
};

/* title: text shown when the pointer is on the rectangle; NULL: none. */
void svg_rect(struct svg *s, const char *class, double x, double y, double width, double height,
              const char *title);
/* Draws a rectangle with an opacity from 0 to 1. */
void svg_shade(struct svg *s, const char *class, double x, double y, double width, double height,
               double opacity, const char *title);
void svg_line(struct svg *s, const char *class, double x, double y, double to_x, double to_y);
/* Draws a curve with an arrowhead. It leaves the one point and reaches the other going down. */
void svg_arrow(struct svg *s, const char *class, double x, double y, double to_x, double to_y,
               const char *title);
/* Draws an outline. d: the attribute d of a path, which must lie inside the stated box. */
void svg_path(struct svg *s, const char *class, const char *d, double right, double bottom);
/* Draws one line of text with its baseline at y. A text wider than room ends in … and has the whole text as
 * its title. Returns its width; 0: not one character fits, and nothing is drawn. */
double svg_text(struct svg *s, const char *class, double x, double y, enum svg_anchor anchor, double size,
                double room, const char *text);
/* Returns the width of a text. Characters that take two columns of a terminal count as two. */
double svg_width(const char *text, double size);
/* Returns the class of one of SVG_COLOURS colours. */
const char *svg_colour(int64_t k);
/* Puts n bytes of text, ending with a whole character: special characters of XML are escaped, invalid ones
 * replaced. */
void svg_put_text(struct buf *out, const char *text, size_t n);
/* Ends the picture, and frees its memory. */
void svg_finish(struct svg *s, const char *title, struct buf *out);

/* Puts a finished picture into a page, without its style sheet, which the page has once. */
void svg_put_inside(const struct buf *picture, struct buf *out);
/* Returns one of the two style sheets. */
const char *svg_style(bool is_dark);

#endif
