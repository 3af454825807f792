/* schedule_classes: schedules the recorded graphs of all classes of ranks together.
 *
 *     if rank == 0 { a … b … }        if rank == 0 { b … a … }
 *     if rank == 1 { a … b … }   →    if rank == 1 { b … a … }      the order of shared collectives is the same
 *
 * Collectives meet as analysis/recorded_classes.h says; sched/together.h finds the schedules. */
#ifndef HIRC_PASS_SCHEDULE_CLASSES_H
#define HIRC_PASS_SCHEDULE_CLASSES_H
#include "pass/schedule_blocks.h"
#include "sched/together.h"

struct schedule_class {
	struct schedule_block block;
	int64_t first;                   /* its least rank */
	int64_t limit;                   /* bytes */
	struct sched_schedule schedule;  /* comms without waits for other ranks */
	struct sched_part before, after; /* with these waits */
};

struct schedule_classes {
	uint32_t n;
	struct schedule_class *class;
	struct sched_joint joint;
};

/* Finds the schedules. Sets the limit of each class by limit_of, from its present peak. Returns false after reporting;
 * if a class has no order within its limit, it reports nothing, and *least is a limit that is enough for all classes,
 * else -1. Memory is from the arena; end it with schedule_classes_free. */
bool schedule_classes(struct module *m, struct pass_context *cx, const struct cost *cost,
                      enum block_buckets buckets, const struct sched_options *o,
                      int64_t (*limit_of)(const struct pass_context *cx, int64_t before), struct arena *a,
                      struct schedule_classes *out, int64_t *least);
void schedule_classes_free(struct schedule_classes *s);

#endif
