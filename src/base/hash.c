/* hash: see hash.h. */
#include "base/hash.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 }; /* a power of two */

uint64_t hash_bytes(uint64_t h, const void *at, size_t n)
{
	for (const unsigned char *p = at, *end = p + n; p < end; p++)
		h = (h ^ *p) * 0x100000001b3u;
	return h;
}

uint64_t hash_text(const char *text)
{
	return hash_bytes(HASH_START, text, strlen(text));
}

static uint64_t load_word(const unsigned char *p)
{
	uint32_t word;
	memcpy(&word, p, sizeof word);
	return word;
}

/* The two loads of the last one to eight bytes may overlap. */
uint64_t hash_block(uint64_t h, const void *at, size_t n)
{
	const unsigned char *p = at;
	h += 0xff51afd7ed558ccdu * n;
	for (; n > 8; p += 8, n -= 8)
		h = hash_number(h, load_word(p) << 32 | load_word(p + 4));
	if (n >= 4)
		return hash_number(h, load_word(p) << 32 | load_word(p + n - 4));
	if (n)
		return hash_number(h, (uint64_t)p[0] << 16 | (uint64_t)p[n / 2] << 8 | p[n - 1]);
	return h;
}

static void place_slot(struct hash_table *t, struct hash_slot s)
{
	uint32_t at = s.hash & t->mask;
	while (t->slot[at].id)
		at = (at + 1) & t->mask;
	t->slot[at] = s;
}

static size_t slots(const struct hash_table *t)
{
	return t->slot ? (size_t)t->mask + 1 : 0;
}

void hash_insert(struct hash_table *t, uint64_t hash, uint32_t id)
{
	if (2 * (size_t)t->n >= slots(t)) {
		size_t room = t->slot ? 2 * slots(t) : FIRST_SLOTS;
		struct hash_table bigger = {mem_alloc(sizeof *t->slot * room), (uint32_t)(room - 1), t->n};
		/* write the pages: reading a zeroed page before writing it costs two page faults */
		memset(bigger.slot, 0, hash_table_bytes(&bigger));
		for (size_t k = 0; k < slots(t); k++)
			if (t->slot[k].id)
				place_slot(&bigger, t->slot[k]);
		free(t->slot);
		*t = bigger;
	}
	place_slot(t, (struct hash_slot){(uint32_t)hash, id});
	t->n++;
}

void hash_table_copy(struct hash_table *to, const struct hash_table *t)
{
	*to = *t;
	if (t->slot)
		to->slot = memcpy(mem_alloc(hash_table_bytes(t)), t->slot, hash_table_bytes(t));
}

void hash_table_free(struct hash_table *t)
{
	free(t->slot);
	*t = (struct hash_table){0};
}

size_t hash_table_bytes(const struct hash_table *t)
{
	return sizeof *t->slot * slots(t);
}
