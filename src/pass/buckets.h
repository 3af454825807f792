/* buckets: a schedule in the program.
 *
 * The members of a bucket become a pack, one collective, its wait and an unpack, at the places that the
 * schedule gives these. buckets_recorded.c draws this for recorded statements; Communications become one of a
 * packed tensor, by the types of ir/ir_bucket.h. */
#ifndef HIRC_PASS_BUCKETS_H
#define HIRC_PASS_BUCKETS_H
#include "cost/block.h"
#include "sched/schedule.h"

/* Makes Communications of a block define their results again, instead of writing buffers that passes
 * allocated for them, so that they can share buckets. */
void buckets_unbind(struct module *m, region_id region, const value_id *allocated, uint32_t n);
/* Puts the statements of a block in the order of a schedule of it, bucketed. */
void buckets_apply(struct module *m, region_id region, const struct block *b, const struct sched_schedule *s);

#endif
