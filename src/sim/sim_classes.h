/* sim_classes: ranks that do alike.
 *
 * Two ranks are of one class if they issue the same tasks at the same times, and whom they meet on each
 * channel are members of the same classes, for whom it is the same channel. Their tasks then begin and end at
 * the same times, so that one of them stands for all. Classes are refined from the tasks alone until they are
 * that. */
#ifndef HIRC_SIM_SIM_CLASSES_H
#define HIRC_SIM_SIM_CLASSES_H
#include "sim/rank.h"

struct sim_classes {
	struct arena *arena;
	uint32_t n, rank_n;
	uint32_t *of;             /* by rank; SIM_NONE: it takes no part */
	uint32_t *first;          /* by class: its least rank */
	uint32_t *count;          /* by class */
	struct sim_place **place; /* by rank: its places on channels, place_n of them */
	uint32_t *place_n;        /* 0 of ranks that are not the least of their orbit */
};

/* each: every rank is walked; otherwise ranks are left out that are known to do the same as a walked one:
 * twins (twins.h), and orbits of the symmetry that is put in the program. The classes are the same.
 * False after reporting; then there is nothing to free. */
bool sim_classes_find(struct sim_program *p, bool each, struct sim_classes *out);
void sim_classes_free(struct sim_classes *c);

#endif
