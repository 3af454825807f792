/* utf8: characters of a text in UTF-8. */
#ifndef HIRC_BASE_UTF8_H
#define HIRC_BASE_UTF8_H
#include <stddef.h>

/* Returns the bytes of the sequence at text; n > 0: the bytes up to its end. 0: invalid. */
unsigned utf8_length(const char *text, size_t n);
/* Returns the offset of the first byte that is not UTF-8; size: all bytes are. */
size_t utf8_end(const char *text, size_t size);

#endif
