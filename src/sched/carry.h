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

struct sched_carry_parts {     /* of a bucket */
	int64_t in;            /* bytes of its operand */
	uint32_t pack, unpack; /* places; SCHED_NONE: it has none */
};

/* The places of an order of a problem with buckets. The problem itself is not needed to carry the order. */
struct sched_carry_places {
	uint32_t n;                      /* places */
	uint32_t *at;                    /* by original node: the place of the node that it became */
	struct sched_carry_parts *parts; /* by bucket */
};

/* Finds the places of an order of b.p. n: nodes of the original problem. */
void sched_carry_read(const struct sched_bucketed *b, const uint32_t *order, uint32_t n, struct arena *a,
                      struct sched_carry_places *out);
/* Makes an order of the nodes of `to` from the places in another problem; both are made of the problem `of`.
 * bucket: by transfer of that, its bucket in the other problem. */
void sched_carry(const struct sched_carry_places *from, const struct sched_problem *of,
                 const uint32_t *bucket, const struct sched_bucketed *to, const struct sched_carry_options *o,
                 uint32_t *out);

#endif
