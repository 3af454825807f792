/* sim: the time of a program, without running it.
 *
 * The statements of a program are issued in their order on a clock of the host and one for each communicator
 * (sched/problem.h says how). */
#ifndef HIRC_SIM_SIM_H
#define HIRC_SIM_SIM_H
#include "base/arena.h"
#include "cost/block.h"
#include "sched/sched_bound.h"
#include "sched/simulate.h"
#include "sim/timeline.h"

/* The rank of a recorded graph for which the others, that all do the same, wait. */
struct sim_straggler {
	int64_t rank;
	int64_t delay; /* ns before its first statement */
	int64_t slow;  /* per mille of its compute times; at least 1000 */
};

struct sim {
	struct module *m;
	const struct sim_straggler *straggler; /* NULL: none; the fields below are of it */
	struct block block;
	uint32_t *order;             /* of its nodes */
	struct sched_moment *moment; /* by place in the order */
	struct sched_result result;
	struct sched_bound bound; /* for any order and buckets of these nodes */
};

/* Returns true if the program is one of statements with recorded times, as imported graphs are: the host
 * computes. */
bool sim_is_recorded(struct module *m);
/* straggler: NULL, or one that outlives out. Memory is from the arena. False after reporting a statement
 * that has no time, or takes too long. */
bool sim_run(struct module *m, const struct cost *cost, const struct sim_straggler *straggler, struct diag *d,
             struct arena *a, struct sim *out);

/* A line a statement, as the graphs' referee reads them: `node|pack|comm|wait|unpack NAME[,NAME…]`. False
 * after reporting a statement that it has no line for. */
bool sim_write_schedule(const struct sim *s, struct diag *d, struct buf *out);
/* recorded.c: the same as a timeline; timeline_close it. */
void sim_recorded_timeline(const struct sim *s, struct timeline *t);

#endif
