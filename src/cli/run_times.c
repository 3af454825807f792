/* run_times: see run_times.h. */
#include "cli/run_times.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

static int32_t clamp_time(int64_t us)
{
	return us > INT32_MAX ? INT32_MAX : (int32_t)us;
}

void run_times_add(struct run_times *t, struct run_moment moment, int64_t issue)
{
	int64_t run = (moment.finish - moment.start) / 1000;
	t->moment[t->n % RUN_TIMES_KEPT] = moment;
	t->run[t->n % RUN_TIMES_KEPT] = clamp_time(run);
	t->issue[t->n % RUN_TIMES_KEPT] = clamp_time(issue);
	t->fastest = !t->n || run < t->fastest ? run : t->fastest;
	t->n++;
}

static int compare_times(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

static int64_t median(const int32_t *at, int64_t n)
{
	int32_t sorted[RUN_TIMES_KEPT];
	size_t kept = (size_t)(n < RUN_TIMES_KEPT ? n : RUN_TIMES_KEPT);
	if (!kept)
		return 0;
	memcpy(sorted, at, kept * sizeof *sorted);
	qsort(sorted, kept, sizeof *sorted, compare_times);
	return sorted[(kept - 1) / 2];
}

int64_t run_times_median(const struct run_times *t)
{
	return median(t->run, t->n);
}

int64_t run_times_median_issue(const struct run_times *t)
{
	return median(t->issue, t->n);
}

/* Returns the us of a step. all: moments of rank 0, then of rank 1, and so on. */
static int32_t time_step(const struct run_moment *all, int ranks, size_t kept, size_t k, bool one_clock)
{
	int64_t first = INT64_MAX, last = INT64_MIN, most = 0;
	for (size_t r = 0; r < (size_t)ranks; r++) {
		struct run_moment x = all[r * kept + k];
		first = x.start < first ? x.start : first;
		last = x.finish > last ? x.finish : last;
		most = x.finish - x.start > most ? x.finish - x.start : most;
	}
	return clamp_time((one_clock ? last - first : most) / 1000);
}

enum status run_times_step(struct rt_job *job, const struct run_times *t, bool one_clock,
                           struct run_step *out)
{
	size_t kept = (size_t)(t->n < RUN_TIMES_KEPT ? t->n : RUN_TIMES_KEPT),
	       bytes = kept * sizeof *t->moment;
	struct run_moment *all = mem_zalloc((bytes + 1) * (size_t)job->size);
	int32_t us[RUN_TIMES_KEPT] = {0};
	enum status status = rt_job_allgather(job, "times of runs", t->moment, bytes, all);
	for (size_t k = 0; k < kept && status == STATUS_OK; k++) {
		us[k] = time_step(all, job->size, kept, k, one_clock);
		out->fastest = !k || us[k] < out->fastest ? us[k] : out->fastest;
	}
	out->median = median(us, t->n);
	free(all);
	return status;
}
