/* regroup: small changes of buckets, drawn at random.
 *
 * Comms stand in rows, one for each family, in which close ones may share a bucket: sources as they are
 * needed, the others as they are made. A change takes a comm out of its bucket, lets it join that of a
 * neighbour, cuts a bucket in two, or makes one of two. */
#ifndef HIRC_SCHED_REGROUP_H
#define HIRC_SCHED_REGROUP_H
#include "base/arena.h"
#include "sched/inner.h"
#include "sched/random.h"
#include "sched/sched_source.h"

struct sched_rows {
	uint32_t n;
	uint32_t *comm;   /* by row */
	uint32_t *family; /* of row f: family[f] … family[f + 1] - 1 */
	uint32_t *at;     /* by node: its place in comm; SCHED_NONE: none */
};

/* Sources, inner comms that are alike, and sinks. source: of sched_sources. */
void sched_rows(const struct sched_problem *p, const uint8_t *role, const struct sched_sources *source,
                const struct sched_inners *inner, struct arena *a, struct sched_rows *out);

/* Changes the bucket of comm, of a row, or of a neighbour. bucket: by node, numbers below *bucket_n, which
 * follows; no bucket has one member. */
void sched_regroup(const struct sched_problem *p, const struct sched_rows *rows, struct sched_random *r,
                   uint32_t comm, uint32_t *bucket, uint32_t *bucket_n);

#endif
