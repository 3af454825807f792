/* html: functions that write all parts of a report. */
#ifndef HIRC_REPORT_HTML_H
#define HIRC_REPORT_HTML_H
#include "base/str.h"
#include <stdint.h>

/* Puts text, with the special characters of HTML escaped. */
void html_put(struct buf *out, const char *text);
void html_printf(struct buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Puts "12.345 us" or "1.500 KiB". */
void html_put_time(struct buf *out, int64_t ns);
void html_put_bytes(struct buf *out, int64_t bytes);
/* Puts a part of a whole as "12.5 %". */
void html_put_percent(struct buf *out, int64_t part, int64_t whole);
/* Puts the beginning of a page, with its style sheet. End it with html_end. */
void html_begin(struct buf *out, const char *title);
void html_end(struct buf *out);
/* Puts the heading of a section. End the section with `</section>`. */
void html_section(struct buf *out, const char *id, const char *title);
/* Puts a sentence in a lighter colour. */
void html_note(struct buf *out, const char *text);
/* Puts a finished SVG in a box that scrolls. Frees the picture. */
void html_figure(struct buf *out, struct buf *picture);

#endif
