/* regroup: makes small random changes of buckets.
 *
 * Comms are in rows, one row a family; comms that are close in a row may share a bucket. Sources are in
 * the order in which they are needed, other comms in the order in which they are made. A change takes a
 * comm out of its bucket, moves it to the bucket of a neighbour, cuts a bucket in two, or joins two. */
#ifndef HIRC_SCHED_REGROUP_H
#define HIRC_SCHED_REGROUP_H
#include "base/arena.h"
#include "sched/inner.h"
#include "sched/random.h"
#include "sched/sched_source.h"

struct sched_rows {
	uint32_t n;
	uint32_t *comm;   /* by row */
	uint32_t *family; /* row f: family[f] … family[f + 1] - 1 */
	uint32_t *at;     /* by node: its place in `comm`; SCHED_NONE: none */
};

/* Makes the rows of sources, of inner comms of one family and way, and of sinks. source: from
 * sched_sources. */
void sched_rows(const struct sched_problem *p, const uint8_t *role, const struct sched_sources *source,
                const struct sched_inners *inner, struct arena *a, struct sched_rows *out);

/* Changes the bucket of a comm in a row, or of a neighbour. bucket: by node, numbers below *bucket_n,
 * which is updated. Afterwards no bucket has a single member. */
void sched_regroup(const struct sched_problem *p, const struct sched_rows *rows, struct sched_random *r,
                   uint32_t comm, uint32_t *bucket, uint32_t *bucket_n);

#endif
