/* run_times: the times of the runs of --repeat, for --stats: of a rank by itself, and of a step.
 *
 * A step is a run of all ranks. It takes from the earliest start to the latest end of a rank. The times of
 * ranks by themselves do not add up to it: a rank may be done before another one begins. */
#ifndef HIRC_CLI_RUN_TIMES_H
#define HIRC_CLI_RUN_TIMES_H
#include "rt/job.h"
#include <stdint.h>

enum { RUN_TIMES_KEPT = 4096 }; /* medians are over the last runs */

struct run_moment { /* ns of the host's clock */
	int64_t start, finish;
};

struct run_times {
	int64_t n;                                          /* number of runs */
	int64_t fastest;                                    /* us, of all runs; 0: no run yet */
	int32_t run[RUN_TIMES_KEPT], issue[RUN_TIMES_KEPT]; /* us; a ring of the last runs */
	struct run_moment moment[RUN_TIMES_KEPT];           /* of the same runs */
};

/* Adds a run. issue: us until the host had issued it. */
void run_times_add(struct run_times *t, struct run_moment run, int64_t issue);
/* Return the median of the kept runs, the lower one of two; 0: no run yet. */
int64_t run_times_median(const struct run_times *t);
int64_t run_times_median_issue(const struct run_times *t);

struct run_step { /* us; of the kept runs */
	int64_t fastest, median;
};

/* Collective. Finds the times of steps; all ranks have made as many runs. one_clock: all ranks are on one
 * host; otherwise a step takes as long as its slowest rank. */
enum status run_times_step(struct rt_job *job, const struct run_times *t, bool one_clock,
                           struct run_step *out);

#endif
