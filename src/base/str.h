/* str: text being built, and interned names.
 *
 * A buf is always NUL-terminated once something was put into it. A name is a
 * 32-bit id of an interned string: equal strings have equal ids, id 0 is "". */
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
	FILE *file; /* not owned: where buf_drain sends the text; NULL: nowhere, all of it stays */
	int error;  /* errno of the first write to file that failed; 0: none */
};

enum {
	BUF_DRAIN = 64 << 10, /* bytes that are worth a write */
	STR_INT = 20,         /* digits of an int64_t with its sign */
};

/* Room for `more` bytes and a NUL; where they are to be put. */
char *buf_reserve(struct buf *b, size_t more);
void buf_puti(struct buf *b, int64_t i); /* decimal, fast */
void buf_pad(struct buf *b, char c, unsigned count);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *format, va_list args);
/* Puts the text up to the mark, and returns the text after the mark, which it must have. */
const char *buf_put_until(struct buf *b, const char *text, const char *mark);
void buf_free(struct buf *b);
/* Writes the text to its file. */
void buf_send(struct buf *b);
/* Writes the text to its file once it is large; to be called between two lines. The caller goes on in the
 * empty buf. */
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

/* Decimal digits at `to`, which has room for STR_INT; returns their end. */
char *str_put_int(char *to, int64_t i);
unsigned str_count_digits(uint64_t u); /* decimal */

struct names; /* the table of interned strings */
struct names *names_new(void);
void names_free(struct names *t);
uint32_t names_intern(struct names *t, const char *s, size_t n);
uint32_t names_intern_z(struct names *t, const char *s);
const char *names_text(const struct names *t, uint32_t id); /* NUL-terminated */
/* Id of s, or 0 when it was never interned. */
uint32_t names_find(struct names *t, const char *s, size_t n);
uint32_t names_count(const struct names *t);
/* Bytes that the table holds. */
size_t names_bytes(const struct names *t);

/* Edit distance of two words, at most limit + 1, for `did you mean`. */
unsigned str_distance(const char *a, const char *b, unsigned limit);
/* Sizes as users write them: 8K, 32M, 8G (powers of 1024). False when s is none or overflows. */
bool str_parse_size(const char *s, int64_t *out);

#endif
