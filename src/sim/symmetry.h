/* symmetry: turns of the ranks that leave a program as it is, so that few of them need to be walked.
 *
 *     mesh ring(x = 8)                         two to a host
 *     send(X, peer=device(x, (axis_index(x) + i) % 8))
 *
 * If all ranks are moved along x by 2, round the end, whom a rank then meets is whom it met, moved by 2 as
 * well, over links of the same kind: ranks 0, 2, 4 and 6 do alike. A turn moves the ranks of a mesh along one
 * axis by so many steps. That meshes, teams, links, late and slow ranks stay what they are is looked at rank
 * by rank; that what a rank computes of its number moves along, while it is walked (see moves.h). Where that
 * is not so, the next larger step is tried, then the turn is given up.
 *
 * Turns commute. Ranks that they make of one another are an orbit, of which the least is walked. So are
 * channels: the joint of a channel is the same for all of an orbit, and one that the least rank is on. */
#ifndef HIRC_SIM_SYMMETRY_H
#define HIRC_SIM_SYMMETRY_H
#include "sim/rank.h"

enum { SYMMETRY_MOST = 16 }; /* turns */

struct sim_turn {
	mesh_id mesh;
	unsigned axis;
	uint32_t step;
	uint32_t *to; /* by rank */
	/* Ranks by cycle, and by rank where its cycle begins there, how long it is, and its place in it. */
	uint32_t *cycle, *begin, *length, *place;
	uint32_t (*moves)[IR_MAX_MESH_AXES]; /* by mesh and axis: how far its index moves, modulo the size */
	uint32_t number;                     /* so far ranks move modulo their number; SIM_NONE: not alike */
	uint32_t *power;                     /* by rank: how often it is applied to the least of its orbit */
};

struct sim_symmetry {
	struct sim_program *p;
	uint32_t **position; /* by mesh, then rank: its position + 1; 0: not in it */
	unsigned n;
	struct sim_turn turn[SYMMETRY_MOST];
	uint32_t *least; /* by rank: of its orbit */
	int broken;      /* the turn that a walk was found not to follow; -1: none */
};

/* NULL: no turn leaves meshes, teams, links and times as they are. It lives as long as the program. */
struct sim_symmetry *sim_symmetry_find(struct sim_program *p);
/* Without the turn that is broken; false: none is left. */
bool sim_symmetry_give_up(struct sim_symmetry *s);

/* A rank, turned as `by` is turned to the least of its orbit. */
uint32_t sim_symmetry_back(const struct sim_symmetry *s, uint32_t rank, uint32_t by);

#endif
