/* escape: see escape.h. */
#include "base/escape.h"

static const struct {
	uint32_t from, to;
} hidden[] = {
    {0x01, 0x08},     {0x0b, 0x1f},     {0x7f, 0x9f},     {0x61c, 0x61c},
    {0x200e, 0x200f}, {0x202a, 0x202e}, {0x2066, 0x2069},
};

/* Decodes a sequence of up to three bytes, as all characters above take. Returns 0 for another one. */
static uint32_t decode(const unsigned char *at, size_t n, unsigned *bytes)
{
	*bytes = at[0] < 0x80 ? 1 : (at[0] & 0xe0) == 0xc0 ? 2 : (at[0] & 0xf0) == 0xe0 ? 3 : 0;
	if (!*bytes || *bytes > n)
		return 0;
	uint32_t code = *bytes == 1 ? at[0] : at[0] & (0xffu >> (*bytes + 1));
	for (unsigned k = 1; k < *bytes; k++)
		code = (at[k] & 0xc0) == 0x80 ? code << 6 | (at[k] & 0x3f) : 0;
	return code;
}

uint32_t escape_find(const char *text, size_t n, unsigned *bytes)
{
	unsigned length;
	uint32_t code = n ? decode((const unsigned char *)text, n, &length) : 0;
	for (size_t k = 0; code && k < sizeof hidden / sizeof *hidden; k++)
		if (code >= hidden[k].from && code <= hidden[k].to) {
			*bytes = length;
			return code;
		}
	return 0;
}

unsigned escape_put_character(struct buf *out, const char *text, size_t n, unsigned *columns)
{
	unsigned bytes;
	size_t before = out->n;
	uint32_t code = escape_find(text, n, &bytes);
	if (!code) {
		buf_putc(out, *text);
		*columns = ((unsigned char)*text & 0xc0) != 0x80;
		return 1;
	}
	buf_printf(out, code < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)code);
	*columns = (unsigned)(out->n - before);
	return bytes;
}

void escape_put(struct buf *out, const char *text, size_t n)
{
	unsigned columns;
	for (size_t at = 0; at < n;)
		at += escape_put_character(out, text + at, n - at, &columns);
}
