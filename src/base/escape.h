/* escape: characters that a terminal obeys, as text. Names of a program may have any of them.
 *
 *     control characters     \x1b     tabs and ends of lines stay
 *     U+0080 to U+009F       \u009b   they are control characters, too
 *     bidirectional marks    \u202e   they change the order in which other characters are shown */
#ifndef HIRC_BASE_ESCAPE_H
#define HIRC_BASE_ESCAPE_H
#include "base/str.h"
#include <stddef.h>
#include <stdint.h>

/* Returns the code of such a character, in UTF-8, at the beginning of the text, and its bytes; 0: another one. */
uint32_t escape_find(const char *text, size_t n, unsigned *bytes);

/* Puts the first character of the text. Returns its bytes, and the columns that it takes: 0 for a byte within
 * UTF-8, which is put alone. */
unsigned escape_put_character(struct buf *out, const char *text, size_t n, unsigned *columns);
void escape_put(struct buf *out, const char *text, size_t n);

#endif
