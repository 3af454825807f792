/* symmetry: finds turns of the ranks that leave a program unchanged, so that only a few ranks need to be
 * walked.
 *
 *     mesh ring(x = 8)                         two to a host
 *     send(X, peer=device(x, (axis_index(x) + i) % 8))
 *
 * Move all ranks along x by 2, around the end. Each rank then meets the same ranks as before, also moved
 * by 2, over links of the same kind. So ranks 0, 2, 4 and 6 do the same. A turn moves the ranks of a
 * mesh along one axis by a number of steps. For each rank, symmetry_find tests that the turn keeps
 * meshes, teams and the caller's facts about ranks (links, late and slow ranks). During the walk, the
 * values computed from the rank's number must move along (see symmetry_moves.h). If a test fails, the
 * next larger step is tried; if none is left, the turn is given up.
 *
 * If a pipeline has a mesh for each stage, a turn of one stage moves ranks away from the ranks to which they
 * send. So a turn that fails is tried as a joint turn: it moves all meshes that have an axis of this name and
 * size, and no rank in common, by the same step.
 *
 * Turns commute. The ranks that turns map to one another form an orbit; the least rank of each orbit is
 * walked. */
#ifndef HIRC_ANALYSIS_SYMMETRY_H
#define HIRC_ANALYSIS_SYMMETRY_H
#include "base/arena.h"
#include "ir/ir.h"

#define SYMMETRY_NONE UINT32_MAX

enum { SYMMETRY_MOST = 16 }; /* most turns of a program */

/* The facts about ranks that a turn must keep, beside meshes and teams. */
struct symmetry_frame {
	const struct module *m;
	int64_t ranks;
	struct arena *arena;          /* must outlive the symmetry */
	const uint32_t *const *group; /* group_n partitions, by rank: a turn may map groups to groups, but
	                                 must not split or join them */
	unsigned group_n;
	const int64_t *label[2]; /* by rank: a turn must keep it; NULL: none */
};

struct symmetry_turn {
	mesh_id mesh;
	unsigned axis;
	uint32_t step;
	bool joint;   /* other meshes with an axis of this name and size move along */
	uint32_t *to; /* by rank: where it moves */
	/* cycle: the ranks, cycle after cycle. By rank: the begin of its cycle in `cycle`, the length of
	 * the cycle, and the rank's place in it. */
	uint32_t *cycle, *begin, *length, *place;
	uint32_t (
	    *moves)[IR_MAX_MESH_AXES]; /* by mesh and axis: the distance its index moves, modulo the size */
	uint32_t number; /* distance that all rank numbers move, modulo the ranks; SYMMETRY_NONE: it differs
	                    between ranks */
	uint32_t *power; /* by rank: number of times the turn is applied to the least rank of the orbit to
	                    reach it */
};

struct symmetry {
	struct symmetry_frame frame;
	uint32_t **position; /* by mesh, then rank: the rank's position + 1; 0: the rank is not in the mesh */
	unsigned n;
	struct symmetry_turn turn[SYMMETRY_MOST];
	uint32_t *least; /* by rank: the least rank of its orbit */
	int broken;      /* the turn that failed during a walk; -1: none */
};

/* Returns NULL if no turn keeps all the facts. */
struct symmetry *symmetry_find(const struct symmetry_frame *frame);
/* Replaces the broken turn by one with a larger step, or removes it. Returns false if no turn is left. */
bool symmetry_give_up(struct symmetry *s);

/* Applies to `rank` the turns that move `by` to the least rank of its orbit. */
uint32_t symmetry_back(const struct symmetry *s, uint32_t rank, uint32_t by);

#endif
