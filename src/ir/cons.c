/* cons: open addressing with linear probing, at most two thirds full. Nothing is ever removed. */
#include "ir/cons.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

static uint32_t scan(const struct cons_table *t, struct cons_probe *p)
{
	while (t->id[p->at]) {
		uint32_t at = p->at;
		p->at = (p->at + 1) & (t->cap - 1);
		if (t->hash[at] == p->hash)
			return t->id[at];
	}
	return 0;
}

uint32_t cons_first(const struct cons_table *t, uint32_t hash, struct cons_probe *p)
{
	if (!t->cap)
		return 0;
	p->hash = hash;
	p->at = hash & (t->cap - 1);
	return scan(t, p);
}

uint32_t cons_next(const struct cons_table *t, struct cons_probe *p)
{
	return scan(t, p);
}

static void put(struct cons_table *t, uint32_t hash, uint32_t id)
{
	uint32_t at = hash & (t->cap - 1);
	while (t->id[at])
		at = (at + 1) & (t->cap - 1);
	t->id[at] = id;
	t->hash[at] = hash;
}

void cons_insert(struct cons_table *t, uint32_t hash, uint32_t id)
{
	if ((t->n + 1) * 3 > t->cap * 2) {
		struct cons_table bigger = {.cap = t->cap ? t->cap * 2 : 64, .n = t->n};
		bigger.id = mem_zalloc(sizeof *bigger.id * bigger.cap);
		bigger.hash = mem_zalloc(sizeof *bigger.hash * bigger.cap);
		for (uint32_t i = 0; i < t->cap; i++)
			if (t->id[i])
				put(&bigger, t->hash[i], t->id[i]);
		cons_table_free(t);
		*t = bigger;
	}
	put(t, hash, id);
	t->n++;
}

void cons_table_copy(struct cons_table *to, const struct cons_table *t)
{
	*to = *t;
	if (!t->cap)
		return;
	to->id = mem_alloc(sizeof *to->id * t->cap);
	to->hash = mem_alloc(sizeof *to->hash * t->cap);
	memcpy(to->id, t->id, sizeof *to->id * t->cap);
	memcpy(to->hash, t->hash, sizeof *to->hash * t->cap);
}

void cons_table_free(struct cons_table *t)
{
	free(t->id);
	free(t->hash);
	*t = (struct cons_table){0};
}

uint32_t cons_hash(uint32_t hash, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t h = (hash ^ 0xcbf29ce484222325u) + n;
	for (; n >= sizeof(uint64_t); n -= sizeof(uint64_t), p += sizeof(uint64_t)) {
		uint64_t word;
		memcpy(&word, p, sizeof word);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	for (; n; n--)
		h = (h ^ *p++) * 0x100000001b3u;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return (uint32_t)(h ^ (h >> 29));
}
