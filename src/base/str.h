/* str: text buffers, and interned names.
 *
 * A buf is NUL-terminated once something was put into it. A name is the 32-bit
 * id of an interned string: equal strings have equal ids, and id 0 is "". */
#ifndef HIRC_BASE_STR_H
#define HIRC_BASE_STR_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct buf {
	char *at; /* NUL-terminated, owned */
	size_t n, cap;
	FILE *file; /* not owned; buf_drain writes the text to it; NULL: all text stays in memory */
	int error;  /* errno of the first write to file that failed; 0: none */
};

enum {
	BUF_DRAIN = 64 << 10, /* bytes from which on buf_drain writes */
	STR_INT = 20,         /* digits of an int64_t with its sign */
};

/* Reserves room for `more` bytes and a NUL, and returns its start. */
char *buf_reserve(struct buf *b, size_t more);
void buf_puti(struct buf *b, int64_t i); /* decimal, fast */
void buf_pad(struct buf *b, char c, unsigned count);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list args);
/* Puts the text up to the mark, and returns the text after it. The text must contain the mark. */
const char *buf_put_until(struct buf *b, const char *text, const char *mark);
void buf_free(struct buf *b);
/* Writes the text to its file. */
void buf_send(struct buf *b);
/* Writes the text to its file if it has grown large, and empties the buf. Call it between two lines. */
static inline void buf_drain(struct buf *b)
{
	if (b->n >= BUF_DRAIN && b->file)
		buf_send(b);
}

static inline void buf_putn(struct buf *b, const char *s, size_t n)
{
	char *to = b->cap - b->n > n ? b->at + b->n : buf_reserve(b, n);
	if (n)
		memcpy(to, s, n);
	to[n] = '\0';
	b->n += n;
}

static inline void buf_putc(struct buf *b, char c)
{
	buf_putn(b, &c, 1);
}

static inline void buf_puts(struct buf *b, const char *s)
{
	buf_putn(b, s, strlen(s));
}

/* Writes decimal digits to `to`, which has room for STR_INT bytes, and returns their end. */
char *str_put_int(char *to, int64_t i);
unsigned str_count_digits(uint64_t u); /* decimal */

struct names; /* the table of interned strings */
struct names *names_new(void);
void names_free(struct names *t);
uint32_t names_intern(struct names *t, const char *s, size_t n);
uint32_t names_intern_z(struct names *t, const char *s);
const char *names_text(const struct names *t, uint32_t id); /* NUL-terminated */
/* Returns the id of s; 0: s was never interned. */
uint32_t names_find(struct names *t, const char *s, size_t n);
/* Frees the index of a large table of names. The next name that is interned or looked for may make it again, in
 * the time that interning all names took. */
void names_drop_index(struct names *t);
uint32_t names_count(const struct names *t);
/* Returns the bytes that the table uses. */
size_t names_bytes(const struct names *t);

/* Returns the edit distance of two words, at most limit + 1, for `did you mean`. */
unsigned str_distance(const char *a, const char *b, unsigned limit);
/* Parses a size as users write it: 8K, 32M, 8G (powers of 1024). False: s is no size, or overflows. */
bool str_parse_size(const char *s, int64_t *out);

#endif
