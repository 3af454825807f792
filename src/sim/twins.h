/* twins: ranks that do the same as a walked rank, each on its own channels.
 *
 *     Y <- allgather(T, axis=x)     (0 1 2 3) for rank 2, (4 5 6 7) for rank 5
 *
 * If nothing that a rank does depends on its number, another that is in the same meshes, as late and as slow
 * does the same. Only the slices of teams that hold it differ, and are looked up for each team that the
 * first one asked for. */
#ifndef HIRC_SIM_TWINS_H
#define HIRC_SIM_TWINS_H
#include "sim/rank.h"

enum { TWINS_MOST = 64 }; /* that were walked; of more, ranks are walked that would have had a twin */

struct sim_twin {
	uint32_t rank, asked_n, place_n;
	struct sim_asked *asked;
};

struct sim_twins {
	struct sim_program *p;
	struct arena *arena;
	VEC(struct sim_twin) twin;
};

/* A rank that was walked; it is not by_rank. */
void sim_twins_add(struct sim_twins *t, uint32_t rank, const struct sim_rank *r);
/* One that the rank does like, and the places of the rank, in the arena. NULL: there is none. */
const struct sim_twin *sim_twins_find(const struct sim_twins *t, uint32_t rank, struct sim_place **place);

#endif
