/* run_times: how long the runs of --repeat took on a rank, for --stats. */
#ifndef HIRC_CLI_RUN_TIMES_H
#define HIRC_CLI_RUN_TIMES_H
#include <stdint.h>

enum { RUN_TIMES_KEPT = 4096 }; /* the last ones, of which medians are */

struct run_times {
	int64_t n;                                          /* runs */
	int64_t fastest;                                    /* us, of all; 0: there was none */
	int32_t run[RUN_TIMES_KEPT], issue[RUN_TIMES_KEPT]; /* us, where the last ones were put in turn */
};

/* A run, in us: from its start until all was done, and until the host had issued all. */
void run_times_add(struct run_times *t, int64_t run, int64_t issue);
/* Returns the median of the runs that are kept, the lower one of two; 0: there was none. */
int64_t run_times_median(const struct run_times *t);
int64_t run_times_median_issue(const struct run_times *t);

#endif
