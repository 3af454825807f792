/* block: turns a block of a program into a scheduling problem.
 *
 * Each statement of the block is a node; a loop with its body is one node. A node needs the nodes that
 * make its operands. Accesses to a buffer before a write stay before it, and those after it stay after
 * it. A Communication is in use until its wait, and its result exists from the wait on. Statements that
 * act on streams, or on other ranks by more than their data, keep their place; so do Communications and
 * their waits in a program that sets streams, where a wait on one stream may tell of work on another.
 *
 * Statements of imported graphs state their recorded time and memory:
 *
 *     {time=2500531}                   ns
 *     {kind=allgather, group=g0}       wait, view, compute, …, or a collective of a group
 *     {kind=send, group=g0, peer=1}    a message that runs beside work; without a group the host waits for it
 *     {bytes=(0, 64)}                  of the results' storages
 *     {in_bytes=64}                    of a collective's operand, where the types say another size
 *     {scratch=64}                     bytes in use while the statement runs
 *
 * Results of kind=input and kind=attr exist from the beginning to the end. Operands of kind=output, and
 * the program's outputs, exist to the end. */
#ifndef HIRC_COST_BLOCK_H
#define HIRC_COST_BLOCK_H
#include "cost/cost.h"
#include "ir/ir.h"
#include "sched/problem.h"

struct block {
	struct sched_problem p;
	op_id *op;         /* by node */
	value_id *storage; /* by storage: the value that owns it; 0: scratch memory of a statement */
};

/* The collectives that may share a bucket. */
enum block_buckets {
	BLOCK_PACKED,  /* merged into one on a packed tensor: one kind, one reduction, tensors that can be
	                  packed */
	BLOCK_GROUPED, /* a group whose members start together: one kind */
};

struct block_frame {
	int64_t outside;       /* for a block in a loop or condition: bytes live around it, with inputs */
	const int64_t *inside; /* by op: peak bytes of the values made in it */
	enum block_buckets buckets;
};

/* Makes the problem of a region. Memory is from the arena. Returns false after reporting a statement
 * that cannot be scheduled. */
bool block_make(struct module *m, region_id region, const struct block_frame *frame, const struct cost *cost,
                struct diag *d, struct arena *a, struct block *out);

/* block_program.c: the blocks inside a block.
 *
 * Returns true if a statement is a loop or a condition. */
bool block_has_blocks(const struct module *m, op_id op);
/* Finds the peak bytes of the values made in each loop and condition of a region, inner ones first.
 * inside: by op, zeros before the call. Returns false after reporting a statement that cannot be
 * scheduled. */
bool block_find_inside(struct module *m, region_id region, enum block_buckets buckets,
                       const struct cost *cost, struct diag *d, int64_t *inside);
/* Makes the problem of the program's outermost block with packed buckets, and with the memory of its
 * loops and conditions. */
bool block_make_program(struct module *m, const struct cost *cost, struct diag *d, struct arena *a,
                        struct block *out);

/* Returns the bytes of a value on the rank that has the largest part. */
int64_t block_bytes(const struct module *m, value_id v);

/* Returns the Communication that a statement waits for, directly or through other waits; 0 if there is
 * none. */
op_id block_waits_for(struct module *m, op_id op);
/* Returns true for a recorded message of a group: it runs beside work until a wait. */
bool block_is_message_in_flight(const struct module *m, op_id op);
/* Returns the kind of a collective with a lane of its own, also in an imported graph; OP_NONE for other
 * statements. */
enum op_kind block_collective(struct module *m, op_id op);
bool block_is_communication(struct module *m, op_id op);
/* Returns the name of a statement for output: {name="…"}, or the name of its first result. NULL: it has
 * none. */
const char *block_name(struct module *m, op_id op);

#endif
