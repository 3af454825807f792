/* symmetry: see symmetry.h. */
#include "sim/symmetry.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include <string.h>

static uint32_t applied(const struct sim_turn *t, uint32_t rank, uint32_t times)
{
	return t->cycle[t->begin[rank] + (t->place[rank] + times) % t->length[rank]];
}

uint32_t sim_symmetry_back(const struct sim_symmetry *s, uint32_t rank, uint32_t by)
{
	for (unsigned k = 0; k < s->n; k++) {
		const struct sim_turn *t = &s->turn[k];
		uint32_t length = t->length[rank];
		rank = applied(t, rank, length - t->power[by] % length);
	}
	return rank;
}

/* ---- a turn */

static void make_positions(struct sim_symmetry *s)
{
	struct sim_program *p = s->p;
	s->position = arena_new_array(p->arena, uint32_t *, p->m->mesh.n);
	for (mesh_id k = 1; k < p->m->mesh.n; k++) {
		const struct mesh *mesh = &p->m->mesh.at[k];
		s->position[k] = arena_new_array(p->arena, uint32_t, p->ranks);
		for (uint32_t i = 0; i < mesh->device_count; i++)
			s->position[k][mesh->device[i]] = i + 1;
	}
}

static void coordinates(const struct mesh *mesh, uint32_t position, uint32_t *out)
{
	for (unsigned axis = mesh->rank; axis--;) {
		out[axis] = position % mesh->size[axis];
		position /= mesh->size[axis];
	}
}

static void find_moved(const struct sim_symmetry *s, struct sim_turn *t)
{
	const struct mesh *mesh = &s->p->m->mesh.at[t->mesh];
	uint32_t at[IR_MAX_MESH_AXES];
	for (uint32_t r = 0; r < s->p->ranks; r++)
		t->to[r] = r;
	for (uint32_t i = 0; i < mesh->device_count; i++) {
		coordinates(mesh, i, at);
		t->to[mesh->device[i]] =
		    mesh_device_along(mesh, i, t->axis, (at[t->axis] + t->step) % mesh->size[t->axis]);
	}
}

static void find_cycles(const struct sim_symmetry *s, struct sim_turn *t)
{
	uint32_t n = 0;
	memset(t->length, 0, sizeof *t->length * (size_t)s->p->ranks);
	for (uint32_t r = 0; r < s->p->ranks; r++) {
		uint32_t begin = n, x = r;
		for (; !t->length[x]; x = t->to[x]) {
			t->length[x] = 1;
			t->begin[x] = begin;
			t->place[x] = n - begin;
			t->cycle[n++] = x;
		}
		for (uint32_t k = begin; k < n; k++)
			t->length[t->cycle[k]] = n - begin;
	}
}

/* ---- what it leaves as it is */

/* Whether the indices of all ranks of a mesh move alike. If so of all meshes, turns commute: a turn of one
 * mesh moves some ranks of another only if it moves all of them, so that two turns move the same ranks or
 * none both. */
static bool keeps_mesh(const struct sim_symmetry *s, struct sim_turn *t, mesh_id k)
{
	const struct mesh *mesh = &s->p->m->mesh.at[k];
	uint32_t from[IR_MAX_MESH_AXES], to[IR_MAX_MESH_AXES];
	for (uint32_t i = 0; i < mesh->device_count; i++) {
		uint32_t position = s->position[k][t->to[mesh->device[i]]];
		if (!position)
			return false;
		coordinates(mesh, i, from);
		coordinates(mesh, position - 1, to);
		for (unsigned axis = 0; axis < mesh->rank; axis++) {
			uint32_t size = mesh->size[axis], moves = (to[axis] + size - from[axis]) % size;
			if (i && moves != t->moves[k][axis])
				return false;
			t->moves[k][axis] = moves;
		}
	}
	return true;
}

