/* bench_rounds: one rank's measurement of programs: samples of all of them, in turns.
 *
 *     A B C   A B C   A B C …
 *     a a A A   b b B B   c c C C   a a A A …     lead 2, burst 2: small letters are no samples
 *
 * All programs are open at once, so that a disturbance of the machine meets all of them. A sample is latest
 * finish - earliest start over the ranks, where they have one clock; else the longest time of a rank. Filling
 * inputs again and meeting before the start are not in it. */
#ifndef HIRC_CLI_BENCH_ROUNDS_H
#define HIRC_CLI_BENCH_ROUNDS_H
#include "cli/run.h"

struct bench_rounds {
	const struct rank_options *ranks; /* the number of streams is of each run */
	struct run *run;                  /* n of them, prepared, or under a launcher to be prepared */
	uint32_t n;
	int64_t warmup, samples; /* 0 samples: as many as take about `budget` in all */
	double budget;           /* ns */
	/* A turn is so many runs that are no samples, then so many that are (0: one): others have left
	 * nothing of the program in the caches. */
	int64_t lead, burst;
	/* A program that takes so many times as long as the fastest is run once; 0: none is left out. */
	double slow;
	bool check; /* with the reference, afterwards */
	/* Called on every rank before program k runs; NULL: not. */
	void (*before)(void *to, const struct rt_job *job, uint32_t k, double done);
	void *to;
};

struct bench_samples {
	double *ms; /* by program, then sample; each has room for `samples` */
	int64_t samples;
	struct bench_subject {
		int64_t samples; /* of this program: all, or 1 */
		double flops;    /* of one run, all ranks */
		int valid;       /* 1: compared with the reference; -1: not */
	} * of;                  /* by program */
};

/* Collective; out is the same on all ranks. */
enum status bench_rounds(struct rt_job *job, const struct bench_rounds *o, struct bench_samples *out);
void bench_samples_free(struct bench_samples *s);

#endif
