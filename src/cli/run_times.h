/* run_times: the times of the runs of --repeat on a rank, for --stats. */
#ifndef HIRC_CLI_RUN_TIMES_H
#define HIRC_CLI_RUN_TIMES_H
#include <stdint.h>

enum { RUN_TIMES_KEPT = 4096 }; /* medians are over the last runs */

struct run_times {
	int64_t n;                                          /* number of runs */
	int64_t fastest;                                    /* us, of all runs; 0: no run yet */
	int32_t run[RUN_TIMES_KEPT], issue[RUN_TIMES_KEPT]; /* us; a ring of the last runs */
};

/* Adds a run. run: us from its start until all work was done. issue: us until the host had issued it. */
void run_times_add(struct run_times *t, int64_t run, int64_t issue);
/* Return the median of the kept runs, the lower one of two; 0: no run yet. */
int64_t run_times_median(const struct run_times *t);
int64_t run_times_median_issue(const struct run_times *t);

#endif
