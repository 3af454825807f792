/* lookalike: characters that editors, slides and chats put in the place of those that a program is written
 * in.
 *
 *     8 − 1    U+2212 looks like `-`
 *     f(х)     U+0445, a Cyrillic letter, looks like `x` */
#ifndef HIRC_PARSE_LOOKALIKE_H
#define HIRC_PARSE_LOOKALIKE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOOKALIKE_BYTES = 4 };

/* Gives the plain character to write instead of one that looks like it; a blank for one that looks blank or
 * is not seen. False: it looks like no character of the language. */
bool lookalike(uint32_t code, char plain[LOOKALIKE_BYTES]);
/* The code of a character of n bytes in UTF-8; 0: they are none. */
uint32_t lookalike_code(const unsigned char *at, size_t n);

#endif
