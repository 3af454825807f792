/* schedule_blocks: the blocks of a program, each of which is scheduled by itself.
 *
 *     A = allgather(X) as a         the program's block, in which the loop is one statement
 *     for i in 0..4 {
 *       B = allgather(Y) as b       the loop's, an iteration of it
 *       if i > 0 { … }              the condition's
 *     }
 *
 * The program's block comes first, then those within, each with the bytes that are live around it where its
 * loop or condition now stands: so that a limit holds at every moment. The live bytes of a block that is
 * still to come count as its order is now. */
#ifndef HIRC_PASS_SCHEDULE_BLOCKS_H
#define HIRC_PASS_SCHEDULE_BLOCKS_H
#include "cost/block.h"
#include "pass/pass.h"

struct schedule_block {
	region_id region;
	op_id owner; /* its loop or condition; 0: the program's block */
	struct block b;
	int64_t *live; /* by node: bytes that are live while it runs, set by what schedules the block; NULL:
	                * that is of no interest */
};

/* Calls schedule for each block that may have another order: not those of stream-parallel loops, nor with
 * sends and receives, nor of work that differs between ranks, nor those without Communications. False when
 * that, or making a block, failed. */
bool schedule_blocks(struct module *m, struct pass_context *cx, const struct cost *cost,
                     enum block_buckets buckets,
                     bool (*schedule)(void *to, struct schedule_block *block, struct arena *a), void *to);

/* The blocks of a loop or condition that may have another order, to be followed by `sibling`; 0: none. */
region_id schedule_blocks_of(struct module *m, op_id op);

#endif
