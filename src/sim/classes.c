/* classes: by hashes of 64 bits of what ranks do and whom they meet. */
#include "sim/classes.h"
#include <string.h>

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15u;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
	return h ^ h >> 29;
}

static uint64_t hash_of(const struct sim_program *p, const struct sim_rank *r)
{
	uint64_t h = mix(r->task.n, r->place.n);
	for (uint32_t k = 0; k < r->task.n; k++) {
		const struct sim_task *t = &r->task.at[k];
		h = mix(h, (uint64_t)t->op << 32 | (uint64_t)t->kind << 24 | t->stream);
		h = mix(h, (uint64_t)t->before << 32 | t->also);
		h = mix(h, (uint64_t)t->issue);
		h = mix(h, (uint64_t)t->time);
		if (t->kind >= SIM_MEETING)
			h = mix(h, (uint64_t)t->channel << 32 | t->number);
	}
	for (uint32_t k = 0; k < r->stream.n; k++)
		h = mix(h, (uint64_t)r->stream.at[k]);
	for (uint32_t k = 0; k < r->place.n; k++)
		h = mix(h, p->channel.at[r->place.at[k].channel].kind * 2u + r->place.at[k].receives);
	return h;
}

/* Numbers ranks by their keys, in the order of the ranks. Returns how many classes there are. */
static uint32_t renumber(struct sim_classes *c, const uint64_t *key)
{
	uint32_t size = 16, n = 0;
	while (size < 2 * c->rank_n)
		size *= 2;
	uint32_t *table = mem_zalloc(sizeof *table * size); /* rank + 1 */
	for (uint32_t r = 0; r < c->rank_n; r++) {
		uint32_t k = (uint32_t)(key[r] >> 20) & (size - 1);
		if (c->of[r] == SIM_NONE)
			continue;
		while (table[k] && key[table[k] - 1] != key[r])
			k = (k + 1) & (size - 1);
		if (!table[k]) {
			table[k] = r + 1;
			c->first[n] = r;
			c->of[r] = n++;
		} else {
			c->of[r] = c->of[table[k] - 1];
		}
	}
	free(table);
	return n;
}

/* Splits classes by whom their ranks meet, until that splits none. */
static void refine(const struct sim_program *p, struct sim_classes *c)
{
	uint64_t *met = mem_alloc(sizeof *met * ((size_t)p->channel.n + 1));
	uint64_t *key = mem_zalloc(sizeof *key * ((size_t)c->rank_n + 1));
	for (uint32_t before = 0; before != c->n;) {
		before = c->n;
		memset(met, 0, sizeof *met * p->channel.n);
		for (uint32_t r = 0; r < c->rank_n; r++)
			for (uint32_t k = 0; k < c->place_n[r]; k++)
				met[c->place[r][k].channel] += mix(mix(1, c->of[r]), k);
		for (uint32_t r = 0; r < c->rank_n; r++) {
			key[r] = mix(2, c->of[r]);
			for (uint32_t k = 0; k < c->place_n[r]; k++)
				key[r] = mix(mix(key[r], met[c->place[r][k].channel]),
				             p->channel.at[c->place[r][k].channel].n);
		}
		c->n = renumber(c, key);
	}
	free(met);
	free(key);
}

void sim_classes_free(struct sim_classes *c)
{
	arena_free(c->arena);
	c->arena = NULL;
}

bool sim_classes_find(struct sim_program *p, struct sim_classes *c)
{
	struct sim_rank r = {0};
	bool ok = true;
	*c = (struct sim_classes){.arena = arena_new(), .rank_n = (uint32_t)p->ranks};
	uint64_t *key = mem_zalloc(sizeof *key * ((size_t)c->rank_n + 1));
	c->of = arena_new_array(c->arena, uint32_t, c->rank_n);
	c->first = arena_new_array(c->arena, uint32_t, c->rank_n);
	c->count = arena_new_array(c->arena, uint32_t, c->rank_n);
	c->place = arena_new_array(c->arena, struct sim_place *, c->rank_n);
	c->place_n = arena_new_array(c->arena, uint32_t, c->rank_n);
	for (uint32_t k = 0; k < c->rank_n && ok; k++) {
		c->of[k] = SIM_NONE;
		if (!sim_rank_takes_part(p, k))
			continue;
		ok = sim_rank_walk(p, k, false, &r);
		c->of[k] = 0;
		key[k] = hash_of(p, &r);
		c->place_n[k] = r.place.n;
		c->place[k] = arena_new_array(c->arena, struct sim_place, r.place.n);
		if (r.place.n)
			memcpy(c->place[k], r.place.at, sizeof *r.place.at * r.place.n);
	}
	sim_rank_free(&r);
	if (ok) {
		c->n = renumber(c, key);
		refine(p, c);
		for (uint32_t k = 0; k < c->rank_n; k++)
			if (c->of[k] != SIM_NONE)
				c->count[c->of[k]]++;
	}
	free(key);
	if (!ok)
		sim_classes_free(c);
	return ok;
}
