/* symmetry: see symmetry.h. */
#include "analysis/symmetry.h"
#include "base/vec.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include <string.h>

static uint32_t applied(const struct symmetry_turn *t, uint32_t rank, uint32_t times)
{
	return t->cycle[t->begin[rank] + (t->place[rank] + times) % t->length[rank]];
}

uint32_t symmetry_back(const struct symmetry *s, uint32_t rank, uint32_t by)
{
	for (unsigned k = 0; k < s->n; k++) {
		const struct symmetry_turn *t = &s->turn[k];
		uint32_t length = t->length[rank];
		rank = applied(t, rank, length - t->power[by] % length);
	}
	return rank;
}

/* ---- a turn */

static void make_positions(struct symmetry *s)
{
	const struct symmetry_frame *p = &s->frame;
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

/* Moves the ranks of a mesh along one axis. */
static void move_mesh(const struct symmetry *s, struct symmetry_turn *t, mesh_id k, unsigned axis)
{
	const struct mesh *mesh = &s->frame.m->mesh.at[k];
	uint32_t at[IR_MAX_MESH_AXES];
	for (uint32_t i = 0; i < mesh->device_count; i++) {
		coordinates(mesh, i, at);
		t->to[mesh->device[i]] =
		    mesh_device_along(mesh, i, axis, (at[axis] + t->step) % mesh->size[axis]);
	}
}

/* Returns true if the turn moves no rank of the mesh so far. */
static bool is_apart(const struct symmetry_turn *t, const struct mesh *mesh)
{
	for (uint32_t i = 0; i < mesh->device_count; i++)
		if (t->to[mesh->device[i]] != mesh->device[i])
			return false;
	return true;
}

/* Finds where the turn moves each rank. Returns false if a joint turn moves one mesh only. */
static bool find_moved(const struct symmetry *s, struct symmetry_turn *t)
{
	const struct module *m = s->frame.m;
	const struct mesh *mesh = &m->mesh.at[t->mesh];
	bool several = false;
	for (uint32_t r = 0; r < s->frame.ranks; r++)
		t->to[r] = r;
	move_mesh(s, t, t->mesh, t->axis);
	for (mesh_id k = 1; k < m->mesh.n && t->joint; k++) {
		const struct mesh *other = &m->mesh.at[k];
		for (unsigned axis = 0; axis < other->rank; axis++)
			if (other->axis_name[axis] == mesh->axis_name[t->axis] &&
			    other->size[axis] == mesh->size[t->axis] && is_apart(t, other)) {
				move_mesh(s, t, k, axis);
				several = true;
			}
	}
	return several || !t->joint;
}

static void find_cycles(const struct symmetry *s, struct symmetry_turn *t)
{
	uint32_t n = 0;
	memset(t->length, 0, sizeof *t->length * (size_t)s->frame.ranks);
	for (uint32_t r = 0; r < s->frame.ranks; r++) {
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

/* ---- things that a turn leaves as they are */

/* Returns true if the indices of all ranks of a mesh move by the same steps. If this holds for all
 * meshes, turns commute: a turn of one mesh that moves some ranks of another mesh moves all of them. So
 * two turns move either the same ranks or disjoint ones. */
static bool keeps_mesh(const struct symmetry *s, struct symmetry_turn *t, mesh_id k)
{
	const struct mesh *mesh = &s->frame.m->mesh.at[k];
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

/* Returns true if the turn moves ranks of one group to one group, and ranks of two groups to two. group:
 * by rank. */
static bool keeps_groups(const struct symmetry_turn *t, const uint32_t *group, uint32_t ranks,
                         uint32_t *becomes, uint32_t *was)
{
	for (uint32_t r = 0; r < ranks; r++)
		becomes[group[r]] = was[group[r]] = SYMMETRY_NONE;
	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t from = group[r], to = group[t->to[r]];
		if ((becomes[from] != SYMMETRY_NONE && becomes[from] != to) ||
		    (was[to] != SYMMETRY_NONE && was[to] != from))
			return false;
		becomes[from] = to;
		was[to] = from;
	}
	return true;
}

static bool keeps_frame(const struct symmetry *s, const struct symmetry_turn *t)
{
	uint32_t n = (uint32_t)s->frame.ranks, *scratch = mem_alloc(sizeof *scratch * 2 * ((size_t)n + 1));
	bool ok = true;
	for (unsigned k = 0; k < s->frame.group_n && ok; k++)
		ok = keeps_groups(t, s->frame.group[k], n, scratch, scratch + n + 1);
	for (unsigned k = 0; k < 2; k++)
		for (uint32_t r = 0; s->frame.label[k] && r < n && ok; r++)
			ok = s->frame.label[k][r] == s->frame.label[k][t->to[r]];
	free(scratch);
	return ok;
}

/* ---- slices of teams */

struct slice_of {
	const uint32_t *device;
	uint32_t n, next; /* next slice with the same first device, + 1 */
};

struct slices { /* numbers of slices: slices with the same devices in the same order have one number, even in
	           several teams */
	VEC(struct slice_of) known;
	uint32_t *first; /* by device: the first slice that begins with it, as an index of `known` + 1 */
};

static uint32_t slice_number(struct slices *s, const uint32_t *device, uint32_t n)
{
	uint32_t *first = &s->first[device[0]];
	for (uint32_t k = *first; k; k = s->known.at[k - 1].next)
		if (s->known.at[k - 1].n == n &&
		    !memcmp(s->known.at[k - 1].device, device, sizeof *device * n))
			return k - 1;
	vec_push(&s->known, (struct slice_of){device, n, *first});
	*first = s->known.n;
	return s->known.n - 1;
}

/* Numbers the slices of a team, by rank. by_rank: the number, or SYMMETRY_NONE if the rank is in no
 * slice. Returns false if two slices share a rank. */
static bool slices_of(const struct symmetry *s, struct slices *slices, team_id team, uint32_t *by_rank)
{
	const struct team *x = ir_team(s->frame.m, team);
	for (uint32_t r = 0; r < s->frame.ranks; r++)
		by_rank[r] = SYMMETRY_NONE;
	for (uint32_t k = 0; k < x->slice_n; k++) {
		uint32_t n = x->start[k + 1] - x->start[k];
		for (uint32_t i = x->start[k]; i < x->start[k + 1]; i++) {
			uint32_t r = x->device[i];
			if (r >= s->frame.ranks || by_rank[r] != SYMMETRY_NONE)
				return false;
			by_rank[r] = slice_number(slices, x->device + x->start[k], n);
		}
	}
	return true;
}

/* Returns true if the turn moves each slice to one slice, the same in every team. becomes, was: by
 * slice. */
static bool keeps_slices(const struct symmetry_turn *t, const uint32_t *slice, uint32_t ranks,
                         uint32_t *becomes, uint32_t *was)
{
	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t from = slice[r], to = slice[t->to[r]];
		if (from == SYMMETRY_NONE && to == SYMMETRY_NONE)
			continue;
		if (from == SYMMETRY_NONE || to == SYMMETRY_NONE ||
		    (becomes[from] != SYMMETRY_NONE && becomes[from] != to) ||
		    (was[to] != SYMMETRY_NONE && was[to] != from))
			return false;
		becomes[from] = to;
		was[to] = from;
	}
	return true;
}

static bool keeps_teams(const struct symmetry *s, const struct symmetry_turn *t)
{
	const struct module *m = s->frame.m;
	const uint32_t ranks = (uint32_t)s->frame.ranks;
	struct slices slices = {.first = mem_zalloc(sizeof *slices.first * ((size_t)ranks + 1))};
	bool *seen = mem_zalloc((size_t)m->team.n + 1), ok = true;
	uint32_t *slice = mem_alloc(sizeof *slice * ((size_t)ranks + 1)), *becomes = NULL, *was = NULL, n = 0;
	for (op_id op = ir_walk_first(m); op && ok; op = ir_walk(m, op)) {
		team_id team = m->op.at[op].team;
		if (!team || seen[team])
			continue;
		seen[team] = true;
		if (!(ok = slices_of(s, &slices, team, slice)))
			break;
		becomes = mem_realloc(becomes, sizeof *becomes * ((size_t)slices.known.n + 1));
		was = mem_realloc(was, sizeof *was * ((size_t)slices.known.n + 1));
		for (; n < slices.known.n; n++)
			becomes[n] = was[n] = SYMMETRY_NONE;
		ok = keeps_slices(t, slice, ranks, becomes, was);
	}
	vec_free(&slices.known);
	free(slices.first);
	free(seen);
	free(slice);
	free(becomes);
	free(was);
	return ok;
}

/* Returns the distance by which all rank numbers move; SYMMETRY_NONE if it differs between ranks. */
static uint32_t number_of(const struct symmetry *s, const struct symmetry_turn *t)
{
	uint32_t n = (uint32_t)s->frame.ranks;
	for (uint32_t r = 1; r < n; r++)
		if ((t->to[r] + n - r) % n != t->to[0])
			return SYMMETRY_NONE;
	return t->to[0];
}

static bool is_kept(const struct symmetry *s, struct symmetry_turn *t)
{
	if (!find_moved(s, t))
		return false;
	for (mesh_id k = 1; k < s->frame.m->mesh.n; k++)
		if (!keeps_mesh(s, t, k))
			return false;
	if (!keeps_frame(s, t) || !keeps_teams(s, t))
		return false;
	find_cycles(s, t);
	t->number = number_of(s, t);
	return true;
}

/* Returns true if one of the other turns moves the ranks in the same way. */
static bool is_known(const struct symmetry *s, const struct symmetry_turn *t)
{
	for (unsigned k = 0; k < s->n; k++)
		if (!memcmp(s->turn[k].to, t->to, sizeof *t->to * (size_t)s->frame.ranks))
			return true;
	return false;
}

/* Finds the next larger step that keeps meshes, teams and facts; after the largest one, the next larger step
 * of several meshes. Returns false if there is none. */
static bool next_step(const struct symmetry *s, struct symmetry_turn *t)
{
	uint32_t size = s->frame.m->mesh.at[t->mesh].size[t->axis];
	for (;;) {
		while (++t->step < size)
			if (size % t->step == 0 && is_kept(s, t) && !is_known(s, t))
				return true;
		if (t->joint)
			return false;
		t->joint = true;
		t->step = 0;
	}
}

/* ---- orbits */

static void find_orbits(struct symmetry *s)
{
	uint32_t ranks = (uint32_t)s->frame.ranks, *member = mem_alloc(sizeof *member * ((size_t)ranks + 1));
	for (uint32_t r = 0; r < ranks; r++)
		s->least[r] = SYMMETRY_NONE;
	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t n = 0;
		if (s->least[r] != SYMMETRY_NONE)
			continue;
		s->least[r] = r;
		member[n++] = r;
		for (unsigned k = 0; k < s->n; k++)
			s->turn[k].power[r] = 0;
		for (unsigned k = 0; k < s->n; k++)
			for (uint32_t i = 0, before = n; i < before; i++) {
				uint32_t from = member[i], power = 0;
				for (uint32_t x = s->turn[k].to[from]; s->least[x] == SYMMETRY_NONE;
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

static struct symmetry_turn turn_of(const struct symmetry_frame *p, mesh_id mesh, unsigned axis)
{
	struct symmetry_turn t = {.mesh = mesh, .axis = axis};
	t.to = arena_new_array(p->arena, uint32_t, p->ranks);
	t.cycle = arena_new_array(p->arena, uint32_t, p->ranks);
	t.begin = arena_new_array(p->arena, uint32_t, p->ranks);
	t.length = arena_new_array(p->arena, uint32_t, p->ranks);
	t.place = arena_new_array(p->arena, uint32_t, p->ranks);
	t.power = arena_new_array(p->arena, uint32_t, p->ranks);
	t.moves = arena_alloc(p->arena, sizeof *t.moves * p->m->mesh.n);
	return t;
}

struct symmetry *symmetry_find(const struct symmetry_frame *p)
{
	struct symmetry *s = arena_new_array(p->arena, struct symmetry, 1);
	s->frame = *p;
	s->broken = -1;
	s->least = arena_new_array(p->arena, uint32_t, p->ranks);
	make_positions(s);
	for (mesh_id k = 1; k < p->m->mesh.n; k++)
		for (unsigned axis = 0; axis < p->m->mesh.at[k].rank && s->n < SYMMETRY_MOST; axis++) {
			struct symmetry_turn t = turn_of(p, k, axis);
			if (next_step(s, &t))
				s->turn[s->n++] = t;
		}
	find_orbits(s);
	return s->n ? s : NULL;
}

bool symmetry_give_up(struct symmetry *s)
{
	unsigned k = (unsigned)s->broken;
	struct symmetry_turn t = s->turn[k];
	s->turn[k] = s->turn[--s->n];
	if (next_step(s, &t)) {
		s->turn[s->n++] = s->turn[k];
		s->turn[k] = t;
	}
	s->broken = -1;
	find_orbits(s);
	return s->n > 0;
}
