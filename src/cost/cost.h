/* cost: the times of the statements of a program, in nanoseconds, without running it.
 *
 *     struct cost *c = cost_new(m, cluster, d);        NULL after reporting a statement without a time
 *     int64_t ns = cost_op_time(c, op);
 *     cost_free(c);
 *
 * A statement takes its recorded time (`time=`) if it has one, else the time by the cluster's figures:
 * products by a table or by the roofline of operations and bytes; all else that computes by the bytes that it
 * reads and writes; communication by a table for teams of that size on that link, else by latency and rate
 * (links.h). Times are rounded up, but between the points of a table to the nearest. Of ranks and iterations
 * that hold different parts it is the largest part.
 *
 * No time: views, waits, streams, loops (their statements have), statements in a unit (the unit has). Not in
 * it: the launch, which each statement takes of the host, and contention; both are for who schedules. */
#ifndef HIRC_COST_COST_H
#define HIRC_COST_COST_H
#include "cost/cluster.h"
#include "ir/ir.h"

struct cost;

/* Looks at every statement, so that one without a time is an error now: a param without a value, a dtype or
 * team that the cluster does not know. The program may change afterwards; it and the cluster outlive the
 * model. */
struct cost *cost_new(struct module *m, const struct cluster *c, struct diag *d);
void cost_free(struct cost *c); /* NULL is allowed */
/* Sets the number of streams of a rank, which iterations of a loop use in turns: 4, unless it is said; 0: no
 * limit. */
void cost_set_streams(struct cost *c, int64_t streams);
const struct cluster *cost_cluster(const struct cost *c);

int64_t cost_op_time(const struct cost *c, op_id op);
/* Returns true if the time is recorded in the program. */
bool cost_op_is_recorded(const struct cost *c, op_id op);
/* Returns the bytes of a collective, send or receive: those of the larger buffer of a rank, the `bytes`
 * below; else 0. */
int64_t cost_op_bytes(const struct cost *c, op_id op);

/* The work of a statement that computes, on the rank that does most of it; all 0 of communication. */
struct cost_work {
	double flops;   /* of products: 2 m n k; of a statement that hirc does not know as it states */
	int64_t bytes;  /* read and written */
	int64_t memory; /* ns that reading and writing these takes at least */
};
struct cost_work cost_op_work(const struct cost *c, op_id op);

/* Returns true if the host takes a launch for a statement: not for loops and conditions, views, buffers that
 * need no zeros, Communications of a group, and statements that only name a stream or begin a group. */
bool cost_is_launched(const struct module *m, op_id op);

/* Returns the time of a collective of any team, by the bytes of the operand. */
int64_t cost_collective_operand_time(const struct cost *c, enum op_kind collective, team_id team,
                                     int64_t bytes);
/* Returns the time of a collective of a group, by the bytes of the operand; if its members are not listed
 * they are devices 0, 1, …. */
int64_t cost_group_operand_time(const struct cost *c, enum op_kind collective, group_id group, int64_t bytes);
/* A message between two devices. */
int64_t cost_message_time(const struct cost *c, uint32_t from, uint32_t to, int64_t bytes);
/* Returns the time of a kernel that only reads and writes so many bytes, both counted: a pack reads and
 * writes each. */
int64_t cost_touch_time(const struct cost *c, int64_t bytes);

/* cost_print.c: every statement of the program with its time, and the bytes of communication. */
void cost_print(const struct cost *c, struct module *m, struct buf *out);

#endif
