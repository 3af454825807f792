/* walk_program: see walk_program.h. */
#include "walk/walk_program.h"
#include "ir/edit.h"
#include <string.h>

struct walk_team {
	uint32_t *slice;  /* by rank: index into walk_program.slice; 0: none */
	uint32_t *member; /* by rank: index in its slice */
};

void walk_program_open(struct walk_program *p, struct module *m, int64_t ranks)
{
	*p = (struct walk_program){.m = m, .ranks = ranks, .arena = arena_new()};
	p->team = arena_new_array(p->arena, struct walk_team *, m->team.n + 1);
	vec_push(&p->slice, (struct walk_slice){0});
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		if (m->op.at[op].kind != OP_POST)
			continue;
		if (!p->is_posted)
			p->is_posted = arena_new_array(p->arena, bool, m->op.n);
		for (unsigned k = 0; k < op_role_count(m, op, ROLE_STATEMENT); k++)
			p->is_posted[op_operand_id(m, op, ROLE_STATEMENT, k)] = true;
	}
}

void walk_program_close(struct walk_program *p)
{
	vec_free(&p->slice);
	hash_table_free(&p->slices);
	arena_free(p->arena);
}

static uint32_t intern_slice(struct walk_program *p, const uint32_t *device, uint32_t n)
{
	struct hash_probe probe = {.hash = hash_block(0, device, sizeof *device * n)};
	for (uint32_t k; (k = hash_next(&p->slices, &probe));)
		if (p->slice.at[k].n == n && !memcmp(p->slice.at[k].device, device, sizeof *device * n))
			return k;
	vec_push(&p->slice, (struct walk_slice){n, device});
	hash_insert(&p->slices, probe.hash, p->slice.n - 1);
	return p->slice.n - 1;
}

static struct walk_team *make_team(struct walk_program *p, const struct team *t)
{
	struct walk_team *x = arena_new_object(p->arena, struct walk_team);
	x->slice = arena_new_array(p->arena, uint32_t, p->ranks);
	x->member = arena_new_array(p->arena, uint32_t, p->ranks);
	for (uint32_t s = 0; s < t->slice_n; s++) {
		const uint32_t *device = t->device + t->start[s];
		uint32_t n = t->start[s + 1] - t->start[s], slice = intern_slice(p, device, n);
		for (uint32_t k = 0; k < n; k++)
			if (device[k] < p->ranks && !x->slice[device[k]]) {
				x->slice[device[k]] = slice;
				x->member[device[k]] = k;
			}
	}
	return x;
}

bool walk_membership(struct walk_program *p, team_id team, int64_t rank, struct membership *out)
{
	if (!team)
		return false;
	if (!p->team[team])
		p->team[team] = make_team(p, ir_team(p->m, team));
	uint32_t slice = p->team[team]->slice[rank];
	if (!slice)
		return false;
	*out = (struct membership){.slice = slice,
	                           .member = p->team[team]->member[rank],
	                           .n = p->slice.at[slice].n,
	                           .device = p->slice.at[slice].device};
	return true;
}