/* Whether ranks of one group stay in one, and those of two in two. group: by rank. */
static bool keeps_groups(const struct sim_turn *t, const uint32_t *group, uint32_t ranks, uint32_t *becomes,
                         uint32_t *was)
{
	for (uint32_t r = 0; r < ranks; r++)
		becomes[group[r]] = was[group[r]] = SIM_NONE;
	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t from = group[r], to = group[t->to[r]];
		if ((becomes[from] != SIM_NONE && becomes[from] != to) ||
		    (was[to] != SIM_NONE && was[to] != from))
			return false;
		becomes[from] = to;
		was[to] = from;
	}
	return true;
}

static bool keeps_links(const struct sim_symmetry *s, const struct sim_turn *t)
{
	const struct cluster *c = cost_cluster(s->p->cost);
	uint32_t n = (uint32_t)s->p->ranks, *group = mem_alloc(sizeof *group * 3 * ((size_t)n + 1));
	bool ok = true;
	for (unsigned l = 0; l < c->link_n && ok; l++) {
		for (uint32_t r = 0; r < n; r++)
			group[r] = (uint32_t)(r / c->link[l].span);
		ok = keeps_groups(t, group, n, group + n + 1, group + 2 * ((size_t)n + 1));
	}
	free(group);
	return ok;
}

static bool keeps_times(const struct sim_symmetry *s, const struct sim_turn *t)
{
	const struct sim_program *p = s->p;
	for (uint32_t r = 0; r < p->ranks; r++)
		if ((p->delay && p->delay[r] != p->delay[t->to[r]]) ||
		    (p->slow && p->slow[r] != p->slow[t->to[r]]))
			return false;
	return true;
}

/* The slices of a team by the ranks in them, as channels: the same of another team is the same channel.
 * by_rank: SIM_NONE: in none. False: slices have ranks in common. */
static bool slices_of(struct sim_program *p, team_id team, uint32_t *by_rank)
{
	const struct team *x = ir_team(p->m, team);
	for (uint32_t r = 0; r < p->ranks; r++)
		by_rank[r] = SIM_NONE;
	for (uint32_t k = 0; k < x->device_n; k++) {
		uint32_t r = x->device[k];
		if (r >= p->ranks || by_rank[r] != SIM_NONE)
			return false;
		by_rank[r] = sim_channel_of_team(p, team, SIM_CHANNEL_TEAM, 0, r);
	}
	return true;
}

/* Slices become slices, the same one whatever team it is looked at as. becomes, was: by channel. */
static bool keeps_slices(const struct sim_turn *t, const uint32_t *slice, uint32_t ranks, uint32_t *becomes,
                         uint32_t *was)
{
	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t from = slice[r], to = slice[t->to[r]];
		if (from == SIM_NONE && to == SIM_NONE)
			continue;
		if (from == SIM_NONE || to == SIM_NONE ||
		    (becomes[from] != SIM_NONE && becomes[from] != to) ||
		    (was[to] != SIM_NONE && was[to] != from))
			return false;
		becomes[from] = to;
		was[to] = from;
	}
	return true;
}

static bool keeps_teams(const struct sim_symmetry *s, const struct sim_turn *t)
{
	struct sim_program *p = s->p;
	bool *seen = mem_zalloc((size_t)p->m->team.n + 1), ok = true;
	uint32_t *slice = mem_alloc(sizeof *slice * ((size_t)p->ranks + 1)), *becomes = NULL, *was = NULL;
	uint32_t n = 0;
	for (op_id op = ir_walk_first(p->m); op && ok; op = ir_walk(p->m, op)) {
		team_id team = p->m->op.at[op].team;
		if (!team || seen[team])
			continue;
		seen[team] = true;
		if (!(ok = slices_of(p, team, slice)))
			break;
		becomes = mem_realloc(becomes, sizeof *becomes * ((size_t)p->channel.n + 1));
		was = mem_realloc(was, sizeof *was * ((size_t)p->channel.n + 1));
		for (; n < p->channel.n; n++)
			becomes[n] = was[n] = SIM_NONE;
		ok = keeps_slices(t, slice, (uint32_t)p->ranks, becomes, was);
	}
	free(seen);
	free(slice);
	free(becomes);
	free(was);
	return ok;
}

