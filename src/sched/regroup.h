/* regroup: makes small random changes of buckets.
 *
 * Neighbours are the comms of one family that follow each other in the present order, whatever their roles.
 * A change joins two neighbours, moves members from one to the other, cuts a bucket in two, or takes a
 * member out. */
#ifndef HIRC_SCHED_REGROUP_H
#define HIRC_SCHED_REGROUP_H
#include "sched/random.h"
#include "sched/rebucket.h"

/* The comms of a schedule that may share buckets, in its order. */
struct sched_row {
	uint32_t n;
	uint32_t *comm;   /* nodes of the problem with buckets */
	uint32_t *first;  /* by comm of the row: its first member; [n] is the end */
	uint32_t *member; /* nodes of the original problem, by rank */
	int64_t *weight;  /* by comm of the row, and the end: stalls of those before */
};

/* order: a schedule of r->p. rank: of the comms of the problem without buckets, in its order; members of a bucket with
 * near ranks stay together when it is cut. */
void sched_row(const struct sched_rebucket *r, const uint32_t *order, const int64_t *rank, struct arena *a,
               struct sched_row *out);
/* Changes the buckets of a comm of the row, or of a neighbour. bucket: by node of p, numbers below *bucket_n,
 * which is updated. Afterwards no bucket has a single member. Returns false if nothing changes. */
bool sched_regroup(const struct sched_problem *p, const struct sched_row *row, struct sched_random *r,
                   uint32_t *bucket, uint32_t *bucket_n);
/* Numbers the buckets of the row from 0. A comm that is alone in its bucket leaves it. Returns their number. */
uint32_t sched_regroup_number(const struct sched_problem *p, const struct sched_row *row, uint32_t *bucket,
                              uint32_t bucket_n);
/* Makes one bucket of n comms of one family, which are in the row. join: with the last comm of the family. */
void sched_regroup_together(const struct sched_problem *p, const struct sched_row *row, const uint32_t *comm,
                            uint32_t n, bool join, uint32_t *bucket, uint32_t *bucket_n);

#endif
