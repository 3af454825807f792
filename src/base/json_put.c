/* json_put: see json_put.h. */
#include "base/json_put.h"
#include "base/escape.h"
#include "base/source.h"
#include "base/utf8.h"

/* Returns the number of bytes at the beginning that stand in JSON as they are: ASCII, the usual case. */
static size_t count_plain(const char *text)
{
	size_t n = 0;
	while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

void json_put_string(struct buf *out, const char *text)
{
	if (!text) {
		buf_puts(out, "null");
		return;
	}
	buf_putc(out, '"');
	for (const char *end = text + strlen(text); text < end;) {
		size_t plain = count_plain(text), left = (size_t)(end - text) - plain;
		buf_putn(out, text, plain);
		text += plain;
		if (!left)
			break;
		unsigned char c = (unsigned char)*text;
		unsigned n = utf8_length(text, left);
		uint32_t code;
		if (!n)
			buf_puts(out, "\xef\xbf\xbd"); /* invalid UTF-8, which JSON does not allow */
		else if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n')
			buf_puts(out, "\\n");
		else if (c == '\t')
			buf_puts(out, "\\t");
		else if ((code = escape_find(text, left, &n)) != 0)
			buf_printf(out, "\\u%04x", (unsigned)code);
		else
			buf_putn(out, text, n);
		text += n ? n : 1;
	}
	buf_putc(out, '"');
}

void json_put_text(struct buf *out, const char *key, const char *text)
{
	buf_printf(out, "\"%s\": ", key);
	json_put_string(out, text);
}

void json_put_more(struct buf *out, const char *key, const char *text)
{
	buf_puts(out, ", ");
	json_put_text(out, key, text);
}

void json_put_start(struct buf *out, int version, const char *command)
{
	buf_printf(out, "{\"version\": %d, ", version);
	json_put_text(out, "command", command);
}

void json_put_int(struct buf *out, const char *key, int64_t n)
{
	buf_printf(out, ", \"%s\": %lld", key, (long long)n);
}