/* How far all ranks move, as numbers; SIM_NONE: not alike. */
static uint32_t number_of(const struct sim_symmetry *s, const struct sim_turn *t)
{
	uint32_t n = (uint32_t)s->p->ranks;
	for (uint32_t r = 1; r < n; r++)
		if ((t->to[r] + n - r) % n != t->to[0])
			return SIM_NONE;
	return t->to[0];
}

static bool is_kept(const struct sim_symmetry *s, struct sim_turn *t)
{
	find_moved(s, t);
	for (mesh_id k = 1; k < s->p->m->mesh.n; k++)
		if (!keeps_mesh(s, t, k))
			return false;
	if (!keeps_times(s, t) || !keeps_links(s, t) || !keeps_teams(s, t))
		return false;
	find_cycles(s, t);
	t->number = number_of(s, t);
	return true;
}

/* The next larger step that leaves all as it is. False: there is none. */
static bool next_step(const struct sim_symmetry *s, struct sim_turn *t)
{
	uint32_t size = s->p->m->mesh.at[t->mesh].size[t->axis];
	while (++t->step < size)
		if (size % t->step == 0 && is_kept(s, t))
			return true;
	return false;
}

/* ---- orbits */

static void find_orbits(struct sim_symmetry *s)
{
	uint32_t ranks = (uint32_t)s->p->ranks, *member = mem_alloc(sizeof *member * ((size_t)ranks + 1));
	for (uint32_t r = 0; r < ranks; r++)
		s->least[r] = SIM_NONE;
	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t n = 0;
		if (s->least[r] != SIM_NONE)
			continue;
		s->least[r] = r;
		member[n++] = r;
		for (unsigned k = 0; k < s->n; k++)
			s->turn[k].power[r] = 0;
		for (unsigned k = 0; k < s->n; k++)
			for (uint32_t i = 0, before = n; i < before; i++) {
				uint32_t from = member[i], power = 0;
				for (uint32_t x = s->turn[k].to[from]; s->least[x] == SIM_NONE;
				     x = s->turn[k].to[x]) {
					s->least[x] = r;
					for (unsigned j = 0; j < s->n; j++)
						s->turn[j].power[x] = s->turn[j].power[from];
					s->turn[k].power[x] = ++power;
					member[n++] = x;
				}
			}
	}
	free(member);
}

/* ---- all of it */

static struct sim_turn turn_of(struct sim_program *p, mesh_id mesh, unsigned axis)
{
	struct sim_turn t = {.mesh = mesh, .axis = axis};
	t.to = arena_new_array(p->arena, uint32_t, p->ranks);
	t.cycle = arena_new_array(p->arena, uint32_t, p->ranks);
	t.begin = arena_new_array(p->arena, uint32_t, p->ranks);
	t.length = arena_new_array(p->arena, uint32_t, p->ranks);
	t.place = arena_new_array(p->arena, uint32_t, p->ranks);
	t.power = arena_new_array(p->arena, uint32_t, p->ranks);
	t.moves = arena_alloc(p->arena, sizeof *t.moves * p->m->mesh.n);
	return t;
}

struct sim_symmetry *sim_symmetry_find(struct sim_program *p)
{
	struct sim_symmetry *s = arena_new_array(p->arena, struct sim_symmetry, 1);
	s->p = p;
	s->broken = -1;
	s->least = arena_new_array(p->arena, uint32_t, p->ranks);
	make_positions(s);
	for (mesh_id k = 1; k < p->m->mesh.n; k++)
		for (unsigned axis = 0; axis < p->m->mesh.at[k].rank && s->n < SYMMETRY_MOST; axis++) {
			struct sim_turn t = turn_of(p, k, axis);
			if (next_step(s, &t))
				s->turn[s->n++] = t;
		}
	find_orbits(s);
	return s->n ? s : NULL;
}

bool sim_symmetry_give_up(struct sim_symmetry *s)
{
	unsigned k = (unsigned)s->broken;
	struct sim_turn t = s->turn[k];
	s->turn[k] = s->turn[--s->n];
	if (next_step(s, &t)) {
		s->turn[s->n++] = s->turn[k];
		s->turn[k] = t;
	}
	s->broken = -1;
	find_orbits(s);
	return s->n > 0;
}
