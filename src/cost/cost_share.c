/* cost_share: slows the statements of ranks that share a device.
 *
 *     "device": {"ranks": 4, "measured_ranks": 1, …}     a product of 100 us takes each of the 4 ranks 400 us
 *     "device": {"ranks": 4, "measured_ranks": 4, …}     it takes 100 us: 4 ranks worked when it was measured
 *
 * Ranks that share a device are assumed to work at the same time: what each of them does takes as many times as long
 * as there are ranks. Products and copies of several ranks on one H100 took as long as one after the other, on
 * streams of their own. Latencies of transfers, and the host's calls, are not shared.
 *
 * Devices d and e of a program are ranks of one device of the machine if d / ranks == e / ranks. With the transport
 * peers that are all ranks. */
#include "base/transport_kind.h"
#include "cost/model.h"

static int64_t choose_smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t share_ranks(const struct module *m, const struct cluster *c, const struct cluster_network *n)
{
	int64_t all = module_ranks(m);
	if (!c->ranks && !c->measured_ranks)
		return 1;
	bool one = n->transport && transport_kind_has(transport_kind_find(n->transport), TRANSPORT_ONE_GPU);
	return one ? all : c->ranks ? choose_smaller(c->ranks, all) : 1;
}

int64_t share_work(const struct cost *c, int64_t time)
{
	cost_amount now = (cost_amount)c->cluster->ranks, then = (cost_amount)c->cluster->measured_ranks;
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
	return (double)c->cluster->memory_rate * (double)c->cluster->measured_ranks /
	       (double)c->cluster->ranks;
}
