/* sim_classes: finds classes by 64-bit hashes of the work of ranks and of the ranks they meet. */
#include "sim/sim_classes.h"
#include "analysis/symmetry.h"
#include "sim/twins.h"
#include <string.h>

static uint64_t hash_of(const struct sim_program *p, const struct sim_rank *r)
{
	uint64_t h = hash_number(r->task.n, r->place.n);
	for (uint32_t k = 0; k < r->task.n; k++) {
		const struct sim_task *t = &r->task.at[k];
		h = hash_number(h, (uint64_t)t->op << 32 | (uint64_t)t->kind << 24 | t->stream);
		h = hash_number(h, (uint64_t)t->before << 32 | t->also);
		h = hash_number(h, (uint64_t)t->issue);
		h = hash_number(h, (uint64_t)t->time);
		if (t->kind >= SIM_MEETING)
			h = hash_number(h, (uint64_t)t->channel << 32 | t->number);
	}
	for (uint32_t k = 0; k < r->stream.n; k++)
		h = hash_number(h, (uint64_t)r->stream.at[k]);
	for (uint32_t k = 0; k < r->place.n; k++)
		h = hash_number(h, p->channel.at[r->place.at[k].channel].kind * 2u + r->place.at[k].receives);
	return h;
}

/* Returns the rank that is walked for this one. */
static uint32_t least_of(const struct sim_program *p, uint32_t rank)
{
	return p->symmetry ? p->symmetry->least[rank] : rank;
}

/* Numbers ranks by their keys, in the order of the ranks. Returns the number of classes. */
static uint32_t number_ranks(struct sim_classes *c, const uint64_t *key)
{
	struct hash_table ranks = {0}; /* + 1 */
	uint32_t n = 0;
	for (uint32_t r = 0, k; r < c->rank_n; r++) {
		struct hash_probe p = {.hash = key[r]};
		if (c->of[r] == SIM_NONE)
			continue;
		while ((k = hash_next(&ranks, &p)) && key[k - 1] != key[r])
			;
		if (k) {
			c->of[r] = c->of[k - 1];
			continue;
		}
		hash_insert(&ranks, key[r], r + 1);
		c->first[n] = r;
		c->of[r] = n++;
	}
	hash_table_free(&ranks);
	return n;
}

/* Splits classes by the classes that their ranks meet, until nothing changes. */
static void refine(const struct sim_program *p, struct sim_classes *c)
{
	uint64_t *met = mem_alloc(sizeof *met * ((size_t)p->channel.n + 1));
	uint64_t *key = mem_zalloc(sizeof *key * ((size_t)c->rank_n + 1));
	for (uint32_t before = 0; before != c->n;) {
		before = c->n;
		memset(met, 0, sizeof *met * p->channel.n);
		for (uint32_t r = 0; r < c->rank_n; r++)
			for (uint32_t k = 0; k < c->place_n[r]; k++)
				met[c->place[r][k].joint] +=
				    hash_number(hash_number(1, c->of[r]), k) * c->place[r][k].members;
		for (uint32_t r = 0; r < c->rank_n; r++) {
			if (least_of(p, r) != r) {
				key[r] = key[least_of(p, r)];
				continue;
			}
			key[r] = hash_number(2, c->of[r]);
			for (uint32_t k = 0; k < c->place_n[r]; k++)
				key[r] = hash_number(hash_number(key[r], met[c->place[r][k].joint]),
				                     p->channel.at[c->place[r][k].channel].n);
		}
		c->n = number_ranks(c, key);
	}
	free(met);
	free(key);
}

void sim_classes_free(struct sim_classes *c)
{
	arena_free(c->arena);
	c->arena = NULL;
}

/* ---- walks */

struct walks {
	struct sim_program *p;
	struct sim_classes *c;
	uint64_t *key; /* by rank */
	struct sim_rank r;
	struct sim_twins twins;
	bool each;           /* each rank is walked */
	bool knows_symmetry; /* the symmetry was searched */
	uint64_t places;     /* of all walked ranks */
};

