/* str: text buffers, the table of interned names, and small helpers on words.
 *
 * Names that differ only in their last character have neighbouring slots in the hash table: large
 * programs number their names (v10, v11, …), and names used together are then in one cache line.
 * Names are packed without gaps into blocks of an arena, since large programs have many short
 * names. */
#include "base/str.h"
#include "base/arena.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/vec.h"
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
	NAMES_POOL = 32 << 10,    /* bytes of one block of text */
	DISTANCE_MAX_LENGTH = 64, /* longer words are equal, or count as far apart */
};

/* Text being built */

char *buf_reserve(struct buf *b, size_t more)
{
	if (b->cap - b->n <= more) { /* <= leaves one byte for the NUL */
		size_t cap = b->cap ? b->cap : 64;
		while (cap - b->n <= more)
			cap *= 2;
		b->at = mem_realloc(b->at, cap);
		b->cap = cap;
	}
	return b->at + b->n;
}

const char *buf_put_until(struct buf *b, const char *text, const char *mark)
{
	const char *at = strstr(text, mark);
	assert(at);
	buf_putn(b, text, (size_t)(at - text));
	return at + strlen(mark);
}

unsigned str_count_digits(uint64_t u)
{
	unsigned n = 1;
	for (; u >= 10000; u /= 10000)
		n += 4;
	return n + (u >= 10) + (u >= 100) + (u >= 1000);
}

char *str_put_int(char *to, int64_t i)
{
	static const char pairs[] =
	    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	    "8081828384858687888990919293949596979899";
	uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
	if (i < 0)
		*to++ = '-';
	char *end = to + str_count_digits(u), *p = end;
	while (u >= 100) {
		p -= 2;
		memcpy(p, pairs + u % 100 * 2, 2);
		u /= 100;
	}
	if (u >= 10) {
		p -= 2;
		memcpy(p, pairs + u * 2, 2);
	} else {
		*--p = (char)('0' + u);
	}
	return end;
}

