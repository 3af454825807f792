/* lookalike: characters that editors, slides and chats insert in place of plain ones.
 *
 *     8 − 1    U+2212 looks like `-`
 *     f(х)     U+0445, a Cyrillic letter, looks like `x` */
#ifndef HIRC_PARSE_LOOKALIKE_H
#define HIRC_PARSE_LOOKALIKE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOOKALIKE_BYTES = 4 };

/* Finds the plain character for one that looks like it, or a blank for one that is invisible or looks blank.
 * Returns false if it looks like no character of the language. */
bool lookalike(uint32_t code, char plain[LOOKALIKE_BYTES]);
/* Returns the code of a UTF-8 character of n bytes; 0: it is invalid. */
uint32_t lookalike_code(const unsigned char *at, size_t n);

#endif
