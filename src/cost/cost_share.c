/* cost_share: slows the statements of ranks that share a device.
 *
 *     "device": {"devices": 1, "measured_ranks": 1, …}     a product of 100 us takes each of 4 ranks 400 us
 *     "device": {"devices": 1, "measured_ranks": 4, …}     it takes 100 us: 4 ranks worked when it was measured
 *     "device": {"devices": 2, "measured_ranks": 1, …}     it takes 200 us: ranks 0 and 2 share a device, 1 and 3 another
 *
 * Ranks that share a device are assumed to work at the same time: what each of them does takes as many times as long
 * as there are ranks. Products and copies of several ranks on one H100 took as long as one after the other, on
 * streams of their own. Latencies of transfers, and the host's calls, are not shared.
 *
 * Rank r is on device r % devices, as cuda_gpu_take says. */
#include "cost/model.h"

int64_t share_ranks(const struct module *m, const struct cluster *c)
{
	return c->devices ? (module_ranks(m) + c->devices - 1) / c->devices : 1;
}

/* Returns the number of ranks of a device that worked when it was measured. */
static int64_t measured_ranks(const struct cost *c)
{
	return c->cluster->devices && c->cluster->measured_ranks ? c->cluster->measured_ranks : 1;
}

int64_t share_work(const struct cost *c, int64_t time)
{
	cost_amount now = (cost_amount)c->cluster->sharers, then = (cost_amount)measured_ranks(c);
	return curve_limit(((cost_amount)time * now + then - 1) / then);
}

int64_t touch_time(const struct cost *c, int64_t bytes)
{
	if (!bytes)
		return 0;
	return c->cluster->touch.n ? curve_time(&c->cluster->touch, bytes)
	                           : curve_rate_time((cost_amount)bytes, 1, c->cluster->memory_rate);
}

int64_t cost_touch_time(const struct cost *c, int64_t bytes)
{
	return share_work(c, touch_time(c, bytes));
}

double cost_memory_rate(const struct cost *c)
{
	return (double)c->cluster->memory_rate * (double)measured_ranks(c) / (double)c->cluster->sharers;
}
