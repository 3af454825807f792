/* cost: the times of the statements of a program, in nanoseconds, without running it.
 *
 *     struct cost *c = cost_new(m, cluster, d);        NULL after reporting a statement without a time
 *     int64_t ns = cost_op_time(c, op);
 *     cost_free(c);
 *
 * A statement takes its recorded time (`time=`) if it has one. Otherwise the cluster's figures give it.
 * Products: a table, or the roofline of operations and bytes. Other computations: the bytes that they
 * read and write. Communication: a table for teams of that size on that link, or latency and rate
 * (links.h). Times are rounded up; between the points of a table they are rounded to the nearest. Where
 * ranks or iterations hold parts of different sizes, the largest part counts.
 *
 * Views, waits, streams and loops take no time; the statements in a loop do. A unit has the time of its
 * statements. Launches on the host and contention are not part of a time: schedulers and simulators add
 * them. */
#ifndef HIRC_COST_COST_H
#define HIRC_COST_COST_H
#include "cost/cluster.h"
#include "ir/ir.h"
#include "sched/contention.h"

struct cost;

/* Looks at every statement, so that a missing time is an error at once: a param without a value, or a
 * dtype or team that the cluster does not know. The program may change afterwards. The program and the
 * cluster must outlive the model. */
struct cost *cost_new(struct module *m, const struct cluster *c, struct diag *d);
void cost_free(struct cost *c); /* NULL is allowed */
/* Sets the number of streams of a rank, which iterations of a loop use in rotation. Default 4; 0: no
 * limit. */
void cost_set_streams(struct cost *c, int64_t streams);
const struct cluster *cost_cluster(const struct cost *c);

int64_t cost_op_time(const struct cost *c, op_id op);
/* Returns true if the program records the time. */
bool cost_op_is_recorded(const struct cost *c, op_id op);
/* Returns the bytes of a collective, send or receive: the larger buffer of a rank. Other statements: 0. */
int64_t cost_op_bytes(const struct cost *c, op_id op);

/* The work of a computation on the rank that does most of it; all fields are 0 for communication. */
struct cost_work {
	double flops;   /* 2 m n k for products; the stated number for a statement that hirc does not know */
	int64_t bytes;  /* read and written */
	int64_t memory; /* ns: the least time to read and write the bytes */
};
struct cost_work cost_op_work(const struct cost *c, op_id op);

/* Returns true if the host launches something for a statement. It does not for loops and conditions,
 * views, buffers that need no zeros, Communications of a group, and statements that only name a stream
 * or begin a group. */
bool cost_is_launched(const struct module *m, op_id op);

/* ---- cost_issue.c */

/* Returns the time in which the host issues a statement, or in which its nodes begin in a replayed graph: of the rank
 * for which it is longest, on average over the iterations of its loop. */
int64_t cost_op_issue(const struct cost *c, op_id op);
/* Finds that time for a rank that is not the root, and the time that the root takes longer; negative: it takes less. For a
 * collective_permute, a rank that is its own peer is the root. Members of a group take `root` alone; the group takes
 * `other`, and the `root` of each member for which the rank is the root. */
struct cost_issue {
	int64_t other, root;
};
struct cost_issue cost_op_issue_of(const struct cost *c, op_id op);
/* Returns that time of a statement with one kernel. */
int64_t cost_launch(const struct cost *c);
/* Returns the time from the begin of a step to the begin of its first statement: the launch of a graph. */
int64_t cost_step_begin(const struct cost *c);

/* Returns the time of a collective of any team, by the bytes of the operand. */
int64_t cost_collective_operand_time(const struct cost *c, enum op_kind collective, team_id team,
                                     int64_t bytes);
/* Returns the time of a collective of a group, by the bytes of the operand. A group that lists no
 * members has the devices 0, 1, …. */
int64_t cost_group_operand_time(const struct cost *c, enum op_kind collective, group_id group, int64_t bytes);
/* Returns the time of a message between two devices. */
int64_t cost_message_time(const struct cost *c, uint32_t from, uint32_t to, int64_t bytes);
/* ---- cost_share.c */

/* Returns the time of a kernel that only reads and writes. bytes: read plus written; a pack does both to
 * each byte. */
int64_t cost_touch_time(const struct cost *c, int64_t bytes);
/* Returns the bytes a second that a rank reads or writes. */
double cost_memory_rate(const struct cost *c);

/* ---- cost_contention.c */

/* Returns the contention of a communication: a collective, message, group or dispatch. stated: only figures
 * that the cluster states for its collective count, not those for all communication. */
struct sched_contention cost_contention(const struct cost *c, op_id op, bool stated);
/* Returns true if any communication and work slow each other on the cluster. */
bool cost_contends(const struct cost *c);

/* cost_print.c: prints every statement with its time, and the bytes of communication. */
void cost_print(const struct cost *c, struct module *m, struct buf *out);

#endif