static bool key_rank(struct walks *w, uint32_t rank)
{
	struct sim_classes *c = w->c;
	if (!sim_rank_walk(w->p, rank, false, &w->r))
		return false;
	w->places += w->r.place.n;
	if (w->places > SIM_MAX_PLACES) {
		diag_error(w->p->d, E_SIM_LIMIT, DIAG_NOWHERE,
		           "ranks 0 to %u meet others at more than %d places, as no two of them do alike",
		           rank, SIM_MAX_PLACES);
		diag_note(w->p->d, DIAG_NOWHERE,
		          "fewer ranks, or all of them on time (without --delay and --slow), need less");
		w->p->failed = true;
		return false;
	}
	w->key[rank] = hash_of(w->p, &w->r);
	c->place_n[rank] = w->r.place.n;
	c->place[rank] = arena_new_array(c->arena, struct sim_place, w->r.place.n);
	if (w->r.place.n)
		memcpy(c->place[rank], w->r.place.at, sizeof *w->r.place.at * w->r.place.n);
	return true;
}

static bool find_twin(struct walks *w, uint32_t rank)
{
	const struct sim_twin *x = sim_twins_find(&w->twins, rank, &w->c->place[rank]);
	if (!x)
		return false;
	w->key[rank] = w->key[x->rank];
	w->c->place_n[rank] = x->place_n;
	return true;
}

/* Finds the symmetry of the program on its cluster. Channels have it, too: all ranks of an orbit get the same
 * joint for a channel, and the least rank is on that joint. */
static struct symmetry *find_symmetry(struct sim_program *p)
{
	const struct cluster *c = cost_cluster(p->cost);
	const uint32_t **group = arena_new_array(p->arena, const uint32_t *, c->network.link_n);
	for (unsigned l = 0; l < c->network.link_n; l++) {
		uint32_t *of = arena_new_array(p->arena, uint32_t, p->ranks);
		for (uint32_t r = 0; r < p->ranks; r++)
			of[r] = (uint32_t)(r / c->network.link[l].span);
		group[l] = of;
	}
	return symmetry_find(&(struct symmetry_frame){.m = p->m,
	                                              .ranks = p->ranks,
	                                              .arena = p->arena,
	                                              .group = group,
	                                              .group_n = c->network.link_n,
	                                              .label = {p->delay, p->slow}});
}

/* Walks all ranks that must be walked. Returns false if one cannot be walked, or if all must be walked again
 * with another symmetry. */
static bool walk_all(struct walks *w)
{
	struct sim_program *p = w->p;
	struct sim_classes *c = w->c;
	w->twins.twin.n = 0;
	w->places = 0;
	for (uint32_t k = 0; k < c->rank_n; k++) {
		uint32_t least = least_of(p, k);
		c->of[k] = SIM_NONE;
		c->place_n[k] = 0;
		if (module_rank_is_idle(p->m, k))
			continue;
		c->of[k] = 0;
		if (least != k) {
			w->key[k] = w->key[least];
			continue;
		}
		if (find_twin(w, k))
			continue;
		if (!key_rank(w, k))
			return false;
		if (w->each)
			continue;
		if (!w->r.by_rank) {
			sim_twins_add(&w->twins, k, &w->r);
		} else if (!w->knows_symmetry) {
			w->knows_symmetry = true;
			if ((p->symmetry = find_symmetry(p)))
				return false;
		}
	}
	return true;
}

static bool walk_until_known(struct walks *w)
{
	struct sim_program *p = w->p;
	while (!walk_all(w)) {
		if (p->failed)
			return false;
		if (p->symmetry->broken >= 0 && !symmetry_give_up(p->symmetry))
			p->symmetry = NULL;
	}
	return true;
}

bool sim_classes_find(struct sim_program *p, bool each, struct sim_classes *c)
{
	*c = (struct sim_classes){.arena = arena_new(), .rank_n = (uint32_t)p->ranks};
	struct walks w = {.p = p,
	                  .c = c,
	                  .key = mem_zalloc(sizeof *w.key * ((size_t)c->rank_n + 1)),
	                  .twins = {.p = p, .arena = c->arena},
	                  .each = each};
	c->of = arena_new_array(c->arena, uint32_t, c->rank_n);
	c->first = arena_new_array(c->arena, uint32_t, c->rank_n);
	c->count = arena_new_array(c->arena, uint32_t, c->rank_n);
	c->place = arena_new_array(c->arena, struct sim_place *, c->rank_n);
	c->place_n = arena_new_array(c->arena, uint32_t, c->rank_n);
	p->symmetry = NULL;
	bool ok = walk_until_known(&w);
	sim_rank_free(&w.r);
	vec_free(&w.twins.twin);
	if (ok) {
		c->n = number_ranks(c, w.key);
		refine(p, c);
		for (uint32_t k = 0; k < c->rank_n; k++)
			if (c->of[k] != SIM_NONE)
				c->count[c->of[k]]++;
	}
	free(w.key);
	if (!ok)
		sim_classes_free(c);
	return ok;
}
