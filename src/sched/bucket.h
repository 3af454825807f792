/* bucket: the problem in which groups of comms are one comm each.
 *
 *     comm a; comm b; wait a; wait b   →   pack; comm; wait; unpack
 *
 * A pack copies the operands into one buffer, which lives until its comm's wait. An unpack copies the
 * results of an allgather out of the gathered buffer, which lives from the comm; results of others are parts
 * of theirs, unless the problem says that these are copied, too. Of members that are grouped, rather than
 * packed, there is the comm and the wait, which make and use the storages of theirs. A bucket goes where its
 * last member was, or to the first node that needs it, with the nodes that it needs before it. */
#ifndef HIRC_SCHED_BUCKET_H
#define HIRC_SCHED_BUCKET_H
#include "sched/problem.h"

enum sched_step { SCHED_STEP_NODE, SCHED_STEP_PACK, SCHED_STEP_COMM, SCHED_STEP_WAIT, SCHED_STEP_UNPACK };

struct sched_origin { /* of a node of the problem with buckets */
	enum sched_step step;
	uint32_t node;   /* as it was; of a bucket its first member */
	uint32_t bucket; /* SCHED_NONE: of none */
};

struct sched_bucketed {
	struct sched_problem p;
	struct sched_origin *origin; /* by node of p */
	uint32_t *became; /* by node of the first problem: a member's comm or wait is the bucket's */
};

/* bucket: of each node of p, for comms, a number below bucket_n, or SCHED_NONE; members are of one family.
 * Returns false when the buckets would wait for each other. */
bool sched_bucket(const struct sched_problem *p, const uint32_t *bucket, uint32_t bucket_n, struct arena *a,
                  struct sched_bucketed *out);

#endif
