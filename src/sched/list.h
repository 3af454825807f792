/* list: makes a schedule by list scheduling, in one pass.
 *
 * Inner comms are issued when they are ready. Among the other ready nodes that are at most `window`
 * ahead of the original order, the one with the longest tail goes next. The tail is the time on the
 * longest path from the node to the end. If it would have to wait, another node that fits goes first: a
 * node further ahead, or one that needs sinks. Before a node of d ns, each lane gets work for d ns: the
 * next source if it is urgent, otherwise a ready sink, otherwise the source. Every step must fit in
 * memory; the rest in the original order always completes the schedule (headroom.h). */
#ifndef HIRC_SCHED_LIST_H
#define HIRC_SCHED_LIST_H
#include "sched/problem.h"

struct sched_list_options {
	int64_t limit;    /* bytes; the original order is within it */
	int64_t window;   /* ns of host time in the original order */
	int64_t prefetch; /* ns: a source is issued at most this long before its consumer */
	int64_t urgent;   /* ns: a source with less slack than this goes before sinks */
	bool deep;        /* fill stalls from any distance ahead */
	int64_t below;    /* ns; give up when the runtime will be this or more */
};

struct sched_range {
	int64_t from, to; /* inclusive */
};

/* The values of options with which all comparisons come out as they did, and the order is the same. */
struct sched_list_same {
	struct sched_range window, prefetch, urgent;
};

struct sched_list_base; /* the values of a problem that all its list schedules need */

/* role: from sched_roles. It and the arrays of the problem must live as long as the result. once: there will be
 * one list schedule, which may change the result instead of a copy. */
struct sched_list_base *sched_list_read(const struct sched_problem *of, const uint8_t *role, bool once,
                                        struct arena *a);
/* order: receives a node for each of the problem. Returns false if it gave up, since the runtime would not be
 * below. */
bool sched_list(const struct sched_list_base *base, const struct sched_list_options *o, uint32_t *order,
                struct sched_list_same *same);

#endif
