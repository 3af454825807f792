/* word: the characters of words: ASCII letters, digits and underscores, in every locale. */
#ifndef HIRC_BASE_WORD_H
#define HIRC_BASE_WORD_H
#include <stdbool.h>

enum {
	WORD_START = 1, /* a word may begin with it */
	WORD_MORE = 2,  /* a word may contain it */
	WORD_LOWER = 4, /* a lower-case letter; keywords have only these */
};

/* The bits above that each character has. */
extern const unsigned char word_bits[256];

static inline bool word_starts_with(int c)
{
	return word_bits[(unsigned char)c] & WORD_START;
}
static inline bool word_has(int c)
{
	return word_bits[(unsigned char)c] & WORD_MORE;
}

#endif
