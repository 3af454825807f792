/* list: a schedule by list scheduling, in one pass.
 *
 * Inner comms are issued when they are ready. Of the other nodes that are ready and not further ahead of the
 * original order than `window`, the one with the longest tail goes next, the tail being the time on the
 * longest way from it to the end. Where it would have to wait, something that fits goes before: nodes further
 * ahead, or those that need sinks. Before a node of d ns, each lane is given work for d ns: the next
 * source if it is urgent, else a sink that is ready, else the source. Memory is a limit for each of these
 * steps, for the rest in the original order is always a way to the end (headroom.h). */
#ifndef HIRC_SCHED_LIST_H
#define HIRC_SCHED_LIST_H
#include "sched/problem.h"

struct sched_list_options {
	int64_t limit;    /* bytes; the original order keeps to it */
	int64_t window;   /* ns of host time in the original order */
	int64_t prefetch; /* a source is issued no longer than this before its consumer, in ns */
	int64_t urgent;   /* slack of a source, in ns, below which it goes before sinks */
	bool deep;        /* stalls are filled from as far ahead as there is something */
	int64_t below;    /* ns; a runtime of this or more is not wanted */
};

/* role: of sched_roles. order: receives p->n nodes. False: given up, the runtime would not be below. */
bool sched_list(const struct sched_problem *p, const uint8_t *role, const struct sched_list_options *o,
                uint32_t *order);

#endif
