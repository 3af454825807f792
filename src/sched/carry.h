/* carry: keeps the order of a schedule when its buckets change. */
#ifndef HIRC_SCHED_CARRY_H
#define HIRC_SCHED_CARRY_H
#include "sched/bucket.h"

struct sched_carry_options {
	bool first; /* a new bucket is issued where the first of its members was; else, the last */
	uint32_t
	    late; /* a comm of the new problem; the nodes that only it needs move to it. SCHED_NONE: none */
	bool end; /* it is issued as late as possible */
};

/* Makes an order of the nodes of `to` from an order of the nodes of `from`; both are made of one problem
 * with n nodes. */
void sched_carry(const struct sched_bucketed *from, const uint32_t *order, uint32_t n,
                 const struct sched_bucketed *to, const struct sched_carry_options *o, uint32_t *out);

#endif
