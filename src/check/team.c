/* team: which slice of a team a rank is in, looked up once a team.
 *
 *     team (0 1)(2 3)     rank 3: slice (2 3), member 1     rank 5: none
 *
 * Slices of different teams with the same devices in the same order are one: they are one communicator. */
#include "check/checker.h"
#include <string.h>

struct team_map {
	uint32_t *slice;  /* by rank; 0: none */
	uint32_t *member; /* by rank */
};

static uint32_t intern_slice(struct checker *c, const uint32_t *device, uint32_t n)
{
	struct hash_probe p = {.hash = hash_block(0, device, sizeof *device * n)};
	for (uint32_t k; (k = hash_next(&c->slices, &p));)
		if (c->slice.at[k].n == n && !memcmp(c->slice.at[k].device, device, sizeof *device * n))
			return k;
	vec_push(&c->slice, (struct slice){.device = device, .n = n});
	hash_insert(&c->slices, p.hash, c->slice.n - 1);
	return c->slice.n - 1;
}

static struct team_map *map_make(struct checker *c, const struct team *t)
{
	struct team_map *map = arena_new_object(c->arena, struct team_map);
	map->slice = arena_new_array(c->arena, uint32_t, c->o->ranks);
	map->member = arena_new_array(c->arena, uint32_t, c->o->ranks);
	for (uint32_t s = 0; s < t->slice_n; s++) {
		const uint32_t *device = t->device + t->start[s];
		uint32_t n = t->start[s + 1] - t->start[s], slice = intern_slice(c, device, n);
		for (uint32_t k = 0; k < n; k++)
			if (device[k] < c->o->ranks && !map->slice[device[k]]) {
				map->slice[device[k]] = slice;
				map->member[device[k]] = k;
			}
	}
	return map;
}

bool team_membership(struct rank_check *w, team_id team, struct membership *out)
{
	struct checker *c = w->c;
	if (!team)
		return false;
	if (!c->team_map[team])
		c->team_map[team] = map_make(c, ir_team(w->m, team));
	out->slice = c->team_map[team]->slice[w->rank];
	if (!out->slice)
		return false;
	out->member = c->team_map[team]->member[w->rank];
	out->n = c->slice.at[out->slice].n;
	out->device = c->slice.at[out->slice].device;
	return true;
}

uint32_t team_member(const struct checker *c, team_id team, uint32_t rank)
{
	return c->team_map[team]->member[rank];
}
