/* twins: ranks that do the same as a walked rank, each on its own channels.
 *
 *     Y <- allgather(T, axis=x)     (0 1 2 3) for rank 2, (4 5 6 7) for rank 5
 *
 * If nothing that a rank does depends on its number, any rank in the same meshes, with the same delay and
 * speed, does the same. Only its slices of teams differ; they are looked up for each team that the walked
 * rank looked up. */
#ifndef HIRC_SIM_TWINS_H
#define HIRC_SIM_TWINS_H
#include "sim/rank.h"

enum { TWINS_MOST = 64 }; /* walked ranks that are kept; later ones are never found as twins */

struct sim_twin {
	uint32_t rank, asked_n, place_n;
	struct sim_asked *asked;
};

struct sim_twins {
	struct sim_program *p;
	struct arena *arena;
	VEC(struct sim_twin) twin;
};

/* Adds a walked rank, which must not be by_rank. */
void sim_twins_add(struct sim_twins *t, uint32_t rank, const struct sim_rank *r);
/* Finds a walked rank that does the same as `rank`, and the places of `rank`, in the arena. Returns NULL if
 * there is none. */
const struct sim_twin *sim_twins_find(const struct sim_twins *t, uint32_t rank, struct sim_place **place);

#endif
