/* search: improves a schedule step by step. A step moves one node, with the nodes that it needs or that
 * need it.
 *
 * A step starts at a wait that holds the host; a longer stall is drawn more often. It accepts a schedule
 * that takes no longer than before, and sometimes one that takes a little longer. The best one is kept.
 * The same options give the same schedule on every machine. */
#ifndef HIRC_SCHED_SEARCH_H
#define HIRC_SCHED_SEARCH_H
#include "sched/window.h"

struct sched_search_options {
	int64_t limit;  /* bytes */
	uint64_t steps; /* number of random moves */
	uint64_t seed;
	int64_t enough; /* ns; the search ends when the runtime is at most this */
	int64_t goal;   /* ns; the search ends early if it is much too slow to get there; 0: none */
};

/* order: a schedule of p; receives the best one found. Returns false, and changes nothing, if it exceeds the limit. */
bool sched_search(const struct sched_problem *p, const struct sched_search_options *o, uint32_t *order);
/* Likewise, in an open window, whose limit counts. Afterwards the window's order is the best one; all else of it must
 * be read again. */
bool sched_search_window(struct window *w, const struct sched_search_options *o);

#endif
