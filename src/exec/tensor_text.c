/* tensor_text: see tensor_text.h. */
#include "exec/tensor_text.h"
#include "base/escape.h"
#include "rt/convert.h"
#include <math.h>
#include <stdlib.h>

enum { MOST_DIGITS = 17, MOST_TEXT = 48 };
enum { LEAST_EXPONENT = -4, MOST_EXPONENT = 9 }; /* of numbers that are written without one */

/* Returns true if a text is read back as the element. */
static bool reads_back(enum dtype t, const char *text, double x)
{
	uint64_t element = 0;
	rt_store_f64(t, &element, strtod(text, NULL));
	return rt_load_f64(t, &element) == x;
}

static void write_float(enum dtype t, double x, char *text)
{
	int digits = 1;
	if (!isfinite(x)) {
		snprintf(text, MOST_TEXT, "%s%s", !isnan(x) && x < 0 ? "-" : "", isnan(x) ? "nan" : "inf");
		return;
	}
	do
		snprintf(text, MOST_TEXT, "%.*e", digits - 1, x);
	while (!reads_back(t, text, x) && digits++ < MOST_DIGITS);
	int exponent = atoi(strchr(text, 'e') + 1);
	if (exponent >= LEAST_EXPONENT && exponent < MOST_EXPONENT)
		snprintf(text, MOST_TEXT, "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 1, x);
}

static void write_element(enum dtype t, const void *at, char *text)
{
	if (dtype_is_float(t))
		write_float(t, rt_load_f64(t, at), text);
	else if (t == DTYPE_BOOL)
		snprintf(text, MOST_TEXT, "%s", rt_load_i64(t, at) ? "true" : "false");
	else
		snprintf(text, MOST_TEXT, "%lld", (long long)rt_load_i64(t, at));
}

void tensor_text_put_head(struct buf *out, const char *name, enum dtype t, unsigned rank,
                          const int64_t *extent)
{
	escape_put(out, name, strlen(name));
	buf_printf(out, ": %s[", dtype_name(t));
	for (unsigned a = 0; a < rank; a++)
		buf_printf(out, "%s%lld", a ? ", " : "", (long long)extent[a]);
	buf_puts(out, "]\n");
}

/* Returns how many of the last axes begin, or end, at element k: `[` or `]` each. */
static unsigned count_brackets(unsigned rank, const int64_t *extent, int64_t k)
{
	unsigned n = 0;
	while (n < rank && k % extent[rank - 1 - n] == 0)
		k /= extent[rank - 1 - n++];
	return n;
}

/* Puts the text between two elements, of which the latter begins n axes anew. */
static void put_between(struct buf *out, unsigned rank, unsigned n)
{
	buf_pad(out, ']', n);
	buf_puts(out, n ? "," : ", ");
	if (!n)
		return;
	buf_pad(out, '\n', n > 1 ? 2 : 1); /* planes stand apart */
	buf_pad(out, ' ', 2 + rank - n);
	buf_pad(out, '[', n);
}

void tensor_text_put_elements(struct buf *out, enum dtype t, unsigned rank, const int64_t *extent,
                              const void *memory)
{
	char text[MOST_TEXT];
	const char *at = memory;
	const size_t size = dtype_bytes(t);
	int64_t n = 1;
	size_t widest = 0;
	for (unsigned a = 0; a < rank; a++)
		n *= extent[a];
	for (int64_t k = 0; k < n && rank; k++) {
		write_element(t, at + (size_t)k * size, text);
		widest = strlen(text) > widest ? strlen(text) : widest;
	}
	buf_puts(out, "  ");
	buf_pad(out, '[', n ? rank : rank > 0);
	for (int64_t k = 0; k < n; k++) {
		write_element(t, at + (size_t)k * size, text);
		if (k)
			put_between(out, rank, count_brackets(rank, extent, k));
		buf_pad(out, ' ', (unsigned)(widest > strlen(text) ? widest - strlen(text) : 0));
		buf_puts(out, text);
		buf_drain(out);
	}
	buf_pad(out, ']', n ? rank : rank > 0);
	buf_putc(out, '\n');
}
