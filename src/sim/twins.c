/* twins: see twins.h. */
#include "sim/twins.h"
#include <string.h>

void sim_twins_add(struct sim_twins *t, uint32_t rank, const struct sim_rank *r)
{
	if (t->twin.n == TWINS_MOST)
		return;
	struct sim_twin x = {.rank = rank,
	                     .asked_n = r->asked.n,
	                     .place_n = r->place.n,
	                     .asked = arena_new_array(t->arena, struct sim_asked, r->asked.n)};
	if (r->asked.n)
		memcpy(x.asked, r->asked.at, sizeof *x.asked * r->asked.n);
	vec_push(&t->twin, x);
}

static bool is_alike(const struct sim_program *p, uint32_t a, uint32_t b)
{
	if ((p->delay && p->delay[a] != p->delay[b]) || (p->slow && p->slow[a] != p->slow[b]))
		return false;
	for (mesh_id k = 1; k < p->m->mesh.n; k++)
		if (sim_rank_is_on(p, k, a) != sim_rank_is_on(p, k, b))
			return false;
	return true;
}

const struct sim_twin *sim_twins_find(const struct sim_twins *t, uint32_t rank, struct sim_place **place)
{
	for (uint32_t k = 0; k < t->twin.n; k++) {
		const struct sim_twin *x = &t->twin.at[k];
		if (!is_alike(t->p, x->rank, rank))
			continue;
		struct sim_place *own = arena_new_array(t->arena, struct sim_place, x->place_n);
		if (!sim_rank_meets_alike(t->p, rank, x->asked, x->asked_n, own, x->place_n))
			continue;
		*place = own;
		return x;
	}
	return NULL;
}
