/* highlight: lines of a program as HTML, by what each word is. */
#ifndef HIRC_REPORT_HIGHLIGHT_H
#define HIRC_REPORT_HIGHLIGHT_H
#include "base/str.h"

/* One line, without its end; what lies from byte mark to mark_end is marked (both 0: nothing). nvfuser: the
 * surface. */
void highlight_put(struct buf *out, const char *line, uint32_t n, bool nvfuser, uint32_t mark,
                   uint32_t mark_end);

#endif
