/* sim_classes: puts ranks that behave alike into classes.
 *
 * Two ranks are in one class if they issue the same tasks at the same times and, on each channel, meet
 * members of the same classes that use the same channel. Then their tasks begin and end at the same times,
 * and one rank stands for all. Classes first follow from the tasks alone, and are split until this holds. */
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
	uint32_t *place_n;        /* 0 for ranks that are not the least of their orbit */
};

/* each: walk every rank. Otherwise skip ranks that are known to do the same as a walked one: twins (twins.h),
 * and orbits of the symmetry, which is stored in the program. The classes are the same in both cases. Returns
 * false after reporting; then there is nothing to free. */
bool sim_classes_find(struct sim_program *p, bool each, struct sim_classes *out);
void sim_classes_free(struct sim_classes *c);

#endif
