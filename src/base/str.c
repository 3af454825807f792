/* str: text buffers, the table of interned names, and small helpers on words.
 *
 * The names table is an open-addressing hash table with linear probing, at
 * most half full. Its slots hold ids only (0: free); an entry keeps the hash of
 * its string, so that growing the table reads no text and a probe compares text
 * only where the hashes agree. The text itself is packed without gaps into
 * blocks of an arena: names of large programs are short and many. */
#include "base/str.h"
#include "base/arena.h"
#include "base/checked.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAMES_FIRST_SLOTS = 256,  /* a power of two */
	NAMES_POOL = 32 << 10,    /* bytes of one block of text */
	DISTANCE_MAX_LENGTH = 64, /* longer words are equal or far apart */
};

/* Text being built */

static void buf_reserve(struct buf *b, size_t more)
{
	if (b->cap - b->n > more) /* > : one byte for the NUL */
		return;
	size_t cap = b->cap ? b->cap : 64;
	while (cap - b->n <= more)
		cap *= 2;
	b->at = mem_realloc(b->at, cap);
	b->cap = cap;
}

void buf_putc(struct buf *b, char c)
{
	buf_reserve(b, 1);
	b->at[b->n++] = c;
	b->at[b->n] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
	buf_putn(b, s, strlen(s));
}

void buf_putn(struct buf *b, const char *s, size_t n)
{
	buf_reserve(b, n);
	if (n)
		memcpy(b->at + b->n, s, n);
	b->n += n;
	b->at[b->n] = '\0';
}

void buf_puti(struct buf *b, int64_t i)
{
	char digits[20], *p = digits + sizeof digits;
	uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	do {
		*--p = (char)('0' + u % 10);
		u /= 10;
	} while (u);
	if (i < 0)
		*--p = '-';
	buf_putn(b, p, (size_t)(digits + sizeof digits - p));
}

void buf_pad(struct buf *b, char c, unsigned count)
{
	buf_reserve(b, count);
	memset(b->at + b->n, c, count);
	b->n += count;
	b->at[b->n] = '\0';
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(b, format, args);
	va_end(args);
}

void buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	buf_reserve(b, 64);
	size_t room = b->cap - b->n;
	int n = vsnprintf(b->at + b->n, room, format, args);
	if (n < 0)
		n = 0;
	if ((size_t)n >= room) {
		buf_reserve(b, (size_t)n);
		vsnprintf(b->at + b->n, (size_t)n + 1, format, again);
	}
	b->n += (size_t)n;
	b->at[b->n] = '\0';
	va_end(again);
}

void buf_free(struct buf *b)
{
	free(b->at);
	*b = (struct buf){0};
}

/* Interned names */

struct name {
	const char *text; /* in the pool */
	uint32_t n;       /* bytes without the NUL */
	uint32_t hash;
};

struct names {
	struct name *at; /* by id */
	uint32_t n, cap;
	uint32_t *slots; /* ids, 0: free; mask + 1 of them */
	uint32_t mask;
	struct arena *pool;         /* the text */
	char *pool_room, *pool_end; /* free bytes of its current block */
};

