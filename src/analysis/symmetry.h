/* symmetry: turns of the ranks that leave a program as it is, so that few of them need to be walked.
 *
 *     mesh ring(x = 8)                         two to a host
 *     send(X, peer=device(x, (axis_index(x) + i) % 8))
 *
 * If all ranks are moved along x by 2, round the end, each rank meets the same ranks as before, moved by 2 as
 * well, over links of the same kind: ranks 0, 2, 4 and 6 do alike. A turn moves the ranks of a mesh along one
 * axis by so many steps. Rank by rank it is tested that meshes, teams and a caller's facts about ranks
 * (links, late and slow ones) stay as they are; during the walk, that values computed from a rank's number
 * move along (see symmetry_moves.h). If one of these fails, the next larger step is tried, then the turn is
 * given up.
 *
 * Turns commute. Ranks that they make of one another are an orbit, of which the least is walked. */
#ifndef HIRC_ANALYSIS_SYMMETRY_H
#define HIRC_ANALYSIS_SYMMETRY_H
#include "base/arena.h"
#include "ir/ir.h"

#define SYMMETRY_NONE UINT32_MAX

enum { SYMMETRY_MOST = 16 }; /* turns */

/* Ranks and groups that a turn leaves as they are, beside meshes and teams. */
struct symmetry_frame {
	const struct module *m;
	int64_t ranks;
	struct arena *arena; /* lives as long as the symmetry */
	const uint32_t *const
	    *group; /* group_n of them, by rank: ranks of one group stay in one, of two in two */
	unsigned group_n;
	const int64_t *label[2]; /* by rank: stays as it is; NULL: none */
};

struct symmetry_turn {
	mesh_id mesh;
	unsigned axis;
	uint32_t step;
	uint32_t *to; /* by rank */
	/* Ranks by cycle, and by rank where its cycle begins there, how long it is, and its place in it. */
	uint32_t *cycle, *begin, *length, *place;
	uint32_t (*moves)[IR_MAX_MESH_AXES]; /* by mesh and axis: how far its index moves, modulo the size */
	uint32_t number; /* so far ranks move modulo their number; SYMMETRY_NONE: not alike */
	uint32_t *power; /* by rank: how often it is applied to the least of its orbit */
};

struct symmetry {
	struct symmetry_frame frame;
	uint32_t **position; /* by mesh, then rank: its position + 1; 0: not in it */
	unsigned n;
	struct symmetry_turn turn[SYMMETRY_MOST];
	uint32_t *least; /* by rank: of its orbit */
	int broken;      /* the turn that a walk was found not to follow; -1: none */
};

/* NULL: no turn leaves all of that as it is. */
struct symmetry *symmetry_find(const struct symmetry_frame *frame);
/* Without the turn that is broken; false: none is left. */
bool symmetry_give_up(struct symmetry *s);

/* A rank, turned as `by` is turned to the least of its orbit. */
uint32_t symmetry_back(const struct symmetry *s, uint32_t rank, uint32_t by);

#endif
