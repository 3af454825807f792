/* block: a block of a program as a scheduling problem.
 *
 * Each statement of the block is a node, a loop with all that is in it is one. A node needs those that make
 * its operands; around a write to a buffer all that touched it before stays before, and all that does after
 * stays after. A Communication that is waited for is used until then, and its result is there from then on.
 * Statements that act on streams, or on the other ranks beside their data, keep their place.
 *
 * Statements of imported graphs have their time and memory recorded:
 *
 *     {time=2500531, kind=allgather, group=g0}      ns; a wait, view, compute, … , or a collective of a group
 *     {bytes=(0, 64)}  {in_bytes=64}  {scratch=64}  of the results' storages, of a collective's operand where
 *                                                   it differs from the types; while the statement runs
 *
 * Results of kind=input and kind=attr are there from the beginning, for ever; operands of kind=output, and
 * the program's outputs, to the end. */
#ifndef HIRC_COST_BLOCK_H
#define HIRC_COST_BLOCK_H
#include "cost/cost.h"
#include "ir/ir.h"
#include "sched/problem.h"

struct block {
	struct sched_problem p;
	op_id *op;         /* by node */
	value_id *storage; /* by storage: the value that owns it; 0: none, scratch of a statement */
};

/* Kinds of buckets of collectives. */
enum block_buckets {
	BLOCK_PACKED,  /* one of a packed tensor: of one kind and reduction, of tensors that can be packed */
	BLOCK_GROUPED, /* a group whose members start together: of one kind */
};

struct block_frame {
	int64_t outside; /* of a block in a loop or condition: bytes live around it, inputs among them */
	const int64_t *inside; /* by op: bytes that are live, at most, of values made in it */
	enum block_buckets buckets;
};

/* Memory is from the arena. Returns false after reporting what cannot be scheduled. */
bool block_make(struct module *m, region_id region, const struct block_frame *frame, const struct cost *cost,
                struct diag *d, struct arena *a, struct block *out);

/* block_program.c: the blocks within a block.
 *
 * Returns true if a statement holds blocks: a loop or a condition. */
bool block_has_blocks(const struct module *m, op_id op);
/* Finds the bytes that are live, at most, of values made in each loop and condition of a region, those
 * within first. inside: by op, zeros before. Returns false after reporting what cannot be scheduled. */
bool block_find_inside(struct module *m, region_id region, enum block_buckets buckets,
                       const struct cost *cost, struct diag *d, int64_t *inside);
/* Makes the problem of the program's own block, packed, with the memory of its loops and conditions. */
bool block_make_program(struct module *m, const struct cost *cost, struct diag *d, struct arena *a,
                        struct block *out);

/* Returns the bytes of a value, on the rank that has most of it. */
int64_t block_bytes(const struct module *m, value_id v);

/* The Communication that a statement waits for, through waits for waits; 0: it waits for none. */
op_id block_waits_for(struct module *m, op_id op);
/* The collective on a lane of its own that a statement is, also of an imported graph; OP_NONE: none. */
enum op_kind block_collective(struct module *m, op_id op);
bool block_is_communication(struct module *m, op_id op);
/* Returns the name of a statement in output: that of its first result, or as {name="…"} says. NULL: it has
 * none. */
const char *block_name(struct module *m, op_id op);

#endif
