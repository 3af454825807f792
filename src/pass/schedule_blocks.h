/* schedule_blocks: schedules each block of a program by itself.
 *
 *     A = allgather(X) as a         the program's block, in which the loop is one statement
 *     for i in 0..4 {
 *       B = allgather(Y) as b       the loop's block, one iteration
 *       if i > 0 { … }              the condition's block
 *     }
 *
 * The program's block comes first, then the inner blocks. Each gets the bytes that are live around its
 * loop or condition in the new order, so that the limit holds at every moment. A block that is not
 * scheduled yet counts with the peak of its present order. */
#ifndef HIRC_PASS_SCHEDULE_BLOCKS_H
#define HIRC_PASS_SCHEDULE_BLOCKS_H
#include "cost/block.h"
#include "pass/pass.h"

struct schedule_block {
	region_id region;
	op_id owner; /* its loop or condition; 0: the program's block */
	struct block b;
	int64_t *live; /* by node: bytes live while it runs, set by the caller; NULL: not needed */
};

/* Calls schedule for each block that may change its order. Not for blocks of stream-parallel loops, with
 * sends and receives, with work that differs between ranks, or without Communications. Returns false if
 * schedule failed or a block could not be made. */
bool schedule_blocks(struct module *m, struct pass_context *cx, const struct cost *cost,
                     enum block_buckets buckets,
                     bool (*schedule)(void *to, struct schedule_block *block, struct arena *a), void *to);

/* Returns the first block of a loop or condition that may change its order; `sibling` leads to the next;
 * 0: none. */
region_id schedule_blocks_of(struct module *m, op_id op);

#endif
