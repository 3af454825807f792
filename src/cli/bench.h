/* bench: the shared parts of the files of `hirc bench`.
 *
 *     cmd_bench.c            the command line
 *     bench_clock.c          a common start of all ranks; statistics of samples
 *     bench_sweep.c          -D m=1K,2K -D s=1,2: the points of a sweep
 *     bench_program.c        starting ranks for programs
 *     bench_program_rank.c   the work of a rank
 *     bench_rounds.c         samples of programs, taken alternately
 *     bench_program_print.c  rows as CSV or JSON
 *     bench_launch.c         ranks for each of several transports
 *     bench_collective….c    see bench_collective.h */
#ifndef HIRC_CLI_BENCH_H
#define HIRC_CLI_BENCH_H
#include "base/table.h"
#include "cli/cli_progress.h"
#include "cli/run.h"
#include <stdio.h>

enum { BENCH_VERSION = 1 /* of the output of --csv and --json */ };

struct bench {
	struct compile_options compile;
	struct rank_options ranks;
	int64_t samples, warmup; /* samples 0: the number is chosen by the time that a sample takes */
	bool check, no_check;    /* of programs */
	enum table_format format;
	struct rt_launch_options launch;
	struct buf words;       /* the command line, one word on each line */
	VEC(const char *) file; /* programs */
	VEC(char *) transport;  /* the values of --transport; owned */
	struct progress *progress;
	int results; /* a file to which rank 0 appends its results; -1: rank 0 prints them */
};

/* ---- bench_launch.c */

/* The result of the ranks that measured a transport. */
struct bench_outcome {
	const char *transport; /* the value of --transport */
	enum status status;
	struct buf why; /* one line: why the row was not measured */
	FILE *results;  /* the results that rank 0 appended, positioned at their start */
};
/* Splits --transport; false after reporting an error in it. */
bool bench_transports(struct bench *b);
/* Runs the ranks with a transport. If there are several transports, each gets a process of its own, so that a
 * failure or an open GPU does not affect the next one. The process's messages are then printed only if it
 * fails, and not if a library or device is absent. */
enum status bench_launch(struct bench *b, uint32_t transport, int (*rank_main)(struct rt_job *, void *),
                         void *arg, struct bench_outcome *out);
void bench_outcome_free(struct bench_outcome *o);
static inline bool bench_outcome_is_measured(const struct bench_outcome *o)
{
	return o->status == STATUS_OK || o->status == STATUS_WRONG;
}
/* Returns the status of all transports: a failure, else wrong numbers. An absent transport is no failure if
 * another one was measured. */
enum status bench_outcomes_status(const struct bench_outcome *o, uint32_t n);
/* Writes results; rank 0 only. */
enum status bench_results_write(struct rt_job *job, const struct bench *b, const void *from, size_t bytes);

/* ---- bench_clock.c */

int64_t bench_now_ns(void); /* the monotonic clock of this host */
/* Collective. *out becomes true if all ranks are on one host, and so share one clock. */
enum status bench_same_host(struct rt_job *job, bool *out);
/* Collective. Returns STATUS_USAGE, after a message, if a rank was started with another command line. */
enum status bench_agree(struct rt_job *job, const struct bench *b);
/* Collective. Returns at about the same time on all ranks: within a microsecond, if the ranks are on one host
 * with a processor for each. */
enum status bench_start(struct rt_job *job, bool one_clock);

struct bench_statistics {
	double mean, deviation, least, most, median;
	double half; /* range of the middle half of the values: third quartile minus first quartile */
};
/* Returns the statistics of n >= 1 values. */
struct bench_statistics bench_statistics(const double *x, int64_t n);

/* ---- bench_sweep.c */

/* bench_list_next returns the next value of a list, NULL after the last; bench_list_value appends the text of
 * the first value at `at`. */
const char *bench_list_next(const char *at);
void bench_list_value(const char *at, struct buf *out);

/* One combination of the values that -D gives. */
struct bench_point {
	struct sema_define *define; /* define_n values; owned, with their texts */
	uint32_t define_n;
};
struct bench_sweep {
	VEC(struct bench_point) point;
};
/* Makes the cross product of the lists; the last -D varies fastest. False after reporting an error. */
bool bench_sweep_make(const struct compile_options *o, struct diag *d, struct bench_sweep *out);
void bench_sweep_free(struct bench_sweep *s);

/* ---- programs */

/* All files at one point of the sweep. */
struct bench_set {
	const struct bench *b;
	const struct bench_point *point;
	struct run *run; /* by file */
	bool first;      /* nothing was printed before */
};

int bench_programs(struct bench *b);
/* The sets that the ranks measure. */
struct bench_ranks {
	struct bench *b;
	struct bench_sweep *sweep;
	struct bench_set *set; /* by point of the sweep */
	uint32_t first, last;  /* points that this launch measures */
};
int bench_program_rank(struct rt_job *job, void *ranks);

/* The results of one program at one point, on rank 0. */
struct bench_row {
	const struct bench_set *set;
	uint32_t file;
	int ranks;
	int64_t samples;
	const double *ms;   /* by sample */
	const double *base; /* ms of the first program, by sample; NULL: this is the first program */
	double flops;       /* of one run, on all ranks */
	int valid;          /* 1: compared with the reference; -1: not */
};
void bench_program_header(const struct bench *b, struct buf *out);
void bench_program_print(const struct bench *b, const struct bench_row *row, struct buf *out);
void bench_program_footer(const struct bench *b, struct buf *out);

#endif
