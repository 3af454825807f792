/* bench_clock: a common start of all ranks, and statistics of the samples. */
#include "base/arena.h"
#include "cli/bench.h"
#include "rt/compare.h"
#include "rt/cores.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	LEAD_NS = 100000, /* from the last rank's arrival to the start; a rank wakes up in less time */
	HOST_BYTES = 64,
};

int64_t bench_now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

enum status bench_same_host(struct rt_job *job, bool *out)
{
	char mine[HOST_BYTES] = {0}, *all = mem_zalloc((size_t)job->size * HOST_BYTES);
	gethostname(mine, sizeof mine - 1);
	enum status status = rt_job_allgather(job, "the names of hosts", mine, sizeof mine, all);
	*out = true;
	for (int k = 0; k < job->size; k++)
		*out &= !memcmp(all + (size_t)k * HOST_BYTES, all, HOST_BYTES);
	free(all);
	return status;
}

enum status bench_agree(struct rt_job *job, const struct bench *b)
{
	struct rt_difference x;
	struct buf why = {0};
	enum status status = rt_job_compare(job, "the options", b->words.at, &x);
	if (status != STATUS_OK || x.rank < 0)
		return status;
	rt_difference_put(&x, &why);
	if (job->rank == 0)
		rt_job_error(job, "rank %d was started with another command line than rank 0: %s", x.rank,
		             why.at);
	buf_free(&why);
	rt_job_barrier(job, "printing messages");
	return STATUS_USAGE;
}

enum status bench_start(struct rt_job *job, bool one_clock)
{
	/* under a launcher that binds ranks, rt_processors counts those of one rank */
	bool room =
	    rt_processors() >= job->size || (strcmp(job->boot->name, "mpi") == 0 && rt_processors() == 1);
	if (!one_clock || !room)
		return rt_job_barrier(job, "the start of a sample");
	int64_t mine = bench_now_ns(), start = 0, *all = mem_alloc(sizeof *all * (size_t)job->size);
	enum status status = rt_job_allgather(job, "the start of a sample", &mine, sizeof mine, all);
	for (int k = 0; k < job->size && status == STATUS_OK; k++)
		start = all[k] > start ? all[k] : start;
	free(all);
	while (status == STATUS_OK && bench_now_ns() < start + LEAD_NS)
		;
	return status;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

struct bench_statistics bench_statistics(const double *x, int64_t n)
{
	struct bench_statistics s = {0};
	double *sorted = mem_alloc(sizeof *sorted * (size_t)n), squares = 0;
	memcpy(sorted, x, sizeof *sorted * (size_t)n);
	qsort(sorted, (size_t)n, sizeof *sorted, by_size);
	for (int64_t k = 0; k < n; k++)
		s.mean += x[k] / (double)n;
	for (int64_t k = 0; k < n; k++)
		squares += (x[k] - s.mean) * (x[k] - s.mean);
	s.deviation = sqrt(squares / (double)n);
	s.least = sorted[0];
	s.most = sorted[n - 1];
	s.median = (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
	s.half = sorted[n - 1 - n / 4] - sorted[n / 4];
	free(sorted);
	return s;
}
