/* hash: hashes of bytes and numbers, and a table of ids.
 *
 * hash_bytes is FNV-1a. Its values are stored in files and compared between ranks, so they never change.
 * hash_number and hash_block are for tables in memory: they are faster, and may change.
 *
 *     HASH_START ──hash_bytes──> … ──hash_bytes──> hash of both texts
 *     0 ──hash_number──> … ──hash_block──> hash of a number and a structure
 *
 * A table maps hashes to ids of entries. The caller stores the entries and compares them:
 *
 *     struct hash_probe p = {.hash = hash};
 *     for (uint32_t id; (id = hash_next(t, &p));)
 *             if (same(id)) return id;
 *     … push the new entry as id …
 *     hash_insert(t, hash, id);
 *
 * The search starts at the slot given by the hash's lower bits and goes on slot by slot; at most half of the
 * slots are used. Nothing is ever removed. A zeroed table is empty. */
#ifndef HIRC_BASE_HASH_H
#define HIRC_BASE_HASH_H
#include <stddef.h>
#include <stdint.h>

#define HASH_START ((uint64_t)0xcbf29ce484222325u) /* FNV-1a of no bytes */

/* Returns FNV-1a of the bytes hashed into h so far, followed by n more bytes. */
uint64_t hash_bytes(uint64_t h, const void *at, size_t n);
/* Returns FNV-1a of a text, without its NUL. */
uint64_t hash_text(const char *text);

/* Adds a number to a hash. Combines both halves of a 128-bit product, so that each input bit changes all
 * bits. */
static inline uint64_t hash_number(uint64_t h, uint64_t number)
{
	__extension__ unsigned __int128 product = (unsigned __int128)(h ^ number) * 0x9e3779b97f4a7c15u;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}
/* Adds n bytes to a hash, eight in each step. */
uint64_t hash_block(uint64_t h, const void *at, size_t n);

struct hash_slot {
	uint32_t hash; /* the lower half */
	uint32_t id;   /* 0: free */
};

struct hash_table {
	struct hash_slot *slot; /* mask + 1 slots; NULL: none yet */
	uint32_t mask, n;       /* n: used slots */
};

struct hash_probe {
	uint64_t hash;
	uint32_t step; /* slots looked at so far */
};

/* Returns the next id that was inserted with this hash, or with one of the same lower half; 0: there are no
 * more. */
static inline uint32_t hash_next(const struct hash_table *t, struct hash_probe *p)
{
	while (t->slot) {
		const struct hash_slot *s = &t->slot[((uint32_t)p->hash + p->step++) & t->mask];
		if (!s->id || s->hash == (uint32_t)p->hash)
			return s->id;
	}
	return 0;
}

void hash_insert(struct hash_table *t, uint64_t hash, uint32_t id);
void hash_table_copy(struct hash_table *to, const struct hash_table *t);
void hash_table_free(struct hash_table *t);
size_t hash_table_bytes(const struct hash_table *t);

#endif
