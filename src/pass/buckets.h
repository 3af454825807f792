/* buckets: applies a schedule to the program.
 *
 * The members of a bucket become a pack, one collective, its wait and an unpack, at the places that the
 * schedule states. Communications are merged into one on a packed tensor, whose types ir/ir_bucket.h
 * finds. buckets_recorded.c shows the result for recorded statements. */
#ifndef HIRC_PASS_BUCKETS_H
#define HIRC_PASS_BUCKETS_H
#include "cost/block.h"
#include "sched/schedule.h"

/* Makes Communications of a block define their results again, so that they can share buckets. Until then
 * they write buffers that passes allocated for them. */
void buckets_unbind(struct module *m, region_id region, const value_id *allocated, uint32_t n);
/* Puts the statements of a block in the order of its bucketed schedule. */
void buckets_apply(struct module *m, region_id region, const struct block *b, const struct sched_schedule *s);

#endif
