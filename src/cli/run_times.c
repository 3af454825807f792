/* run_times: see run_times.h. */
#include "cli/run_times.h"
#include <stdlib.h>
#include <string.h>

static int32_t clamp_time(int64_t us)
{
	return us > INT32_MAX ? INT32_MAX : (int32_t)us;
}

void run_times_add(struct run_times *t, int64_t run, int64_t issue)
{
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
