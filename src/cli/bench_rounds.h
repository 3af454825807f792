/* bench_rounds: one rank's measurement of programs; samples of the programs alternate.
 *
 *     A B C   A B C   A B C …
 *     a a A A   b b B B   c c C C   a a A A …     lead 2, burst 2: small letters are not measured
 *
 * All programs are open at once, so that a disturbance of the machine affects all of them. A sample is the
 * latest finish minus the earliest start over the ranks, if they share one clock; else the longest time of a
 * rank. It does not include filling the inputs again or waiting for the common start. */
#ifndef HIRC_CLI_BENCH_ROUNDS_H
#define HIRC_CLI_BENCH_ROUNDS_H
#include "cli/run.h"

struct bench_rounds {
	const struct rank_options *ranks; /* without the number of streams, which each run has */
	struct run *run;                  /* n runs; prepared, except under a launcher */
	uint32_t n;
	int64_t warmup, samples; /* samples 0: as many as take about `budget` together */
	double budget;           /* ns */
	/* A turn is `lead` runs that are not measured, then `burst` samples (0: one). The lead warms the
	 * caches, which the other programs have filled. */
	int64_t lead, burst;
	/* A program that takes this many times as long as the fastest one is run only once; 0: no limit. */
	double slow;
	bool check; /* compares with the reference afterwards */
	/* Called on every rank before program k runs; NULL: nothing is called. */
	void (*before)(void *to, const struct rt_job *job, uint32_t k, double done);
	void *to;
};

struct bench_samples {
	double *ms; /* by program, then sample; each has room for `samples` */
	int64_t samples;
	struct bench_subject {
		int64_t samples; /* of this program: all, or 1 */
		double flops;    /* of one run, on all ranks */
		int valid;       /* 1: compared with the reference; -1: not */
	} * of;                  /* by program */
};

/* Collective; out is the same on all ranks. */
enum status bench_rounds(struct rt_job *job, const struct bench_rounds *o, struct bench_samples *out);
void bench_samples_free(struct bench_samples *s);

#endif
