/* batch: bounds the runtime by the buckets of one lane.
 *
 * A bucket delays everything that needs its first member until its last byte has arrived; small buckets
 * take more time of the lane. Let the comms of a family be sorted by their tails, the longest first, as if
 * they were a string of bytes. Any buckets can be changed into pieces of this string, one after the other,
 * of the same sizes: then no piece has a longer tail than a bucket that ends at least as late. So the least
 * time of the lane for which no piece ends too late is a bound. The same holds backwards, with heads.
 *
 *     bytes      | large tails           small tails |
 *     pieces     |  1  |   2    |         3          |     end of piece k + tail of its first byte <= runtime
 *
 * No bucket is larger than memory admits: it needs room for the packed and the gathered buffer, and for
 * operands and results. */
#ifndef HIRC_SCHED_BATCH_H
#define HIRC_SCHED_BATCH_H
#include "sched/problem.h"

/* Finds, for each family, the most bytes of the operands of a bucket within the limit. alone: by node;
 * receives true for comms that share a bucket with no other: none is independent (partner.h), or none fits. */
void sched_batch_most(const struct sched_problem *p, int64_t limit, int64_t *most, bool *alone);

/* Returns the bytes of operands that no other comm reads. They exist until the bucket of the comm is issued. */
int64_t sched_batch_operands(const struct sched_problem *p, uint32_t comm);

/* The least ns that the host spends on a comm that may be in a bucket: launches, or copies. */
struct sched_batch_host {
	int64_t before, after; /* until it issues the comm; from then until its result can be read */
	int64_t both;          /* together; at least before + after */
};
/* Finds them, by comm. Waits for a comm after its first one count nothing. wait: by comm, its first wait, or
 * SCHED_NONE. Both have p->n elements; those of nodes that are in no bucket are not set. */
void sched_batch_hosts(const struct sched_problem *p, const bool *alone, struct sched_batch_host *host,
                       uint32_t *wait);

struct sched_batches {
	const struct sched_problem *p;
	const int64_t *head, *tail; /* by node: as sched_bound has them; a comm of tail -1 is ignored */
	const int64_t *most;        /* by family: most bytes of a bucket */
	const bool *alone;          /* by node: the comm is in no bucket */
};

/* Returns a time that every schedule takes at least, and that is not below `least`, which is one, too. */
int64_t sched_bound_batches(const struct sched_batches *b, uint32_t lane, int64_t least);

#endif
