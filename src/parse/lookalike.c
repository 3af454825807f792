/* lookalike: see lookalike.h. The pairs come from Unicode's list of confusable characters (UTS #39), plus
 * signs of mathematics that the language writes with two characters. */
#include "parse/lookalike.h"
#include <string.h>

/* Ranges of codes with one replacement. */
static const struct {
	uint32_t from, to;
	char plain[LOOKALIKE_BYTES];
} sign[] = {
    {0x00a0, 0x00a0, " "},  {0x00ab, 0x00ab, "\""}, {0x00ad, 0x00ad, " "},   {0x00b7, 0x00b7, "*"},
    {0x00bb, 0x00bb, "\""}, {0x00d7, 0x00d7, "*"},  {0x00f7, 0x00f7, "/"},   {0x037e, 0x037e, ";"},
    {0x2000, 0x200f, " "},  {0x2010, 0x2015, "-"},  {0x2018, 0x201b, "`"},   {0x201c, 0x201f, "\""},
    {0x2025, 0x2026, ".."}, {0x202a, 0x202f, " "},  {0x2044, 0x2044, "/"},   {0x205f, 0x2064, " "},
    {0x2190, 0x2190, "<-"}, {0x2192, 0x2192, "->"}, {0x2208, 0x2208, "in"},  {0x2212, 0x2212, "-"},
    {0x2215, 0x2215, "/"},  {0x2217, 0x2217, "*"},  {0x2227, 0x2227, "and"}, {0x2228, 0x2228, "or"},
    {0x2236, 0x2236, ":"},  {0x2260, 0x2260, "!="}, {0x2264, 0x2264, "<="},  {0x2265, 0x2265, ">="},
    {0x22c5, 0x22c5, "*"},  {0x27f5, 0x27f5, "<-"}, {0x27f6, 0x27f6, "->"},  {0x3000, 0x3000, " "},
    {0xa78a, 0xa78a, "="},  {0xfeff, 0xfeff, " "},
};

/* Greek and Cyrillic letters, and in the same order the Latin letters that they look like. */
static const uint16_t letter[] = {
    0x0391, 0x0392, 0x0395, 0x0396, 0x0397, 0x0399, 0x039a, 0x039c, 0x039d, 0x039f, 0x03a1,
    0x03a4, 0x03a5, 0x03a7, 0x03b1, 0x03b9, 0x03bd, 0x03bf, 0x03c1, 0x0405, 0x0406, 0x0408,
    0x0410, 0x0412, 0x0415, 0x041a, 0x041c, 0x041d, 0x041e, 0x0420, 0x0421, 0x0422, 0x0425,
    0x0430, 0x0435, 0x043e, 0x0440, 0x0441, 0x0443, 0x0445, 0x0455, 0x0456, 0x0458,
};
static const char letter_plain[] = "ABEZHIKMNOP"
                                   "TYXaivopSIJ"
                                   "ABEKMHOPCTX"
                                   "aeopcyxsij";
_Static_assert(sizeof letter / sizeof *letter == sizeof letter_plain - 1, "one for each");

/* The full-width forms of `!` to `~`. */
enum { WIDE_FROM = 0xff01, WIDE_TO = 0xff5e };

bool lookalike(uint32_t code, char plain[LOOKALIKE_BYTES])
{
	memset(plain, 0, LOOKALIKE_BYTES);
	if (code >= WIDE_FROM && code <= WIDE_TO) {
		plain[0] = (char)(code - WIDE_FROM + '!');
		return true;
	}
	for (size_t k = 0; k < sizeof sign / sizeof *sign; k++)
		if (code >= sign[k].from && code <= sign[k].to) {
			memcpy(plain, sign[k].plain, LOOKALIKE_BYTES);
			return true;
		}
	for (size_t k = 0; k < sizeof letter / sizeof *letter; k++)
		if (code == letter[k]) {
			plain[0] = letter_plain[k];
			return true;
		}
	return false;
}

uint32_t lookalike_code(const unsigned char *at, size_t n)
{
	if (n < 2 || n > 4)
		return n == 1 && *at < 0x80 ? *at : 0;
	uint32_t code = *at & (0x7fu >> n);
	for (size_t k = 1; k < n; k++)
		code = code << 6 | (at[k] & 0x3fu);
	return code;
}
