/* reserve: the memory that `hirc run` reserves for a simulated program: buffers in their places, with the
 * gaps between them, copies for iterations in flight, and packed operands. It is less than the live memory
 * only where a run leaves out copies of views. */
#ifndef HIRC_SIM_RESERVE_H
#define HIRC_SIM_RESERVE_H
#include "sim/timeline.h"

enum {
	SIM_RESERVES = 16,          /* ranks of a class that are planned: the first and the last ones */
	SIM_RESERVE_RANKS = 512,    /* programs with more ranks are not planned: it can take minutes */
	SIM_RESERVE_TASKS = 1 << 14 /* programs with more tasks on a rank are not planned */
};

/* Finds the most bytes that the plan of a rank of a class needs. tasks: of one rank. Returns NULL, or the
 * reason why there is no plan, as text for the user. */
const char *sim_reserve(const struct module *m, const struct timeline_class *c, uint32_t tasks, int64_t ranks,
                        int64_t streams, int64_t *bytes);

#endif
