/* reserve: the memory that `hirc run` reserves for a simulated program: buffers in their places, with the
 * gaps between them, copies for iterations in flight and packed operands. Live at any moment is no more of
 * it. */
#ifndef HIRC_SIM_RESERVE_H
#define HIRC_SIM_RESERVE_H
#include "sim/timeline.h"

enum {
	SIM_RESERVES = 16,          /* ranks of a class that are looked at, the first and last ones */
	SIM_RESERVE_RANKS = 512,    /* programs of more are not planned: that can take minutes */
	SIM_RESERVE_TASKS = 1 << 14 /* nor ranks with more */
};

/* Finds the bytes of the plan of the rank of a class that needs most. tasks: of one rank. Returns NULL, or
 * the reason why there is no plan, for people. */
const char *sim_reserve(const struct module *m, const struct timeline_class *c, uint32_t tasks, int64_t ranks,
                        int64_t streams, int64_t *bytes);

#endif
