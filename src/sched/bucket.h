/* bucket: makes the problem in which each bucket of comms is one comm.
 *
 *     comm a; comm b; wait a; wait b   →   pack; comm; wait; unpack
 *
 * A pack copies the operands into one buffer, which is live until the wait of the comm. An unpack copies
 * the results of an allgather out of the gathered buffer, which is live from the comm on. Results of
 * other collectives are parts of their buffer, unless the problem says that they are copied, too. If
 * members are grouped instead of packed, the bucket has only a comm and a wait, which make and use the
 * storages of the members. A bucket goes to the place of its last member, or before the first node that
 * needs it; the nodes that it needs go before it. */
#ifndef HIRC_SCHED_BUCKET_H
#define HIRC_SCHED_BUCKET_H
#include "sched/problem.h"

enum sched_step { SCHED_STEP_NODE, SCHED_STEP_PACK, SCHED_STEP_COMM, SCHED_STEP_WAIT, SCHED_STEP_UNPACK };

struct sched_origin {       /* origin of a node of the problem with buckets */
	uint32_t step : 3;  /* enum sched_step */
	uint32_t node : 29; /* the original node; for a bucket its first member */
	uint32_t bucket;    /* SCHED_NONE: in no bucket */
};

struct sched_bucketed {
	struct sched_problem p;
	struct sched_origin *origin; /* by node of p */
	uint32_t *became;            /* by node of p: its new node; members: the comm or wait of the bucket */
};

/* bucket, by transfer of p: a number below bucket_n or SCHED_NONE. Members of a bucket are of one
 * family. Without buckets, the new problem shares the memory of p. Returns false if buckets would wait for
 * each other. */
bool sched_bucket(const struct sched_problem *p, const uint32_t *bucket, uint32_t bucket_n, struct arena *a,
                  struct sched_bucketed *out);

#endif
