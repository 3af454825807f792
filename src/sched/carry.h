/* carry: keeps the order of a schedule when its buckets change. */
#ifndef HIRC_SCHED_CARRY_H
#define HIRC_SCHED_CARRY_H
#include "sched/rebucket.h"

struct sched_carry_options {
	bool first; /* a new bucket is issued where the first of its members was; else, the last */
	uint32_t
	    late; /* a comm, as numbered without buckets; the nodes that only it needs move to it. SCHED_NONE: none */
	bool end; /* it is issued as late as possible */
};

/* Makes a schedule of r.p after a change. order: the schedule of n nodes before. Returns false if buckets wait for
 * each other. */
bool sched_carry(const struct sched_rebucket *r, const uint32_t *order, uint32_t n,
                 const struct sched_carry_options *o, uint32_t *out);

#endif
