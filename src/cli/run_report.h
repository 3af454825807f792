/* run_report: prints the results of a run on rank 0: the verdict of --check, --stats and --profile, as text
 * or, with
 * --json, as one object. */
#ifndef HIRC_CLI_RUN_REPORT_H
#define HIRC_CLI_RUN_REPORT_H
#include "cli/run.h"
#include "cli/run_times.h"

struct run_report {
	struct buf stats, profile;           /* text, or a JSON value; empty: not asked for */
	bool checked;                        /* outputs were compared */
	const struct check_verdict *verdict; /* NULL: the outputs are wrong */
};

/* Collective. Puts --stats for all ranks, on rank 0. */
enum status run_stats(struct rt_job *job, const struct run *r, struct exec *e, const struct run_times *times,
                      bool one_clock, struct buf *out);
/* On rank 0, print the verdict as text, or all results as JSON. False after reporting that standard output
 * cannot be written. */
bool run_report_verdict(const struct check_verdict *v, int ranks);
bool run_report_json(const struct run *r, int ranks, const struct run_report *x);

#endif