void buf_puti(struct buf *b, int64_t i)
{
	char *end = str_put_int(buf_reserve(b, STR_INT), i);
	*end = '\0';
	b->n = (size_t)(end - b->at);
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

static void put_formatted(struct buf *b, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	buf_reserve(b, 64);
	size_t room = b->cap - b->n;
	int n = vsnprintf(b->at + b->n, room, format, args);
	if (n > 0 && (size_t)n >= room)
		vsnprintf(buf_reserve(b, (size_t)n), (size_t)n + 1, format, again);
	b->n += n > 0 ? (size_t)n : 0;
	b->at[b->n] = '\0';
	va_end(again);
}

/* Formats the conversions that printers use in every statement itself. From the first other conversion on,
 * C's printf formats the rest; it takes several times as long. */
void buf_vprintf(struct buf *b, const char *format, va_list args)
{
	for (;;) {
		const char *percent = strchrnul(format, '%');
		buf_putn(b, format, (size_t)(percent - format));
		if (!*percent)
			return;
		if (percent[1] == 's') {
			buf_puts(b, va_arg(args, const char *));
		} else if (percent[1] == 'd') {
			buf_puti(b, va_arg(args, int));
		} else if (percent[1] == 'u') {
			buf_puti(b, va_arg(args, unsigned));
		} else if (!strncmp(percent + 1, "lld", 3)) {
			buf_puti(b, va_arg(args, long long));
			percent += 2;
		} else if (percent[1] == 'c') {
			buf_putc(b, (char)va_arg(args, int));
		} else {
			put_formatted(b, percent, args);
			return;
		}
		format = percent + 2;
	}
}

void buf_send(struct buf *b)
{
	if (!b->error && fwrite(b->at, 1, b->n, b->file) != b->n)
		b->error = errno ? errno : EIO;
	b->n = 0;
}

void buf_free(struct buf *b)
{
	free(b->at);
	*b = (struct buf){0};
}

/* Interned names */

enum {
	RECENT_NAMES = 256, /* a power of two */
	RECENT_BYTES = 8,   /* the longest name that is kept */
};

/* A recently interned name: programs often use a name right after its definition. */
struct recent_name {
	uint64_t bytes; /* see pack_name */
	uint32_t length, id;
};

struct names {
	VEC(const char *) text; /* by id, in the pool */
	struct hash_table ids; /* the index; empty after names_drop_index */
	struct recent_name recent[RECENT_NAMES];
	struct arena *pool;         /* the text */
	char *pool_room, *pool_end; /* free bytes of its current block */
};

/* Hashes all but the last character, and adds that one, so that v10 and v11 are neighbours. */
static uint32_t hash_of(const char *s, size_t n)
{
	return (uint32_t)hash_block(0, s, n - 1) + (unsigned char)s[n - 1];
}

struct names *names_new(void)
{
	struct names *t = mem_zalloc(sizeof *t);
	vec_push(&t->text, "");
	t->pool = arena_new();
	return t;
}

void names_free(struct names *t)
{
	if (!t)
		return;
	arena_free(t->pool);
	hash_table_free(&t->ids);
	vec_free(&t->text);
	free(t);
}

static void make_index(struct names *t)
{
	for (uint32_t id = 1; id < t->text.n; id++)
		hash_insert(&t->ids, hash_of(t->text.at[id], strlen(t->text.at[id])), id);
}

static uint32_t find_interned(struct names *t, uint32_t hash, const char *s, size_t n)
{
	if (!t->ids.slot)
		make_index(t);
	struct hash_probe p = {.hash = hash};
	for (uint32_t id; (id = hash_next(&t->ids, &p));)
		if (!strncmp(t->text.at[id], s, n) && !t->text.at[id][n])
			return id;
	return 0;
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
	t->pool_room += n + 1; /* the pool is zeroed, so the NUL is there */
	return p;
}

/* Packs 1 to RECENT_BYTES bytes into one number; it may contain the middle bytes twice. */
static uint64_t pack_name(const char *s, size_t n)
{
	uint32_t first, last;
	if (n < sizeof first)
		return (uint64_t)(unsigned char)s[0] << 16 | (uint64_t)(unsigned char)s[n / 2] << 8 |
		       (unsigned char)s[n - 1];
	memcpy(&first, s, sizeof first);
	memcpy(&last, s + n - sizeof last, sizeof last);
	return (uint64_t)first << 32 | last;
}

static uint32_t intern(struct names *t, const char *s, size_t n)
{
	uint32_t hash = hash_of(s, n), id = find_interned(t, hash, s, n);
	if (id)
		return id;
	vec_push(&t->text, pool_copy(t, s, n));
	hash_insert(&t->ids, hash, t->text.n - 1);
	return t->text.n - 1;
}

/* Returns the entry of a name of 1 to RECENT_BYTES bytes; its id is 0 if the entry held another name. */
static struct recent_name *find_recent(struct names *t, const char *s, size_t n)
{
	uint64_t bytes = pack_name(s, n);
	struct recent_name *r = &t->recent[hash_number(n, bytes) % RECENT_NAMES];
	if (r->bytes != bytes || r->length != n)
		*r = (struct recent_name){bytes, (uint32_t)n, 0};
	return r;
}

uint32_t names_intern(struct names *t, const char *s, size_t n)
{
	if (n == 0 || n > RECENT_BYTES)
		return n ? intern(t, s, n) : 0;
	struct recent_name *r = find_recent(t, s, n);
	if (!r->id)
		r->id = intern(t, s, n);
	return r->id;
}

uint32_t names_intern_z(struct names *t, const char *s)
{
	return names_intern(t, s, strlen(s));
}

const char *names_text(const struct names *t, uint32_t id)
{
	return t->text.at[id];
}

uint32_t names_find(struct names *t, const char *s, size_t n)
{
	if (n == 0 || n > RECENT_BYTES)
		return n ? find_interned(t, hash_of(s, n), s, n) : 0;
	struct recent_name *r = find_recent(t, s, n);
	if (!r->id)
		r->id = find_interned(t, hash_of(s, n), s, n);
	return r->id;
}

void names_drop_index(struct names *t)
{
	enum { KEPT = 1 << 16 }; /* names; a small index takes little memory, and time to make again */
	if (t->text.n > KEPT)
		hash_table_free(&t->ids);
}

uint32_t names_count(const struct names *t)
{
	return t->text.n;
}

size_t names_bytes(const struct names *t)
{
	return sizeof *t + sizeof *t->text.at * t->text.cap + hash_table_bytes(&t->ids) +
	       arena_bytes(t->pool);
}

/* Words */

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;
	return m < c ? m : c;
}

/* Returns Levenshtein's distance, but counts two swapped neighbours as one edit. */
unsigned str_distance(const char *a, const char *b, unsigned limit)
{
	size_t na = strlen(a), nb = strlen(b);
	size_t apart = na > nb ? na - nb : nb - na;
	if (strcmp(a, b) == 0)
		return 0;
	if (apart > limit || na > DISTANCE_MAX_LENGTH || nb > DISTANCE_MAX_LENGTH)
		return limit + 1;

	unsigned rows[3][DISTANCE_MAX_LENGTH + 1]; /* rows[i % 3][j]: distance of a[0..i) to b[0..j) */
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
