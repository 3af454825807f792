/* curve: interpolates times by size. */
#include "cost/curve.h"

__extension__ typedef __int128 wide;

int64_t curve_limit(cost_amount t)
{
	return t < CLUSTER_MAX_TIME ? (int64_t)t : CLUSTER_MAX_TIME;
}

int64_t curve_line(struct cluster_point a, struct cluster_point b, int64_t size)
{
	wide rise = b.time - a.time, run = b.size - a.size, x = size - a.size;
	if (size <= a.size)
		return a.time;
	if (size > b.size && rise < 0)
		return b.time;
	/* a.time * run + rise * x is not negative between the points, so adding half rounds correctly */
	return curve_limit((cost_amount)((2 * (a.time * run + rise * x) + run) / (2 * run)));
}

int64_t curve_time(const struct cluster_points *p, int64_t size)
{
	if (p->n == 1)
		return p->at[0].time;
	uint32_t low = 0, high = p->n - 1; /* at[low] < size */
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (p->at[middle].size < size)
			low = middle;
		else
			high = middle;
	}
	return curve_line(p->at[high - 1], p->at[high], size);
}

int64_t curve_rate_time(cost_amount n, int64_t d, int64_t rate)
{
	cost_amount second = 1000000000, per = (cost_amount)d * (cost_amount)rate, all = n * second;
	if (n > ~(cost_amount)0 / second)
		return CLUSTER_MAX_TIME;
	return curve_limit(all / per + (all % per != 0));
}

int64_t curve_add(int64_t a, int64_t b)
{
	return curve_limit((cost_amount)a + (cost_amount)b);
}
