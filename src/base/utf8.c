/* utf8: see utf8.h. */
#include "base/utf8.h"
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

unsigned utf8_length(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	if (s[0] < 0x80)
		return 1;
	unsigned length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4 || length > n)
		return 0;
	for (unsigned i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) /* overlong, surrogates */
		return 0;
	if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) /* overlong, > U+10FFFF */
		return 0;
	return length;
}

enum { ASCII_BLOCK = 32 };

/* Returns true if the next ASCII_BLOCK bytes are ASCII, the usual case. */
static bool is_ascii(const char *text)
{
	uint64_t w[ASCII_BLOCK / 8], all = 0;
	memcpy(w, text, sizeof w);
	for (unsigned k = 0; k < ASCII_BLOCK / 8; k++)
		all |= w[k];
	return (all & 0x8080808080808080u) == 0;
}

size_t utf8_end(const char *text, size_t size)
{
	size_t i = 0;
	while (i < size) {
		while (size - i >= ASCII_BLOCK && is_ascii(text + i))
			i += ASCII_BLOCK;
		if (i == size)
			break;
		unsigned length = utf8_length(text + i, size - i);
		if (!length)
			return i;
		i += length;
	}
	return size;
}
