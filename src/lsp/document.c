/* document: texts, edits and the map of lines. */
#include "lsp/document.h"
#include "lsp/snapshot.h"

/* Returns `file:///a%20b.hir` as `/a b.hir`; other schemes unchanged. */
static char *name_of(const char *uri)
{
	struct buf b = {0};
	bool file = !strncmp(uri, "file://", 7);
	for (const char *c = file ? uri + 7 : uri; *c; c++) {
		unsigned byte;
		char hex[3] = {*c == '%' ? c[1] : '\0', '\0', '\0'};
		hex[1] = hex[0] ? c[2] : '\0';
		if (file && strspn(hex, "0123456789abcdefABCDEF") == 2 && sscanf(hex, "%2x", &byte) == 1 &&
		    byte) {
			buf_putc(&b, (char)byte);
			c += 2;
		} else {
			buf_putc(&b, *c);
		}
	}
	buf_puts(&b, "");
	return b.at;
}

struct document *document_new(const char *uri, const char *text)
{
	struct document *x = mem_zalloc(sizeof *x);
	x->uri = mem_strdup(uri);
	x->name = name_of(uri);
	buf_puts(&x->text, text);
	x->dirty = true;
	return x;
}

static void forget_snapshot(struct document *x)
{
	snapshot_free(x->snapshot);
	x->snapshot = NULL;
	x->mapped = false;
	x->dirty = true;
}

void document_free(struct document *x)
{
	if (!x)
		return;
	forget_snapshot(x);
	buf_free(&x->text);
	vec_free(&x->line);
	free(x->uri);
	free(x->name);
	free(x);
}

void document_replace(struct document *x, uint32_t from, uint32_t to, const char *text)
{
	size_t n = strlen(text), tail = x->text.n - to;
	forget_snapshot(x);
	buf_reserve(&x->text, n);
	memmove(x->text.at + from + n, x->text.at + to, tail + 1);
	memcpy(x->text.at + from, text, n);
	x->text.n = from + n + tail;
}

/* A line ends with \n, \r\n or \r, as the protocol says. */
static void map_lines(struct document *x)
{
	if (x->mapped)
		return;
	x->line.n = 0;
	vec_push(&x->line, 0);
	for (const char *c = x->text.at, *end = c + x->text.n; c < end;) {
		c += strcspn(c, "\r\n");
		if (c >= end)
			break;
		c += *c == '\r' && c[1] == '\n' ? 2 : 1;
		vec_push(&x->line, (uint32_t)(c - x->text.at));
	}
	x->mapped = true;
}

static uint32_t line_end(const struct document *x, uint32_t line)
{
	return x->line.at[line] + (uint32_t)strcspn(x->text.at + x->line.at[line], "\r\n");
}

/* Returns the bytes of the character at c, and sets its UTF-16 code units. */
static unsigned bytes_of(const char *c, const char *end, unsigned *units)
{
	unsigned char lead = (unsigned char)*c;
	unsigned n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1, k = 1;
	while (k < n && c + k < end && ((unsigned char)c[k] & 0xc0) == 0x80)
		k++;
	*units = k == 4 ? 2 : 1;
	return k;
}

uint32_t document_offset(struct document *x, enum document_columns columns, struct position at)
{
	map_lines(x);
	if (at.line >= x->line.n)
		return (uint32_t)x->text.n;
	uint32_t from = x->line.at[at.line], end = line_end(x, at.line);
	if (columns == COLUMNS_UTF8)
		return at.character < end - from ? from + at.character : end;
	const char *c = x->text.at + from, *stop = x->text.at + end;
	for (uint32_t left = at.character; c < stop && left;) {
		unsigned units, n = bytes_of(c, stop, &units);
		if (units > left)
			break; /* inside a surrogate pair: before it */
		left -= units;
		c += n;
	}
	return (uint32_t)(c - x->text.at);
}

struct position document_position(struct document *x, enum document_columns columns, uint32_t offset)
{
	map_lines(x);
	if (offset > x->text.n)
		offset = (uint32_t)x->text.n;
	uint32_t low = 0, high = x->line.n;
	while (high - low > 1) {
		uint32_t mid = low + (high - low) / 2;
		*(x->line.at[mid] <= offset ? &low : &high) = mid;
	}
	struct position p = {.line = low};
	uint32_t end = line_end(x, low);
	offset = offset < end ? offset : end;
	if (columns == COLUMNS_UTF8) {
		p.character = offset - x->line.at[low];
		return p;
	}
	for (const char *c = x->text.at + x->line.at[low], *stop = x->text.at + offset; c < stop;) {
		unsigned units;
		c += bytes_of(c, stop, &units);
		p.character += units;
	}
	return p;
}