/* Eight bytes a step, mixed by a multiplication (FNV's step on words), finished as murmur3 is. */
static uint32_t hash_of(const char *s, size_t n)
{
	uint64_t h = 0x9e3779b97f4a7c15u ^ n, w;
	for (; n >= 8; s += 8, n -= 8) {
		memcpy(&w, s, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	w = 0;
	for (size_t i = 0; i < n; i++)
		w = w << 8 | (unsigned char)s[i];
	h = (h ^ w) * 0xff51afd7ed558ccdu;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53u;
	return (uint32_t)(h ^ h >> 32);
}

struct names *names_new(void)
{
	struct names *t = mem_zalloc(sizeof *t);
	t->cap = NAMES_FIRST_SLOTS / 2;
	t->at = mem_alloc(sizeof *t->at * t->cap);
	t->at[t->n++] = (struct name){.text = ""};
	t->mask = NAMES_FIRST_SLOTS - 1;
	t->slots = mem_zalloc(sizeof *t->slots * NAMES_FIRST_SLOTS);
	t->pool = arena_new();
	return t;
}

void names_free(struct names *t)
{
	if (!t)
		return;
	arena_free(t->pool);
	free(t->slots);
	free(t->at);
	free(t);
}

/* The slot that holds s, or the free slot where it belongs. */
static uint32_t *slot_of(const struct names *t, uint32_t hash, const char *s, size_t n)
{
	for (uint32_t i = hash & t->mask;; i = (i + 1) & t->mask) {
		const struct name *e = &t->at[t->slots[i]];
		if (t->slots[i] == 0 || (e->hash == hash && e->n == n && memcmp(e->text, s, n) == 0))
			return &t->slots[i];
	}
}

static void names_grow(struct names *t)
{
	t->cap *= 2;
	t->at = mem_realloc(t->at, sizeof *t->at * (size_t)t->cap);
	free(t->slots);
	t->mask = t->mask * 2 + 1;
	t->slots = mem_zalloc(sizeof *t->slots * ((size_t)t->mask + 1));
	for (uint32_t id = 1; id < t->n; id++) {
		uint32_t i = t->at[id].hash & t->mask;
		while (t->slots[i])
			i = (i + 1) & t->mask;
		t->slots[i] = id;
	}
}

static const char *pool_copy(struct names *t, const char *s, size_t n)
{
	if (n + 1 > NAMES_POOL / 8)
		return arena_strndup(t->pool, s, n);
	if (n + 1 > (size_t)(t->pool_end - t->pool_room)) {
		t->pool_room = arena_alloc(t->pool, NAMES_POOL);
		t->pool_end = t->pool_room + NAMES_POOL;
	}
	char *p = t->pool_room;
	memcpy(p, s, n);
	t->pool_room += n + 1; /* the pool is zeroed: the NUL stands */
	return p;
}

uint32_t names_intern(struct names *t, const char *s, size_t n)
{
	if (n == 0)
		return 0;
	uint32_t hash = hash_of(s, n), *slot = slot_of(t, hash, s, n);
	if (*slot)
		return *slot;
	if (t->n == t->cap) {
		names_grow(t);
		slot = slot_of(t, hash, s, n);
	}
	t->at[t->n] = (struct name){.text = pool_copy(t, s, n), .n = (uint32_t)n, .hash = hash};
	return *slot = t->n++;
}

uint32_t names_intern_z(struct names *t, const char *s)
{
	return names_intern(t, s, strlen(s));
}

const char *names_text(const struct names *t, uint32_t id)
{
	return t->at[id].text;
}

uint32_t names_find(const struct names *t, const char *s, size_t n)
{
	return n ? *slot_of(t, hash_of(s, n), s, n) : 0;
}

uint32_t names_count(const struct names *t)
{
	return t->n;
}

size_t names_bytes(const struct names *t)
{
	return sizeof *t + sizeof *t->at * t->cap + sizeof *t->slots * ((size_t)t->mask + 1) +
	       arena_bytes(t->pool);
}

/* Words */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;
	return m < c ? m : c;
}

/* Levenshtein's distance in which two neighbours that changed places count once. */
unsigned str_distance(const char *a, const char *b, unsigned limit)
{
	size_t na = strlen(a), nb = strlen(b);
	size_t apart = na > nb ? na - nb : nb - na;
	if (strcmp(a, b) == 0)
		return 0;
	if (apart > limit || na > DISTANCE_MAX_LENGTH || nb > DISTANCE_MAX_LENGTH)
		return limit + 1;

	unsigned rows[3][DISTANCE_MAX_LENGTH + 1]; /* row i % 3: distances of a[0..i) to b[0..j) */
	for (unsigned j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (unsigned i = 1; i <= na; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
		row[0] = i;
		for (unsigned j = 1; j <= nb; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    above2[j - 2] + 1 < row[j])
				row[j] = above2[j - 2] + 1;
		}
	}
	unsigned d = rows[na % 3][nb];
	return d <= limit ? d : limit + 1;
}

bool str_parse_size(const char *s, int64_t *out)
{
	int64_t v = 0, unit = 1;
	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++)
		if (!checked_mul(v, 10, &v) || !checked_add(v, *s - '0', &v))
			return false;
	switch (*s) {
	case 'T':
	case 't':
		unit *= 1024; /* fall through */
	case 'G':
	case 'g':
		unit *= 1024; /* fall through */
	case 'M':
	case 'm':
		unit *= 1024; /* fall through */
	case 'K':
	case 'k':
		unit *= 1024;
		s++;
	}
	return *s == '\0' && checked_mul(v, unit, out);
}
