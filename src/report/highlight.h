/* highlight: lines of a program as HTML, coloured by the kind of each word. */
#ifndef HIRC_REPORT_HIGHLIGHT_H
#define HIRC_REPORT_HIGHLIGHT_H
#include "base/str.h"

/* Puts one line, without its end. The text from byte mark to mark_end is marked; both 0: nothing is. nvfuser:
 * the surface. */
void highlight_put(struct buf *out, const char *line, uint32_t n, bool nvfuser, uint32_t mark,
                   uint32_t mark_end);

#endif
