/* sim: the time of a program, without running it.
 *
 * The statements of a program are issued in their order. The host has a clock, and each communicator has one
 * (see sched/problem.h). */
#ifndef HIRC_SIM_SIM_H
#define HIRC_SIM_SIM_H
#include "base/arena.h"
#include "cost/block.h"
#include "sched/sched_bound.h"
#include "sched/simulate.h"
#include "sim/timeline.h"

/* The one slow rank of a recorded graph. The others all do the same and wait for it. */
struct sim_straggler {
	int64_t rank;
	int64_t delay; /* ns before its first statement */
	int64_t slow;  /* per mille of its compute times; at least 1000 */
};

struct sim {
	struct module *m;
	const struct sim_straggler *straggler; /* NULL: none; the fields below are those of this rank */
	struct block block;
	uint32_t *order;             /* of its nodes */
	struct sched_moment *moment; /* by place in the order */
	struct sched_result result;
	struct sched_bound bound; /* for any order of these nodes, and further buckets */
	const int64_t *late;      /* by node: ns that it waits for other ranks; NULL: none waits */
};

/* Returns true if the statements of a program have recorded times, as in imported graphs. Then the host
 * computes. */
bool sim_is_recorded(struct module *m);
/* Simulates a program of one recorded graph. straggler: NULL, or a struct that outlives *out. Memory comes from the arena. Returns false after reporting
 * a statement that has no time or takes too long. */
bool sim_run(struct module *m, const struct cost *cost, const struct sim_straggler *straggler, struct diag *d,
             struct arena *a, struct sim *out);

/* Writes one line for each statement in the format of the graphs' referee: `node|pack|comm|wait|unpack
 * NAME[,NAME…]`. Returns false after reporting a statement that has no line in that format. */
bool sim_write_schedule(const struct sim *s, struct diag *d, struct buf *out);
/* recorded.c: the result as a timeline, without tensors. End it with timeline_close. */
void sim_recorded_timeline(const struct sim *s, struct timeline *t);
/* Adds the tensors to the class: each storage, under its own number. */
void sim_recorded_tensors(const struct sim *s, struct timeline_class *c);
/* Make a timeline of several classes; the caller calls timeline_finish. of: its name and ranks. */
void sim_recorded_open(struct timeline *t, struct module *m);
void sim_recorded_add(const struct sim *s, struct timeline *t, const struct timeline_class *of);

/* recorded_ranks.c: simulates a recorded program, of one graph for all ranks or of graphs that differ from rank to rank
 * (analysis/recorded_classes.h). These match: the caller has checked them. *t: closed by timeline_close. *of: the
 * simulation of each class of *t, of the arena. Returns false after reporting a statement that has no time. */
bool sim_recorded_run(struct module *m, const struct cost *cost, struct diag *d, struct arena *a,
                      struct timeline *t, struct sim **of);

#endif
